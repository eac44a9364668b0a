//! What only tests read.

use tillgate_domain::id::Id;

use super::{Reader, StoreError};

impl Reader<'_> {
    /// The bodies ever queued for a record, oldest first.
    pub fn notification_bodies(&self, subject: &Id) -> Result<Vec<Vec<u8>>, StoreError> {
        let mut query = self.connection.prepare("SELECT body FROM notifications WHERE subject_id = ?1 ORDER BY seq")?;
        let bodies = query.query_map([subject.as_bytes()], |row| row.get(0))?;
        Ok(bodies.collect::<Result<_, _>>()?)
    }
}
