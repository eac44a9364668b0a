//! A page of records that is rendered in parts, so that a long page is never in memory at once.

use std::vec::IntoIter;

use tillgate_store::StoreError;

use super::snapshot::Snapshot;

/// Bytes after which a part ends, at the end of a record. A page of 50 records is one part. Each
/// unread list keeps a few parts in memory.
const PART_BYTES: usize = 64 * 1_024;

/// Renders the record that a key names; `None` if it is gone.
pub type Render<K> = fn(&Snapshot<'_>, &K) -> Result<Option<String>, StoreError>;

/// The records of a page, by their keys.
pub struct RecordList<K> {
    items_count: u64,
    /// Keys of the records that are not rendered yet.
    keys: IntoIter<K>,
    render: Render<K>,
    /// Whether no record was rendered yet.
    is_empty: bool,
}

impl<K> RecordList<K> {
    /// A page of the records that `keys` name; `items_count` match on all pages.
    pub fn new(items_count: u64, keys: Vec<K>, render: Render<K>) -> Self {
        Self { items_count, keys: keys.into_iter(), render, is_empty: true }
    }

    /// The number of matching records on all pages.
    pub const fn items_count(&self) -> u64 {
        self.items_count
    }

    /// Whether every record was rendered.
    pub fn is_done(&self) -> bool {
        self.keys.len() == 0
    }

    /// The next records from `snapshot`: JSON objects with commas between them.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn next_part(&mut self, snapshot: &Snapshot<'_>) -> Result<String, StoreError> {
        let mut part = String::new();
        while part.len() < PART_BYTES
            && let Some(key) = self.keys.next()
        {
            let Some(record) = (self.render)(snapshot, &key)? else { continue };
            if !self.is_empty {
                part.push(',');
            }
            self.is_empty = false;
            part.push_str(&record);
        }
        // The part may wait long for its reader, so its spare memory is freed.
        part.shrink_to_fit();
        Ok(part)
    }
}
