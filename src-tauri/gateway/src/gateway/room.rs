//! Free space on the disk for new records, beside the space that stored records may still need.

use std::sync::Arc;

use tillgate_machine::disk::DiskNearlyFull;
use tillgate_machine::owed::Promise;
use tillgate_store::StoreError;

use super::resources::Gateway;

impl Gateway {
    /// Reserves the bytes that a new record and its later changes may need. The caller holds the
    /// promise until the commit.
    ///
    /// # Errors
    /// [`DiskNearlyFull`]; never if the system does not tell how much is free.
    pub async fn promise_room(self: &Arc<Self>, bytes: u64) -> Result<Promise, DiskNearlyFull> {
        if let Some(promise) = self.disk.promise(bytes) {
            return Ok(promise);
        }
        let counting = Arc::clone(self);
        match tokio::task::spawn_blocking(move || counting.count_owed()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::error!(%error, "the space that stored records need is unknown")
            }
            Err(error) => tracing::error!(%error, "the space that stored records need is unknown"),
        }
        self.disk.promise(bytes).ok_or(DiskNearlyFull)
    }

    /// Counts the bytes that stored records may still need.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn count_owed(&self) -> Result<(), StoreError> {
        self.disk.count_owed(|| self.store.read(|reader| reader.owed_bytes()))
    }
}
