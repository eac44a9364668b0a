//! What the scenarios stand on: the program as a process, a client, a shop that hears notifications, an
//! independent check of their signatures. It never waits for a fixed time, only for conditions.

pub mod client;
pub mod program;
pub mod sandbox;
pub mod scene;
pub mod shop;
pub mod signature;

use std::time::Duration;

pub use client::Answer;
pub use program::{Program, Tillgate};
pub use scene::Scene;
pub use shop::{Behaviour, Shop};

/// How long a condition may take to come true. Generous, because two cores run several scenarios at once.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// How often a condition is looked at.
const POLL: Duration = Duration::from_millis(15);

/// Waits until `look` gives something, and fails with `what` when it never does.
pub async fn wait_for<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let polled = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(POLL).await;
        }
    };
    match tokio::time::timeout(PATIENCE, polled).await {
        Ok(found) => found,
        Err(_) => panic!("waited in vain: {what}"),
    }
}
