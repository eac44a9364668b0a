//! The quotes behind a rate, as text for people.

use tillgate_console::certificates::CertificateView;

use crate::table::Align::{Left, Right};
use crate::table::Table;

/// The quotes that were known when a rate was made; empty if none were stored.
pub fn certificate(view: Option<&CertificateView>) -> String {
    let Some(view) = view else { return String::new() };
    let mut table =
        Table::new(&[("rate source", Left), ("quote", Right), ("time", Left), ("", Left)]);
    for source in &view.sources {
        let why = source.why.as_deref().unwrap_or("not used");
        let used = if source.used { "used".to_owned() } else { format!("not used: {why}") };
        table.row([source.name.clone(), source.rate_shown.clone(), source.time.clone(), used]);
    }
    table.row([
        "rate".to_owned(),
        view.rate_shown.clone(),
        view.time.clone(),
        "before the spread".to_owned(),
    ]);
    table.render("")
}
