//! When to ask the sources.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::gateway::Gateway;
use crate::store::StoreError;

/// Time between two rounds of questions: five may fail before a rate is stale.
const REFRESH_EVERY: Duration = Duration::from_secs(60);

/// Asks every source once, under the settings of this moment.
///
/// # Errors
/// When the last known rates cannot be stored; the new ones are in use all the same.
pub async fn refresh_once(gateway: &Gateway) -> Result<(), StoreError> {
    gateway.rates.set_min_fresh_sources(gateway.settings.snapshot().min_fresh_sources);
    gateway.rates.refresh_once(&gateway.store, gateway.clock.now()).await
}

/// Keeps the rates fresh until `shutdown`.
pub async fn run(gateway: Arc<Gateway>, shutdown: CancellationToken) {
    let mut tick = interval(REFRESH_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            _ = tick.tick() => {}
        }
        if let Err(error) = refresh_once(&gateway).await {
            tracing::error!(%error, "the last known exchange rates could not be stored");
        }
    }
}
