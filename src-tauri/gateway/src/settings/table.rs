//! The table of settings. `settings list`, the panel and the documentation are made from it.

use tillgate_chain::BackendKind;
use tillgate_domain::money::MAX_SATS;
use tillgate_domain::payout::offer;
use tillgate_domain::policy::parse_usd;
use tillgate_store::notify_hosts::host_name;

use super::address_type::AddressType;
use super::chain_network::ChainNetwork;
use super::error::SettingError;
use super::forms::{
    backend_urls, backend_user, btc, btc_text, color, currencies, file, fixed_rates,
    fixed_rates_text, joined, list, logo, name, optional, public_url, rate_sources, whole,
    zmq_address,
};
use super::values::Settings;

/// The lower bound of `minPayoutBtc`: the dust limit of P2PKH outputs, the highest of all kinds of
/// address.
const MIN_PAYOUT_FROM_SATS: u64 = 546;

/// A row of the table.
#[derive(Debug)]
pub struct Setting {
    /// The name in the database, the API, the panel and the command line.
    pub name: &'static str,
    /// The form and bounds of the value, as words that follow "must be" in the error.
    pub form: &'static str,
    /// The schemes with which the value may begin, if it is a URL.
    schemes: Option<&'static str>,
    /// The setting's effect, a sentence for people.
    pub about: &'static str,
    set: fn(&mut Settings, &str) -> Option<()>,
    /// The text of the value, which `set` can parse.
    pub text: fn(&Settings) -> String,
}

impl Setting {
    /// The setting of this name.
    ///
    /// # Errors
    /// [`SettingError::Unknown`].
    pub fn named(name: &str) -> Result<&'static Self, SettingError> {
        SETTINGS
            .iter()
            .find(|setting| setting.name == name)
            .ok_or_else(|| SettingError::Unknown(name.to_owned()))
    }

    /// Parses a value and stores it in the settings.
    ///
    /// # Errors
    /// [`SettingError::Value`] with the bounds.
    pub fn apply(&self, settings: &mut Settings, value: &str) -> Result<(), SettingError> {
        (self.set)(settings, value).ok_or_else(|| self.refusal(value))
    }

    /// The error for a wrong value. A URL without a scheme has its own.
    fn refusal(&self, value: &str) -> SettingError {
        match self.schemes {
            Some(schemes) if !value.is_empty() && !value.contains("://") => {
                SettingError::NoScheme { name: self.name, schemes }
            }
            _ => SettingError::Value { name: self.name, form: self.form },
        }
    }
}

/// All settings, in the order in which they are listed.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "overpayment",
        form: "confirm or invalidate",
        schemes: None,
        about: "The treatment of a payment that one transaction overpays: confirm accepts it and reports the surplus, invalidate makes it invalid.",
        set: |to, text| text.parse().ok().map(|value| to.policy.overpayment = value),
        text: |of| of.policy.overpayment.as_str().to_owned(),
    },
    Setting {
        name: "tolerancePerMille",
        form: "a whole number from 0 to 100",
        schemes: None,
        about: "How much a payment may fall short and still count as paid, per mille of its amount.",
        set: |to, text| whole(text, 0, 100).map(|value| to.policy.tolerance_per_mille = value),
        text: |of| of.policy.tolerance_per_mille.to_string(),
    },
    Setting {
        name: "confirmationTiers",
        form: "a list of at most 20 tiers like 1000:1,10000:3,*:6 (highest price in US dollars, a colon, 1 to 144 confirmations), with rising prices, confirmations that never fall, and * as the last price",
        schemes: None,
        about: "How many confirmations a payment needs, by its price in US dollars.",
        set: |to, text| text.parse().ok().map(|value| to.policy.confirmation_tiers = value),
        text: |of| of.policy.confirmation_tiers.to_string(),
    },
    Setting {
        name: "zeroConfUpTo",
        form: "a sum in US dollars from 0 to 1000000, like 20 or 19.90; 0 for never",
        schemes: None,
        about: "Up to this price in US dollars a payment is accepted without a confirmation, if its transaction spends only confirmed coins, pays a sufficient fee rate and has no recent conflict.",
        set: |to, text| {
            let sum = parse_usd(text).filter(|sum| *sum <= 1_000_000.into())?;
            to.policy.zero_conf_up_to = sum;
            Some(())
        },
        text: |of| of.policy.zero_conf_up_to.to_string(),
    },
    Setting {
        name: "zeroConfQuietSeconds",
        form: "a whole number from 0 to 3600",
        schemes: None,
        about: "How many seconds must pass without a conflicting transaction before a payment is accepted without a confirmation.",
        set: |to, text| {
            whole(text, 0, 3_600).map(|value| to.policy.zero_conf_quiet_seconds = value)
        },
        text: |of| of.policy.zero_conf_quiet_seconds.to_string(),
    },
    Setting {
        name: "anomalyConfirmations",
        form: "a whole number from 1 to 144",
        schemes: None,
        about: "How many confirmations coins need before an anomaly is raised for them.",
        set: |to, text| whole(text, 1, 144).map(|value| to.policy.anomaly_confirmations = value),
        text: |of| of.policy.anomaly_confirmations.to_string(),
    },
    Setting {
        name: "offlineGraceMinutes",
        form: "a whole number from 0 to 1440",
        schemes: None,
        about: "How many minutes after the deadline coins may appear and still be in time, if the gateway could not look earlier.",
        set: |to, text| whole(text, 0, 1_440).map(|value| to.policy.offline_grace_minutes = value),
        text: |of| of.policy.offline_grace_minutes.to_string(),
    },
    Setting {
        name: "currencies",
        form: "a list of 1 to 50 known ISO 4217 codes like USD,EUR",
        schemes: None,
        about: "The currencies that payments may be priced in.",
        set: |to, text| currencies(text).map(|value| to.currencies = value),
        text: |of| {
            of.currencies
                .iter()
                .map(tillgate_domain::money::Currency::code)
                .collect::<Vec<_>>()
                .join(",")
        },
    },
    Setting {
        name: "spreadPerMille",
        form: "a whole number from 0 to 200",
        schemes: None,
        about: "How much the rate of payments is below the market's, per mille, so that customers pay a little more Bitcoin.",
        set: |to, text| whole(text, 0, 200).map(|value| to.spread_per_mille = value),
        text: |of| of.spread_per_mille.to_string(),
    },
    Setting {
        name: "minFreshSources",
        form: "a whole number from 1 to 10",
        schemes: None,
        about: "How many sources must have a fresh quote before there is a rate.",
        set: |to, text| whole(text, 1, 10).map(|value| to.min_fresh_sources = value),
        text: |of| of.min_fresh_sources.to_string(),
    },
    Setting {
        name: "rateSources",
        form: "a list without repetitions of at least one of kraken, coinbase, bitstamp, coingecko and mempool",
        schemes: None,
        about: "The public sources of exchange rates; the sandbox's rates are simulated.",
        set: |to, text| rate_sources(text).map(|value| to.rate_sources = value),
        text: |of| of.rate_sources.join(","),
    },
    Setting {
        name: "fixedRates",
        form: "a list of at most 50 rates like USD:50000.00,EUR:46000.00, each currency once, or empty; empty in production",
        schemes: None,
        about: "Exchange rates for tests, which replace the rates of all sources.",
        set: |to, text| fixed_rates(text).map(|value| to.fixed_rates = value),
        text: |of| fixed_rates_text(&of.fixed_rates),
    },
    Setting {
        name: "proxy",
        form: "a URL like socks5h://127.0.0.1:9050 without user and path, or empty",
        schemes: Some("socks5h://"),
        about: "The SOCKS5 proxy (Tor is one) for all connections to other machines: rate sources, the backend and notifications. Names under .onion need it.",
        set: |to, text| optional(text, |text| text.parse().ok()).map(|value| to.proxy = value),
        text: |of| of.proxy.as_ref().map(ToString::to_string).unwrap_or_default(),
    },
    Setting {
        name: "keyRequestsPerSecond",
        form: "a whole number from 0 to 100000; 0 for no bound",
        schemes: None,
        about: "How many payments, payouts, resends and calls of the sandbox one API key may make in a second; up to 25 times as many at once after a pause.",
        set: |to, text| whole(text, 0, 100_000).map(|value| to.key_requests_per_second = value),
        text: |of| of.key_requests_per_second.to_string(),
    },
    Setting {
        name: "keyOpenPayments",
        form: "a whole number from 0 to 100000000; 0 for no bound",
        schemes: None,
        about: "How many payments of one API key may wait for coins or confirmations.",
        set: |to, text| whole(text, 0, 100_000_000).map(|value| to.key_open_payments = value),
        text: |of| of.key_open_payments.to_string(),
    },
    Setting {
        name: "allowedHosts",
        form: "a list of at most 50 host names without port, or empty",
        schemes: None,
        about: "Further names under which the gateway may be reached; requests to other names are refused.",
        set: |to, text| list(text, host_name).map(|value| to.allowed_hosts = value),
        text: |of| joined(&of.allowed_hosts),
    },
    Setting {
        name: "publicUrl",
        form: "an http or https URL of at most 2048 bytes without user, query and fragment, or empty",
        schemes: Some("https:// or http://"),
        about: "The address under which customers reach the payment pages; empty for the listen address.",
        set: |to, text| optional(text, public_url).map(|value| to.public_url = value),
        text: |of| of.public_url.clone().unwrap_or_default(),
    },
    Setting {
        name: "trustedProxies",
        form: "a list of at most 50 IP addresses or blocks like 10.0.0.0/8, or empty",
        schemes: None,
        about: "Reverse proxies in front of the gateway: they may use plain HTTP, and the client address that they report is trusted.",
        set: |to, text| {
            list(text, |part| part.parse().ok()).map(|value| to.trusted_proxies = value)
        },
        text: |of| joined(&of.trusted_proxies),
    },
    Setting {
        name: "merchantName",
        form: "1 to 64 characters without control characters",
        schemes: None,
        about: "The merchant's name, as customers see it.",
        set: |to, text| name(text).map(|value| to.merchant_name = value),
        text: |of| of.merchant_name.clone(),
    },
    Setting {
        name: "merchantColor",
        form: "a colour like #1d6f42, or empty",
        schemes: None,
        about: "The colour of the payment pages.",
        set: |to, text| optional(text, color).map(|value| to.merchant_color = value),
        text: |of| of.merchant_color.clone().unwrap_or_default(),
    },
    Setting {
        name: "merchantLogo",
        form: "a PNG, JPEG, WebP or SVG image of at most 36,800 bytes, from a file by --file or as a base64 data: URL, or empty",
        schemes: None,
        about: "The logo on the payment pages and on the till's view for customers.",
        set: |to, text| optional(text, logo).map(|value| to.merchant_logo = value),
        text: |of| of.merchant_logo.clone().unwrap_or_default(),
    },
    Setting {
        name: "notices",
        form: "a list of paid, reversed, attention, payout and shop, or empty",
        schemes: None,
        about: "The events that the desktop notifies of: a paid payment, a reversed one, coins that need a decision, a payout by an API key, a shop's server that takes no notifications.",
        set: |to, text| list(text, |part| part.parse().ok()).map(|value| to.notices = value),
        text: |of| joined(&of.notices),
    },
    Setting {
        name: "noticeSounds",
        form: "a list of paid, reversed, attention, payout and shop, or empty",
        schemes: None,
        about: "The events at which the window plays a sound.",
        set: |to, text| list(text, |part| part.parse().ok()).map(|value| to.notice_sounds = value),
        text: |of| joined(&of.notice_sounds),
    },
    Setting {
        name: "addressType",
        form: "bip84 or bip86",
        schemes: None,
        about: "The kind of address that customers pay to: bip84 (SegWit) or bip86 (Taproot); fixed when the wallet is made.",
        set: |to, text| {
            to.address_type = match text {
                "bip84" => AddressType::Bip84,
                "bip86" => AddressType::Bip86,
                _ => return None,
            };
            Some(())
        },
        text: |of| of.address_type.as_str().to_owned(),
    },
    Setting {
        name: "offerValidityMinutes",
        form: "a whole number from 1 to 1440",
        schemes: None,
        about: "How many minutes an offer of a payout may be approved.",
        set: |to, text| {
            whole(text, 1, offer::VALID_MAX_MINUTES).map(|value| to.offer_validity_minutes = value)
        },
        text: |of| of.offer_validity_minutes.to_string(),
    },
    Setting {
        name: "batchSeconds",
        form: "a whole number from 0 to 3600; 0 to send at once",
        schemes: None,
        about: "How many seconds an approved payout waits for others that can share its transaction.",
        set: |to, text| whole(text, 0, 3_600).map(|value| to.batch_seconds = value),
        text: |of| of.batch_seconds.to_string(),
    },
    Setting {
        name: "queueTimeoutHours",
        form: "a whole number from 1 to 168",
        schemes: None,
        about: "After how many hours an approved payout fails if no transaction could be built for it.",
        set: |to, text| whole(text, 1, 168).map(|value| to.queue_timeout_hours = value),
        text: |of| of.queue_timeout_hours.to_string(),
    },
    Setting {
        name: "stuckAfterHours",
        form: "a whole number from 1 to 720",
        schemes: None,
        about: "After how many hours a payout that was sent and is not confirmed is reported as stuck.",
        set: |to, text| whole(text, 1, 720).map(|value| to.stuck_after_hours = value),
        text: |of| of.stuck_after_hours.to_string(),
    },
    Setting {
        name: "dailyLimitBtc",
        form: "a sum in Bitcoin from 0 to 21000000, like 0.1, not below minPayoutBtc; 0 stops all payouts",
        schemes: None,
        about: "How much may be paid out on one day, from midnight to midnight in UTC.",
        set: |to, text| btc(text, 0, MAX_SATS).map(|value| to.daily_limit_sats = value),
        text: |of| btc_text(of.daily_limit_sats),
    },
    Setting {
        name: "minPayoutBtc",
        form: "a sum in Bitcoin from 0.00000546 to 21000000, like 0.0001, not above dailyLimitBtc unless that is 0",
        schemes: None,
        about: "The minimum amount of one payout.",
        set: |to, text| {
            btc(text, MIN_PAYOUT_FROM_SATS, MAX_SATS).map(|value| to.min_payout_sats = value)
        },
        text: |of| btc_text(of.min_payout_sats),
    },
    Setting {
        name: "feeFloorSatVb",
        form: "a whole number from 1 to 1000, not above feeCapSatVb",
        schemes: None,
        about: "The lowest fee rate of payouts, in satoshis per virtual byte.",
        set: |to, text| whole(text, 1, 1_000).map(|value| to.fee_floor_sat_vb = value),
        text: |of| of.fee_floor_sat_vb.to_string(),
    },
    Setting {
        name: "feeCapSatVb",
        form: "a whole number from 1 to 10000, not below feeFloorSatVb",
        schemes: None,
        about: "The fee rate above which payouts wait, in satoshis per virtual byte.",
        set: |to, text| whole(text, 1, 10_000).map(|value| to.fee_cap_sat_vb = value),
        text: |of| of.fee_cap_sat_vb.to_string(),
    },
    Setting {
        name: "feeFallbackSatVb",
        form: "a whole number from 0 to 1000; 0 for none",
        schemes: None,
        about: "The fee rate of payouts while the Bitcoin backend has no estimate, in satoshis per virtual byte. With 0 they wait.",
        set: |to, text| whole(text, 0, 1_000).map(|value| to.fee_fallback_sat_vb = value),
        text: |of| of.fee_fallback_sat_vb.to_string(),
    },
    Setting {
        name: "spendConfirmations",
        form: "a whole number from 1 to 100",
        schemes: None,
        about: "How many confirmations customers' coins need before they are paid out or sent back.",
        set: |to, text| whole(text, 1, 100).map(|value| to.spend_confirmations = value),
        text: |of| of.spend_confirmations.to_string(),
    },
    Setting {
        name: "restoreSkip",
        form: "a whole number from 0 to 100000",
        schemes: None,
        about: "How many addresses a restored wallet skips after the last used one: another copy may have given them to customers who have not paid yet.",
        set: |to, text| whole(text, 0, 100_000).map(|value| to.restore_skip = value),
        text: |of| of.restore_skip.to_string(),
    },
    Setting {
        name: "network",
        form: "bitcoin in production; sandbox, regtest, signet or testnet4 in test",
        schemes: None,
        about: "The chain that payments are made on: sandbox is a private chain inside the program. A change takes effect at the next start, and is impossible once the wallet is made.",
        set: |to, text| {
            let network = ChainNetwork::ALL.into_iter().find(|network| network.as_str() == text)?;
            // Real coins belong to production only, and production accepts no other coins.
            let is_real = |network| network == ChainNetwork::Bitcoin;
            (is_real(network) == is_real(to.network)).then(|| to.network = network)
        },
        text: |of| of.network.as_str().to_owned(),
    },
    Setting {
        name: "backend",
        form: "core or electrum, to match the servers of backendUrl",
        schemes: None,
        about: "The kind of server that shows the chain, unless the network is sandbox: core is your own Bitcoin Core node, electrum is a server, which learns your addresses.",
        set: |to, text| {
            to.backend = BackendKind::OF_SERVERS.into_iter().find(|kind| kind.as_str() == text)?;
            to.backend_refused = None;
            Some(())
        },
        text: |of| of.backend.as_str().to_owned(),
    },
    Setting {
        name: "backendUrl",
        form: "a list of at most 10 URLs without user, password, query and fragment, or empty: like http://127.0.0.1:8332 (http and https, for core) or ssl://electrum.example:50002 (tcp and ssl with a port, for electrum)",
        schemes: Some("http:// or https:// (Bitcoin Core), tcp:// or ssl:// (Electrum)"),
        about: "The URLs of the Bitcoin backend; if one does not answer, the next is asked.",
        set: |to, text| backend_urls(text).map(|value| to.backend_urls = value),
        text: |of| joined(&of.backend_urls),
    },
    Setting {
        name: "backendCertificate",
        form: "a list of SHA-256 fingerprints (64 hexadecimal digits, with colons between pairs or without), or empty",
        schemes: None,
        about: "The fingerprints of Electrum servers' certificates that are accepted although no public authority has signed them.",
        set: |to, text| {
            list(text, |part| part.parse().ok()).map(|value| to.backend_certificates = value)
        },
        text: |of| joined(&of.backend_certificates),
    },
    Setting {
        name: "backendCookieFile",
        form: "the absolute path of a file or folder, or empty",
        schemes: None,
        about: "The file .cookie that the node writes at each start, with which the gateway signs in at the node, or the node's folder that holds it.",
        set: |to, text| optional(text, file).map(|value| to.backend_cookie_file = value),
        text: |of| of.backend_cookie_file.clone().unwrap_or_default(),
    },
    Setting {
        name: "backendUser",
        form: "1 to 128 characters without colons and control characters, or empty",
        schemes: None,
        about: "The user name with which the gateway signs in at the node, instead of the cookie file; the password is backendPassword.",
        set: |to, text| optional(text, backend_user).map(|value| to.backend_user = value),
        text: |of| of.backend_user.clone().unwrap_or_default(),
    },
    Setting {
        name: "backendPassword",
        form: "given on the standard input (tillgate settings set backendPassword -); it is stored with the secrets and never shown",
        schemes: None,
        about: "The password of backendUser.",
        // The caller puts the password into the secret store; the value here is always empty.
        set: |_, text| text.is_empty().then_some(()),
        text: |_| String::new(),
    },
    Setting {
        name: "backendZmq",
        form: "an address like tcp://127.0.0.1:28332 (tcp, a host and a port), or empty",
        schemes: Some("tcp://"),
        about: "The address where the node announces blocks and transactions (its option -zmqpubsequence), so that payments are seen at once instead of within a second; with several nodes, name the address of the first one.",
        set: |to, text| optional(text, zmq_address).map(|value| to.backend_zmq = value),
        text: |of| of.backend_zmq.clone().unwrap_or_default(),
    },
    Setting {
        name: "backupFolder",
        form: "the absolute path of a folder, or empty",
        schemes: None,
        about: "The folder to which a backup is written each night; empty for none.",
        set: |to, text| optional(text, file).map(|value| to.backup_folder = value),
        text: |of| of.backup_folder.clone().unwrap_or_default(),
    },
    Setting {
        name: "backupKeep",
        form: "a whole number from 1 to 1000",
        schemes: None,
        about: "How many backups in backupFolder are kept; older ones are removed once a newer one was checked.",
        set: |to, text| whole(text, 1, 1_000).map(|value| to.backup_keep = value),
        text: |of| of.backup_keep.to_string(),
    },
];
