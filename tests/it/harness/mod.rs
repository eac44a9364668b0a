//! The base of the scenarios: the program as a process, a client, a shop that receives
//! notifications, and an independent check of their signatures. It never waits for a fixed time,
//! only for conditions.

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

/// Time limit for a condition. It is generous, because two cores run several scenarios at once.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// Interval between two checks of a condition.
const POLL: Duration = Duration::from_millis(15);

/// Waits until `check` returns a value; panics with `what` after the time limit.
pub async fn wait_for<T>(what: &str, mut check: impl AsyncFnMut() -> Option<T>) -> T {
    let polled = async {
        loop {
            if let Some(found) = check().await {
                return found;
            }
            tokio::time::sleep(POLL).await;
        }
    };
    match tokio::time::timeout(TIMEOUT, polled).await {
        Ok(found) => found,
        Err(_) => panic!("timed out: {what}"),
    }
}
