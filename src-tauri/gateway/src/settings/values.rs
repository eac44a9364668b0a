//! The values of all settings.

use std::net::IpAddr;

use rust_decimal::Decimal;
use tillgate_chain::BackendKind;
use tillgate_chain::electrum::Fingerprint;
use tillgate_domain::money::Currency;
use tillgate_domain::policy::PolicySettings;
use tillgate_machine::environment::Environment;
use tillgate_machine::outgoing::{Proxy, is_onion};
use tillgate_store::news::NewsKind;
use tillgate_told::Sum;
use url::Url;

use super::address_type::AddressType;
use super::chain_network::ChainNetwork;
use super::error::SettingError;
use super::forms::{Network, btc_text};
use super::password_entry::PasswordEntry;
use crate::rates::RateRules;

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
    /// `proxy`: the proxy for connections to other machines.
    pub proxy: Option<Proxy>,
    /// `keyRequestsPerSecond`: the most requests of one API key in a second; 0 is no bound.
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
    /// `merchantAddress`: lines of text.
    pub merchant_address: Option<String>,
    /// `merchantTaxId`.
    pub merchant_tax_id: Option<String>,
    /// `notices`: the events that the desktop notifies of.
    pub notices: Vec<NewsKind>,
    /// `noticeSounds`: the events with a sound.
    pub notice_sounds: Vec<NewsKind>,
    /// `addressType`, for a wallet yet to be made.
    pub address_type: AddressType,
    /// `offerValidityMinutes`: the time in which an offer may be approved.
    pub offer_validity_minutes: u32,
    /// `batchSeconds`: the time that an approved payout waits for others to share its transaction.
    pub batch_seconds: u32,
    /// `queueTimeoutHours`: the time after which an approved payout without a transaction fails.
    pub queue_timeout_hours: u32,
    /// `stuckAfterHours`: a sent payout that is in no block for longer is reported as stuck.
    pub stuck_after_hours: u32,
    /// `dailyLimitBtc`: the maximum sum of the payouts of one UTC day.
    pub daily_limit_sats: u64,
    /// `minPayoutBtc`: the minimum amount of one payout.
    pub min_payout_sats: u64,
    /// `feeFloorSatVb`: the lowest fee rate of payouts.
    pub fee_floor_sat_vb: u32,
    /// `feeCapSatVb`: the fee rate above which payouts wait; never below the floor.
    pub fee_cap_sat_vb: u32,
    /// `feeFallbackSatVb`: the fee rate without an estimate; 0 for none.
    pub fee_fallback_sat_vb: u32,
    /// `spendConfirmations`: confirmations that customers' coins need before they are spent.
    pub spend_confirmations: u32,
    /// `restoreSkip`: number of indices that a restored wallet skips beyond the highest used.
    pub restore_skip: u32,
    /// `network`, for a wallet yet to be made; takes effect at the next start.
    pub network: ChainNetwork,
    /// `backend`: the source of the chain.
    pub backend: BackendKind,
    /// The error if the stored `backend` is unknown to this program. Then no server is asked, and
    /// another backend must be chosen.
    pub backend_refused: Option<String>,
    /// `backendUrl`: the URLs of the backend's servers, the preferred first.
    pub backend_urls: Vec<String>,
    /// `backendCertificate`: SHA-256 of the certificates of Electrum servers that no public
    /// authority has signed.
    pub backend_certificates: Vec<Fingerprint>,
    /// `backendCookieFile`: the cookie file for signing in.
    pub backend_cookie_file: Option<String>,
    /// `backendUser`: the user for signing in with a password.
    pub backend_user: Option<String>,
    /// `backendPassword`: the entry in the secret store that holds the password.
    pub backend_password: PasswordEntry,
    /// Whether a password is set.
    pub has_backend_password: bool,
    /// `backendZmq`: the ZeroMQ address of the first node.
    pub backend_zmq: Option<String>,
    /// `backupFolder`: the folder for nightly backups; without it none are made.
    pub backup_folder: Option<String>,
    /// `backupKeep`: number of nightly backups that are kept.
    pub backup_keep: u32,
}

impl Settings {
    /// The public address of the payment pages and the API, if it was given.
    #[must_use]
    pub fn public_url(&self) -> Option<Url> {
        self.public_url.as_deref().and_then(|url| Url::parse(url).ok())
    }

    /// The rules for exchange rates. US dollars are always included, because confirmation tiers
    /// depend on them.
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
    pub fn agree(&self, environment: Environment) -> Result<(), SettingError> {
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

    /// Refuses limits under which no payout can be made; a daily limit of 0 is allowed, as a
    /// deliberate stop.
    pub fn limits_agree(&self) -> Result<(), SettingError> {
        let (daily, minimum) = (self.daily_limit_sats, self.min_payout_sats);
        if daily == 0 || minimum <= daily {
            return Ok(());
        }
        Err(SettingError::MinimumAboveDaily {
            minimum: Sum(btc_text(minimum)),
            daily: Sum(btc_text(daily)),
        })
    }

    /// Refuses servers that only a proxy reaches, if there is none.
    pub fn servers_are_in_reach(&self) -> Result<(), SettingError> {
        let is_of_onion =
            |url: &&String| Url::parse(url).is_ok_and(|url| url.host_str().is_some_and(is_onion));
        let mut servers = self.backend_urls.iter().chain(&self.backend_zmq);
        match servers.find(is_of_onion).filter(|_| self.proxy.is_none()) {
            Some(url) => Err(SettingError::OnionWithoutProxy { url: url.clone() }),
            None => Ok(()),
        }
    }

    /// Whether an address belongs to a reverse proxy, whose report of the client's address is
    /// trusted.
    #[must_use]
    pub fn trusts(&self, address: IpAddr) -> bool {
        self.trusted_proxies.iter().any(|proxy| proxy.contains(address))
    }
}
