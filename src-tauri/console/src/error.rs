//! Errors of use cases as a [`CommandError`]: a stable type for programs, and the use case's
//! sentence for people.

use serde::{Deserialize, Serialize};
use tillgate_gateway::access::api_keys::KeyError;
use tillgate_gateway::anomalies::{DismissError, RefundError};
use tillgate_gateway::answer::{Answer, Answered};
use tillgate_gateway::error_type::ErrorType;
use tillgate_gateway::notifications::RotateError;
use tillgate_gateway::notifications::outbox::OutboxError;
use tillgate_gateway::payments::CreateError;
use tillgate_gateway::payouts::{ApproveError, LimitError, OfferError, RejectError};
use tillgate_gateway::sandbox::CallError;
use tillgate_gateway::sender::{NamedRateError, ReleaseError, ReplaceError, SendError};
use tillgate_gateway::settings::SettingError;
use tillgate_gateway::watcher::{AcceptError, CancelError};
use tillgate_machine::field_errors::{FieldError, VALIDATION_FAILED};
use tillgate_store::StoreError;
use tillgate_told::{Telling, Told};
use ts_rs::TS;

use super::refusal::{NotFound, Refusal};

/// The reason why a command failed.
#[derive(
    Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, thiserror::Error, tillgate_told::Told,
)]
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
        Self::told(ErrorType::NotFound, record)
    }

    /// A failure whose cause is only in the log.
    #[must_use]
    pub fn internal() -> Self {
        Self::told(ErrorType::InternalError, &Refusal::Internal)
    }

    /// A failure that no argument caused.
    #[must_use]
    pub fn told(error_type: impl AsRef<str>, why: &impl Told) -> Self {
        Self { told: vec![why.telling()], ..Self::new(error_type, &why) }
    }

    /// A failure whose sentence has no code. The window shows it under "Details".
    #[must_use]
    pub fn new(error_type: impl AsRef<str>, message: &impl std::fmt::Display) -> Self {
        let message = message.to_string();
        Self {
            error_type: error_type.as_ref().to_owned(),
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
        Self { field, told, ..Self::new(code, &message) }
    }

    /// An invalid argument, with a whole sentence as its message.
    pub fn at(field: &str, why: &impl Told) -> Self {
        Self { field: Some(field.to_owned()), ..Self::told(VALIDATION_FAILED, why) }
    }
}

/// The refusal for an error of a use case that shops may meet, too.
fn refusal(error: &impl Answered) -> CommandError {
    match error.answer() {
        Answer::Fields(field_errors) => CommandError::of_field_errors(&field_errors),
        Answer::Store(error) => of_store(error),
        Answer::Typed(typed) => CommandError {
            field: typed.argument.map(str::to_owned),
            ..CommandError::told(typed.error_type, error)
        },
    }
}

fn of_store(error: &StoreError) -> CommandError {
    let error_type =
        if error.is_passing() { ErrorType::StorageUnavailable } else { ErrorType::InternalError };
    if let StoreError::Sqlite(error) = error {
        return CommandError {
            details: Some(error.to_string()),
            ..CommandError::told(error_type, &Refusal::Database)
        };
    }
    CommandError::told(error_type, error)
}

/// Lets `?` answer these errors.
macro_rules! answers {
    ($($error:ty),+ $(,)?) => {$(
        impl From<$error> for CommandError {
            fn from(error: $error) -> Self {
                refusal(&error)
            }
        }
    )+};
}

answers!(
    StoreError,
    OutboxError,
    CreateError,
    OfferError,
    ApproveError,
    RefundError,
    LimitError,
    CallError,
);

impl From<SettingError> for CommandError {
    fn from(error: SettingError) -> Self {
        match error {
            SettingError::Unknown(_) => Self::told(ErrorType::NotFound, &error),
            SettingError::Value { .. }
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
            KeyError::NoSuchKey(_) => Self::told(ErrorType::NotFound, &error),
            KeyError::Entropy(_) => Self::told(ErrorType::InternalError, &error),
            KeyError::Store(error) => error.into(),
        }
    }
}

impl From<DismissError> for CommandError {
    fn from(error: DismissError) -> Self {
        match error {
            DismissError::NoSuchAnomaly(_) => Self::told(ErrorType::NotFound, &error),
            DismissError::NotOpen(_) => Self::told(ErrorType::AnomalyNotOpen, &error),
            DismissError::Reason => Self::at("reason", &error),
            DismissError::Outbox(error) => error.into(),
        }
    }
}

impl From<RotateError> for CommandError {
    fn from(error: RotateError) -> Self {
        match error {
            RotateError::Secret(_) => Self::told("SECRETS_UNAVAILABLE", &error),
            RotateError::Store(error) => error.into(),
            RotateError::TooMany(_) => Self::told("TOO_MANY_HMAC_KEYS", &error),
            RotateError::NoEntropy(_) => Self::told(ErrorType::InternalError, &error),
        }
    }
}

impl From<AcceptError> for CommandError {
    fn from(error: AcceptError) -> Self {
        use tillgate_gateway::watcher::WatchError;
        match error {
            AcceptError::NoSuchPayment(_) => Self::told(ErrorType::NotFound, &error),
            AcceptError::Refused(_) | AcceptError::Less { .. } => {
                Self::told("PAYMENT_NOT_ACCEPTABLE", &error)
            }
            AcceptError::ChainNotWatched => Self::told(ErrorType::ChainNotReady, &error),
            AcceptError::Watch(WatchError::Store(error)) => error.into(),
            AcceptError::Watch(WatchError::Outbox(error)) => error.into(),
            AcceptError::Watch(_) => Self::told(ErrorType::ChainNotReady, &error),
        }
    }
}

impl From<CancelError> for CommandError {
    fn from(error: CancelError) -> Self {
        use tillgate_gateway::watcher::WatchError;
        match error {
            CancelError::NoSuchPayment(_) => Self::told(ErrorType::NotFound, &error),
            CancelError::NotNew(_) | CancelError::TimeOver | CancelError::CoinsSeen => {
                Self::told("PAYMENT_NOT_CANCELLABLE", &error)
            }
            CancelError::Watch(WatchError::Store(error)) => error.into(),
            CancelError::Watch(WatchError::Outbox(error)) => error.into(),
            CancelError::Watch(_) => Self::told(ErrorType::ChainNotReady, &error),
        }
    }
}

impl From<RejectError> for CommandError {
    fn from(error: RejectError) -> Self {
        match error {
            RejectError::NoSuchPayout(_) => Self::told(ErrorType::NotFound, &error),
            RejectError::NotPending(_) => Self::told(ErrorType::PayoutNotPending, &error),
            RejectError::WalletNotReady(_) => Self::told(ErrorType::WalletNotReady, &error),
            RejectError::Reason => Self::at("reason", &error),
            RejectError::Outbox(error) => error.into(),
        }
    }
}

impl From<ReleaseError> for CommandError {
    fn from(error: ReleaseError) -> Self {
        match error {
            ReleaseError::NotLooked(_) => Self::told(ErrorType::WalletNotReady, &error),
            ReleaseError::Another(_) => Self::told("SENDER_HOLDS", &error),
            ReleaseError::TwinWaits(_) => Self::told("TWIN_IN_MEMPOOL", &error),
            ReleaseError::Store(error) => error.into(),
        }
    }
}

impl From<ReplaceError> for CommandError {
    fn from(error: ReplaceError) -> Self {
        match error {
            ReplaceError::NoSuchPayout(_) => Self::told(ErrorType::NotFound, &error),
            ReplaceError::State(..) => Self::told("PAYOUT_NOT_REPLACEABLE", &error),
            ReplaceError::Shared(_) => Self::told("PAYOUT_SHARES_TRANSACTION", &error),
            ReplaceError::AboveCap { .. } => Self::told("FEE_ABOVE_CAP", &error),
            ReplaceError::AbovePayout { .. } => Self::told("FEE_ABOVE_PAYOUT", &error),
            ReplaceError::AboveAgreed { .. } => Self::told("FEE_CHANGED", &error),
            ReplaceError::NotLooked(_) => Self::told(ErrorType::WalletNotReady, &error),
            ReplaceError::Held(_) => Self::told("SENDER_HOLDS", &error),
            ReplaceError::Unseen(_) => Self::told("OTHER_COPY_UNSEEN", &error),
            ReplaceError::Obstacle(_) => Self::told("PAYOUT_NOT_SIGNED", &error),
            ReplaceError::Stale => Self::told("PAYOUT_CHANGED", &error),
            ReplaceError::Send(SendError::Store(error)) => error.into(),
            ReplaceError::Send(SendError::Outbox(error)) => error.into(),
            ReplaceError::Send(SendError::Entropy(_) | SendError::Interrupted) => {
                Self::told(ErrorType::InternalError, &error)
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

#[cfg(test)]
mod tests;
