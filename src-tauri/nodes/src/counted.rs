//! What a server was asked since its start.

use std::collections::BTreeMap;

/// Counts of questions and of bytes.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    by_name: BTreeMap<String, u64>,
    requests: u64,
    bytes: u64,
}

impl Counted {
    /// A question of this name was asked.
    pub(crate) fn question(&mut self, name: &str) {
        let asked = self.by_name.entry(name.to_owned()).or_default();
        *asked = asked.saturating_add(1);
    }

    /// A request came, however many questions it holds; answers its number.
    pub(crate) fn request(&mut self) -> u64 {
        self.requests = self.requests.saturating_add(1);
        self.requests
    }

    /// So many bytes came or were sent.
    pub(crate) fn traffic(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// How often a question of this name was asked.
    pub(crate) fn asked(&self, name: &str) -> u64 {
        self.by_name.get(name).copied().unwrap_or(0)
    }

    /// Requests that came.
    pub(crate) const fn requests(&self) -> u64 {
        self.requests
    }

    /// Bytes that came and that were sent.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }
}
