//! An upper bound, in memory, of the bytes that stored records may still need on the disk. A new
//! record raises it at once. A count of the stored records sets it again.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::upper_bound::UpperBound;

/// The sum for one environment.
#[derive(Debug, Default)]
pub struct Owed {
    bytes: Mutex<UpperBound>,
    /// Held during a count. Callers that wait for it find the result.
    counting: Mutex<()>,
}

/// Disk space reserved for one record. Drop it after the transaction: its bytes stay reserved until
/// the next count.
#[derive(Debug)]
pub struct Promise {
    owed: Arc<Owed>,
    bytes: u64,
}

impl Owed {
    /// The sum; 0 before the first count.
    pub fn bytes(&self) -> u64 {
        self.bytes.lock().sum().unwrap_or(0)
    }

    /// Adds a record's bytes if the sum then fits into `room`. `None` before the first count, too.
    pub fn promise(self: &Arc<Self>, bytes: u64, room: u64) -> Option<Promise> {
        self.bytes.lock().reserve(bytes, room).then(|| Promise { owed: Arc::clone(self), bytes })
    }

    /// Counts the sum again. Does nothing during the pause after a count.
    ///
    /// # Errors
    /// The error of `count`.
    pub fn count<E>(&self, count: impl FnOnce() -> Result<u64, E>) -> Result<(), E> {
        let _one_at_a_time = self.counting.lock();
        let begun = self.bytes.lock().begin_count(Instant::now());
        let Some(counting) = begun else { return Ok(()) };
        let counted = count()?;
        self.bytes.lock().end_count(counting, counted, Instant::now());
        Ok(())
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        self.owed.bytes.lock().keep(self.bytes);
    }
}
