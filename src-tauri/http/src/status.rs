//! The HTTP status of each error type.

use axum::http::StatusCode;
use tillgate_gateway::error_type::ErrorType;

/// The status of an answer with this type.
pub const fn status(error_type: ErrorType) -> StatusCode {
    match error_type {
        ErrorType::ValidationFailed
        | ErrorType::MalformedJson
        | ErrorType::BrokenBody
        | ErrorType::PayoutAboveDailyLimit
        | ErrorType::PayoutBelowMinimum => StatusCode::BAD_REQUEST,
        ErrorType::Unauthorized => StatusCode::UNAUTHORIZED,
        ErrorType::PermissionDenied | ErrorType::CrossSiteRequest => StatusCode::FORBIDDEN,
        ErrorType::NotFound => StatusCode::NOT_FOUND,
        ErrorType::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        ErrorType::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
        ErrorType::IdempotencyKeyReused
        | ErrorType::PayoutOfferExpired
        | ErrorType::PayoutNotPending
        | ErrorType::PayoutPaidBefore
        | ErrorType::AnomalyNotOpen
        | ErrorType::RefundCoinsGone
        | ErrorType::SandboxRefused => StatusCode::CONFLICT,
        ErrorType::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorType::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ErrorType::HostNotAllowed => StatusCode::MISDIRECTED_REQUEST,
        ErrorType::TooManySignIns | ErrorType::KeyLimit => StatusCode::TOO_MANY_REQUESTS,
        ErrorType::InternalError => StatusCode::INTERNAL_SERVER_ERROR,
        ErrorType::RateUnavailable
        | ErrorType::ChainNotReady
        | ErrorType::WalletNotReady
        | ErrorType::StorageUnavailable
        | ErrorType::TooManyFollowers => StatusCode::SERVICE_UNAVAILABLE,
    }
}
