//! Handlers of the payout calls: parse, call one use case, render.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse as _, Response};
use bitcoin::Txid;
use tillgate_domain::money::{Currency, parse_btc};
use tillgate_domain::payout::PayoutState;
use tillgate_domain::permission::Permission;
use tillgate_gateway::access::idempotency::Once;
use tillgate_gateway::anomalies::{self, RefundRequest};
use tillgate_gateway::canonical_json::canonical;
use tillgate_gateway::notifications::resend;
use tillgate_gateway::payouts::{
    self, Approver, EstimateAmount, EstimateRequest, OfferRequest, Offered, PayoutRequest, Permit,
    Requester,
};
use tillgate_gateway::records::{PAGE_MAX, Snapshot};
use tillgate_machine::field_errors::FieldError;
use tillgate_machine::json::JsonObject;
use tillgate_store::payout_lists::PayoutFilter;

use super::auth::Caller;
use super::body::{Unused, read_json_body};
use super::error::Failure;
use super::list::list_answer;
use super::path::RecordId;
use super::payments::{address_script, idempotency_key};
use super::query::{NoQuery, Query, one_of};
use super::read_permits::Long;
use super::reading::read_on_another_thread;
use super::resend::check_resend;
use super::respond::{deprecated, json_answer, replayed, resend_answer};
use super::state::Http;

const PAYOUTS: &str = "/v2/payouts";

const DEFAULT_LIMIT: &str = "50";

/// The older name of `btcTxId`.
const OLD_TXID: &str = "transactionId";

/// `POST /v2/payouts`
pub async fn create(
    State(http): State<Arc<Http>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Failure> {
    caller.may(Permission::PayoutsCreate)?;
    let (parts, body) = request.into_parts();
    let mut query = Query::from_uri(&parts.uri);
    let is_approved = auto_approve(&mut query);
    if is_approved {
        caller.may(Permission::PayoutsApprove)?;
    }
    caller.asks(&http)?;
    let body = read_json_body(&parts.headers, body).await?;
    let object = JsonObject::parse(&body)?;
    let mut payout = parse_payout_request(&object);
    let anomaly = object.string("anomalyId", &mut payout.field_errors);
    if anomaly.is_some() {
        caller.may(Permission::PaymentsRead)?;
    }
    let again = query.parse_with("again", yes).unwrap_or(false);
    payout.field_errors.extend(query.into_field_errors());
    let once = once(&caller, &parts.headers, &parts.uri, &object).unwrap_or_else(|field_error| {
        payout.field_errors.push(field_error);
        None
    });
    let (scope, key) = (caller.scope(), caller.0);
    let requester = Requester {
        key_id: Some(key.key_id),
        name: key.name.clone(),
        notify_hosts: key.notify_hosts.clone(),
    };
    let permit = reckoning(&http, key.key_id);
    let offer = OfferRequest { requester, payout, is_approved, once, permit, again };
    let gateway = &http.app.gateway;
    let offered = match anomaly {
        None => payouts::offer(gateway, offer).await?,
        Some(id) => {
            let anomaly_id = id.parse().map_err(|_| Failure::not_found("anomaly"))?;
            anomalies::refund(gateway, RefundRequest { anomaly_id, scope, offer }).await?
        }
    };
    Ok(match offered {
        Offered::New { record, .. } => json_answer(record),
        Offered::Again(answer) => replayed(answer),
    })
}

/// `POST /v2/payouts/approve`
pub async fn approve(
    State(http): State<Arc<Http>>,
    caller: Caller,
    _: NoQuery,
    request: Request,
) -> Result<Response, Failure> {
    caller.may(Permission::PayoutsApprove)?;
    let (parts, body) = request.into_parts();
    let body = read_json_body(&parts.headers, body).await?;
    let mut field_errors = Vec::new();
    let id = JsonObject::parse(&body)?.string("payoutId", &mut field_errors);
    let Some(id) = id else {
        if field_errors.is_empty() {
            field_errors.push(FieldError::missing("payoutId"));
        }
        return Err(Failure::invalid(field_errors));
    };
    let id = id.parse().map_err(|_| Failure::not_found("payout"))?;
    let approver =
        Approver { name: caller.0.name.clone(), scope: caller.scope(), is_person: false };
    Ok(json_answer(payouts::approve(&http.app.gateway, id, approver).await?))
}

/// `GET /v2/payouts/{payoutId}`
pub async fn get(
    State(http): State<Arc<Http>>,
    caller: Caller,
    _: NoQuery,
    id: Result<RecordId, Failure>,
) -> Result<Response, Failure> {
    caller.may(Permission::PayoutsRead)?;
    let RecordId(id) = id?;
    // Read on the connection's own thread: one row by its key takes less time than a change of
    // threads.
    let record = payouts::record(&http.app.gateway, &id, caller.scope())?;
    Ok(json_answer(record.ok_or_else(|| Failure::not_found("payout"))?))
}

/// `GET /v2/payouts`
pub async fn list(State(http): State<Arc<Http>>, caller: Caller, uri: Uri) -> Response {
    let is_old = Query::from_uri(&uri).has(OLD_TXID);
    let answer = list_new(http, caller, &uri).await.into_response();
    if is_old { deprecated(answer, None) } else { answer }
}

async fn list_new(http: Arc<Http>, caller: Caller, uri: &Uri) -> Result<Response, Failure> {
    caller.may(Permission::PayoutsRead)?;
    let mut query = Query::from_uri(uri);
    let limit = query.text("limit").unwrap_or_else(|| DEFAULT_LIMIT.to_owned());
    let offset = query.text("offset").unwrap_or_else(|| "0".to_owned());
    let (limit, offset) = (query.limit(&limit, PAGE_MAX), query.offset(&offset));
    let merchant_id = http.app.gateway.installation.merchant_id.to_string();
    let filter = PayoutFilter {
        states: query.all("status", &one_of(&PayoutState::ALL.map(PayoutState::as_str))),
        from: query.time("timeFrom"),
        to: query.time("timeTo"),
        script: address_script(&mut query),
        txid: txid(&mut query),
        amount_sats: query.parse_with("btcAmount", parse_btc),
        fiat_total_milli: query.parse_with("fiatTotalAmount", Currency::parse_thousandths),
        key_id: caller.scope().only_key(),
        requested_by: None,
        // An installation has one merchant.
        nothing: query.text("merchantId").is_some_and(|id| id != merchant_id),
    };
    query.finish()?;
    let query = move |snapshot: &Snapshot<'_>| payouts::list(snapshot, &filter, limit, offset);
    list_answer(&http, caller.0.key_id, (limit, offset), query).await
}

/// `GET /v2/payouts/limit`
pub async fn limit(
    State(http): State<Arc<Http>>,
    caller: Caller,
    uri: Uri,
) -> Result<Response, Failure> {
    caller.may(Permission::PayoutsRead)?;
    let mut query = Query::from_uri(&uri);
    let currency = query.text("currency");
    query.finish()?;
    let record = read_on_another_thread(&http, Long::Record, caller.0.key_id, move |gateway| {
        payouts::limit_record(gateway, currency.as_deref())
    });
    Ok(json_answer(record.await?))
}

/// `GET /v2/estimate-payout/fiat-to-btc`
pub async fn fiat_to_btc(
    State(http): State<Arc<Http>>,
    caller: Caller,
    uri: Uri,
) -> Result<Response, Failure> {
    caller.may(Permission::PayoutsRead)?;
    let mut query = Query::from_uri(&uri);
    let amount = EstimateAmount::Fiat(query.text("fiatAmount").map(Into::into));
    estimate(&http, &caller, query, amount).await
}

/// `GET /v2/estimate-payout/btc-to-fiat`
pub async fn btc_to_fiat(
    State(http): State<Arc<Http>>,
    caller: Caller,
    uri: Uri,
) -> Result<Response, Failure> {
    caller.may(Permission::PayoutsRead)?;
    let mut query = Query::from_uri(&uri);
    let amount = EstimateAmount::Btc(query.text("btcAmount").map(Into::into));
    estimate(&http, &caller, query, amount).await
}

async fn estimate(
    http: &Arc<Http>,
    caller: &Caller,
    mut query: Query<'_>,
    amount: EstimateAmount<'_>,
) -> Result<Response, Failure> {
    let request = EstimateRequest {
        amount,
        currency: query.text("currency").map(Into::into),
        address: query.text("address").map(Into::into),
        field_errors: query.into_field_errors(),
    };
    let permit = reckoning(http, caller.0.key_id);
    Ok(json_answer(payouts::estimate(&http.app.gateway, request, permit).await?))
}

/// `POST /v2/payouts/notify/{id}`
pub async fn notify(
    State(http): State<Arc<Http>>,
    caller: Caller,
    _: NoQuery,
    id: Result<RecordId, Failure>,
    body: Result<Unused, Failure>,
) -> Result<Response, Failure> {
    let id = check_resend(&http, &caller, Permission::PayoutsRead, id, body).await?;
    let queued = resend::resend_payout(&http.app.gateway, id, caller.scope()).await?;
    Ok(resend_answer(queued.ok_or_else(|| Failure::not_found("payout"))?))
}

/// The permit for choosing the coins of a key's payout, taken when needed.
fn reckoning(http: &Arc<Http>, key_id: i64) -> Permit {
    let http = Arc::clone(http);
    Permit::by(async move { http.read_permits.take(Long::CoinChoice, key_id).await })
}

/// Whether the query asks for an immediate approval. The name alone means yes.
fn auto_approve(query: &mut Query<'_>) -> bool {
    query.parse_with("autoApprove", yes).unwrap_or(false)
}

/// A boolean of the query. The name alone means yes.
fn yes(text: &str) -> Result<bool, &'static str> {
    match text {
        "true" | "1" | "" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err("must be true or false"),
    }
}

/// The transaction of a list's filter, by its present or older name.
fn txid(query: &mut Query<'_>) -> Option<Txid> {
    let form = "must be 64 hexadecimal characters";
    let (txid, old) = (query.parsed("btcTxId", form), query.parsed(OLD_TXID, form));
    if query.has("btcTxId") && query.has(OLD_TXID) {
        query.field_error(OLD_TXID, "is the older name of btcTxId: give one of them");
    }
    txid.or(old)
}

/// The request's idempotency, if it has an Idempotency-Key.
fn once(
    caller: &Caller,
    headers: &HeaderMap,
    uri: &Uri,
    body: &JsonObject<'_>,
) -> Result<Option<Once>, FieldError> {
    let key = idempotency_key(headers)?;
    Ok(key.map(|key| {
        Once::new(caller.0.key_id, PAYOUTS, key, uri.query().unwrap_or_default(), &canonical(body))
    }))
}

fn parse_payout_request<'a>(object: &JsonObject<'a>) -> PayoutRequest<'a> {
    let mut field_errors = Vec::new();
    PayoutRequest {
        btc_amount: object.number("btcAmount", &mut field_errors),
        fiat_amount: object.number("fiatAmount", &mut field_errors),
        currency: object.string("currency", &mut field_errors),
        address: object.string("address", &mut field_errors),
        comment: object.string("comment", &mut field_errors),
        notification_url: object.url("notificationUrl", "notificationUrl", &mut field_errors),
        refund_sats: None,
        field_errors,
    }
}
