//! The hosted payment page (interface, section 8), rendered here as HTML that works without
//! scripts. With scripts it counts down and follows the payment live. It sets no cookie, loads
//! nothing from a third party, and shows only facts of the record.

mod brand;
mod events;
mod html;
mod load;
mod sums;
mod texts;
mod view;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Path, RawQuery, State};
use axum::http::header::{
    ACCEPT_LANGUAGE, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION,
    REFERRER_POLICY, RETRY_AFTER,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use load::load;
use texts::Texts;
use tillgate_gateway::anomalies::{self, AnswerError};
use tillgate_machine::entropy::Entropy;

use super::body::read_body;
use super::connections::Peer;
use super::error::Failure;
use super::peer::{client_address, network_of};
use super::respond::holding;
use super::state::Http;
use tillgate_gateway::error_type::ErrorType;

/// Random bytes of the nonce that marks the page's own script and style.
const NONCE_BYTES: usize = 16;

/// Seconds after which a page without a permit for events may try again.
const RETRY_AFTER_SECONDS: u32 = 15;

/// The header by which nginx and similar proxies pass each event on at once.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The page and its events.
pub fn routes() -> Router<Arc<Http>> {
    Router::new()
        .route("/pay/{payment_id}", get(page).post(take_address))
        .route("/pay/{payment_id}/", get(page).post(take_address))
        .route("/pay/{payment_id}/events", get(follow))
        .route("/favicon.ico", get(icon))
}

/// The picture on the browser's tab. It never changes while the program runs.
async fn icon() -> Response {
    let headers = [(CONTENT_TYPE, "image/png"), (CACHE_CONTROL, "public, max-age=86400")];
    (headers, include_bytes!("../../../icons/32x32.png").as_slice()).into_response()
}

/// `GET /pay/{paymentId}`
async fn page(
    State(http): State<Arc<Http>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let nonce = nonce(http.app.gateway.machine.entropy.as_ref())?;
    let texts = texts_for(query.as_deref(), &headers);
    let at_ms = http.app.gateway.time.now().ms();
    let Some(view) = load(&http, &id).await? else {
        return html_answer(StatusCode::NOT_FOUND, html::not_found(&nonce, texts), &nonce);
    };
    html_answer(StatusCode::OK, html::page(&view, at_ms, &nonce, texts), &nonce)
}

/// `POST /pay/{paymentId}`: the form in which a customer gives the address of a refund. It works
/// without scripts.
async fn take_address(
    State(http): State<Arc<Http>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, Failure> {
    let form = read_body(body).await?;
    let field = url::form_urlencoded::parse(&form).find(|(name, _)| name == html::ADDRESS_FIELD);
    let given: String =
        field.map(|(_, value)| value.chars().take(html::ADDRESS_MAX).collect()).unwrap_or_default();
    let (nonce, texts) =
        (nonce(http.app.gateway.machine.entropy.as_ref())?, texts_for(query.as_deref(), &headers));
    let Some(view) = load(&http, &id).await? else {
        return html_answer(StatusCode::NOT_FOUND, html::not_found(&nonce, texts), &nonce);
    };
    let payment = id.parse().map_err(|_| Failure::not_found("payment"))?;
    match anomalies::answer(&http.app.gateway, payment, &given).await {
        // A reload of the answer must not send the form again. If somebody answered before, the
        // page shows that answer.
        Ok(()) | Err(AnswerError::NotAsked) => {
            let same_path = format!("?{}", query.unwrap_or_default());
            Ok((StatusCode::SEE_OTHER, [(LOCATION, same_path)]).into_response())
        }
        Err(AnswerError::Address(_) | AnswerError::Own) => html_answer(
            StatusCode::UNPROCESSABLE_ENTITY,
            html::wrong_address(&view, &given, &nonce, texts),
            &nonce,
        ),
        Err(AnswerError::Store(error)) => Err(error.into()),
    }
}

/// The texts in the language that the shop's link names by `?lang=`, else in the browser's.
fn texts_for(query: Option<&str>, headers: &HeaderMap) -> &'static Texts {
    let parameters = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let named =
        parameters.filter(|(name, _)| name == "lang").find_map(|(_, tag)| texts::of_tag(&tag));
    named.unwrap_or_else(|| {
        let accepted = headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        texts::for_browser(accepted.unwrap_or_default())
    })
}

/// `GET /pay/{paymentId}/events`: the page's changing part, sent at each change.
async fn follow(
    State(http): State<Arc<Http>>,
    Extension(peer): Extension<Peer>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    if load(&http, &id).await?.is_none() {
        return Err(Failure::not_found("payment"));
    }
    let id = id.parse().map_err(|_| Failure::not_found("payment"))?;
    let client = client_address(peer.address.ip(), &headers, &http.app.gateway.settings.snapshot());
    let Some(permit) = http.stream_permits.take(id, network_of(client)) else {
        let message = "Too many pages follow payments at the moment";
        return Err(Failure::new(ErrorType::TooManyFollowers, message)
            .with(RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS)));
    };
    let mut events =
        events::stream(Arc::clone(&http), id, texts_for(query.as_deref(), &headers), permit)
            .into_response();
    events.headers_mut().insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    Ok(holding(events, peer.permit.streams()))
}

fn nonce(entropy: &dyn Entropy) -> Result<String, Failure> {
    let mut bytes = [0u8; NONCE_BYTES];
    entropy.fill(&mut bytes).map_err(|error| Failure::internal(&error))?;
    Ok(BASE64_STANDARD.encode(bytes))
}

fn html_answer(status: StatusCode, html: String, nonce: &str) -> Result<Response, Failure> {
    // Any page may frame the payment page. The payment page may load nothing from elsewhere.
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self' data:; connect-src 'self'; \
         base-uri 'none'; form-action 'self'; frame-ancestors *"
    );
    let policy = HeaderValue::try_from(policy).map_err(|error| Failure::internal(&error))?;
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (CONTENT_SECURITY_POLICY, policy),
        // With `no-referrer`, browsers send the page's own form with `Origin: null`, as a
        // stranger's.
        (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((status, headers, html).into_response())
}

#[cfg(test)]
mod tests;
