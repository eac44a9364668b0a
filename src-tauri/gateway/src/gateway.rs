//! The composition root: what one environment's gateway is made of.

mod listen;
mod open;
mod run;

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, OnceLock};

use tillgate_sandbox::Sandbox;
use tokio::sync::{Notify, watch};

use crate::api_keys::ApiKeys;
use crate::chain::Chain;
use crate::clock::Clock;
use crate::data_dir::DataDir;
use crate::entropy::Entropy;
use crate::environment::Environment;
use crate::notifier::Notifier;
use crate::rates::Rates;
use crate::secrets::SecretStore;
use crate::settings::LiveSettings;
use crate::store::{Installation, Store};
use crate::wallet::Wallet;
use crate::watcher::Watcher;

pub use listen::{Listen, ListenError, Tls};
pub use open::{OpenError, Options};
pub use run::RunError;

/// Everything the use cases and loops of one environment share. There are no globals: a desktop
/// runs one of these for each environment.
pub struct Gateway {
    /// Which environment.
    pub environment: Environment,
    /// Its clock.
    pub clock: Arc<dyn Clock>,
    /// How far the sandbox moved the clock forward, in milliseconds; whoever moves it stores it here.
    pub clock_offset_ms: Arc<AtomicI64>,
    /// Its random numbers.
    pub entropy: Arc<dyn Entropy>,
    /// Its database.
    pub store: Arc<Store>,
    /// Whose database it is.
    pub installation: Installation,
    /// Its settings; take a snapshot where one is needed.
    pub settings: LiveSettings,
    /// Its live API keys.
    pub keys: Arc<ApiKeys>,
    /// Its wallet, once there is one.
    pub wallet: OnceLock<Arc<Wallet>>,
    /// Its Bitcoin backend.
    pub chain: Arc<dyn Chain>,
    /// The sandbox behind the backend, where it is one.
    pub sandbox: Option<Arc<Sandbox>>,
    /// Its exchange rates.
    pub rates: Rates,
    /// Its looks at the chain.
    pub watcher: Watcher,
    /// Its secrets.
    pub secrets: Arc<dyn SecretStore>,
    /// Counts committed changes: the panel and the payment pages read again when it moves.
    pub changes: watch::Sender<u64>,
    /// Its notifier's memory.
    pub notifier: Notifier,
    /// Told (`notify_one`) after each commit that queued a notification, and when the
    /// environment's clock was moved.
    pub notifier_wake: Notify,
    /// Where it is served, once it is.
    pub served: OnceLock<Served>,
    /// Its files, locked as long as the gateway lives: kept last, to be dropped after all that uses them.
    pub data_dir: DataDir,
}

/// Where a gateway is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The API: `http://127.0.0.1:7421/v2`.
    pub api: String,
    /// The payment pages: `http://127.0.0.1:7421/pay`.
    pub pages: String,
}

impl Gateway {
    /// Says that something was committed that people look at.
    pub fn note_change(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Where the payment pages are as customers reach them, without a slash at the end:
    /// `http://127.0.0.1:7421/pay`. The setting `publicUrl` rules; a gateway that is not served names
    /// the address where it would be.
    #[must_use]
    pub fn pages_base(&self) -> String {
        if let Some(public_url) = &self.settings.snapshot().public_url {
            return format!("{public_url}/pay");
        }
        match self.served.get() {
            Some(served) => served.pages.clone(),
            None => format!("http://127.0.0.1:{}/pay", self.environment.default_port()),
        }
    }
}

#[cfg(test)]
mod tests;
