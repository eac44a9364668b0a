//! The errors of the sandbox's calls.

use tillgate_sandbox::{BroadcastRefusal, SandboxError};

use crate::field_errors::FieldError;
use crate::sender::SendError;
use crate::store::StoreError;
use crate::watcher::WatchError;

/// The reason why a call was refused or failed.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum CallError {
    /// The path does not exist, or this environment is not the sandbox.
    #[error("there is no such path")]
    NoSuchPath,
    /// The path accepts another method.
    #[error("this path accepts only {0}")]
    MethodNotAllowed(&'static str),
    /// The path names an unknown payment or transaction.
    #[error("{0}")]
    NotFound(String),
    /// The request is invalid.
    #[error("the request is not valid")]
    Invalid(Vec<FieldError>),
    /// The present state of the sandbox does not allow the call.
    #[error("{0}")]
    Conflict(String),
    /// The gateway's database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The change was made, but the look after it failed.
    #[error(transparent)]
    Look(#[from] WatchError),
    /// The change was made, but the sender's pass after the look failed.
    #[error(transparent)]
    Send(#[from] SendError),
    /// The sandbox's own file failed.
    #[error(transparent)]
    Sandbox(SandboxError),
    /// The call was interrupted, because the program is stopping.
    #[error("the call was interrupted")]
    Interrupted,
}

/// Converts an error of the sandbox. An error about a field's value names the field.
pub(super) fn refused(error: SandboxError) -> CallError {
    let field = match &error {
        SandboxError::Storage(_)
        | SandboxError::File(_)
        | SandboxError::Damaged(_)
        | SandboxError::NotASandbox
        | SandboxError::NewerSchema { .. }
        | SandboxError::Entropy
        | SandboxError::InvalidBlock(_)
        // A call never names more than one recipient.
        | SandboxError::PayeeCount { .. } => return CallError::Sandbox(error),
        SandboxError::UnknownTransaction(_) => return CallError::NotFound(error.to_string()),
        SandboxError::ClockTooFarBehind { .. }
        | SandboxError::AlreadyConfirmed(_)
        | SandboxError::NotInMempool(_)
        | SandboxError::NotTheCustomers(_)
        | SandboxError::PaysNobodyElse(_) => return CallError::Conflict(error.to_string()),
        SandboxError::Refused(BroadcastRefusal::ReplacementFeeTooLow { .. }) | SandboxError::FeeRate { .. } => {
            "feeRate"
        }
        SandboxError::Refused(BroadcastRefusal::Storage(_)) => return CallError::Sandbox(error),
        SandboxError::Refused(_) => return CallError::Conflict(error.to_string()),
        SandboxError::AmountTooSmall { .. } | SandboxError::CannotPay { .. } => "btcAmount",
        SandboxError::PartCount { .. } => "parts",
        SandboxError::BlockCount { .. } => "count",
        SandboxError::ReorgDepth { .. } => "depth",
        SandboxError::ClockOutOfRange { .. } => "advanceSeconds",
    };
    CallError::Invalid(vec![FieldError::invalid(field, format!("is not possible: {error}"))])
}
