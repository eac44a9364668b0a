//! Which backend an environment has.

use std::path::Path;
use std::sync::Arc;

use bitcoin::Network;
use tillgate_sandbox::{Sandbox, SandboxError};
use tokio::runtime::Handle;

use super::Chain;
use super::chosen::Chosen;
use super::sandbox::SandboxChain;
use crate::machine::clock::{Clock, machine_now};

/// What the chain of an environment is watched with.
#[derive(Clone)]
pub(crate) enum Backend {
    /// The private chain inside the program.
    Sandbox(Arc<Sandbox>),
    /// Whatever the settings choose.
    Chosen(Arc<Chosen>),
}

/// Why an environment has no backend.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// The sandbox's file.
    #[error("the sandbox cannot be opened: {0}")]
    Sandbox(#[from] SandboxError),
}

impl Backend {
    /// Opens the backend for a network; `None` is the sandbox, whose chain lies in `file`. Which servers of another network
    /// are asked is chosen later.
    ///
    /// # Errors
    /// When the sandbox's file cannot be used.
    pub(crate) fn open(network: Option<Network>, file: &Path, runtime: Handle) -> Result<Self, BackendError> {
        match network {
            None => Ok(Self::Sandbox(Arc::new(Sandbox::open(file, machine_now().ms())?))),
            Some(network) => Ok(Self::Chosen(Arc::new(Chosen::new(network, runtime)))),
        }
    }

    /// How far it moves the environment's clock forward, in milliseconds.
    #[must_use]
    pub(crate) fn clock_offset_ms(&self) -> i64 {
        match self {
            Self::Sandbox(sandbox) => sandbox.clock_offset_ms(),
            Self::Chosen(_) => 0,
        }
    }

    /// Its chain, by the environment's clock.
    #[must_use]
    pub(crate) fn chain(&self, clock: Arc<dyn Clock>) -> Arc<dyn Chain> {
        match self {
            Self::Sandbox(sandbox) => Arc::new(SandboxChain::new(Arc::clone(sandbox), clock)),
            Self::Chosen(chosen) => Arc::clone(chosen) as Arc<dyn Chain>,
        }
    }

    /// The sandbox, where it is one.
    #[must_use]
    pub(crate) fn sandbox(&self) -> Option<Arc<Sandbox>> {
        match self {
            Self::Sandbox(sandbox) => Some(Arc::clone(sandbox)),
            Self::Chosen(_) => None,
        }
    }

    /// The backend that the settings choose, where they choose one.
    #[must_use]
    pub(crate) fn chosen(&self) -> Option<Arc<Chosen>> {
        match self {
            Self::Sandbox(_) => None,
            Self::Chosen(chosen) => Some(Arc::clone(chosen)),
        }
    }
}
