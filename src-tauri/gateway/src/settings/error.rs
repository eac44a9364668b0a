//! Reasons why a setting cannot be changed.

use tillgate_store::StoreError;
use tillgate_told::Sum;

/// Why a setting cannot be changed.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum SettingError {
    /// There is no setting of that name.
    #[error("there is no setting {0:?}: `tillgate settings list` shows all")]
    Unknown(String),
    /// The value is out of bounds.
    #[error("{name} must be {form}")]
    Value {
        name: &'static str,
        /// The form and bounds of the value.
        form: &'static str,
    },
    /// The value has a host but no scheme.
    #[error("{name} must begin with a scheme: put {schemes} in front")]
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
    MinimumAboveDaily { minimum: Sum, daily: Sum },
    /// The scheme of the URL does not fit the backend.
    #[error(
        "backend is {backend}, and {url} is not the URL of such a server: set both at once, like backend={backend} backendUrl={example}"
    )]
    BackendUrl {
        backend: &'static str,
        url: String,
        /// A valid URL.
        example: &'static str,
    },
    /// Only a proxy reaches an onion name.
    #[error(
        "{url} can be reached through Tor alone: set proxy too, like proxy=socks5h://127.0.0.1:9050"
    )]
    OnionWithoutProxy { url: String },
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
    #[error(
        "{0} is fixed since the wallet was made: another value needs a new installation (another --data-dir)"
    )]
    Fixed(&'static str),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
