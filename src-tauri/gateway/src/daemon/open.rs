//! Opening a gateway: lock, database, installation, secrets, backend, wallet. A start that is cut short at any
//! point is made up for by the next: each step finds what the one before it left.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

use bitcoin::constants::genesis_block;
use tokio::runtime::Handle;
use tokio::sync::{Notify, RwLock, watch};

use crate::access::api_keys::ApiKeys;
use crate::app::App;
use crate::chain::HotScripts;
use crate::chain::open::{Backend, BackendError};
use crate::gateway::{Backups, FeeRates, Gateway, LastLook, Sending, ToSign};
use crate::machine::clock::{Clock, SystemClock, machine_now};
use crate::machine::data_dir::{self, DataDir, DataDirError, WhereNone};
use crate::machine::disk::Disk;
use crate::machine::entropy::{Entropy, NoEntropy, SystemEntropy};
use crate::machine::environment::Environment;
use crate::machine::secrets::{self, Coins, SecretError, SecretsLocation};
use crate::notifications::{ATTEMPT_TIMEOUT, NoClient, Notifier};
use crate::rates::{Rates, sources};
use crate::sender::Sender;
use crate::settings::{ChainNetwork, LiveSettings, Override, SettingError};
use crate::setup::{self, SetupError};
use crate::store::chain::WatchedChain;
use crate::store::{Installation, Store, StoreError};
use crate::wallet::{Drafts, Wallet, WalletError};
use crate::watcher::Watcher;

/// The choices that a gateway is opened with.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which environment.
    pub environment: Environment,
    /// The folder that holds the environments' folders; `None` for the platform's.
    pub data_dir: Option<PathBuf>,
    /// Whether to make the environment's folder where there is none.
    pub where_none: WhereNone,
    /// Values of settings, by name, that rule over the stored ones.
    pub overrides: BTreeMap<String, Override>,
    /// Where secrets lie.
    pub secrets: SecretsLocation,
}

/// Why a gateway cannot be opened; each is a sentence with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The data directory cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The database cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The folder holds another environment's database.
    #[error(
        "{file} belongs to the environment {found}, not to {wanted}: environments share nothing; name another --data-dir"
    )]
    OtherEnvironment {
        /// The database's file.
        file: PathBuf,
        /// Whose it is.
        found: Environment,
        /// Who asks.
        wanted: Environment,
    },
    /// The database was made on another chain than the settings name.
    #[error(
        "this data directory was used with the chain {known}, and the setting network names {chosen}: set it back, or name another --data-dir"
    )]
    OtherChain {
        /// The network that the settings name.
        chosen: &'static str,
        /// The sandbox, or the first block of the network.
        known: String,
    },
    /// A setting that a flag or an environment variable gives has no valid value.
    #[error("{by}: {error}")]
    Override {
        /// The flag or variable.
        by: String,
        /// The fault in its value.
        error: SettingError,
    },
    /// The stored settings cannot be read.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// Neither keyring nor file of secrets can be used.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The Bitcoin backend cannot be opened.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The wallet cannot be read.
    #[error(transparent)]
    Wallet(#[from] WalletError),
    /// The wallet cannot be made.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The system gives no random numbers.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// The client that sends notifications cannot be made.
    #[error(transparent)]
    Notifier(#[from] NoClient),
    /// A blocking step ended unexpectedly.
    #[error("opening the gateway failed unexpectedly: see the log")]
    Panicked,
}

/// The environment's clock.
struct Running {
    runs: Arc<dyn Clock>,
    /// By how much it is ahead of the machine's, where the sandbox moved it.
    offset_ms: Arc<AtomicI64>,
}

impl OpenError {
    /// Which of a doctor's checks it belongs to.
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

/// Opens the gateway of one environment. It does nothing by itself until [`super::run`]; commands and use
/// cases work on it. The wallet is made by `run`, so that `addressType` can be set before.
///
/// # Errors
/// Why not, with the remedy.
pub async fn open(options: Options) -> Result<Arc<App>, OpenError> {
    let gateway = Arc::new(open_gateway(options).await?);
    let notifier = Notifier::new(Arc::clone(&gateway), ATTEMPT_TIMEOUT)?;
    let (watcher, sender) = (Watcher::new(Arc::clone(&gateway)), Sender::new(Arc::clone(&gateway)));
    Ok(Arc::new(App { watcher, sender, notifier, gateway }))
}

/// Opens what all of one environment's gateway shares.
///
/// # Errors
/// Why not, with the remedy.
pub(super) async fn open_gateway(options: Options) -> Result<Gateway, OpenError> {
    // The first call chooses the one provider of the program; later calls fail, and change nothing.
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
        let coins = Coins::of(options.environment, network == ChainNetwork::Sandbox);
        let folder = data_dir.path().to_owned();
        let location = options.secrets.clone();
        blocking(move || Ok(secrets::open(&location, coins, &installation.installation_id, &folder)?)).await?
    };
    let last_look = LastLook::load(&store)?;
    let (backend, clock) = backend(network, &last_look, &data_dir).await?;
    let rates = Rates::new(sources(backend.sandbox()), settings.snapshot().rate_rules());
    rates.load_last_known(&store)?;
    let wallet = OnceLock::new();
    if let Some(made) = Wallet::load(&store, network.network(), settings.snapshot().restore_skip)? {
        // Nobody else can have set it.
        let _ = wallet.set(Arc::new(made));
    }
    if let Err(error) = data_dir.set_wallet_mark(wallet.get().is_some()) {
        tracing::warn!(%error, "commands that name no environment may choose the wrong one");
    }
    let gateway = Gateway {
        environment: options.environment,
        network: network.network(),
        chosen: backend.chosen(),
        hot: HotScripts::default(),
        chain: backend.chain(Arc::clone(&clock.runs)),
        clock: clock.runs,
        clock_offset_ms: clock.offset_ms,
        clock_jumps: RwLock::new(()),
        steps_followed: tokio::sync::Mutex::default(),
        entropy,
        keys: ApiKeys::load(Arc::clone(&store))?,
        key_limits: Arc::default(),
        last_look,
        store,
        installation,
        settings,
        sandbox: backend.sandbox(),
        rates,
        wallet,
        wallet_setup: tokio::sync::Mutex::new(()),
        wallet_drafts: Drafts::default(),
        secrets,
        changes: watch::Sender::new(0),
        notifier_wake: Notify::new(),
        sending: Sending::default(),
        sender_wake: Notify::new(),
        fee_rates: FeeRates::default(),
        to_sign: ToSign::default(),
        backups: Backups::default(),
        served: OnceLock::new(),
        disk: Disk::of(data_dir.path(), options.environment),
        data_dir,
    };
    blocking(move || {
        gateway.choose_backend_blocking();
        Ok(gateway)
    })
    .await
}

/// The backend of the network, and the clock that runs by it: never behind the last look.
async fn backend(
    network: ChainNetwork,
    last_look: &LastLook,
    data_dir: &DataDir,
) -> Result<(Backend, Running), OpenError> {
    stays_on_its_chain(network, last_look.watched().as_ref())?;
    let servers_of = (network != ChainNetwork::Sandbox).then(|| network.network());
    let (file, runtime) = (data_dir.sandbox(), Handle::current());
    let backend = blocking(move || Ok(Backend::open(servers_of, &file, runtime)?)).await?;
    let offset_ms = Arc::new(AtomicI64::new(backend.clock_offset_ms()));
    let runs: Arc<dyn Clock> = Arc::new(SystemClock::start_with_offset(Arc::clone(&offset_ms)));
    if let (Some(sandbox), Some(watched)) = (backend.sandbox(), last_look.watched()) {
        // A new or older sandbox file knows nothing of the jumps that its clock made. Without them, all that waits for a time
        // would wait that long again.
        let behind_ms = watched.looked_at.ms().saturating_sub(runs.now().ms());
        if let Ok(seconds @ 1..) = u64::try_from(behind_ms).map(|ms| ms.div_ceil(1_000)) {
            let moved_ms = blocking(move || Ok(sandbox.advance_clock(seconds).map_err(BackendError::from)?)).await?;
            offset_ms.store(moved_ms, Ordering::SeqCst);
        }
    }
    Ok((backend, Running { runs, offset_ms }))
}

/// Refuses to go on with the sandbox's coins on another chain, or the other way round: both are of regtest, so that their
/// addresses tell nothing.
fn stays_on_its_chain(chosen: ChainNetwork, watched: Option<&WatchedChain>) -> Result<(), OpenError> {
    let Some(cursor) = watched.and_then(|watched| watched.cursor.as_ref()) else { return Ok(()) };
    let was_sandbox = cursor.chain.instance.is_some();
    let genesis = genesis_block(chosen.network()).block_hash();
    if was_sandbox == (chosen == ChainNetwork::Sandbox) && cursor.chain.genesis == genesis {
        return Ok(());
    }
    let known = if was_sandbox { ChainNetwork::Sandbox.as_str().to_owned() } else { cursor.chain.genesis.to_string() };
    Err(OpenError::OtherChain { chosen: chosen.as_str(), known })
}

/// Makes the wallet of the test environment if there is none; a production wallet is made by its owner.
///
/// # Errors
/// When the secret store or the database refuses.
pub async fn ensure_wallet(gateway: &Arc<Gateway>) -> Result<(), OpenError> {
    match gateway.environment {
        Environment::Production => Ok(()),
        Environment::Test => Ok(setup::ensure(gateway).await?),
    }
}

fn open_files(options: &Options) -> Result<(DataDir, Store), OpenError> {
    let base = data_dir::base(options.data_dir.as_deref())?;
    if options.where_none == WhereNone::Make && !data_dir::exists(&base, options.environment)? {
        // A folder that was made before a refusal would be in the way of a restore.
        let network = options.overrides.get("network");
        let is_sandbox = network.is_none_or(|given| given.value == ChainNetwork::Sandbox.as_str());
        let coins = Coins::of(options.environment, is_sandbox);
        secrets::check_for_new(&options.secrets, coins, &SystemEntropy.id()?)?;
    }
    let data_dir = DataDir::open(&base, options.environment, options.where_none)?;
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
            // The environment's clock is not there yet: the sandbox comes later.
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
    LiveSettings::load(options.environment, &options.overrides, store).map_err(|error| match error {
        SettingError::Value { name, .. } | SettingError::NoScheme { name, .. } => given(name, error),
        SettingError::NoEsplora => given("backend", error),
        error => OpenError::Setting(error),
    })
}

/// Files and keyrings block, and one of the keyrings must not be asked from an async thread.
async fn blocking<T: Send + 'static>(
    step: impl FnOnce() -> Result<T, OpenError> + Send + 'static,
) -> Result<T, OpenError> {
    tokio::task::spawn_blocking(step).await.unwrap_or(Err(OpenError::Panicked))
}
