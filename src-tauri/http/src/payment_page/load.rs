//! Reads a payment as its page shows it.

use std::sync::Arc;

use tillgate_domain::id::Id;
use tillgate_domain::payment::PaymentState;
use tillgate_gateway::gateway::Gateway;
use tillgate_store::StoreError;
use tillgate_store::payments::PaymentRow;

use super::view::{Came, View};
use crate::error::Failure;
use crate::read_permits::{Long, PAGES};
use crate::reading::read_on_another_thread;
use crate::state::Http;

/// The payment as its page shows it; `None` if there is none with this id.
pub async fn load(http: &Arc<Http>, id: &str) -> Result<Option<View>, Failure> {
    let Ok(id) = id.parse::<Id>() else { return Ok(None) };
    let gateway = &http.app.gateway;
    // One payment's row is read quickly, on the thread that serves the connection. Its Bitcoin
    // transactions may be many, so they are read on another thread.
    match gateway.store.read(|reader| reader.payment(&id))? {
        Some(row) if !matches!(row.payment.state, PaymentState::New | PaymentState::Underpaid) => {
            match read_on_another_thread(http, Long::Record, PAGES, move |gateway| {
                read_view(gateway, &id)
            })
            .await
            {
                // If the database is too busy, the page still shows the payment's state, without
                // its coins.
                Err(failure) if failure.is_for_storage() => Ok(Some(view_of(gateway, &row, None))),
                read => read,
            }
        }
        row => Ok(row.map(|row| view_of(gateway, &row, None))),
    }
}

/// The payment and its transactions from one snapshot. Blocks the thread while it reads.
pub fn read_view(gateway: &Gateway, id: &Id) -> Result<Option<View>, StoreError> {
    gateway.store.read(|reader| {
        let Some(row) = reader.payment(id)? else { return Ok(None) };
        let came = Came::load(reader, &row)?;
        Ok(Some(view_of(gateway, &row, Some(came))))
    })
}

fn view_of(gateway: &Gateway, row: &PaymentRow, came: Option<Came>) -> View {
    View::new(row, came, gateway.time.now(), gateway.environment, &gateway.settings.snapshot())
}
