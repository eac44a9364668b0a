//! The resources of one environment.

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bitcoin::{Network, Script};
use tillgate_chain::configured::Configured;
use tillgate_chain::{Chain, HotScripts};
use tillgate_domain::id::Id;
use tillgate_domain::time::Timestamp;
use tillgate_machine::clock::Clock;
use tillgate_machine::data_dir::DataDir;
use tillgate_machine::disk::Disk;
use tillgate_machine::entropy::Entropy;
use tillgate_machine::environment::Environment;
use tillgate_machine::secrets::SecretStore;
use tillgate_sandbox::Sandbox;
use tillgate_store::{Installation, Reader, Store, StoreError};
use tokio::sync::{Mutex, Notify, RwLock, watch};

use super::backups::Backups;
use super::fee_rates::FeeRates;
use super::last_look::LastLook;
use super::sending::Sending;
use super::wallet_slot::WalletSlot;
use crate::access::api_keys::ApiKeys;
use crate::access::key_limits::KeyLimits;
use crate::rates::Rates;
use crate::records::Snapshot;
use crate::settings::LiveSettings;
use crate::wallet::{NotReady, Wallet};

/// Longest wait for exchange rates at the start and after a change of settings: both can go on
/// without them.
const RATES_WITHIN: Duration = Duration::from_secs(1);

/// Everything that the use cases and loops of one environment share, bundled by subject. There are
/// no globals: a desktop runs one gateway for each environment.
pub struct Gateway {
    /// Test or production.
    pub environment: Environment,
    /// The Bitcoin network of addresses and backend.
    pub network: Network,
    /// The installation that owns the database.
    pub installation: Installation,
    pub time: Time,
    /// The database.
    pub store: Arc<Store>,
    /// The current settings. Take a snapshot for consistent values.
    pub settings: LiveSettings,
    pub access: Access,
    /// The wallet, once it was made or restored.
    pub wallet: WalletSlot,
    pub backend: Backend,
    pub market: Market,
    pub sending: Sending,
    pub signals: Signals,
    pub backups: Backups,
    /// The URLs of the API and the payment pages, once the gateway is served.
    pub served: OnceLock<Served>,
    /// The last field, because its lock must be dropped last.
    pub machine: Machine,
}

/// The environment's clock. Stored times, and times compared with them, come from it.
pub struct Time {
    pub clock: Arc<dyn Clock>,
    /// Milliseconds by which the sandbox has moved the clock forward.
    pub offset_ms: Arc<AtomicI64>,
    /// Held for writing while the sandbox moves the clock and looks at the chain under the new
    /// time. Held for reading by a decision that needs both the clock and the last look.
    pub jumps: RwLock<()>,
    /// Number of forward steps of the clock that were followed: open payments, offers and retries
    /// were extended by each (`set_clock`).
    pub steps_followed: Mutex<usize>,
}

/// The API keys, as last committed, and the use of their limits.
pub struct Access {
    pub keys: Arc<ApiKeys>,
    pub limits: Arc<KeyLimits>,
}

/// The Bitcoin backend, and the knowledge of its last look.
pub struct Backend {
    pub chain: Arc<dyn Chain>,
    /// The same with servers from the settings; `None` for the sandbox and for chains of tests.
    pub configured: Option<Arc<Configured>>,
    /// The sandbox behind the backend, if there is one.
    pub sandbox: Option<Arc<Sandbox>>,
    /// The scripts to ask about first, for a backend that is asked by script.
    pub hot: HotScripts,
    /// The outcome of the last look at the chain.
    pub last_look: LastLook,
}

/// The prices of the world outside: exchange rates, and fee rates.
pub struct Market {
    pub rates: Rates,
    pub fee_rates: FeeRates,
}

/// Wakes the panel, the payment pages and the notifier after a commit.
pub struct Signals {
    /// Count of committed changes. The panel and the payment pages read again when it changes.
    pub changes: watch::Sender<u64>,
    /// Notified (`notify_one`) after each commit that queued a notification, and after each move of
    /// the clock.
    pub notifier: Notify,
}

/// The machine that the gateway runs on.
pub struct Machine {
    /// The source of random numbers.
    pub entropy: Arc<dyn Entropy>,
    /// The secret store: the keyring or the secrets file.
    pub secrets: Arc<dyn SecretStore>,
    /// The free space of the disk that holds the data directory.
    pub disk: Disk,
    /// The data directory, locked while the gateway exists.
    pub data_dir: DataDir,
}

/// The URLs at which a gateway is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The API: `http://127.0.0.1:7421/v2`.
    pub api: String,
    /// The payment pages: `http://127.0.0.1:7421/pay`.
    pub pages: String,
}

impl Time {
    pub fn new(clock: Arc<dyn Clock>, offset_ms: Arc<AtomicI64>) -> Self {
        Self { clock, offset_ms, jumps: RwLock::new(()), steps_followed: Mutex::default() }
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

impl Default for Signals {
    fn default() -> Self {
        Self { changes: watch::Sender::new(0), notifier: Notify::new() }
    }
}

impl Signals {
    /// Announces a committed change to the panel and the payment pages.
    pub fn note_change(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }
}

impl Gateway {
    /// The wallet, if it may give addresses and knows its coins.
    pub fn ready_wallet(&self) -> Result<Arc<Wallet>, NotReady> {
        let wallet = self.wallet.get().ok_or(NotReady::NotMade)?;
        if wallet.addresses.is_withheld() { Err(NotReady::NotLooked) } else { Ok(wallet) }
    }

    /// Whether a script is this wallet's: a payment's, our change's, a derived one or a skipped
    /// one.
    pub fn is_ours(&self, reader: &Reader<'_>, script: &Script) -> Result<bool, StoreError> {
        let of_wallet = self.wallet.get().is_some_and(|wallet| {
            wallet.change.index_of(script).is_some()
                || wallet.addresses.index_of_ungiven(script).is_some()
        });
        Ok(of_wallet || reader.payment_of_script(script)?.is_some())
    }

    /// Asks each source of exchange rates that is due, once, under the present settings.
    ///
    /// # Errors
    /// When the last known rates cannot be stored. The new rates are used nevertheless.
    pub async fn refresh_rates(&self) -> Result<(), StoreError> {
        self.market.rates.follow(self.settings.snapshot().rate_rules());
        self.market.rates.refresh_once(&self.store, self.time.now()).await
    }

    /// As [`Self::refresh_rates`], but waits at most a second in all. While a rate is missing, only
    /// calls that need one are refused.
    pub async fn refresh_rates_soon(&self) {
        match tokio::time::timeout(RATES_WITHIN, self.refresh_rates()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::error!(%error, "the last known exchange rates could not be stored")
            }
            Err(_) => {
                tracing::debug!("the sources of exchange rates did not answer within a second")
            }
        }
    }

    /// Renders records on one snapshot of the database. Blocks during the queries.
    pub fn render<T>(
        &self,
        render: impl FnOnce(&Snapshot<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let pages_base = self.pages_base();
        self.store.read(|reader| render(&Snapshot::new(reader, self.installation, &pages_base)))
    }

    /// Base address of the payment pages for customers, without a slash at the end, as in
    /// `http://127.0.0.1:7421/pay`. The setting `publicUrl` takes precedence. A gateway that is not
    /// served names the address that it would have.
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

    /// The URL of a payment's page.
    pub fn page_of(&self, payment: &Id) -> String {
        format!("{}/{payment}", self.pages_base())
    }
}
