//! Follows a set clock of the machine. Nothing ends early for it, and nothing waits for times that were never right.

use std::sync::Arc;

use tillgate_domain::checked_clock::latest_stored;
use tillgate_domain::time::Timestamp;

use super::resources::Gateway;
use crate::store::{StoreError, Tx};

impl Gateway {
    /// Now on the environment's clock, after each step forward was followed: open rows get the rest of their time.
    /// Decisions that something has ended use this time.
    ///
    /// # Errors
    /// When the steps cannot be stored. Nothing may end then.
    pub(crate) async fn follow_clock(self: &Arc<Self>) -> Result<Timestamp, StoreError> {
        // The time is read first, so that it includes no later step.
        let now = self.clock.now();
        let followed = *self.steps_followed.lock().await;
        if self.clock.step_forward(followed).is_some() {
            // A separate task, because the caller may leave while a stored step must still be counted.
            let gateway = Arc::clone(self);
            tokio::spawn(async move { gateway.follow_steps().await }).await.map_err(|_| StoreError::Closed)??;
        }
        Ok(now)
    }

    /// Follows each new step once: open rows get the rest of their time.
    async fn follow_steps(&self) -> Result<(), StoreError> {
        let mut followed = self.steps_followed.lock().await;
        while let Some(step) = self.clock.step_forward(*followed) {
            self.store.write(move |tx| tx.give_rest_of_time(step.from, step.by_ms)).await?;
            *followed += 1;
            tracing::info!(by_ms = step.by_ms, "what was open has the rest of its time by the clock that was set");
            self.note_change();
        }
        Ok(())
    }

    /// Takes back time that was given before the start by a clock that was ahead. Notifications that wait for its times
    /// are attempted at once.
    pub(crate) async fn leave_times_of_another_clock(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let leave = move |tx: &Tx<'_>| {
            tx.take_back_given(now)?;
            tx.repeat_at_once(latest_stored(now), now)
        };
        self.store.write(leave).await
    }
}

#[cfg(test)]
mod tests;
