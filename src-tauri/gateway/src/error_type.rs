//! Every `errorType` that `/v2` answers. `docs/api.md` explains each to shops, and `openapi.json`
//! lists them; a test of the crate `http` compares the three.

use tillgate_machine::field_errors::VALIDATION_FAILED;
use tillgate_machine::json::MALFORMED_JSON;

/// The kind of a failure: the stable part of an answer, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorType {
    ValidationFailed,
    MalformedJson,
    BrokenBody,
    PayoutAboveDailyLimit,
    PayoutBelowMinimum,
    Unauthorized,
    PermissionDenied,
    CrossSiteRequest,
    NotFound,
    MethodNotAllowed,
    RequestTimeout,
    IdempotencyKeyReused,
    PayoutOfferExpired,
    PayoutNotPending,
    PayoutPaidBefore,
    AnomalyNotOpen,
    RefundCoinsGone,
    SandboxRefused,
    BodyTooLarge,
    UnsupportedMediaType,
    HostNotAllowed,
    TooManySignIns,
    KeyLimit,
    InternalError,
    RateUnavailable,
    ChainNotReady,
    WalletNotReady,
    StorageUnavailable,
    TooManyFollowers,
}

impl AsRef<str> for ErrorType {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl ErrorType {
    /// All error types, in the order of the table in `docs/api.md`. The length is the last
    /// discriminant plus one.
    pub const ALL: [Self; Self::TooManyFollowers as usize + 1] = [
        Self::ValidationFailed,
        Self::MalformedJson,
        Self::BrokenBody,
        Self::PayoutAboveDailyLimit,
        Self::PayoutBelowMinimum,
        Self::Unauthorized,
        Self::PermissionDenied,
        Self::CrossSiteRequest,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::RequestTimeout,
        Self::IdempotencyKeyReused,
        Self::PayoutOfferExpired,
        Self::PayoutNotPending,
        Self::PayoutPaidBefore,
        Self::AnomalyNotOpen,
        Self::RefundCoinsGone,
        Self::SandboxRefused,
        Self::BodyTooLarge,
        Self::UnsupportedMediaType,
        Self::HostNotAllowed,
        Self::TooManySignIns,
        Self::KeyLimit,
        Self::InternalError,
        Self::RateUnavailable,
        Self::ChainNotReady,
        Self::WalletNotReady,
        Self::StorageUnavailable,
        Self::TooManyFollowers,
    ];

    /// Its name in the interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ValidationFailed => VALIDATION_FAILED,
            Self::MalformedJson => MALFORMED_JSON,
            Self::BrokenBody => "BROKEN_BODY",
            Self::PayoutAboveDailyLimit => "PAYOUT_ABOVE_DAILY_LIMIT",
            Self::PayoutBelowMinimum => "PAYOUT_BELOW_MINIMUM",
            Self::Unauthorized => "UNAUTHORIZED",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::CrossSiteRequest => "CROSS_SITE_REQUEST",
            Self::NotFound => "NOT_FOUND",
            Self::MethodNotAllowed => "METHOD_NOT_ALLOWED",
            Self::RequestTimeout => "REQUEST_TIMEOUT",
            Self::IdempotencyKeyReused => "IDEMPOTENCY_KEY_REUSED",
            Self::PayoutOfferExpired => "PAYOUT_OFFER_EXPIRED",
            Self::PayoutNotPending => "PAYOUT_NOT_PENDING",
            Self::PayoutPaidBefore => "PAYOUT_PAID_BEFORE",
            Self::AnomalyNotOpen => "ANOMALY_NOT_OPEN",
            Self::RefundCoinsGone => "REFUND_COINS_GONE",
            Self::SandboxRefused => "SANDBOX_REFUSED",
            Self::BodyTooLarge => "BODY_TOO_LARGE",
            Self::UnsupportedMediaType => "UNSUPPORTED_MEDIA_TYPE",
            Self::HostNotAllowed => "HOST_NOT_ALLOWED",
            Self::TooManySignIns => "TOO_MANY_SIGN_INS",
            Self::KeyLimit => "KEY_LIMIT",
            Self::InternalError => "INTERNAL_ERROR",
            Self::RateUnavailable => "RATE_UNAVAILABLE",
            Self::ChainNotReady => "CHAIN_NOT_READY",
            Self::WalletNotReady => "WALLET_NOT_READY",
            Self::StorageUnavailable => "STORAGE_UNAVAILABLE",
            Self::TooManyFollowers => "TOO_MANY_FOLLOWERS",
        }
    }
}
