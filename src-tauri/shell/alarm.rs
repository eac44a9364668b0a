//! Tells who looks away from the panel, at the tray or at a list of windows, of what cannot wait: confirmed payments
//! that were reversed, until somebody decided on them.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tauri::AppHandle;
use tillgate_gateway::{Actor, App, Status, ask};
use tokio_util::sync::CancellationToken;

use crate::{tray, window};

/// A burst of commits is one reading.
const READ_AT_MOST_EVERY: Duration = Duration::from_secs(1);

/// Keeps tray and window title in step as long as the gateway runs.
pub async fn follow(shell: AppHandle, app: Weak<App>, stop: CancellationToken) {
    let Some(mut changes) = app.upgrade().map(|app| app.gateway.changes.subscribe()) else { return };
    let mut told = 0;
    loop {
        // The follower must not keep the gateway, and with it the lock on its data, alive.
        let Some(reversals) = reversals(app.upgrade()).await else { return };
        if reversals != told {
            told = reversals;
            let words = words(reversals);
            tray::tell(&shell, words.as_deref());
            window::tell(&shell, words.as_deref());
        }
        tokio::select! {
            () = stop.cancelled() => return,
            changed = changes.changed() => if changed.is_err() { return },
        }
        tokio::time::sleep(READ_AT_MOST_EVERY).await;
    }
}

/// How many reversals wait for a decision; `None` once there is no gateway to ask.
async fn reversals(app: Option<Arc<App>>) -> Option<u64> {
    match ask(&app?, Status {}, &Actor::panel()).await {
        Ok(status) => Some(status.open_reversals),
        Err(error) => {
            tracing::warn!(%error, "the tray cannot be kept in step");
            None
        }
    }
}

fn words(reversals: u64) -> Option<String> {
    match reversals {
        0 => None,
        1 => Some("1 payment reversed".to_owned()),
        _ => Some(format!("{reversals} payments reversed")),
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn reversals_are_counted_and_none_says_nothing() {
        assert_eq!(words(0), None);
        assert_eq!(words(1).as_deref(), Some("1 payment reversed"));
        assert_eq!(words(12).as_deref(), Some("12 payments reversed"));
    }
}
