//! Pages of lists.

use serde::{Deserialize, Serialize};
use tillgate_gateway::records::PAGE_MAX;
use ts_rs::TS;

use super::error::CommandError;
use crate::ask::in_range;

/// Some items of a list, and the number of all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    pub items: Vec<T>,
    /// The number of items on all pages together.
    #[ts(type = "number")]
    pub items_count: u64,
}

impl<T> Page<T> {
    /// A page that holds the whole list.
    pub fn whole(items: Vec<T>) -> Self {
        Self { items_count: u64::try_from(items.len()).unwrap_or(u64::MAX), items }
    }
}

/// The requested page size, or an error if it is out of bounds.
pub fn page_size(limit: u32) -> Result<u32, CommandError> {
    in_range("limit", limit, 1, PAGE_MAX)
}
