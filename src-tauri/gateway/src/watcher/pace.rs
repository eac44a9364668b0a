//! When to look.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::watch_once;
use crate::gateway::Gateway;

/// Time between looks: what a customer at a counter waits for.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Looks at the chain until `shutdown`. A look under way is finished first.
pub async fn run(gateway: Arc<Gateway>, shutdown: CancellationToken) {
    let mut tick = interval(LOOK_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            _ = tick.tick() => {}
        }
        // The status keeps the reason of a failure and logs it once.
        let _ = watch_once(&gateway).await;
    }
}
