//! The merchant's settings. One table gives each its name, form, bounds, default and sentence; values that differ from
//! the default are in the database. This module never acts on a setting: users of a setting take a
//! [`LiveSettings::snapshot`].

mod backend_kind;
mod changing;
mod forms;
mod live;
mod password_entry;
mod table;

use std::net::IpAddr;

use rust_decimal::Decimal;
use tillgate_domain::money::Currency;
use tillgate_domain::policy::PolicySettings;
use tillgate_domain::time::Timestamp;
use url::Url;

pub(crate) use backend_kind::BackendKind;
pub(crate) use changing::Beside;
pub(crate) use forms::Network;
use forms::btc_text;
pub(crate) use live::LiveSettings;
pub(crate) use password_entry::{NewPassword, PasswordEntry};
pub(crate) use table::{RESTORE_SKIP_DEFAULT, SETTINGS, Setting};

use crate::chain::electrum::Fingerprint;
use crate::machine::environment::Environment;
use crate::machine::outgoing::Proxy;
use crate::rates::RateRules;
use crate::store::StoreError;

/// All settings of one moment, typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The settings that a payment freezes at its creation.
    pub policy: PolicySettings,
    /// `currencies`: the currencies that payments may be priced in.
    pub currencies: Vec<Currency>,
    /// `spreadPerMille`: lowers the rate of payments.
    pub spread_per_mille: u16,
    /// `minFreshSources`: with fewer fresh sources there is no rate.
    pub min_fresh_sources: usize,
    /// `rateSources`: the public rate sources in use.
    pub rate_sources: Vec<&'static str>,
    /// `fixedRates`: if there are any, no source is asked. In test only.
    pub fixed_rates: Vec<(Currency, Decimal)>,
    /// `proxy`: the proxy for requests to rate sources and to a backend.
    pub proxy: Option<Proxy>,
    /// `keyRequestsPerSecond`: the most that one API key may make in a second; 0 is no bound.
    pub key_requests_per_second: u32,
    /// `keyOpenPayments`: the most open payments of one API key; 0 is no bound.
    pub key_open_payments: u32,
    /// `allowedHosts`: further names (lower case, no port) that a `Host` header may carry.
    pub allowed_hosts: Vec<String>,
    /// `publicUrl`: the gateway's public address, without a slash at its end.
    pub public_url: Option<String>,
    /// `trustedProxies`: reverse proxies in front of the gateway.
    pub trusted_proxies: Vec<Network>,
    /// `merchantName`.
    pub merchant_name: String,
    /// `merchantColor`: `#rrggbb`.
    pub merchant_color: Option<String>,
    /// `merchantLogo`: an image as a `data:` URL.
    pub merchant_logo: Option<String>,
    /// `addressType`, for a wallet yet to be made.
    pub address_type: AddressType,
    /// `offerValidityMinutes`: the time in which an offer may be approved.
    pub offer_validity_minutes: u32,
    /// `batchSeconds`: the time that an approved payout waits for others to share its transaction.
    pub batch_seconds: u32,
    /// `queueTimeoutHours`: the time after which an approved payout is given up.
    pub queue_timeout_hours: u32,
    /// `stuckAfterHours`: a sent payout that is in no block for longer is reported as stuck.
    pub stuck_after_hours: u32,
    /// `dailyLimitBtc`: the most that may be paid out on one UTC day.
    pub daily_limit_sats: u64,
    /// `minPayoutBtc`: the least amount of one payout.
    pub min_payout_sats: u64,
    /// `feeFloorSatVb`: the least fee rate of payouts.
    pub fee_floor_sat_vb: u32,
    /// `feeCapSatVb`: the fee rate above which payouts wait; never below the floor.
    pub fee_cap_sat_vb: u32,
    /// `spendConfirmations`: confirmations that customers' coins need before they are spent.
    pub spend_confirmations: u32,
    /// `restoreSkip`: number of indices that a restored wallet skips beyond the highest used.
    pub restore_skip: u32,
    /// `network`, for a wallet yet to be made; takes effect at the next start.
    pub network: ChainNetwork,
    /// `backend`: the source of the chain.
    pub backend: BackendKind,
    /// Why no server is asked: the stored `backend` is unknown to this program, and another must be chosen.
    pub backend_refused: Option<String>,
    /// `backendUrl`: the addresses of its servers, the preferred first.
    pub backend_urls: Vec<String>,
    /// `backendCertificate`: SHA-256 of the certificates of Electrum servers that no public authority vouches for.
    pub backend_certificates: Vec<Fingerprint>,
    /// `backendCookieFile`: the cookie file for signing in.
    pub backend_cookie_file: Option<String>,
    /// `backendUser`: the user for signing in with a password.
    pub backend_user: Option<String>,
    /// `backendPassword`: its entry in the secret store.
    pub(crate) backend_password: PasswordEntry,
    /// Whether a password was set; `None` if unknown, because an earlier program did not record it.
    pub(crate) has_backend_password: Option<bool>,
    /// `backendZmq`: the ZeroMQ address of the first node.
    pub backend_zmq: Option<String>,
    /// `backupFolder`: the folder for nightly backups; without it none are made.
    pub backup_folder: Option<String>,
    /// `backupKeep`: number of nightly backups that are kept.
    pub backup_keep: u32,
}

/// The chain of an environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainNetwork {
    /// The private chain inside the program.
    Sandbox,
    /// The main network, with real coins.
    Bitcoin,
    Testnet4,
    Signet,
    /// A chain of the merchant's own node.
    Regtest,
}

/// The kind of address that customers pay to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressType {
    /// Native SegWit, `bc1q…`.
    Bip84,
    /// Taproot, `bc1p…`.
    Bip86,
}

/// Why a setting cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// There is no setting of that name.
    #[error("there is no setting {0:?}: `tillgate settings list` shows all")]
    Unknown(String),
    /// The value is out of bounds.
    #[error("{name} must be {form}")]
    Value {
        name: &'static str,
        /// Its form and bounds.
        form: &'static str,
    },
    /// The backend is one that an earlier program had.
    #[error(
        "backend may be esplora no more: an Esplora server is asked address by address, so that many payments delay each other by minutes. Its operator serves Electrum too: choose that (backend=electrum backendUrl=ssl://HOST:50002), or a node of your own (backend=core)"
    )]
    NoEsplora,
    /// The value has a host but no scheme.
    #[error("{name} must begin with what kind of address it is: put {schemes} in front")]
    NoScheme {
        name: &'static str,
        /// The schemes that it may begin with.
        schemes: &'static str,
    },
    /// The floor of fee rates is above their cap.
    #[error(
        "feeFloorSatVb may not be above feeCapSatVb, and would be {floor} above {cap}: change both at once, like feeFloorSatVb=5 feeCapSatVb=50"
    )]
    FloorAboveCap { floor: u32, cap: u32 },
    /// The minimum is above the daily limit, so that no payout could be made; the limit is not 0.
    #[error(
        "minPayoutBtc may not be above dailyLimitBtc, and would be {minimum} above {daily}, so that no payout could be made; lower the one or raise the other, both at once if need be"
    )]
    MinimumAboveDaily { minimum: String, daily: String },
    /// The URL does not suit the backend.
    #[error(
        "backend is {backend}, and no {backend} server answers at {url}: set both at once, like backend={backend} backendUrl={example}"
    )]
    BackendUrl {
        backend: &'static str,
        url: String,
        /// A valid URL.
        example: &'static str,
    },
    /// The setting was given twice.
    #[error("{0} is named twice: name each setting once")]
    Twice(&'static str),
    /// Production must not use invented rates.
    #[error("fixedRates must be empty in production: rates come from rateSources there")]
    FixedRatesInProduction,
    /// A flag or an environment variable overrides the stored value.
    #[error("{name} is given by {by} at the start of the gateway: change it there")]
    Overridden {
        name: &'static str,
        /// The flag or variable.
        by: String,
    },
    /// There is a wallet already.
    #[error("{0} is fixed since the wallet was made: another one needs a new installation (another --data-dir)")]
    Fixed(&'static str),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A value given at the start, which overrides the stored one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The value, in the setting's form.
    pub value: String,
    /// Its flag or environment variable, for people.
    pub by: String,
}

/// A setting as people see it.
#[derive(Debug, Clone)]
pub struct SettingNow {
    /// The table's row.
    pub setting: &'static Setting,
    /// The value in effect.
    pub value: String,
    /// The default of this environment.
    pub default: String,
    /// For a hidden value: whether it is set, as far as known.
    pub is_set: Option<bool>,
}

/// The actor and time of a change, for the audit log.
#[derive(Debug, Clone, Copy)]
pub struct Act<'a> {
    /// The actor.
    pub actor: &'a str,
    /// The time, on the environment's clock.
    pub at: Timestamp,
}

impl Settings {
    /// The public address of the payment pages and the API, if it was given.
    #[must_use]
    pub fn public_url(&self) -> Option<Url> {
        self.public_url.as_deref().and_then(|url| Url::parse(url).ok())
    }

    /// The rules for exchange rates. US dollars are always included, because confirmation tiers depend on them.
    #[must_use]
    pub fn rate_rules(&self) -> RateRules {
        let mut currencies = self.currencies.clone();
        if !currencies.contains(&Currency::USD) {
            currencies.push(Currency::USD);
        }
        RateRules {
            min_fresh_sources: self.min_fresh_sources,
            currencies,
            sources: self.rate_sources.clone(),
            fixed: self.fixed_rates.clone(),
            proxy: self.proxy.clone(),
        }
    }

    /// Refuses settings that conflict with each other or with the environment.
    fn agree(&self, environment: Environment) -> Result<(), SettingError> {
        if environment == Environment::Production && !self.fixed_rates.is_empty() {
            return Err(SettingError::FixedRatesInProduction);
        }
        if let Some(url) = self.backend_urls.iter().find(|url| !self.backend.answers_at(url)) {
            let (backend, example) = (self.backend.as_str(), self.backend.example());
            return Err(SettingError::BackendUrl { backend, url: url.clone(), example });
        }
        let (floor, cap) = (self.fee_floor_sat_vb, self.fee_cap_sat_vb);
        if floor > cap { Err(SettingError::FloorAboveCap { floor, cap }) } else { Ok(()) }
    }

    /// Refuses limits under which no payout can be made; a daily limit of 0 is allowed, as a deliberate stop.
    fn limits_agree(&self) -> Result<(), SettingError> {
        let (daily, minimum) = (self.daily_limit_sats, self.min_payout_sats);
        if daily == 0 || minimum <= daily {
            return Ok(());
        }
        Err(SettingError::MinimumAboveDaily { minimum: btc_text(minimum), daily: btc_text(daily) })
    }

    /// Whether an address belongs to a reverse proxy, whose word about the client's address is believed.
    #[must_use]
    pub fn trusts(&self, address: IpAddr) -> bool {
        self.trusted_proxies.iter().any(|proxy| proxy.contains(address))
    }
}

impl ChainNetwork {
    /// Every one.
    pub(crate) const ALL: [Self; 5] = [Self::Sandbox, Self::Bitcoin, Self::Testnet4, Self::Signet, Self::Regtest];

    /// Its name as a setting.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Bitcoin => "bitcoin",
            Self::Testnet4 => "testnet4",
            Self::Signet => "signet",
            Self::Regtest => "regtest",
        }
    }

    /// The network of its addresses.
    #[must_use]
    pub const fn network(self) -> bitcoin::Network {
        match self {
            Self::Sandbox | Self::Regtest => bitcoin::Network::Regtest,
            Self::Bitcoin => bitcoin::Network::Bitcoin,
            Self::Testnet4 => bitcoin::Network::Testnet4,
            Self::Signet => bitcoin::Network::Signet,
        }
    }
}

impl AddressType {
    /// Its name as a setting.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bip84 => "bip84",
            Self::Bip86 => "bip86",
        }
    }
}

#[cfg(test)]
mod tests;
