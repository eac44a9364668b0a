//! The errors of the sandbox's calls.

use tillgate_machine::field_errors::FieldError;
use tillgate_sandbox::{BroadcastRefusal, SandboxError};
use tillgate_store::StoreError;
use tillgate_told::{Telling, Told};

use crate::answer::{Answer, Answered, ToShops};
use crate::error_type::ErrorType;
use crate::sender::SendError;
use crate::watcher::WatchError;

/// The reason why a call was refused or failed.
#[derive(Debug, thiserror::Error, Told)]
pub enum CallError {
    /// The path does not exist, or this environment is not the sandbox.
    #[error("there is no such path")]
    NoSuchPath,
    /// The path accepts another method.
    #[error("this path accepts only {0}")]
    MethodNotAllowed(&'static str),
    /// The path names an unknown payment or transaction.
    #[error("{0}")]
    NotFound(Telling),
    /// The request is invalid.
    #[error("the request is not valid")]
    Invalid(Vec<FieldError>),
    /// The present state of the sandbox does not allow the call.
    #[error("{0}")]
    Conflict(Telling),
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

/// A path that names no record.
#[derive(Debug, thiserror::Error, Told)]
pub enum Missing {
    #[error("there is no payment {0}")]
    Payment(String),
    #[error("there is no transaction {0}")]
    Transaction(String),
}

/// A fault of a field. Its text continues the field's name.
#[derive(Debug, thiserror::Error, Told)]
pub enum BodyFault {
    #[error("must be true or false")]
    Flag,
    #[error("must be a whole number from {least} to {most}")]
    Whole { least: String, most: String },
    #[error("must be a number from 0 to {most} with at most 3 decimals")]
    Thousandths { most: u64 },
    #[error("must be a decimal number like 0.00100000")]
    Btc,
    #[error("is not the code of a known currency")]
    Currency,
    #[error("must be a decimal number like 65000.00, or null")]
    Rate,
    #[error("is allowed only with \"toCustomer\": false")]
    OnlyToOthers,
    #[error("must be an address of the sandbox's network (regtest), like bcrt1q…")]
    Address,
    #[error("contradicts \"broadcast\": \"{0}\"")]
    Contradicts(&'static str),
    #[error("is required, because nothing remains to be paid of this payment")]
    NothingRemains,
    #[error("is not possible: {0}")]
    Impossible(SandboxError),
}

impl Answered for CallError {
    fn answer(&self) -> Answer<'_> {
        match self {
            Self::NoSuchPath => Answer::not_found("There is no such path"),
            Self::MethodNotAllowed(_) => Answer::new(ErrorType::MethodNotAllowed),
            Self::NotFound(_) => Answer::new(ErrorType::NotFound),
            Self::Invalid(field_errors) => Answer::Fields(field_errors.into()),
            Self::Conflict(_) => Answer::new(ErrorType::SandboxRefused),
            Self::Store(error)
            | Self::Look(WatchError::Store(error))
            | Self::Send(SendError::Store(error)) => error.answer(),
            Self::Look(WatchError::Outbox(error)) | Self::Send(SendError::Outbox(error)) => {
                error.answer()
            }
            // The reason may name the sandbox's file.
            Self::Sandbox(SandboxError::Storage(_) | SandboxError::File(_)) => Answer::new(
                ErrorType::StorageUnavailable,
            )
            .to_shops(ToShops::Instead("Nothing can be stored at the moment; nothing was changed")),
            Self::Look(_) | Self::Send(_) | Self::Sandbox(_) | Self::Interrupted => {
                Answer::internal()
            }
        }
    }
}

impl From<Missing> for CallError {
    fn from(missing: Missing) -> Self {
        Self::NotFound(missing.telling())
    }
}

/// Converts an error of the sandbox. An error about a field's value names the field.
pub fn refused(error: SandboxError) -> CallError {
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
        SandboxError::UnknownTransaction(_) => return CallError::NotFound(error.telling()),
        SandboxError::ClockTooFarBehind { .. }
        | SandboxError::AlreadyConfirmed(_)
        | SandboxError::NotInMempool(_)
        | SandboxError::NotTheCustomers(_)
        | SandboxError::PaysNobodyElse(_) => return CallError::Conflict(error.telling()),
        SandboxError::Refused(BroadcastRefusal::ReplacementFeeTooLow { .. }) | SandboxError::FeeRate { .. } => {
            "feeRate"
        }
        SandboxError::Refused(BroadcastRefusal::Storage(_)) => return CallError::Sandbox(error),
        SandboxError::Refused(_) => return CallError::Conflict(error.telling()),
        SandboxError::AmountTooSmall { .. } | SandboxError::CannotPay { .. } => "btcAmount",
        SandboxError::PartCount { .. } => "parts",
        SandboxError::BlockCount { .. } => "count",
        SandboxError::ReorgDepth { .. } => "depth",
        SandboxError::ClockOutOfRange { .. } => "advanceSeconds",
    };
    CallError::Invalid(vec![FieldError::told(field, &BodyFault::Impossible(error))])
}
