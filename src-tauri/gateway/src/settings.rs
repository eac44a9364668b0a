//! The merchant's settings: one table gives each its name, form, bounds, default and sentence; the values
//! that differ from the default lie in the database. It never acts on a setting: whoever uses one takes a
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
    /// What a payment freezes at its creation.
    pub policy: PolicySettings,
    /// `currencies`: those that payments may be priced in.
    pub currencies: Vec<Currency>,
    /// `spreadPerMille`: lowers the rate of payments.
    pub spread_per_mille: u16,
    /// `minFreshSources`: fewer fresh sources give no rate.
    pub min_fresh_sources: usize,
    /// `rateSources`: the public sources of exchange rates that are asked.
    pub rate_sources: Vec<&'static str>,
    /// `fixedRates`: where there are any, no source is asked. In test alone.
    pub fixed_rates: Vec<(Currency, Decimal)>,
    /// `proxy`: what rates and a backend are asked through.
    pub proxy: Option<Proxy>,
    /// `keyRequestsPerSecond`: what one API key may make in a second; 0 is no bound.
    pub key_requests_per_second: u32,
    /// `keyOpenPayments`: how many payments of one API key may be open; 0 is no bound.
    pub key_open_payments: u32,
    /// `allowedHosts`: further names (lower case, no port) that a `Host` header may carry.
    pub allowed_hosts: Vec<String>,
    /// `publicUrl`: where the world reaches the gateway, without a slash at its end.
    pub public_url: Option<String>,
    /// `trustedProxies`: reverse proxies in front of the gateway.
    pub trusted_proxies: Vec<Network>,
    /// `merchantName`.
    pub merchant_name: String,
    /// `merchantColor`: `#rrggbb`.
    pub merchant_color: Option<String>,
    /// `merchantLogo`: an image as a `data:` URL.
    pub merchant_logo: Option<String>,
    /// `addressType`, of a wallet yet to be made.
    pub address_type: AddressType,
    /// `offerValidityMinutes`: how long an offer may be approved.
    pub offer_validity_minutes: u32,
    /// `batchSeconds`: how long an approved payout waits for others to share its transaction.
    pub batch_seconds: u32,
    /// `queueTimeoutHours`: how long an approved payout is tried.
    pub queue_timeout_hours: u32,
    /// `stuckAfterHours`: a payout that was sent and is in no block for longer is told as stuck.
    pub stuck_after_hours: u32,
    /// `dailyLimitBtc`: what may be paid out on one day in UTC.
    pub daily_limit_sats: u64,
    /// `minPayoutBtc`: what one payout must come to.
    pub min_payout_sats: u64,
    /// `feeFloorSatVb`: the least fee rate of payouts.
    pub fee_floor_sat_vb: u32,
    /// `feeCapSatVb`: the fee rate above which payouts wait; never below the floor.
    pub fee_cap_sat_vb: u32,
    /// `spendConfirmations`: how deep customers' coins must be before they are spent.
    pub spend_confirmations: u32,
    /// `restoreSkip`: how many indices a restored wallet skips beyond the highest used.
    pub restore_skip: u32,
    /// `network`, of a wallet yet to be made; in effect from the next start on.
    pub network: ChainNetwork,
    /// `backend`: what the chain is watched with.
    pub backend: BackendKind,
    /// Why no server is asked: the stored `backend` is none of this program's. Another one must be chosen.
    pub backend_refused: Option<String>,
    /// `backendUrl`: where its servers are, the preferred first.
    pub backend_urls: Vec<String>,
    /// `backendCertificate`: of Electrum servers that no public authority vouches for, the SHA-256 of the certificates.
    pub backend_certificates: Vec<Fingerprint>,
    /// `backendCookieFile`: how to sign in there.
    pub backend_cookie_file: Option<String>,
    /// `backendUser`: the same by a password.
    pub backend_user: Option<String>,
    /// `backendPassword`: where it lies with the secrets.
    pub(crate) backend_password: PasswordEntry,
    /// Whether one was set; `None` where an earlier program may have set it, which did not write that down.
    pub(crate) has_backend_password: Option<bool>,
    /// `backendZmq`: where the first node tells by itself.
    pub backend_zmq: Option<String>,
    /// `backupFolder`: where nightly backups go; where there is none, none is made.
    pub backup_folder: Option<String>,
    /// `backupKeep`: how many of them are kept.
    pub backup_keep: u32,
}

/// The chain that an environment is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainNetwork {
    /// The private chain inside the program.
    Sandbox,
    /// Where coins are real.
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
    /// The backend is one that a former program had.
    #[error(
        "backend may be esplora no more: an Esplora server is asked address by address, so that many payments delay each other by minutes. Its operator serves Electrum too: choose that (backend=electrum backendUrl=ssl://HOST:50002), or a node of your own (backend=core)"
    )]
    NoEsplora,
    /// It has a host and no scheme.
    #[error("{name} must begin with what kind of address it is: put {schemes} in front")]
    NoScheme {
        name: &'static str,
        /// What may stand in front.
        schemes: &'static str,
    },
    /// The floor and the cap of fee rates leave nothing between them.
    #[error(
        "feeFloorSatVb may not be above feeCapSatVb, and would be {floor} above {cap}: change both at once, like feeFloorSatVb=5 feeCapSatVb=50"
    )]
    FloorAboveCap { floor: u32, cap: u32 },
    /// No payout could be made, and nobody said that none is to be.
    #[error(
        "minPayoutBtc may not be above dailyLimitBtc, and would be {minimum} above {daily}, so that no payout could be made; lower the one or raise the other, both at once if need be"
    )]
    MinimumAboveDaily { minimum: String, daily: String },
    /// The backend does not speak by such a URL.
    #[error(
        "backend is {backend}, and no {backend} server answers at {url}: set both at once, like backend={backend} backendUrl={example}"
    )]
    BackendUrl {
        backend: &'static str,
        url: String,
        /// A URL as it may be.
        example: &'static str,
    },
    /// It would have two values.
    #[error("{0} is named twice: name each setting once")]
    Twice(&'static str),
    /// Real money is not to be taken at an invented rate.
    #[error("fixedRates must be empty in production: rates come from rateSources there")]
    FixedRatesInProduction,
    /// A flag or an environment variable rules over the stored value.
    #[error("{name} is given by {by} at the start of the gateway: change it there")]
    Overridden {
        name: &'static str,
        /// The flag or variable.
        by: String,
    },
    /// The wallet is there.
    #[error("{0} is fixed since the wallet was made: another one needs a new installation (another --data-dir)")]
    Fixed(&'static str),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A value given at the start, which rules over the stored one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The value, in the setting's form.
    pub value: String,
    /// The flag or environment variable that it is from, for people.
    pub by: String,
}

/// One setting as people see it.
#[derive(Debug, Clone)]
pub struct SettingNow {
    /// The table's row.
    pub setting: &'static Setting,
    /// The value in effect.
    pub value: String,
    /// The default of this environment.
    pub default: String,
    /// Of a value that is never shown, whether there is one, as far as that is known.
    pub is_set: Option<bool>,
}

/// Who changes a setting, and when: for the audit.
#[derive(Debug, Clone, Copy)]
pub struct Act<'a> {
    /// Who.
    pub actor: &'a str,
    /// When, on the environment's clock.
    pub at: Timestamp,
}

impl Settings {
    /// The address of the payment pages and the API as the world knows it, if it was given.
    #[must_use]
    pub fn public_url(&self) -> Option<Url> {
        self.public_url.as_deref().and_then(|url| Url::parse(url).ok())
    }

    /// What they say of exchange rates. US dollars are asked for in any case: tiers of confirmations go by them.
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

    /// Refuses settings of which one rules the other out, or the environment does.
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

    /// Refuses limits under which no payout can be made, but for that of 0, which says so.
    fn limits_agree(&self) -> Result<(), SettingError> {
        let (daily, minimum) = (self.daily_limit_sats, self.min_payout_sats);
        if daily == 0 || minimum <= daily {
            return Ok(());
        }
        Err(SettingError::MinimumAboveDaily { minimum: btc_text(minimum), daily: btc_text(daily) })
    }

    /// Whether an address is a reverse proxy's, which says whom a request is from.
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
