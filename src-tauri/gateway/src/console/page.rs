//! Lists, a page at a time.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::error::CommandError;
use crate::records::PAGE_MAX;

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    /// The items on this page.
    pub items: Vec<T>,
    /// The number of items on all pages.
    #[ts(type = "number")]
    pub items_count: u64,
}

impl<T> Page<T> {
    /// A list that is one page.
    pub fn whole(items: Vec<T>) -> Self {
        Self { items_count: u64::try_from(items.len()).unwrap_or(u64::MAX), items }
    }
}

/// The length of a requested page, if it is within the bounds.
pub(crate) fn page_size(limit: u32) -> Result<u32, CommandError> {
    let bounds = 1..=PAGE_MAX;
    if bounds.contains(&limit) { Ok(limit) } else { Err(CommandError::invalid("limit", &"must be from 1 to 500")) }
}
