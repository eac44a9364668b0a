//! Every served path, as a table of contents.

use std::sync::Arc;

use axum::Router;
use axum::http::{Method, Uri};
use axum::response::Response;
use axum::routing::{get, post};

use super::error::Failure;
use super::query::NoQuery;
use super::respond::json_answer;
use super::state::Http;
use super::{anomalies, payment_page, payments, payouts, rates, receiver, sandbox};

/// The API of `/v2`.
pub fn api(http: &Http) -> Router<Arc<Http>> {
    let api = Router::new()
        .route("/v2/payments/new", post(payments::create))
        .route("/v2/payments/{payment_id}", get(payments::get))
        .route("/v2/payments/{limit}/{offset}", get(payments::list))
        .route(
            "/v2/payments/notify/{payment_id}",
            post(payments::notify).get(payments::notify_deprecated),
        )
        .route("/v2/payments/anomalies", get(anomalies::list_deprecated))
        .route("/v2/anomalies", get(anomalies::list))
        .route("/v2/anomalies/{anomaly_id}", get(anomalies::get))
        .route("/v2/anomalies/notify/{id}", post(anomalies::notify))
        .route("/v2/payouts", post(payouts::create).get(payouts::list))
        .route("/v2/payouts/approve", post(payouts::approve))
        .route("/v2/payouts/limit", get(payouts::limit))
        .route("/v2/payouts/{payout_id}", get(payouts::get))
        .route("/v2/payouts/notify/{id}", post(payouts::notify))
        .route("/v2/estimate-payout/fiat-to-btc", get(payouts::fiat_to_btc))
        .route("/v2/estimate-payout/btc-to-fiat", get(payouts::btc_to_fiat))
        .route("/v2/rates", get(rates::get))
        .route("/v2/openapi.json", get(describe));
    // The sandbox's calls exist only in the sandbox.
    if http.app.gateway.backend.sandbox.is_none() {
        return api;
    }
    api.merge(sandbox::routes()).route("/v2/sandbox/receiver", post(receiver::take))
}

/// The hosted payment pages.
pub fn pages() -> Router<Arc<Http>> {
    payment_page::routes()
}

/// Adds the answers to unknown paths and wrong methods.
pub fn finish(router: Router<Arc<Http>>, http: Arc<Http>) -> Router {
    router.fallback(no_such_path).method_not_allowed_fallback(no_such_method).with_state(http)
}

/// The API's description, open to all; `tests/it/description.rs` compares it with the answers.
async fn describe(_: NoQuery) -> Response {
    json_answer(include_str!("openapi.json"))
}

async fn no_such_path(uri: Uri) -> Failure {
    tracing::debug!(path = uri.path(), "a path that is not served");
    Failure::not_found("path")
}

async fn no_such_method(method: Method) -> Failure {
    Failure::method_not_allowed(&method)
}
