//! What follows where the machine's clock was set: nothing ends early for it, and nothing waits for times that were never right.

use std::sync::Arc;

use tillgate_domain::checked_clock::latest_stored;
use tillgate_domain::time::Timestamp;

use super::Gateway;
use crate::store::{StoreError, Tx};

impl Gateway {
    /// Now on the environment's clock, once what was open when that stepped forward has the rest of its time. Whoever lets something
    /// end by the clock goes by this moment.
    ///
    /// # Errors
    /// When it cannot be stored: nothing may end then.
    pub(crate) async fn follow_clock(self: &Arc<Self>) -> Result<Timestamp, StoreError> {
        // Read first: a step that comes later is not in it.
        let now = self.clock.now();
        let followed = *self.steps_followed.lock().await;
        if self.clock.step_forward(followed).is_some() {
            // Whoever asked may leave at any moment, and what was stored is to be counted all the same.
            let gateway = Arc::clone(self);
            tokio::spawn(async move { gateway.follow_steps().await }).await.map_err(|_| StoreError::Closed)??;
        }
        Ok(now)
    }

    /// Gives the rest of their time for each step that was not followed yet, once.
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

    /// Takes back what was given by a clock that was ahead before the gateway started, and has notifications attempted at once that
    /// wait for its times.
    ///
    /// # Errors
    /// When it cannot be stored.
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
