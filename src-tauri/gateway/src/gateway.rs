//! The composition root: what one environment's gateway is made of.

use std::sync::Arc;

use tokio::sync::watch;

use crate::chain::Chain;
use crate::clock::Clock;
use crate::entropy::Entropy;
use crate::environment::Environment;
use crate::secrets::SecretStore;
use crate::settings::LiveSettings;
use crate::store::{Installation, Store};

/// Everything the use cases and loops of one environment share. There are no globals: a desktop
/// runs one of these for each environment.
pub struct Gateway {
    /// Which environment.
    pub environment: Environment,
    /// Its clock.
    pub clock: Arc<dyn Clock>,
    /// Its random numbers.
    pub entropy: Arc<dyn Entropy>,
    /// Its database.
    pub store: Arc<Store>,
    /// Whose database it is.
    pub installation: Installation,
    /// Its settings; take a snapshot where one is needed.
    pub settings: LiveSettings,
    /// Its Bitcoin backend.
    pub chain: Arc<dyn Chain>,
    /// Its secrets.
    pub secrets: Arc<dyn SecretStore>,
    /// Counts committed changes: the panel and the payment pages read again when it moves.
    pub changes: watch::Sender<u64>,
}
