//! The resources of one environment.

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bitcoin::{Network, Script};
use tillgate_sandbox::Sandbox;
use tokio::sync::{Notify, RwLock, watch};

use super::backups::Backups;
use super::fee_rates::FeeRates;
use super::last_look::LastLook;
use super::sending::Sending;
use super::to_sign::ToSign;
use crate::access::api_keys::ApiKeys;
use crate::access::key_limits::KeyLimits;
use crate::chain::configured::Configured;
use crate::chain::{Chain, HotScripts};
use crate::machine::clock::Clock;
use crate::machine::data_dir::DataDir;
use crate::machine::disk::Disk;
use crate::machine::entropy::Entropy;
use crate::machine::environment::Environment;
use crate::machine::secrets::SecretStore;
use crate::rates::Rates;
use crate::records::Snapshot;
use crate::settings::LiveSettings;
use crate::store::{Installation, Reader, Store, StoreError};
use crate::wallet::{Drafts, NotReady, Wallet};

/// Longest wait for exchange rates by callers that can go on without them.
const RATES_WITHIN: Duration = Duration::from_secs(1);

/// Everything that the use cases and loops of one environment share. There are no globals: a desktop runs one gateway
/// for each environment.
pub struct Gateway {
    /// The environment.
    pub environment: Environment,
    /// Its clock.
    pub clock: Arc<dyn Clock>,
    /// Time by which the sandbox moved the clock forward, in milliseconds. The sandbox stores its moves here.
    pub clock_offset_ms: Arc<AtomicI64>,
    /// Held for writing while the sandbox's clock jumps and the chain is looked at under the new time. Held for reading
    /// by a decision that needs both the clock and the last look.
    pub clock_jumps: RwLock<()>,
    /// Number of the clock's forward steps that were followed.
    pub(crate) steps_followed: tokio::sync::Mutex<usize>,
    /// Its random numbers.
    pub entropy: Arc<dyn Entropy>,
    /// Its database.
    pub store: Arc<Store>,
    /// The installation that owns the database.
    pub installation: Installation,
    /// Its settings, live. Take a snapshot for consistent values.
    pub settings: LiveSettings,
    /// Its live API keys.
    pub keys: Arc<ApiKeys>,
    /// Use of its API keys' limits.
    pub key_limits: Arc<KeyLimits>,
    /// Its wallet, once there is one.
    pub wallet: OnceLock<Arc<Wallet>>,
    /// Held while a wallet is made or restored, one at a time.
    pub(crate) wallet_setup: tokio::sync::Mutex<()>,
    /// New words that were shown but belong to no wallet yet.
    pub(crate) wallet_drafts: Drafts,
    /// The network of its addresses.
    pub network: Network,
    /// Its Bitcoin backend.
    pub chain: Arc<dyn Chain>,
    /// The same backend, if the settings choose its servers.
    pub(crate) chosen: Option<Arc<Configured>>,
    /// The scripts that matter now, for a backend that is asked by script.
    pub(crate) hot: HotScripts,
    /// The scripts that such a backend must cover before something is signed.
    pub(crate) to_sign: ToSign,
    /// The sandbox behind the backend, if there is one.
    pub sandbox: Option<Arc<Sandbox>>,
    /// Its exchange rates.
    pub rates: Rates,
    /// The last look at the chain.
    pub last_look: LastLook,
    /// Its secrets.
    pub secrets: Arc<dyn SecretStore>,
    /// Count of committed changes. The panel and the payment pages read again when it moves.
    pub changes: watch::Sender<u64>,
    /// Notified (`notify_one`) after each commit that queued a notification, and when the environment's clock was
    /// moved.
    pub notifier_wake: Notify,
    /// Notified (`notify_one`) after each commit that gives the sender work: an approval, a release, a bump.
    pub sender_wake: Notify,
    /// The fee rate that the backend named last.
    pub(crate) fee_rates: FeeRates,
    /// State of payout sending.
    pub sending: Sending,
    /// State for making backups.
    pub(crate) backups: Backups,
    /// Its addresses, once it is served.
    pub served: OnceLock<Served>,
    /// Room on the disk that holds its files.
    pub disk: Disk,
    /// Its files, locked as long as the gateway lives. The last field, because it must be dropped last.
    pub data_dir: DataDir,
}

/// The addresses at which a gateway is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The API: `http://127.0.0.1:7421/v2`.
    pub api: String,
    /// The payment pages: `http://127.0.0.1:7421/pay`.
    pub pages: String,
}

impl Gateway {
    /// Announces a committed change that people look at.
    pub fn note_change(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// The wallet, if it may give addresses and knows its coins.
    pub(crate) fn ready_wallet(&self) -> Result<&Arc<Wallet>, NotReady> {
        let wallet = self.wallet.get().ok_or(NotReady::NotMade)?;
        if wallet.addresses.is_withheld() { Err(NotReady::NotLooked) } else { Ok(wallet) }
    }

    /// Whether a script is this wallet's: a payment's, our change's, a derived one or a skipped one.
    pub(crate) fn is_ours(&self, reader: &Reader<'_>, script: &Script) -> Result<bool, StoreError> {
        let of_wallet = self.wallet.get().is_some_and(|wallet| {
            wallet.change.index_of(script).is_some() || wallet.addresses.index_ahead(script).is_some()
        });
        Ok(of_wallet || reader.payment_of_script(script)?.is_some())
    }

    /// Asks each source of exchange rates that is due, once, under the present settings.
    ///
    /// # Errors
    /// When the last known rates cannot be stored. The new rates are in use all the same.
    pub async fn refresh_rates(&self) -> Result<(), StoreError> {
        self.rates.follow(self.settings.snapshot().rate_rules());
        self.rates.refresh_once(&self.store, self.clock.now()).await
    }

    /// The same, but waits at most a second for each source; the loop asks a slow one again. Without a rate only
    /// payments are refused.
    pub async fn refresh_rates_soon(&self) {
        match tokio::time::timeout(RATES_WITHIN, self.refresh_rates()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "the last known exchange rates could not be stored"),
            Err(_) => tracing::debug!("the sources of exchange rates take their time"),
        }
    }

    /// Renders records on one snapshot of the database. Blocks during the queries.
    pub fn render<T>(&self, render: impl FnOnce(&Snapshot<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let pages_base = self.pages_base();
        self.store.read(|reader| render(&Snapshot::new(reader, self.installation, &pages_base)))
    }

    /// Base address of the payment pages for customers, without a slash at the end, as in `http://127.0.0.1:7421/pay`.
    /// The setting `publicUrl` rules. A gateway that is not served names the address that it would have.
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
