//! Errors of use cases as a [`CommandError`]: a stable type for programs, and the use case's
//! sentence for people.

use serde::{Deserialize, Serialize};
use tillgate_machine::field_errors::{FieldError, VALIDATION_FAILED};
use tillgate_store::StoreError;
use tillgate_told::{Telling, Told};
use ts_rs::TS;

use super::refusal::{NotFound, Refusal};
use crate::access::api_keys::KeyError;
use crate::anomalies::{DismissError, RefundError};
use crate::gateway::NotWatched;
use crate::notifications::RotateError;
use crate::notifications::outbox::OutboxError;
use crate::payments::CreateError;
use crate::payouts::{ApproveError, LimitError, OfferError, RejectError};
use crate::sandbox::CallError;
use crate::sender::{NamedRateError, ReleaseError, ReplaceError, SendError};
use crate::settings::SettingError;
use crate::watcher::{AcceptError, CancelError};

/// The reason why a command failed.
#[derive(
    Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, thiserror::Error, tillgate_told::Told,
)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
#[error("{message}{}", in_brackets(.details.as_deref()))]
pub struct CommandError {
    /// A stable name for programs: `NOT_FOUND`, `VALIDATION_FAILED`, …
    pub error_type: String,
    /// A sentence for people, with the remedy.
    pub message: String,
    /// The name of the argument that is wrong.
    pub field: Option<String>,
    /// The message of SQLite, if `message` does not repeat it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub details: Option<String>,
    /// The sentences of `message` with their codes and values, in which the window words them. It
    /// is empty if `message` has no code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<Telling>>", optional)]
    pub told: Vec<Telling>,
}

fn in_brackets(details: Option<&str>) -> String {
    details.map(|details| format!(" ({details})")).unwrap_or_default()
}

impl CommandError {
    /// An invalid argument. The message is the argument's name followed by `what`, such as "must be
    /// …".
    pub fn invalid(field: &str, what: &impl Told) -> Self {
        Self::of_field_errors(&[FieldError::told(field.to_owned(), what)])
    }

    /// An error for an id that no record has.
    pub fn not_found(record: &NotFound) -> Self {
        Self::told("NOT_FOUND", record)
    }

    /// A failure whose cause is only in the log.
    #[must_use]
    pub fn internal() -> Self {
        Self::told("INTERNAL_ERROR", &Refusal::Internal)
    }

    /// A failure that no argument caused.
    #[must_use]
    pub fn told(error_type: &str, why: &impl Told) -> Self {
        Self { told: vec![why.telling()], ..Self::of(error_type, &why) }
    }

    /// A failure whose sentence has no code. The window shows it under "Details".
    #[must_use]
    pub fn of(error_type: &str, message: &impl std::fmt::Display) -> Self {
        let message = message.to_string();
        Self {
            error_type: error_type.to_owned(),
            message,
            field: None,
            details: None,
            told: Vec::new(),
        }
    }

    pub fn of_field_errors(field_errors: &[FieldError]) -> Self {
        let message = field_errors
            .iter()
            .map(|field_error| field_error.message.as_str())
            .collect::<Vec<_>>()
            .join("; ");
        let field = field_errors
            .iter()
            .find_map(|field_error| field_error.field.as_deref())
            .map(str::to_owned);
        // If the errors have different codes, no single code describes the request.
        let code = match field_errors {
            [first, rest @ ..] if rest.iter().all(|error| error.code == first.code) => first.code,
            _ => VALIDATION_FAILED,
        };
        let told = field_errors.iter().map(|error| (*error.telling).clone()).collect();
        Self { field, told, ..Self::of(code, &message) }
    }

    /// An invalid argument, with a whole sentence as its message.
    pub fn at(field: &str, why: &impl Told) -> Self {
        Self { field: Some(field.to_owned()), ..Self::told(VALIDATION_FAILED, why) }
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        let error_type = if error.is_passing() { "STORAGE_UNAVAILABLE" } else { "INTERNAL_ERROR" };
        if let StoreError::Sqlite(error) = &error {
            return Self {
                details: Some(error.to_string()),
                ..Self::told(error_type, &Refusal::Database)
            };
        }
        Self::told(error_type, &error)
    }
}

impl From<SettingError> for CommandError {
    fn from(error: SettingError) -> Self {
        match error {
            SettingError::Unknown(_) => Self::told("NOT_FOUND", &error),
            SettingError::Value { .. }
            | SettingError::NoEsplora
            | SettingError::NoScheme { .. }
            | SettingError::Twice(_)
            | SettingError::FloorAboveCap { .. }
            | SettingError::MinimumAboveDaily { .. }
            | SettingError::BackendUrl { .. }
            | SettingError::OnionWithoutProxy { .. }
            | SettingError::FixedRatesInProduction => Self::at("value", &error),
            SettingError::Overridden { .. } | SettingError::Fixed(_) => {
                Self::told("SETTING_FIXED", &error)
            }
            SettingError::Store(error) => error.into(),
        }
    }
}

impl From<KeyError> for CommandError {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::BadName => Self::at("name", &error),
            KeyError::NameTaken(_) => {
                Self { field: Some("name".to_owned()), ..Self::told("KEY_NAME_TAKEN", &error) }
            }
            KeyError::NoSuchKey(_) => Self::told("NOT_FOUND", &error),
            KeyError::Entropy(_) => Self::told("INTERNAL_ERROR", &error),
            KeyError::Store(error) => error.into(),
        }
    }
}

impl From<DismissError> for CommandError {
    fn from(error: DismissError) -> Self {
        match error {
            DismissError::NoSuchAnomaly(_) => Self::told("NOT_FOUND", &error),
            DismissError::NotOpen(_) => Self::told("ANOMALY_NOT_OPEN", &error),
            DismissError::Reason => Self::at("reason", &error),
            DismissError::Outbox(error) => error.into(),
        }
    }
}

impl From<OutboxError> for CommandError {
    fn from(error: OutboxError) -> Self {
        match error {
            OutboxError::Store(error) => error.into(),
            OutboxError::Entropy(_) => Self::told("INTERNAL_ERROR", &error),
        }
    }
}

impl From<RotateError> for CommandError {
    fn from(error: RotateError) -> Self {
        match error {
            RotateError::Secret(_) => Self::told("SECRETS_UNAVAILABLE", &error),
            RotateError::Store(error) => error.into(),
            RotateError::TooMany(_) => Self::told("TOO_MANY_HMAC_KEYS", &error),
            RotateError::NoEntropy(_) => Self::told("INTERNAL_ERROR", &error),
        }
    }
}

impl From<AcceptError> for CommandError {
    fn from(error: AcceptError) -> Self {
        use crate::watcher::WatchError;
        match error {
            AcceptError::NoSuchPayment(_) => Self::told("NOT_FOUND", &error),
            AcceptError::Refused(_) | AcceptError::Less { .. } => {
                Self::told("PAYMENT_NOT_ACCEPTABLE", &error)
            }
            AcceptError::ChainNotWatched => Self::told("CHAIN_NOT_READY", &error),
            AcceptError::Watch(WatchError::Store(error)) => error.into(),
            AcceptError::Watch(WatchError::Outbox(error)) => error.into(),
            AcceptError::Watch(_) => Self::told("CHAIN_NOT_READY", &error),
        }
    }
}

impl From<CancelError> for CommandError {
    fn from(error: CancelError) -> Self {
        use crate::watcher::WatchError;
        match error {
            CancelError::NoSuchPayment(_) => Self::told("NOT_FOUND", &error),
            CancelError::NotNew(_) | CancelError::TimeOver | CancelError::CoinsSeen => {
                Self::told("PAYMENT_NOT_CANCELLABLE", &error)
            }
            CancelError::Watch(WatchError::Store(error)) => error.into(),
            CancelError::Watch(WatchError::Outbox(error)) => error.into(),
            CancelError::Watch(_) => Self::told("CHAIN_NOT_READY", &error),
        }
    }
}

impl From<CreateError> for CommandError {
    fn from(error: CreateError) -> Self {
        match error {
            CreateError::Invalid(field_errors) => Self::of_field_errors(&field_errors),
            CreateError::KeyReused => Self::told("IDEMPOTENCY_KEY_REUSED", &error),
            CreateError::KeyLimit(_) => Self::told("KEY_LIMIT", &error),
            CreateError::DiskNearlyFull(_) => Self::told("STORAGE_UNAVAILABLE", &error),
            CreateError::Rate(_) => Self::told("RATE_UNAVAILABLE", &error),
            CreateError::NotWatched(NotWatched::Silent | NotWatched::Behind(_)) => {
                Self::told("CHAIN_NOT_READY", &error)
            }
            CreateError::NotWatched(NotWatched::NotStored(_)) => {
                Self::told("STORAGE_UNAVAILABLE", &error)
            }
            CreateError::WalletNotReady(_) => Self::told("WALLET_NOT_READY", &error),
            CreateError::Wallet(_) | CreateError::Entropy(_) => {
                Self::told("INTERNAL_ERROR", &error)
            }
            CreateError::Store(error) => error.into(),
        }
    }
}

impl From<OfferError> for CommandError {
    fn from(error: OfferError) -> Self {
        match error {
            OfferError::Invalid(field_errors) => Self::of_field_errors(&field_errors),
            OfferError::KeyReused => Self::told("IDEMPOTENCY_KEY_REUSED", &error),
            OfferError::PaidBefore { .. } => {
                Self { field: Some("again".to_owned()), ..Self::told("PAYOUT_PAID_BEFORE", &error) }
            }
            OfferError::DiskNearlyFull(_) => Self::told("STORAGE_UNAVAILABLE", &error),
            OfferError::Rate(_) => Self::told("RATE_UNAVAILABLE", &error),
            OfferError::WalletNotReady(_) => Self::told("WALLET_NOT_READY", &error),
            OfferError::Entropy(_) => Self::told("INTERNAL_ERROR", &error),
            OfferError::Store(error) => error.into(),
        }
    }
}

impl From<ApproveError> for CommandError {
    fn from(error: ApproveError) -> Self {
        match error {
            ApproveError::NoSuchPayout(_) => Self::told("NOT_FOUND", &error),
            ApproveError::OfferExpired | ApproveError::OfferRejected(_) => {
                Self::told("PAYOUT_OFFER_EXPIRED", &error)
            }
            ApproveError::NotPending(_) => Self::told("PAYOUT_NOT_PENDING", &error),
            ApproveError::RefundCoinsGone | ApproveError::RefundedBefore => {
                Self::told("REFUND_COINS_GONE", &error)
            }
            ApproveError::PaidBefore { .. } => Self::told("PAYOUT_PAID_BEFORE", &error),
            ApproveError::WalletNotReady(_) => Self::told("WALLET_NOT_READY", &error),
            ApproveError::Limit(refusals) => {
                Self::of_field_errors(&ApproveError::limit_errors(&refusals))
            }
            ApproveError::Outbox(error) => error.into(),
        }
    }
}

impl From<RejectError> for CommandError {
    fn from(error: RejectError) -> Self {
        match error {
            RejectError::NoSuchPayout(_) => Self::told("NOT_FOUND", &error),
            RejectError::NotPending(_) => Self::told("PAYOUT_NOT_PENDING", &error),
            RejectError::WalletNotReady(_) => Self::told("WALLET_NOT_READY", &error),
            RejectError::Reason => Self::at("reason", &error),
            RejectError::Outbox(error) => error.into(),
        }
    }
}

impl From<RefundError> for CommandError {
    fn from(error: RefundError) -> Self {
        match error {
            RefundError::NoSuchAnomaly(_) => Self::told("NOT_FOUND", &error),
            RefundError::NotOpen(_) => Self::told("ANOMALY_NOT_OPEN", &error),
            RefundError::Reversed => Self::told("ANOMALY_REVERSED", &error),
            RefundError::CoinsNotReady { .. } => Self::told("REFUND_COINS_GONE", &error),
            RefundError::ReturnedBefore { .. } => Self::told("REFUNDED_BEFORE", &error),
            RefundError::PaidBefore { .. } | RefundError::PaidByPayout { .. } => Self {
                field: Some("althoughPaid".to_owned()),
                ..Self::told("REFUND_PAID_BEFORE", &error)
            },
            RefundError::Changed => Self::told("ANOMALY_CHANGED", &error),
            RefundError::Offer(error) => error.into(),
            RefundError::Outbox(error) => error.into(),
        }
    }
}

impl From<ReleaseError> for CommandError {
    fn from(error: ReleaseError) -> Self {
        match error {
            ReleaseError::NotLooked(_) => Self::told("WALLET_NOT_READY", &error),
            ReleaseError::Another(_) => Self::told("SENDER_HOLDS", &error),
            ReleaseError::TwinWaits(_) => Self::told("TWIN_IN_MEMPOOL", &error),
            ReleaseError::Store(error) => error.into(),
        }
    }
}

impl From<ReplaceError> for CommandError {
    fn from(error: ReplaceError) -> Self {
        match error {
            ReplaceError::NoSuchPayout(_) => Self::told("NOT_FOUND", &error),
            ReplaceError::State(..) => Self::told("PAYOUT_NOT_REPLACEABLE", &error),
            ReplaceError::Shared(_) => Self::told("PAYOUT_SHARES_TRANSACTION", &error),
            ReplaceError::AboveCap { .. } => Self::told("FEE_ABOVE_CAP", &error),
            ReplaceError::AbovePayout { .. } => Self::told("FEE_ABOVE_PAYOUT", &error),
            ReplaceError::AboveAgreed { .. } => Self::told("FEE_CHANGED", &error),
            ReplaceError::NotLooked(_) => Self::told("WALLET_NOT_READY", &error),
            ReplaceError::Held(_) => Self::told("SENDER_HOLDS", &error),
            ReplaceError::Unseen(_) => Self::told("OTHER_COPY_UNSEEN", &error),
            ReplaceError::Obstacle(_) => Self::told("PAYOUT_NOT_SIGNED", &error),
            ReplaceError::Stale => Self::told("PAYOUT_CHANGED", &error),
            ReplaceError::Send(SendError::Store(error)) => error.into(),
            ReplaceError::Send(SendError::Outbox(error)) => error.into(),
            ReplaceError::Send(SendError::Entropy(_) | SendError::Interrupted) => {
                Self::told("INTERNAL_ERROR", &error)
            }
        }
    }
}

impl From<NamedRateError> for CommandError {
    fn from(error: NamedRateError) -> Self {
        match error {
            NamedRateError::NotWaiting(..) => Self::told("PAYOUT_NOT_WAITING", &error),
            NamedRateError::Obstacle(_) => Self::told("PAYOUT_NOT_SIGNED", &error),
            NamedRateError::Other(error) => error.into(),
        }
    }
}

impl From<LimitError> for CommandError {
    fn from(error: LimitError) -> Self {
        match error {
            LimitError::Invalid(field_errors) => Self::of_field_errors(&field_errors),
            LimitError::Rate(_) => Self::told("RATE_UNAVAILABLE", &error),
            LimitError::Store(error) => error.into(),
        }
    }
}

impl From<CallError> for CommandError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::NoSuchPath | CallError::MethodNotAllowed(_) | CallError::NotFound(_) => {
                Self::told("NOT_FOUND", &error)
            }
            CallError::Invalid(field_errors) => Self::of_field_errors(&field_errors),
            CallError::Conflict(_) => Self::told("SANDBOX_REFUSED", &error),
            CallError::Store(error) => error.into(),
            CallError::Look(_)
            | CallError::Send(_)
            | CallError::Sandbox(_)
            | CallError::Interrupted => Self::told("SANDBOX_FAILED", &error),
        }
    }
}

#[cfg(test)]
mod tests;
