//! The kinds of backend that show a chain. `configured.rs` connects to each kind.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The kind of the chain backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum BackendKind {
    /// The built-in chain, whose coins are worth nothing. It has no server.
    Sandbox,
    /// A node of Bitcoin Core.
    Core,
    /// Electrum servers.
    Electrum,
}

impl BackendKind {
    /// The kinds that servers provide: the values of the setting `backend`.
    pub const OF_SERVERS: [Self; 2] = [Self::Core, Self::Electrum];

    /// The value of the setting `backend`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Core => "core",
            Self::Electrum => "electrum",
        }
    }

    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sandbox => "built-in sandbox",
            Self::Core => "Bitcoin Core",
            Self::Electrum => "Electrum",
        }
    }

    /// An example URL of such a server.
    pub const fn example(self) -> &'static str {
        match self {
            Self::Sandbox => "",
            Self::Core => "http://127.0.0.1:8332",
            Self::Electrum => "ssl://electrum.example:50002",
        }
    }

    /// Whether a URL has a scheme that such a server speaks.
    pub fn answers_at(self, url: &str) -> bool {
        let scheme = url.split_once("://").map(|(scheme, _)| scheme);
        match self {
            Self::Sandbox => false,
            Self::Core => matches!(scheme, Some("http" | "https")),
            Self::Electrum => matches!(scheme, Some("tcp" | "ssl")),
        }
    }

    /// Whether such a server asks for a login.
    pub const fn has_login(self) -> bool {
        matches!(self, Self::Core)
    }

    /// Whether such a server can send notices of new transactions by ZeroMQ.
    pub const fn has_notices(self) -> bool {
        matches!(self, Self::Core)
    }
}
