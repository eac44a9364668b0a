//! What one environment's use cases and loops share: resources, and nothing that runs by itself.

mod announcement;
mod backend;
mod backups;
mod fee_rates;
mod last_look;
mod room;
mod sending;
mod set_clock;
mod staff_warning;
mod to_sign;

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bitcoin::Network;
use tillgate_sandbox::Sandbox;
use tokio::sync::{Notify, RwLock, watch};

use crate::access::api_keys::ApiKeys;
use crate::access::key_limits::KeyLimits;
use crate::chain::chosen::Chosen;
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
use crate::store::{Installation, Store, StoreError};
use crate::wallet::{Drafts, NotReady, Wallet};

pub(crate) use announcement::Announcement;
pub(crate) use backend::TypedBackend;
pub(crate) use backups::Backups;
pub(crate) use fee_rates::{FeeRates, SOON_BLOCKS};
pub(crate) use last_look::{CatchingUp, FailedLook, LastLook, NotWatched, WatchStatus};
pub(crate) use sending::{Cannot, Cause, KeysRefused, Sending};
pub(crate) use staff_warning::StaffWarning;
pub(crate) use to_sign::ToSign;

/// How long those wait for exchange rates who can go on without them.
const RATES_WITHIN: Duration = Duration::from_secs(1);

/// Everything the use cases and loops of one environment share. There are no globals: a desktop
/// runs one of these for each environment.
pub struct Gateway {
    /// Which environment.
    pub environment: Environment,
    /// Its clock.
    pub clock: Arc<dyn Clock>,
    /// How far the sandbox moved the clock forward, in milliseconds; whoever moves it stores it here.
    pub clock_offset_ms: Arc<AtomicI64>,
    /// Held for writing while the sandbox's clock jumps and the chain is looked at under the new time; whoever
    /// decides by the clock and the last look together holds it for reading.
    pub clock_jumps: RwLock<()>,
    /// How many of the clock's steps forward were followed.
    pub(crate) steps_followed: tokio::sync::Mutex<usize>,
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
    /// What they used up.
    pub key_limits: Arc<KeyLimits>,
    /// Its wallet, once there is one.
    pub wallet: OnceLock<Arc<Wallet>>,
    /// Held while the wallet is made or restored: one at a time.
    pub(crate) wallet_setup: tokio::sync::Mutex<()>,
    /// New words that were shown, and are in no wallet yet.
    pub(crate) wallet_drafts: Drafts,
    /// The network of its addresses.
    pub network: Network,
    /// Its Bitcoin backend.
    pub chain: Arc<dyn Chain>,
    /// The same where the settings choose which servers are asked.
    pub(crate) chosen: Option<Arc<Chosen>>,
    /// The scripts that matter now, for a backend that asks about scripts.
    pub(crate) hot: HotScripts,
    /// What such a backend is asked about before something is signed.
    pub(crate) to_sign: ToSign,
    /// The sandbox behind the backend, where it is one.
    pub sandbox: Option<Arc<Sandbox>>,
    /// Its exchange rates.
    pub rates: Rates,
    /// How far the chain was watched, and how that goes.
    pub last_look: LastLook,
    /// Its secrets.
    pub secrets: Arc<dyn SecretStore>,
    /// Counts committed changes: the panel and the payment pages read again when it moves.
    pub changes: watch::Sender<u64>,
    /// Told (`notify_one`) after each commit that queued a notification, and when the
    /// environment's clock was moved.
    pub notifier_wake: Notify,
    /// Told (`notify_one`) after each commit that leaves the sender something to do: an approval, a release, a bump.
    pub sender_wake: Notify,
    /// The fee rate that the backend named last.
    pub(crate) fee_rates: FeeRates,
    /// How the sending of payouts goes.
    pub sending: Sending,
    /// The making of backups.
    pub(crate) backups: Backups,
    /// Where it is served, once it is.
    pub served: OnceLock<Served>,
    /// Room on the disk that holds its files.
    pub disk: Disk,
    /// Its files, locked as long as the gateway lives: the last field, to be dropped after all that uses them.
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

    /// The wallet, where it may give addresses and knows what it holds.
    ///
    /// # Errors
    /// Why it does not.
    pub(crate) fn ready_wallet(&self) -> Result<&Arc<Wallet>, NotReady> {
        let wallet = self.wallet.get().ok_or(NotReady::NotMade)?;
        if wallet.addresses.is_withheld() { Err(NotReady::NotLooked) } else { Ok(wallet) }
    }

    /// Asks every source of exchange rates that is due once, under the settings of this moment.
    ///
    /// # Errors
    /// When the last known rates cannot be stored; the new ones are in use all the same.
    pub async fn refresh_rates(&self) -> Result<(), StoreError> {
        self.rates.follow(self.settings.snapshot().rate_rules());
        self.rates.refresh_once(&self.store, self.clock.now()).await
    }

    /// The same, but waits for no source that takes longer than a second: the loop asks it again. Payments are refused
    /// without a rate, and all else goes on.
    pub async fn refresh_rates_soon(&self) {
        match tokio::time::timeout(RATES_WITHIN, self.refresh_rates()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "the last known exchange rates could not be stored"),
            Err(_) => tracing::debug!("the sources of exchange rates take their time"),
        }
    }

    /// Renders records on one snapshot of the database. Blocks for as long as the queries take.
    ///
    /// # Errors
    /// What `render` answered, or why nothing could be read.
    pub fn render<T>(&self, render: impl FnOnce(&Snapshot<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let pages_base = self.pages_base();
        self.store.read(|reader| render(&Snapshot::new(reader, self.installation, &pages_base)))
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
