//! Handlers of the payment calls: parse, call one use case, render.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse as _, Response};
use bitcoin::ScriptBuf;
use bitcoin::address::NetworkUnchecked;
use tillgate_domain::payment::PaymentState;
use tillgate_domain::payout::address;
use tillgate_domain::permission::Permission;
use tillgate_gateway::access::idempotency::Once;
use tillgate_gateway::canonical_json::canonical;
use tillgate_gateway::notifications::resend;
use tillgate_gateway::payments::{self, Author, Created, Lookup, PaymentRequest, RedirectKind};
use tillgate_gateway::records::{PAGE_MAX, Snapshot};
use tillgate_machine::field_errors::FieldError;
use tillgate_machine::json::JsonObject;
use tillgate_store::payment_lists::PaymentFilter;

use super::auth::Caller;
use super::body::{Unused, read_json_body};
use super::error::Failure;
use super::list::list_answer;
use super::path::{PageOf, RecordId};
use super::query::{NoQuery, Query, one_of};
use super::read_permits::Long;
use super::reading::read_on_another_thread;
use super::resend::check_resend;
use super::respond::{deprecated, json_answer, replayed, resend_answer};
use super::state::Http;

const NEW: &str = "/v2/payments/new";

/// The longest Idempotency-Key.
const IDEMPOTENCY_KEY_MAX: usize = 255;

/// `POST /v2/payments/new`
pub async fn create(
    State(http): State<Arc<Http>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Failure> {
    caller.may(Permission::PaymentsCreate)?;
    caller.asks(&http)?;
    let (parts, body) = request.into_parts();
    let body = read_json_body(&parts.headers, body).await?;
    let object = JsonObject::parse(&body)?;
    let mut payment = parse_payment_request(&object);
    payment.field_errors.extend(Query::from_uri(&parts.uri).into_field_errors());
    let key = idempotency_key(&parts.headers).unwrap_or_else(|field_error| {
        payment.field_errors.push(field_error);
        None
    });
    let once = key.map(|key| {
        Once::new(
            caller.0.key_id,
            NEW,
            key,
            parts.uri.query().unwrap_or_default(),
            &canonical(&object),
        )
    });
    let key = caller.0;
    let author = Author {
        key_id: Some(key.key_id),
        label: key.name.clone(),
        notification_url_optional: key.notification_url_optional,
        notify_hosts: key.notify_hosts.clone(),
    };
    Ok(match payments::create(&http.app.gateway, author, payment, once).await? {
        Created::New { record, .. } => json_answer(record),
        Created::Again(answer) => replayed(answer),
    })
}

/// `GET /v2/payments/{paymentId}`
pub async fn get(
    State(http): State<Arc<Http>>,
    caller: Caller,
    _: NoQuery,
    id: Result<RecordId, Failure>,
) -> Result<Response, Failure> {
    caller.may(Permission::PaymentsRead)?;
    let RecordId(id) = id?;
    let scope = caller.scope();
    // A short record is read on the connection's own thread, which is faster than a change of
    // threads. A long record is read on the threads for lists.
    let record = match payments::find(&http.app.gateway, &id, scope)? {
        Lookup::Nothing => None,
        Lookup::Short(record) => Some(record),
        Lookup::Long => {
            read_on_another_thread(&http, Long::Record, caller.0.key_id, move |gateway| {
                payments::record(gateway, &id, scope)
            })
            .await?
        }
    };
    Ok(json_answer(record.ok_or_else(|| Failure::not_found("payment"))?))
}

/// `GET /v2/payments/{limit}/{offset}`
pub async fn list(
    State(http): State<Arc<Http>>,
    caller: Caller,
    page: Result<PageOf, Failure>,
    uri: Uri,
) -> Result<Response, Failure> {
    caller.may(Permission::PaymentsRead)?;
    let page = page?;
    let mut query = Query::from_uri(&uri);
    let limit = query.limit(&page.limit, PAGE_MAX);
    let offset = query.offset(&page.offset);
    let filter = PaymentFilter {
        states: query.all("status", &one_of(&PaymentState::ALL.map(PaymentState::as_str))),
        from: query.time("timeFrom"),
        to: query.time("timeTo"),
        merchant_transaction_id: query.text("merchantTransactionId"),
        script: address_script(&mut query),
        txid: query.parsed("btcTxId", "must be 64 hexadecimal characters"),
        label: query.text("label"),
        key_id: caller.scope().only_key(),
        part: None,
    };
    query.finish()?;
    let query = move |snapshot: &Snapshot<'_>| payments::list(snapshot, &filter, limit, offset);
    list_answer(&http, caller.0.key_id, (limit, offset), query).await
}

/// `POST /v2/payments/notify/{paymentId}`
pub async fn notify(
    State(http): State<Arc<Http>>,
    caller: Caller,
    _: NoQuery,
    id: Result<RecordId, Failure>,
    body: Result<Unused, Failure>,
) -> Result<Response, Failure> {
    let id = check_resend(&http, &caller, Permission::PaymentsRead, id, body).await?;
    let queued = resend::resend_payment(&http.app.gateway, id, caller.scope()).await?;
    Ok(resend_answer(queued.ok_or_else(|| Failure::not_found("payment"))?))
}

/// `GET /v2/payments/notify/{paymentId}`, which existing clients use.
pub async fn notify_deprecated(
    http: State<Arc<Http>>,
    caller: Caller,
    no_query: NoQuery,
    id: Result<RecordId, Failure>,
    body: Result<Unused, Failure>,
) -> Response {
    deprecated(notify(http, caller, no_query, id, body).await.into_response(), None)
}

/// The script of the address by which a list is filtered.
pub fn address_script(query: &mut Query<'_>) -> Option<ScriptBuf> {
    let address = query.parse_with("address", |text| match address::foreign_character(text) {
        Some(foreign) => Err(foreign.to_string()),
        None => text
            .parse::<bitcoin::Address<NetworkUnchecked>>()
            .map_err(|_| "must be a Bitcoin address".to_owned()),
    })?;
    // Another network's address matches no payment, because no payment here has its script.
    Some(address.assume_checked().script_pubkey())
}

/// The request's Idempotency-Key, if it has one.
pub fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, FieldError> {
    let mut values = headers.get_all("idempotency-key").iter();
    let Some(value) = values.next() else { return Ok(None) };
    let key = value.to_str().ok().filter(|key| (1..=IDEMPOTENCY_KEY_MAX).contains(&key.len()));
    match (key, values.next()) {
        (Some(key), None) => Ok(Some(key.to_owned())),
        _ => Err(FieldError::invalid(
            "Idempotency-Key",
            "must be given once, with 1 to 255 printable ASCII characters",
        )),
    }
}

fn parse_payment_request<'a>(object: &JsonObject<'a>) -> PaymentRequest<'a> {
    let mut field_errors = Vec::new();
    let mut redirect_urls: Vec<(RedirectKind, Cow<'a, str>)> = Vec::new();
    if let Some(urls) = object.object("redirectUrls", &mut field_errors) {
        let kinds = RedirectKind::ALL.map(RedirectKind::as_str);
        let unknown = urls.members().map(|(name, _)| name).filter(|name| !kinds.contains(name));
        field_errors.extend(
            unknown.map(|name| FieldError::invalid(format!("redirectUrls.{name}"), one_of(&kinds))),
        );
        for kind in RedirectKind::ALL {
            let url = urls.url(kind.as_str(), kind.field(), &mut field_errors);
            redirect_urls.extend(url.map(|url| (kind, url)));
        }
    }
    PaymentRequest {
        amount: object.number("amount", &mut field_errors),
        currency: object.string("currency", &mut field_errors),
        notification_url: object.url("notificationUrl", "notificationUrl", &mut field_errors),
        anomaly_notification_url: object.url(
            "anomalyNotificationUrl",
            "anomalyNotificationUrl",
            &mut field_errors,
        ),
        message: object.string("message", &mut field_errors),
        merchant_transaction_id: object.string("merchantTransactionId", &mut field_errors),
        redirect_urls,
        field_errors,
        ..PaymentRequest::default()
    }
}
