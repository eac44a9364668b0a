//! The values of the setting `backend`, and the URLs that suit each.

/// The kind of backend that shows a chain other than the sandbox's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendKind {
    /// A node of Bitcoin Core.
    Core,
    /// Electrum servers.
    Electrum,
}

impl BackendKind {
    /// All kinds.
    pub(crate) const ALL: [Self; 2] = [Self::Core, Self::Electrum];

    /// The value of the setting `backend`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Electrum => "electrum",
        }
    }

    /// An example URL of such a server.
    #[must_use]
    pub const fn example(self) -> &'static str {
        match self {
            Self::Core => "http://127.0.0.1:8332",
            Self::Electrum => "ssl://electrum.example:50002",
        }
    }

    /// Whether a URL has a scheme that such a server speaks.
    pub(super) fn answers_at(self, url: &str) -> bool {
        let scheme = url.split_once("://").map(|(scheme, _)| scheme);
        match self {
            Self::Core => matches!(scheme, Some("http" | "https")),
            Self::Electrum => matches!(scheme, Some("tcp" | "ssl")),
        }
    }
}
