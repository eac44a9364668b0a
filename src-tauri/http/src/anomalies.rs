//! Handlers of the anomaly calls: parse, call one use case, render.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderValue, Uri};
use axum::response::{IntoResponse as _, Response};
use tillgate_domain::anomaly::AnomalyKind;
use tillgate_domain::permission::Permission;
use tillgate_gateway::anomalies;
use tillgate_gateway::notifications::resend;
use tillgate_gateway::records::{PAGE_MAX, Snapshot};
use tillgate_store::anomalies::AnomalyFilter;

use super::auth::Caller;
use super::body::Unused;
use super::error::Failure;
use super::list::list_answer;
use super::path::RecordId;
use super::query::{NoQuery, Query, one_of};
use super::read_permits::Long;
use super::reading::read_on_another_thread;
use super::resend::check_resend;
use super::respond::{deprecated, json_answer, resend_answer};
use super::state::Http;

const DEFAULT_LIMIT: &str = "50";

/// `GET /v2/anomalies/{anomalyId}`
pub async fn get(
    State(http): State<Arc<Http>>,
    caller: Caller,
    _: NoQuery,
    id: Result<RecordId, Failure>,
) -> Result<Response, Failure> {
    caller.may(Permission::PaymentsRead)?;
    let RecordId(id) = id?;
    let scope = caller.scope();
    let record = read_on_another_thread(&http, Long::Record, caller.0.key_id, move |gateway| {
        anomalies::record(gateway, &id, scope)
    })
    .await?;
    Ok(json_answer(record.ok_or_else(|| Failure::not_found("anomaly"))?))
}

/// `GET /v2/anomalies`
pub async fn list(
    State(http): State<Arc<Http>>,
    caller: Caller,
    uri: Uri,
) -> Result<Response, Failure> {
    caller.may(Permission::PaymentsRead)?;
    let mut query = Query::from_uri(&uri);
    let limit = query.text("limit").unwrap_or_else(|| DEFAULT_LIMIT.to_owned());
    let offset = query.text("offset").unwrap_or_else(|| "0".to_owned());
    let (limit, offset) = (query.limit(&limit, PAGE_MAX), query.offset(&offset));
    let filter = AnomalyFilter {
        begin: query.time("begin"),
        end: query.time("end"),
        payment_id: query.parsed("paymentId", "must be 40 lower-case hexadecimal characters"),
        merchant_transaction_id: query.text("merchantTransactionId"),
        kind: query.parsed("anomalyType", &one_of(&AnomalyKind::ALL.map(AnomalyKind::as_str))),
        key_id: caller.scope().only_key(),
        resolution: None,
        paid_sats: None,
    };
    query.finish()?;
    let query = move |snapshot: &Snapshot<'_>| anomalies::list(snapshot, &filter, limit, offset);
    list_answer(&http, caller.0.key_id, (limit, offset), query).await
}

/// `GET /v2/payments/anomalies`, the older name of `GET /v2/anomalies`.
pub async fn list_deprecated(http: State<Arc<Http>>, caller: Caller, uri: Uri) -> Response {
    let successor = HeaderValue::from_static(r#"</v2/anomalies>; rel="successor-version""#);
    deprecated(list(http, caller, uri).await.into_response(), Some(successor))
}

/// `POST /v2/anomalies/notify/{id}`: an anomaly's id, or a payment's for all of its anomalies.
pub async fn notify(
    State(http): State<Arc<Http>>,
    caller: Caller,
    _: NoQuery,
    id: Result<RecordId, Failure>,
    body: Result<Unused, Failure>,
) -> Result<Response, Failure> {
    let id = check_resend(&http, &caller, Permission::PaymentsRead, id, body).await?;
    let scope = caller.scope();
    let ids = read_on_another_thread(&http, Long::Record, caller.0.key_id, move |gateway| {
        resend::anomalies_of(&gateway.store, &id, scope)
    })
    .await?;
    let ids = ids.ok_or_else(|| Failure::not_found("anomaly or payment"))?;
    Ok(resend_answer(resend::resend_anomalies(&http.app.gateway, &ids).await?))
}
