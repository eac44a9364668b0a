//! An Electrum server that shows a sandbox's chain and mempool: lines of JSON-RPC over TCP or TLS,
//! subscriptions with notifications, batches, and the protocol versions 1.4 to 1.6.
//!
//! Source: the protocol's own description (spesmilo/electrum-protocol, docs/, of 2026-03).

mod calls;
mod connection;
mod fake_transactions;
mod fault;
mod index;
mod shared;

use std::io;
use std::sync::{Arc, Mutex};

use tillgate_sandbox::Sandbox;

use crate::clock::Clock;
use crate::counted::Counted;
use crate::listener::Listener;
use crate::tls::Tls;
use connection::Connection;
pub use fault::ElectrumFault;
use index::Index;
use shared::{Inner, Shared};

/// A server that runs until it is dropped.
pub struct ElectrumNode {
    shared: Arc<Shared>,
    listener: Listener,
    is_secure: bool,
}

impl ElectrumNode {
    /// Shows the chain of `sandbox` over TCP. A broadcast transaction enters the mempool at
    /// `clock`'s time.
    ///
    /// # Errors
    /// There is no free port.
    pub fn start(sandbox: Arc<Sandbox>, clock: Clock) -> io::Result<Self> {
        Self::listen(sandbox, clock, None)
    }

    /// Starts a server as [`Self::start`] does, over TLS with a self-signed certificate.
    ///
    /// # Errors
    /// There is no free port, or the certificate cannot be made.
    pub fn start_tls(sandbox: Arc<Sandbox>, clock: Clock) -> io::Result<Self> {
        Self::listen(sandbox, clock, Some(Tls::new()?))
    }

    fn listen(sandbox: Arc<Sandbox>, clock: Clock, tls: Option<Tls>) -> io::Result<Self> {
        let inner = Inner {
            sandbox,
            index: Index::default(),
            fault: None,
            newest: "1.6",
            counted: Counted::default(),
            connections: 0,
            open: 0,
        };
        let shared = Arc::new(Shared { clock, inner: Mutex::new(inner) });
        let (serving, is_secure) = (Arc::clone(&shared), tls.is_some());
        let listener = Listener::start(move |stream, stop| {
            let opened = match &tls {
                Some(tls) => Connection::open(&serving, stream, Some(tls)),
                None => Connection::open(&serving, stream, None),
            };
            if let Ok(connection) = opened {
                connection.serve(stop);
            }
        })?;
        Ok(Self { shared, listener, is_secure })
    }

    /// The address of the server.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.is_secure { "ssl" } else { "tcp" };
        format!("{scheme}://{}", self.listener.address())
    }

    /// Sets the server's fault. `None` means no fault.
    pub fn misbehave(&self, fault: impl Into<Option<ElectrumFault>>) {
        self.shared.lock().fault = fault.into();
    }

    /// Sets the newest protocol version that the server offers.
    pub fn speak(&self, newest: &'static str) {
        self.shared.lock().newest = newest;
    }

    /// Shows the chain of this sandbox from now on.
    pub fn show(&self, sandbox: Arc<Sandbox>) {
        let mut inner = self.shared.lock();
        inner.sandbox = sandbox;
        inner.index = Index::default();
    }

    /// Number of calls of this method since the start.
    #[must_use]
    pub fn asked(&self, method: &str) -> u64 {
        self.shared.lock().counted.asked(method)
    }

    /// Number of calls since the start.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.shared.lock().counted.requests()
    }

    /// Bytes of calls, answers and notifications since the start.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.shared.lock().counted.bytes()
    }

    /// Number of connections since the start.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.shared.lock().connections
    }
}
