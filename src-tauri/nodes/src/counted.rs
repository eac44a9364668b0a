//! Counts of a server's requests since its start.

use std::collections::BTreeMap;

/// Counts of requests by name, and of bytes.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    by_name: BTreeMap<String, u64>,
    requests: u64,
    bytes: u64,
}

impl Counted {
    /// Counts a call of this name.
    pub(crate) fn question(&mut self, name: &str) {
        let asked = self.by_name.entry(name.to_owned()).or_default();
        *asked = asked.saturating_add(1);
    }

    /// Counts a request, which may hold several calls; returns its number.
    pub(crate) fn request(&mut self) -> u64 {
        self.requests = self.requests.saturating_add(1);
        self.requests
    }

    /// Counts bytes received or sent.
    pub(crate) fn traffic(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Number of calls of this name.
    pub(crate) fn asked(&self, name: &str) -> u64 {
        self.by_name.get(name).copied().unwrap_or(0)
    }

    /// Number of requests received.
    pub(crate) const fn requests(&self) -> u64 {
        self.requests
    }

    /// Bytes received and sent.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }
}
