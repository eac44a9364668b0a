//! Handler of the exchange rates call.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use tillgate_domain::permission::Permission;
use tillgate_gateway::records::rates_record;

use super::auth::Caller;
use super::error::Failure;
use super::query::NoQuery;
use super::respond::json_answer;
use super::state::Http;

/// `GET /v2/rates`
pub async fn get(
    State(http): State<Arc<Http>>,
    caller: Caller,
    _: NoQuery,
) -> Result<Response, Failure> {
    caller.may(Permission::PaymentsRead)?;
    let gateway = &http.app.gateway;
    let settings = gateway.settings.snapshot();
    // The rates are in memory, so this does not block.
    let rows = gateway.market.rates.rows_of(&settings.currencies, gateway.time.now());
    Ok(json_answer(rates_record(&rows, settings.spread_per_mille)))
}
