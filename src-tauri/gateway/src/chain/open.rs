//! Which backend an environment has.

use std::path::Path;
use std::sync::Arc;

use tillgate_sandbox::{Sandbox, SandboxError};

use super::Chain;
use super::sandbox::SandboxChain;
use crate::machine::clock::{Clock, machine_now};
use crate::machine::environment::Environment;

/// What the chain of an environment is watched with.
#[derive(Debug, Clone)]
pub(crate) enum Backend {
    /// The private chain inside the program.
    Sandbox(Arc<Sandbox>),
}

/// Why an environment has no backend.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// None can be chosen for production.
    #[error(
        "no Bitcoin backend is configured yet, so production cannot be opened: use --environment test, which has a built-in sandbox"
    )]
    None,
    /// The sandbox's file.
    #[error("the sandbox cannot be opened: {0}")]
    Sandbox(#[from] SandboxError),
}

impl Backend {
    /// Opens the backend of `environment`; a sandbox's chain lies in `file`.
    ///
    /// # Errors
    /// When there is none, or its file cannot be used.
    pub(crate) fn open(environment: Environment, file: &Path) -> Result<Self, BackendError> {
        match environment {
            Environment::Test => Ok(Self::Sandbox(Arc::new(Sandbox::open(file, machine_now().ms())?))),
            Environment::Production => Err(BackendError::None),
        }
    }

    /// How far it moves the environment's clock forward, in milliseconds.
    #[must_use]
    pub(crate) fn clock_offset_ms(&self) -> i64 {
        match self {
            Self::Sandbox(sandbox) => sandbox.clock_offset_ms(),
        }
    }

    /// Its chain, by the environment's clock.
    #[must_use]
    pub(crate) fn chain(&self, clock: Arc<dyn Clock>) -> Arc<dyn Chain> {
        match self {
            Self::Sandbox(sandbox) => Arc::new(SandboxChain::new(Arc::clone(sandbox), clock)),
        }
    }

    /// The sandbox, where it is one.
    #[must_use]
    pub(crate) fn sandbox(&self) -> Option<Arc<Sandbox>> {
        match self {
            Self::Sandbox(sandbox) => Some(Arc::clone(sandbox)),
        }
    }
}
