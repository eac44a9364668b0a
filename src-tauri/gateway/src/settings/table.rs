//! The table of settings. `settings list`, the panel and the documentation are made from it.

use std::sync::LazyLock;

use tillgate_chain::BackendKind;
use tillgate_domain::money::{Currency, MAX_SATS};
use tillgate_domain::payout::offer;
use tillgate_domain::policy::{MAX_CONFIRMATIONS, MAX_TIERS, OverpaymentRule, PriceBound};
use tillgate_store::news::NewsKind;
use tillgate_store::notify_hosts::host_name;

use super::address_type::AddressType;
use super::chain_network::ChainNetwork;
use super::error::SettingError;
use super::forms::{
    ADDRESS_LINES_MAX, ADDRESS_MAX, LIST_MAX, NAME_MAX, SERVERS_MAX, URL_MAX, USER_MAX, address,
    backend_urls, backend_user, color, currencies, file, fixed_rates, fixed_rates_text, in_words,
    joined, logo, name, public_url, rate_sources, zmq_address,
};
use super::setting::Setting;
use crate::rates::live_sources;

/// The lower bound of `minPayoutBtc`: the dust limit of P2PKH outputs, the highest of all kinds of
/// address.
const MIN_PAYOUT_FROM_SATS: u64 = 546;

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
}

/// All settings, in the order in which they are listed.
pub static SETTINGS: LazyLock<Vec<Setting>> = LazyLock::new(|| {
    vec![
        Setting::choice(
            "overpayment",
            &[OverpaymentRule::Confirm, OverpaymentRule::Invalidate],
            OverpaymentRule::as_str,
            |of| &mut of.policy.overpayment,
        )
        .about("The treatment of a payment that one transaction overpays: confirm accepts it and reports the surplus, invalidate makes it invalid."),
        Setting::whole("tolerancePerMille", 0..=100, |of| &mut of.policy.tolerance_per_mille)
            .about("How much a payment may fall short and still count as paid, per mille of its amount."),
        Setting::field(
            "confirmationTiers",
            format!("a list of at most {MAX_TIERS} tiers like 1000:1,10000:3,*:6 (highest price in US dollars, a colon, 1 to {MAX_CONFIRMATIONS} confirmations), with rising prices, confirmations that never fall, and * as the last price"),
            |of| &mut of.policy.confirmation_tiers,
            |text| text.parse().ok(),
            ToString::to_string,
        )
        .about("How many confirmations a payment needs, by its price in US dollars."),
        Setting::field(
            "zeroConfUpTo",
            "a sum from 0 to 1000000 in US dollars, like 20 or 19.90, or with the code of another currency, like 20 EUR; 0 for never",
            |of| &mut of.policy.zero_conf_up_to,
            PriceBound::parse,
            ToString::to_string,
        )
        .about("Up to this price a payment is accepted without a confirmation. Its transaction must spend only confirmed coins, pay a sufficient fee rate and have no recent conflict."),
        Setting::whole("zeroConfQuietSeconds", 0..=3_600, |of| {
            &mut of.policy.zero_conf_quiet_seconds
        })
        .about("How many seconds must pass without a conflicting transaction before a payment is accepted without a confirmation."),
        Setting::whole("anomalyConfirmations", 1..=144, |of| &mut of.policy.anomaly_confirmations)
            .about("How many confirmations coins need before an anomaly is raised for them."),
        Setting::whole("offlineGraceMinutes", 0..=1_440, |of| &mut of.policy.offline_grace_minutes)
            .about("How many minutes after the deadline coins may appear and still be in time, if the gateway could not look earlier."),
        Setting::field(
            "currencies",
            format!("a list of 1 to {LIST_MAX} known ISO 4217 codes like USD,EUR"),
            |of| &mut of.currencies,
            currencies,
            |all| joined(&all.iter().map(Currency::code).collect::<Vec<_>>()),
        )
        .about("The currencies that payments may be priced in."),
        Setting::whole("spreadPerMille", 0..=200, |of| &mut of.spread_per_mille)
            .about("How much the rate of payments is below the market's, per mille, so that customers pay a little more Bitcoin."),
        Setting::whole("minFreshSources", 1..=10, |of| &mut of.min_fresh_sources)
            .about("How many sources must have a fresh quote before there is a rate."),
        Setting::field(
            "rateSources",
            format!("a list without repetitions of at least one of {}", in_words(&live_sources(), "and")),
            |of| &mut of.rate_sources,
            rate_sources,
            |names| joined(names),
        )
        .about("The public sources of exchange rates; the sandbox's rates are simulated."),
        Setting::field(
            "fixedRates",
            format!("a list of at most {LIST_MAX} rates like USD:50000.00,EUR:46000.00, each currency once, or empty; empty in production"),
            |of| &mut of.fixed_rates,
            fixed_rates,
            |rates| fixed_rates_text(rates),
        )
        .about("Exchange rates for tests, which replace the rates of all sources."),
        Setting::optional(
            "proxy",
            "a URL like socks5h://127.0.0.1:9050 without user and path",
            |of| &mut of.proxy,
            |text| text.parse().ok(),
        )
        .schemes("socks5h://")
        .about("The SOCKS5 proxy (Tor is one) for all connections to other machines: rate sources, the backend and notifications. Names under .onion need it."),
        Setting::whole("keyRequestsPerSecond", 0..=100_000, |of| &mut of.key_requests_per_second)
            .also("; 0 for no bound")
            .about("How many payments, payouts, resends and calls of the sandbox one API key may make in a second; up to 25 times as many at once after a pause."),
        Setting::whole("keyOpenPayments", 0..=100_000_000, |of| &mut of.key_open_payments)
            .also("; 0 for no bound")
            .about("How many payments of one API key may wait for coins or confirmations."),
        Setting::list(
            "allowedHosts",
            format!("a list of at most {LIST_MAX} host names without port"),
            |of| &mut of.allowed_hosts,
            host_name,
        )
        .about("Further names under which the gateway may be reached; requests to other names are refused."),
        Setting::optional(
            "publicUrl",
            format!("an http or https URL of at most {URL_MAX} bytes without user, query and fragment"),
            |of| &mut of.public_url,
            public_url,
        )
        .schemes("https:// or http://")
        .about("The address under which customers reach the payment pages; empty for the listen address."),
        Setting::list(
            "trustedProxies",
            format!("a list of at most {LIST_MAX} IP addresses or blocks like 10.0.0.0/8"),
            |of| &mut of.trusted_proxies,
            |part| part.parse().ok(),
        )
        .about("Reverse proxies in front of the gateway: they may use plain HTTP, and the client address that they report is trusted."),
        Setting::field(
            "merchantName",
            format!("1 to {NAME_MAX} characters without control characters"),
            |of| &mut of.merchant_name,
            name,
            String::clone,
        )
        .about("The merchant's name, as customers see it."),
        Setting::optional(
            "merchantColor",
            "a colour like #1d6f42",
            |of| &mut of.merchant_color,
            color,
        )
        .about("The colour of the payment pages."),
        Setting::optional(
            "merchantLogo",
            "a PNG, JPEG, WebP or SVG image of at most 36,800 bytes, from a file by --file or as a base64 data: URL",
            |of| &mut of.merchant_logo,
            logo,
        )
        .about("The logo on the payment pages and on the till's view for customers."),
        Setting::optional(
            "merchantAddress",
            format!("an address of at most {ADDRESS_LINES_MAX} lines and {ADDRESS_MAX} characters"),
            |of| &mut of.merchant_address,
            address,
        )
        .about("The shop's address on receipts."),
        Setting::optional(
            "merchantTaxId",
            format!("1 to {NAME_MAX} characters without control characters"),
            |of| &mut of.merchant_tax_id,
            name,
        )
        .about("The shop's tax number on receipts."),
        Setting::list(
            "notices",
            format!("a list of {}", in_words(&NewsKind::ALL.map(NewsKind::as_str), "and")),
            |of| &mut of.notices,
            |part| part.parse().ok(),
        )
        .about("The events that the desktop notifies of. With attention, coins need a decision. With payout, an API key asked for one, or one failed. With shop, a server takes no notifications."),
        Setting::list(
            "noticeSounds",
            format!("a list of {}", in_words(&NewsKind::ALL.map(NewsKind::as_str), "and")),
            |of| &mut of.notice_sounds,
            |part| part.parse().ok(),
        )
        .about("The events at which the window plays a sound."),
        Setting::choice(
            "addressType",
            &[AddressType::Bip84, AddressType::Bip86],
            AddressType::as_str,
            |of| &mut of.address_type,
        )
        .about("The kind of address that customers pay to: bip84 (SegWit) or bip86 (Taproot); fixed when the wallet is made."),
        Setting::whole("offerValidityMinutes", 1..=offer::VALID_MAX_MINUTES, |of| {
            &mut of.offer_validity_minutes
        })
        .about("How many minutes an offer of a payout may be approved."),
        Setting::whole("batchSeconds", 0..=3_600, |of| &mut of.batch_seconds)
            .also("; 0 to send at once")
            .about("How many seconds an approved payout waits for others that can share its transaction."),
        Setting::whole("queueTimeoutHours", 1..=168, |of| &mut of.queue_timeout_hours)
            .about("After how many hours an approved payout fails if no transaction could be built for it."),
        Setting::whole("stuckAfterHours", 1..=720, |of| &mut of.stuck_after_hours)
            .about("After how many hours a payout that was sent and is not confirmed is reported as stuck."),
        Setting::btc("dailyLimitBtc", 0..=MAX_SATS, |of| &mut of.daily_limit_sats)
            .also(", like 0.1, not below minPayoutBtc; 0 stops all payouts")
            .about("How much may be paid out on one day, from midnight to midnight in UTC."),
        Setting::btc("minPayoutBtc", MIN_PAYOUT_FROM_SATS..=MAX_SATS, |of| &mut of.min_payout_sats)
            .also(", like 0.0001, not above dailyLimitBtc unless that is 0")
            .about("The minimum amount of one payout."),
        Setting::whole("feeFloorSatVb", 1..=1_000, |of| &mut of.fee_floor_sat_vb)
            .also(", not above feeCapSatVb")
            .about("The lowest fee rate of payouts, in satoshis per virtual byte."),
        Setting::whole("feeCapSatVb", 1..=10_000, |of| &mut of.fee_cap_sat_vb)
            .also(", not below feeFloorSatVb")
            .about("The fee rate above which payouts wait, in satoshis per virtual byte."),
        Setting::whole("feeFallbackSatVb", 0..=1_000, |of| &mut of.fee_fallback_sat_vb)
            .also("; 0 for none")
            .about("The fee rate of payouts while the Bitcoin backend has no estimate, in satoshis per virtual byte. With 0 they wait."),
        Setting::whole("spendConfirmations", 1..=100, |of| &mut of.spend_confirmations)
            .about("How many confirmations customers' coins need before they are paid out or sent back."),
        Setting::whole("restoreSkip", 0..=100_000, |of| &mut of.restore_skip)
            .about("How many addresses a restored wallet skips after the last used one: another copy may have given them to customers who have not paid yet."),
        Setting::new(
            "network",
            "bitcoin in production; sandbox, regtest, signet or testnet4 in test",
            |to, text| {
                let network = ChainNetwork::ALL.into_iter().find(|one| one.as_str() == text)?;
                // Real coins belong to production only, and production accepts no other coins.
                let is_real = |network| network == ChainNetwork::Bitcoin;
                (is_real(network) == is_real(to.network)).then(|| to.network = network)
            },
            |of| of.network.as_str().to_owned(),
        )
        .about("The chain that payments are made on: sandbox is a private chain inside the program. A change takes effect at the next start, and is impossible once the wallet is made."),
        Setting::new(
            "backend",
            in_words(&BackendKind::OF_SERVERS.map(BackendKind::as_str), "or")
                + ", to match the servers of backendUrl",
            |to, text| {
                to.backend = BackendKind::OF_SERVERS.into_iter().find(|one| one.as_str() == text)?;
                to.backend_refused = None;
                Some(())
            },
            |of| of.backend.as_str().to_owned(),
        )
        .about("The kind of server that shows the chain, unless the network is sandbox. core is your own Bitcoin Core node. electrum is a server, which learns your addresses."),
        Setting::field(
            "backendUrl",
            format!("a list of at most {SERVERS_MAX} URLs without user, password, query and fragment, or empty: like http://127.0.0.1:8332 (http and https, for core) or ssl://electrum.example:50002 (tcp and ssl with a port, for electrum)"),
            |of| &mut of.backend_urls,
            backend_urls,
            |urls| joined(urls),
        )
        .schemes("http:// or https:// (Bitcoin Core), tcp:// or ssl:// (Electrum)")
        .about("The URLs of the Bitcoin backend; if one does not answer, the next is asked."),
        Setting::list(
            "backendCertificate",
            "a list of SHA-256 fingerprints (64 hexadecimal digits, with colons between pairs or without)",
            |of| &mut of.backend_certificates,
            |part| part.parse().ok(),
        )
        .about("The fingerprints of Electrum servers' certificates that are accepted although no public authority has signed them."),
        Setting::optional(
            "backendCookieFile",
            "the absolute path of a file or folder",
            |of| &mut of.backend_cookie_file,
            file,
        )
        .about("The file .cookie that the node writes at each start, or its folder. The gateway signs in with it."),
        Setting::optional(
            "backendUser",
            format!("1 to {USER_MAX} characters without colons and control characters"),
            |of| &mut of.backend_user,
            backend_user,
        )
        .about("The user name with which the gateway signs in at the node, instead of the cookie file; the password is backendPassword."),
        Setting::new(
            "backendPassword",
            "given on the standard input (tillgate settings set backendPassword -); it is stored with the secrets and never shown",
            |_, text| text.is_empty().then_some(()),
            |_| String::new(),
        )
        .about("The password of backendUser."),
        Setting::optional(
            "backendZmq",
            "an address like tcp://127.0.0.1:28332 (tcp, a host and a port)",
            |of| &mut of.backend_zmq,
            zmq_address,
        )
        .schemes("tcp://")
        .about("The address where a node of Bitcoin Core announces blocks and transactions (its option -zmqpubsequence). Payments are then seen at once instead of within a second. With several nodes, name the address of the first one."),
        Setting::optional(
            "backupFolder",
            "the absolute path of a folder",
            |of| &mut of.backup_folder,
            file,
        )
        .about("The folder to which a backup is written each night; empty for none."),
        Setting::whole("backupKeep", 1..=1_000, |of| &mut of.backup_keep)
            .about("How many backups in backupFolder are kept; older ones are removed once a newer one was checked."),
    ]
});
