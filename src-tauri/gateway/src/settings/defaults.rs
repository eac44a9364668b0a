//! The defaults of all settings.

use tillgate_chain::BackendKind;
use tillgate_domain::money::Currency;
use tillgate_domain::policy::PolicySettings;
use tillgate_machine::environment::Environment;
use tillgate_store::news::NewsKind;

use super::address_type::AddressType;
use super::chain_network::ChainNetwork;
use super::password_entry::PasswordEntry;
use super::values::Settings;
use crate::rates::live_sources;

/// Default of `restoreSkip`, the number of addresses that a restored copy skips.
pub const RESTORE_SKIP_DEFAULT: u32 = 1_000;

/// Default of `feeFallbackSatVb`. A node on regtest has no estimate, and its coins are worth
/// nothing.
pub const fn fee_fallback_default(network: ChainNetwork) -> u32 {
    match network {
        ChainNetwork::Regtest => 1,
        ChainNetwork::Bitcoin
        | ChainNetwork::Sandbox
        | ChainNetwork::Signet
        | ChainNetwork::Testnet4 => 0,
    }
}

impl Settings {
    /// The defaults of an environment. [`PolicySettings`] holds the defaults of the settings that a
    /// payment keeps from its creation.
    #[must_use]
    pub fn defaults(environment: Environment) -> Self {
        let (min_fresh_sources, key_requests_per_second, key_open_payments, daily_limit_sats) =
            match environment {
                Environment::Test => (1, 0, 0, 100_000_000),
                Environment::Production => (2, 200, 2_000, 10_000_000),
            };
        let network = match environment {
            Environment::Test => ChainNetwork::Sandbox,
            Environment::Production => ChainNetwork::Bitcoin,
        };
        Self {
            policy: PolicySettings::default(),
            currencies: ["USD", "EUR", "GBP", "AUD", "JPY", "CAD"]
                .into_iter()
                .filter_map(Currency::from_code)
                .collect(),
            spread_per_mille: 0,
            min_fresh_sources,
            rate_sources: live_sources().to_vec(),
            fixed_rates: Vec::new(),
            proxy: None,
            key_requests_per_second,
            key_open_payments,
            allowed_hosts: Vec::new(),
            public_url: None,
            trusted_proxies: Vec::new(),
            merchant_name: "Merchant".to_owned(),
            merchant_color: None,
            merchant_logo: None,
            merchant_address: None,
            merchant_tax_id: None,
            notices: NewsKind::ALL.to_vec(),
            notice_sounds: NewsKind::ALL.to_vec(),
            address_type: AddressType::Bip84,
            offer_validity_minutes: 10,
            batch_seconds: 30,
            queue_timeout_hours: 24,
            stuck_after_hours: 6,
            daily_limit_sats,
            min_payout_sats: 10_000,
            fee_floor_sat_vb: 1,
            fee_cap_sat_vb: 200,
            fee_fallback_sat_vb: fee_fallback_default(network),
            spend_confirmations: 2,
            restore_skip: RESTORE_SKIP_DEFAULT,
            network,
            backend: BackendKind::Core,
            backend_refused: None,
            backend_urls: Vec::new(),
            backend_certificates: Vec::new(),
            backend_cookie_file: None,
            backend_user: None,
            backend_password: PasswordEntry::default(),
            has_backend_password: false,
            backend_zmq: None,
            backup_folder: None,
            backup_keep: 14,
        }
    }
}
