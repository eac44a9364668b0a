//! A page of records that is made in parts, so that a long one never stands in memory as a whole.

use std::vec::IntoIter;

use super::Snapshot;
use crate::store::StoreError;

/// How long a part of a list is in bytes, before the record that fills it: some dozens of usual records.
const PART_BYTES: usize = 64 * 1_024;

/// What makes the record of a key; none where there is no such record any more.
pub(crate) type Show<K> = fn(&Snapshot<'_>, &K) -> Result<Option<String>, StoreError>;

/// The records of a page, of which only the keys are known.
pub(crate) struct RecordList<K> {
    /// How many match, on all pages.
    items_count: u64,
    keys: IntoIter<K>,
    show: Show<K>,
    is_empty: bool,
}

impl<K> RecordList<K> {
    /// A page on which the records of `keys` stand.
    pub(crate) fn new(items_count: u64, keys: Vec<K>, show: Show<K>) -> Self {
        Self { items_count, keys: keys.into_iter(), show, is_empty: true }
    }

    /// How many records match, on all pages.
    pub(crate) const fn items_count(&self) -> u64 {
        self.items_count
    }

    /// Whether every record was made.
    pub(crate) fn is_done(&self) -> bool {
        self.keys.len() == 0
    }

    /// The next records, as JSON objects with the commas that a list has between them, from the snapshot of this moment.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub(crate) fn next_part(&mut self, snapshot: &Snapshot<'_>) -> Result<String, StoreError> {
        let mut part = String::new();
        while part.len() < PART_BYTES
            && let Some(key) = self.keys.next()
        {
            let Some(record) = (self.show)(snapshot, &key)? else { continue };
            if !self.is_empty {
                part.push(',');
            }
            self.is_empty = false;
            part.push_str(&record);
        }
        Ok(part)
    }
}
