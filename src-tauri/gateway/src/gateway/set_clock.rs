//! Follows changes of the machine's clock. A clock set forward ends no deadline early. A clock that
//! was ahead before the start delays no deadline and no retry.

use std::sync::Arc;

use tillgate_domain::checked_clock::latest_stored;
use tillgate_domain::time::Timestamp;
use tillgate_store::{StoreError, Tx};

use super::resources::Gateway;

impl Gateway {
    /// The time by the environment's clock. First, each new forward step of the clock extends the
    /// deadlines of open rows. A decision that a deadline has passed uses this time.
    ///
    /// # Errors
    /// When the extensions cannot be stored. The caller must then end no deadline.
    pub async fn follow_clock(self: &Arc<Self>) -> Result<Timestamp, StoreError> {
        // The time is read before the steps are followed, so that it includes no later step.
        let now = self.time.now();
        let followed = *self.time.steps_followed.lock().await;
        if self.time.clock.step_forward(followed).is_some() {
            // A separate task, because the caller may be cancelled between the commit of a step and
            // its count.
            let gateway = Arc::clone(self);
            tokio::spawn(async move { gateway.follow_steps().await })
                .await
                .map_err(|_| StoreError::Closed)??;
        }
        Ok(now)
    }

    /// Extends open rows by each new forward step, once.
    async fn follow_steps(&self) -> Result<(), StoreError> {
        let mut followed = self.time.steps_followed.lock().await;
        while let Some(step) = self.time.clock.step_forward(*followed) {
            self.store.write(move |tx| tx.extend_open_times(step.from, step.by_ms)).await?;
            *followed += 1;
            tracing::info!(
                by_ms = step.by_ms,
                "the clock was set forward: open payments, offers and retries were extended by the same time"
            );
            self.signals.note_change();
        }
        Ok(())
    }

    /// Undoes extensions that were made before the start by a clock that was ahead. Notifications
    /// that wait for a time of that clock are attempted at once.
    pub async fn leave_times_of_another_clock(&self) -> Result<(), StoreError> {
        let now = self.time.now();
        let leave = move |tx: &Tx<'_>| {
            tx.undo_extensions(now)?;
            tx.repeat_at_once(latest_stored(now), now)
        };
        self.store.write(leave).await
    }
}

#[cfg(test)]
mod tests;
