//! Bitcoin servers over a sandbox's chain: those of `tillgate-nodes`, without faults.

use std::ops::Sub;
use std::path::Path;
use std::sync::Arc;

use tillgate_machine::clock::machine_now;
use tillgate_nodes::{CoreNode, ElectrumNode};
use tillgate_sandbox::Sandbox;

use crate::fallible::Fallible;

/// A kind of server, with the way in which the gateway learns of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// JSON-RPC of Bitcoin Core, asked once a second.
    Core,
    /// The same node, with ZeroMQ notices of changes.
    CoreZmq,
    /// The Electrum protocol, with the server's notifications.
    Electrum,
}

/// The requests that a server received.
#[derive(Debug, Clone, Copy, Default)]
pub struct Traffic {
    /// HTTP requests, or calls of the Electrum protocol.
    pub requests: u64,
    /// Bytes received and sent.
    pub bytes: u64,
}

/// A server that runs until it is dropped.
pub struct Server {
    kind: Kind,
    running: Running,
}

enum Running {
    Core(CoreNode),
    Electrum(ElectrumNode),
}

impl Kind {
    /// All kinds that are measured.
    pub const ALL: &[Self] = &[Self::Core, Self::CoreZmq, Self::Electrum];

    /// All kinds without ZeroMQ: an unprompted look costs the same with and without it.
    pub const QUIET: &[Self] = &[Self::Core, Self::Electrum];

    /// The name in the table of figures.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Core => "Core by polling",
            Self::CoreZmq => "Core by ZMQ",
            Self::Electrum => "Electrum",
        }
    }
}

impl Server {
    /// Starts a server over the chain of `sandbox`, with its files in `folder`.
    pub fn start(kind: Kind, sandbox: &Arc<Sandbox>, folder: &Path) -> Fallible<Self> {
        let (sandbox, clock) = (Arc::clone(sandbox), Box::new(|| machine_now().ms()));
        let running = match kind {
            Kind::Core | Kind::CoreZmq => Running::Core(CoreNode::start(sandbox, folder, clock)?),
            Kind::Electrum => Running::Electrum(ElectrumNode::start(sandbox, clock)?),
        };
        Ok(Self { kind, running })
    }

    /// The settings of a gateway that uses this server, with fixed exchange rates.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let (backend, url) = match &self.running {
            Running::Core(node) => ("core", node.url()),
            Running::Electrum(server) => ("electrum", server.url()),
        };
        let mut settings = vec![
            ("network", "regtest".to_owned()),
            ("fixedRates", "USD:50000.00".to_owned()),
            ("backend", backend.to_owned()),
            ("backendUrl", url),
        ];
        if let Running::Core(node) = &self.running {
            settings.push(("backendCookieFile", node.cookie_file().display().to_string()));
            if self.kind == Kind::CoreZmq {
                settings.push(("backendZmq", node.zmq_url()));
            }
        }
        settings
    }

    /// The requests since the start.
    pub fn traffic(&self) -> Traffic {
        match &self.running {
            Running::Core(node) => Traffic { requests: node.requests(), bytes: node.bytes() },
            Running::Electrum(server) => {
                Traffic { requests: server.requests(), bytes: server.bytes() }
            }
        }
    }
}

impl Sub for Traffic {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self { requests: self.requests - before.requests, bytes: self.bytes - before.bytes }
    }
}

impl std::fmt::Display for Traffic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kilobytes = self.bytes as f64 / 1_000.0;
        let digits = if kilobytes < 10.0 { 1 } else { 0 };
        write!(f, "{} requests, {kilobytes:.digits$} kB", self.requests)
    }
}
