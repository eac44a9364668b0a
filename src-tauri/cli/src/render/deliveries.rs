//! Deliveries, as text for people.

use tillgate_console::deliveries::DeliveryItem;

use crate::table::Align::{Left, Right};
use crate::table::Table;

pub fn deliveries(items: &[DeliveryItem]) -> String {
    let mut table = Table::new(&[
        ("delivery", Left),
        ("time", Left),
        ("attempt", Right),
        ("status", Right),
        ("ms", Right),
        ("state", Left),
        ("of", Left),
        ("to", Left),
        ("error", Left),
    ]);
    for item in items {
        table.row([
            item.delivery_id.clone(),
            item.time.clone(),
            item.attempt.to_string(),
            item.status_code.map(|code| code.to_string()).unwrap_or_default(),
            item.duration_ms.to_string(),
            item.notification_state.to_string(),
            format!("{} {}", item.subject_kind, item.subject_id),
            item.url.clone(),
            item.error.as_ref().map(ToString::to_string).unwrap_or_default(),
        ]);
    }
    table.render("No deliveries.")
}
