//! Every `errorType` that `/v2` answers, with its HTTP status. `docs/api.md` explains each to
//! shops, and `openapi.json` lists them: `tests/description` compares the three.

use axum::http::StatusCode;
use tillgate_machine::field_errors::VALIDATION_FAILED;
use tillgate_machine::json::MALFORMED_JSON;

use crate::payouts::{ABOVE_DAILY_LIMIT, BELOW_MINIMUM};

/// The kind of a failure: the stable part of an answer, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorType {
    ValidationFailed,
    MalformedJson,
    BrokenBody,
    #[allow(dead_code, reason = "the use case names its code")]
    PayoutAboveDailyLimit,
    #[allow(dead_code, reason = "the use case names its code")]
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

impl ErrorType {
    /// Its name in the interface.
    pub const fn as_str(self) -> &'static str {
        self.row().1
    }

    /// The HTTP status of an answer with this type.
    pub const fn status(self) -> StatusCode {
        self.row().0
    }

    const fn row(self) -> (StatusCode, &'static str) {
        match self {
            Self::ValidationFailed => (StatusCode::BAD_REQUEST, VALIDATION_FAILED),
            Self::MalformedJson => (StatusCode::BAD_REQUEST, MALFORMED_JSON),
            Self::BrokenBody => (StatusCode::BAD_REQUEST, "BROKEN_BODY"),
            Self::PayoutAboveDailyLimit => (StatusCode::BAD_REQUEST, ABOVE_DAILY_LIMIT),
            Self::PayoutBelowMinimum => (StatusCode::BAD_REQUEST, BELOW_MINIMUM),
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, "UNAUTHORIZED"),
            Self::PermissionDenied => (StatusCode::FORBIDDEN, "PERMISSION_DENIED"),
            Self::CrossSiteRequest => (StatusCode::FORBIDDEN, "CROSS_SITE_REQUEST"),
            Self::NotFound => (StatusCode::NOT_FOUND, "NOT_FOUND"),
            Self::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED"),
            Self::RequestTimeout => (StatusCode::REQUEST_TIMEOUT, "REQUEST_TIMEOUT"),
            Self::IdempotencyKeyReused => (StatusCode::CONFLICT, "IDEMPOTENCY_KEY_REUSED"),
            Self::PayoutOfferExpired => (StatusCode::CONFLICT, "PAYOUT_OFFER_EXPIRED"),
            Self::PayoutNotPending => (StatusCode::CONFLICT, "PAYOUT_NOT_PENDING"),
            Self::PayoutPaidBefore => (StatusCode::CONFLICT, "PAYOUT_PAID_BEFORE"),
            Self::AnomalyNotOpen => (StatusCode::CONFLICT, "ANOMALY_NOT_OPEN"),
            Self::RefundCoinsGone => (StatusCode::CONFLICT, "REFUND_COINS_GONE"),
            Self::SandboxRefused => (StatusCode::CONFLICT, "SANDBOX_REFUSED"),
            Self::BodyTooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "BODY_TOO_LARGE"),
            Self::UnsupportedMediaType => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE")
            }
            Self::HostNotAllowed => (StatusCode::MISDIRECTED_REQUEST, "HOST_NOT_ALLOWED"),
            Self::TooManySignIns => (StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_SIGN_INS"),
            Self::KeyLimit => (StatusCode::TOO_MANY_REQUESTS, "KEY_LIMIT"),
            Self::InternalError => (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_ERROR"),
            Self::RateUnavailable => (StatusCode::SERVICE_UNAVAILABLE, "RATE_UNAVAILABLE"),
            Self::ChainNotReady => (StatusCode::SERVICE_UNAVAILABLE, "CHAIN_NOT_READY"),
            Self::WalletNotReady => (StatusCode::SERVICE_UNAVAILABLE, "WALLET_NOT_READY"),
            Self::StorageUnavailable => (StatusCode::SERVICE_UNAVAILABLE, "STORAGE_UNAVAILABLE"),
            Self::TooManyFollowers => (StatusCode::SERVICE_UNAVAILABLE, "TOO_MANY_FOLLOWERS"),
        }
    }
}

#[cfg(test)]
impl ErrorType {
    /// All error types, in the order of the table in `docs/api.md`. The array's length is the last
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
}
