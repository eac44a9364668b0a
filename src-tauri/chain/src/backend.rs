//! The backend of an environment.

use std::path::Path;
use std::sync::Arc;

use bitcoin::Network;
use tillgate_machine::clock::{Clock, machine_now};
use tillgate_sandbox::{Sandbox, SandboxError};
use tokio::runtime::Handle;

use super::configured::Configured;
use super::port::Chain;
use super::sandbox::SandboxChain;

#[derive(Clone)]
pub enum Backend {
    /// The private chain inside the program.
    Sandbox(Arc<Sandbox>),
    Configured(Arc<Configured>),
}

/// The reason why an environment has no backend.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum BackendError {
    /// The sandbox's file cannot be opened.
    #[error("the sandbox cannot be opened: {0}")]
    Sandbox(#[from] SandboxError),
}

impl Backend {
    /// Opens the backend for a network; `None` is the sandbox, whose chain is in `file`. The
    /// servers of a real network are configured later.
    ///
    /// # Errors
    /// If the sandbox's file cannot be used.
    pub fn open(
        network: Option<Network>,
        file: &Path,
        runtime: Handle,
    ) -> Result<Self, BackendError> {
        match network {
            None => Ok(Self::Sandbox(Arc::new(Sandbox::open(file, machine_now().ms())?))),
            Some(network) => Ok(Self::Configured(Arc::new(Configured::new(network, runtime)))),
        }
    }

    /// Milliseconds by which the sandbox moves the environment's clock forward.
    #[must_use]
    pub fn clock_offset_ms(&self) -> i64 {
        match self {
            Self::Sandbox(sandbox) => sandbox.clock_offset_ms(),
            Self::Configured(_) => 0,
        }
    }

    #[must_use]
    pub fn chain(&self, clock: Arc<dyn Clock>) -> Arc<dyn Chain> {
        match self {
            Self::Sandbox(sandbox) => Arc::new(SandboxChain::new(Arc::clone(sandbox), clock)),
            Self::Configured(configured) => Arc::clone(configured) as Arc<dyn Chain>,
        }
    }

    #[must_use]
    pub fn sandbox(&self) -> Option<Arc<Sandbox>> {
        match self {
            Self::Sandbox(sandbox) => Some(Arc::clone(sandbox)),
            Self::Configured(_) => None,
        }
    }

    #[must_use]
    pub fn configured(&self) -> Option<Arc<Configured>> {
        match self {
            Self::Sandbox(_) => None,
            Self::Configured(configured) => Some(Arc::clone(configured)),
        }
    }
}
