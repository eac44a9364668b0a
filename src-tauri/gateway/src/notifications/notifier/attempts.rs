//! The running attempts of a notifier.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::post;
use super::under_way::UnderWay;
use crate::gateway::Gateway;

/// Time for running attempts to end when the gateway stops.
const STOP_WITHIN: Duration = Duration::from_secs(2);

/// The running attempts, and all that a new attempt needs.
pub struct Attempts {
    pub gateway: Arc<Gateway>,
    pub clients: post::Clients,
    /// Time for a merchant's server to answer.
    pub timeout: Duration,
    under_way: Mutex<UnderWay>,
    pub running: TaskTracker,
    /// Interrupts the running attempts.
    pub stop: CancellationToken,
}

impl Attempts {
    pub fn new(gateway: Arc<Gateway>, clients: post::Clients, timeout: Duration) -> Arc<Self> {
        Arc::new(Self {
            gateway,
            clients,
            timeout,
            under_way: Mutex::default(),
            running: TaskTracker::new(),
            stop: CancellationToken::new(),
        })
    }

    pub fn under_way(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way.lock()
    }

    /// Waits up to `STOP_WITHIN` for running attempts, then interrupts them. Interrupted
    /// notifications are due again at the next start.
    pub async fn end(&self) {
        self.running.close();
        if tokio::time::timeout(STOP_WITHIN, self.running.wait()).await.is_err() {
            self.stop.cancel();
            self.running.wait().await;
        }
    }
}
