//! Opens a gateway: lock, database, installation, secrets, backend, wallet. A start after an
//! interrupted one repeats these steps, and each step uses the results that exist already.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

use bitcoin::constants::genesis_block;
use tillgate_chain::HotScripts;
use tillgate_chain::backend::{self as chain_backend, BackendError};
use tillgate_machine::clock::{Clock, SystemClock, machine_now};
use tillgate_machine::data_dir::{self, DataDir, DataDirError, IfMissing};
use tillgate_machine::disk::Disk;
use tillgate_machine::entropy::{Entropy, NoEntropy, SystemEntropy};
use tillgate_machine::environment::Environment;
use tillgate_machine::secrets::{self, Coins, SecretError, SecretsLocation};
use tillgate_store::chain::WatchedChain;
use tillgate_store::{Installation, Store, StoreError};
use tokio::runtime::Handle;

use crate::access::api_keys::ApiKeys;
use crate::app::App;
use crate::gateway::{
    Access, Backend, Backups, FeeRates, Gateway, LastLook, Machine, Market, Sending, Signals, Time,
    WalletSlot,
};
use crate::notifications::outbox::{self, OutboxError};
use crate::notifications::{ATTEMPT_TIMEOUT, NoClient, Notifier, Receiver};
use crate::payouts;
use crate::rates::{Rates, sources};
use crate::sender::Sender;
use crate::settings::{ChainNetwork, LiveSettings, Override, SettingError};
use crate::setup::{self, SetupError};
use crate::wallet::{Wallet, WalletError, mark};
use crate::watcher::Watcher;

/// The options for opening a gateway.
#[derive(Debug, Clone)]
pub struct Options {
    /// The environment whose gateway is opened.
    pub environment: Environment,
    /// The folder of all environments; `None` for the platform's data folder.
    pub data_dir: Option<PathBuf>,
    /// Whether a missing folder of the environment is made.
    pub if_missing: IfMissing,
    /// Values of settings, by name, that override the stored ones.
    pub overrides: BTreeMap<String, Override>,
    /// The place of the secrets.
    pub secrets: SecretsLocation,
}

/// Reason why a gateway cannot be opened: a sentence with the remedy.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum OpenError {
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "{file} belongs to the environment {found}, not to {wanted}: environments share no data; name another --data-dir"
    )]
    OtherEnvironment {
        file: PathBuf,
        /// The database's environment.
        found: Environment,
        wanted: Environment,
    },
    /// The database was made on a chain other than the one that the settings name.
    #[error(
        "this data directory was used with the chain {known}, but the setting network is {chosen}: change the setting back, or name another --data-dir"
    )]
    OtherChain {
        /// The network that the settings name.
        chosen: &'static str,
        /// The sandbox's name, or the hash of the network's first block.
        known: String,
    },
    /// A flag or an environment variable gives a setting an invalid value.
    #[error("{by}: {error}")]
    Override {
        /// The flag or variable.
        by: String,
        error: SettingError,
    },
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error(transparent)]
    Wallet(#[from] WalletError),
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    #[error(transparent)]
    Notifier(#[from] NoClient),
    #[error("opening the gateway failed unexpectedly: see the log")]
    Panicked,
}

struct Running {
    runs: Arc<dyn Clock>,
    /// The lead of `runs` over the machine's clock. The sandbox changes it.
    offset_ms: Arc<AtomicI64>,
}

impl OpenError {
    /// The name of the doctor's check that reports this error.
    #[must_use]
    pub const fn concerns(&self) -> &'static str {
        match self {
            Self::DataDir(DataDirError::InUse { .. }) => "lock",
            Self::DataDir(DataDirError::Missing { .. }) => "folder",
            Self::DataDir(_) => "permissions",
            Self::Store(_) | Self::OtherEnvironment { .. } => "database",
            Self::Override { .. } | Self::Setting(_) => "settings",
            Self::Secret(_) => "keyring",
            Self::Backend(_) | Self::OtherChain { .. } => "chain",
            Self::Wallet(_) | Self::Setup(_) => "wallet",
            Self::Entropy(_) => "entropy",
            Self::Notifier(_) => "notifications",
            Self::Panicked => "doctor",
        }
    }
}

/// Opens the gateway of one environment, for commands and use cases. It starts no loop;
/// the daemon does. `run` also makes the wallet, so that `addressType` can be set before.
///
/// # Errors
/// Why it cannot be opened, with the remedy.
pub async fn open(options: Options) -> Result<Arc<App>, OpenError> {
    let gateway = Arc::new(open_gateway(options).await?);
    let notifier = Notifier::new(Arc::clone(&gateway), ATTEMPT_TIMEOUT)?;
    let (watcher, sender) = (Watcher::new(Arc::clone(&gateway)), Sender::new(Arc::clone(&gateway)));
    Ok(Arc::new(App { watcher, sender, notifier, receiver: Receiver::default(), gateway }))
}

/// Opens the shared parts of one environment's gateway.
///
/// # Errors
/// Why it cannot be opened, with the remedy.
pub async fn open_gateway(options: Options) -> Result<Gateway, OpenError> {
    // The first call in the process sets the provider of TLS. Later calls fail and change nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
    let (data_dir, store) = {
        let options = options.clone();
        blocking(move || open_files(&options)).await?
    };
    let store = Arc::new(store);
    let installation = installation(&options, &data_dir, &store, entropy.as_ref()).await?;
    let settings = settings(&options, &store)?;
    let network = settings.snapshot().network;
    let secrets = {
        let coins = Coins::in_environment(options.environment, network == ChainNetwork::Sandbox);
        let folder = data_dir.path().to_owned();
        let location = options.secrets.clone();
        blocking(move || {
            Ok(secrets::open(&location, coins, &installation.installation_id, &folder)?)
        })
        .await?
    };
    let last_look = LastLook::load(&store)?;
    let (backend, clock) = backend(network, &last_look, &data_dir).await?;
    let rates = Rates::new(sources(backend.sandbox()), settings.snapshot().rate_rules());
    rates.load_last_known(&store)?;
    let wallet = WalletSlot::default();
    if let Some(made) = Wallet::load(&store, network.network(), settings.snapshot().restore_skip)? {
        // The cell is still empty, so the call cannot fail.
        wallet.set(Arc::new(made));
    }
    if let Err(error) = mark::set(&data_dir, wallet.get().is_some()) {
        tracing::warn!(%error, "commands that name no environment may choose the wrong one");
    }
    let gateway = Gateway {
        environment: options.environment,
        network: network.network(),
        installation,
        time: Time::new(Arc::clone(&clock.runs), clock.offset_ms),
        access: Access { keys: ApiKeys::load(Arc::clone(&store))?, limits: Arc::default() },
        store,
        settings,
        wallet,
        backend: Backend {
            chain: backend.chain(clock.runs),
            configured: backend.configured(),
            sandbox: backend.sandbox(),
            hot: HotScripts::default(),
            last_look,
        },
        market: Market { rates, fee_rates: FeeRates::default() },
        sending: Sending::default(),
        signals: Signals::default(),
        backups: Backups::default(),
        served: OnceLock::new(),
        machine: Machine {
            entropy,
            secrets,
            disk: Disk::new(data_dir.path(), options.environment),
            data_dir,
        },
    };
    blocking(move || {
        gateway.choose_backend_blocking();
        Ok(gateway)
    })
    .await
}

/// The backend of the network, and its clock. The clock starts no earlier than the last look.
async fn backend(
    network: ChainNetwork,
    last_look: &LastLook,
    data_dir: &DataDir,
) -> Result<(chain_backend::Backend, Running), OpenError> {
    stays_on_its_chain(network, last_look.watched().as_ref())?;
    let servers_of = (network != ChainNetwork::Sandbox).then(|| network.network());
    let (file, runtime) = (data_dir.sandbox(), Handle::current());
    let backend =
        blocking(move || Ok(chain_backend::Backend::open(servers_of, &file, runtime)?)).await?;
    let offset_ms = Arc::new(AtomicI64::new(backend.clock_offset_ms()));
    let runs: Arc<dyn Clock> = Arc::new(SystemClock::start_with_offset(Arc::clone(&offset_ms)));
    if let (Some(sandbox), Some(watched)) = (backend.sandbox(), last_look.watched()) {
        // A new or older sandbox file lacks the clock's later jumps. Without the jumps, all timed
        // waits would begin again.
        let behind_ms = watched.looked_at.ms().saturating_sub(runs.now().ms());
        if let Ok(seconds @ 1..) = u64::try_from(behind_ms).map(|ms| ms.div_ceil(1_000)) {
            let moved_ms =
                blocking(move || Ok(sandbox.advance_clock(seconds).map_err(BackendError::from)?))
                    .await?;
            offset_ms.store(moved_ms, Ordering::SeqCst);
        }
    }
    Ok((backend, Running { runs, offset_ms }))
}

/// Refuses a database of the sandbox on another chain, or the reverse. Both use regtest, so
/// addresses do not show the difference.
fn stays_on_its_chain(
    chosen: ChainNetwork,
    watched: Option<&WatchedChain>,
) -> Result<(), OpenError> {
    let Some(cursor) = watched.map(|watched| &watched.cursor) else { return Ok(()) };
    let was_sandbox = cursor.chain.instance.is_some();
    let genesis = genesis_block(chosen.network()).block_hash();
    if was_sandbox == (chosen == ChainNetwork::Sandbox) && cursor.chain.genesis == genesis {
        return Ok(());
    }
    let known = if was_sandbox {
        ChainNetwork::Sandbox.as_str().to_owned()
    } else {
        cursor.chain.genesis.to_string()
    };
    Err(OpenError::OtherChain { chosen: chosen.as_str(), known })
}

/// Makes the wallet of the test environment if there is none. The owner makes a production wallet.
///
/// # Errors
/// When the secret store or the database fails.
pub async fn ensure_wallet(gateway: &Arc<Gateway>) -> Result<(), OpenError> {
    match gateway.environment {
        Environment::Production => Ok(()),
        Environment::Test => Ok(setup::ensure(gateway).await?),
    }
}

/// Expires offers, and corrects times, that were stored before this start by a clock that was
/// ahead. An error does not stop the start: the next start tries again, and such an offer cannot be
/// approved meanwhile.
pub async fn correct_future_times(gateway: &Arc<Gateway>) {
    let lapse = || outbox::commit(gateway, None, payouts::expire_of_clock_ahead);
    let left = async {
        while lapse().await? > 0 {}
        Ok::<_, OutboxError>(gateway.leave_times_of_another_clock().await?)
    };
    if let Err(error) = left.await {
        tracing::error!(%error, "offers and times of a clock that was ahead could not be corrected");
    }
}

fn open_files(options: &Options) -> Result<(DataDir, Store), OpenError> {
    let base = data_dir::base(options.data_dir.as_deref())?;
    if options.if_missing == IfMissing::Make && !data_dir::exists(&base, options.environment)? {
        // The secrets are checked first, because a folder left by a refused start would prevent a
        // restore.
        let network = options.overrides.get("network");
        let is_sandbox = network.is_none_or(|given| given.value == ChainNetwork::Sandbox.as_str());
        let coins = Coins::in_environment(options.environment, is_sandbox);
        secrets::check_for_new(&options.secrets, coins, &SystemEntropy.id()?)?;
    }
    let data_dir = DataDir::open(&base, options.environment, options.if_missing)?;
    let store = Store::open(&data_dir.database())?;
    Ok((data_dir, store))
}

async fn installation(
    options: &Options,
    data_dir: &DataDir,
    store: &Store,
    entropy: &dyn Entropy,
) -> Result<Installation, OpenError> {
    let known = match store.read(|reader| reader.installation())? {
        Some(known) => known,
        None => {
            let new = Installation {
                installation_id: entropy.id()?,
                merchant_id: entropy.id()?,
                environment: options.environment,
            };
            // The machine's clock, because the environment's clock does not exist yet.
            let at = machine_now();
            store.write(move |tx| tx.ensure_installation(new, at)).await?
        }
    };
    if known.environment == options.environment {
        Ok(known)
    } else {
        Err(OpenError::OtherEnvironment {
            file: data_dir.database(),
            found: known.environment,
            wanted: options.environment,
        })
    }
}

fn settings(options: &Options, store: &Store) -> Result<LiveSettings, OpenError> {
    let given = |name: &str, error| match options.overrides.get(name) {
        Some(given) => OpenError::Override { by: given.by.clone(), error },
        None => OpenError::Setting(error),
    };
    LiveSettings::load(options.environment, &options.overrides, store).map_err(
        |error| match error {
            SettingError::Value { name, .. } | SettingError::NoScheme { name, .. } => {
                given(name, error)
            }
            error => OpenError::Setting(error),
        },
    )
}

/// Runs a blocking step off the async threads. The client of the Linux keyring panics on an async
/// thread.
async fn blocking<T: Send + 'static>(
    step: impl FnOnce() -> Result<T, OpenError> + Send + 'static,
) -> Result<T, OpenError> {
    tokio::task::spawn_blocking(step).await.unwrap_or(Err(OpenError::Panicked))
}
