//! Refusals that no use case gives: of the console, of the control socket and of the window's
//! program.

use tillgate_domain::id::Id;
use tillgate_gateway::anomalies::RefundError;
use tillgate_told::{Telling, Told};

/// An id that no record has.
#[derive(Debug, thiserror::Error, Told)]
pub enum NotFound {
    #[error("there is no payment {0}")]
    Payment(Id),
    #[error("there is no payout {0}")]
    Payout(Id),
    #[error("there is no anomaly {0}")]
    Anomaly(Id),
    #[error("there is no alarm about payout {0}")]
    Alarm(Id),
    #[error("there is no delivery, payment, anomaly or payout {0}")]
    Record(Id),
}

/// A second refund, whose first one has this payout.
#[derive(Debug, thiserror::Error, Told)]
#[error("{refusal}: payout {payout_id} sends its coins back")]
pub struct RefundedByPayout {
    pub refusal: RefundError,
    pub payout_id: String,
}

/// A refusal of the console or of the window's program.
#[derive(Debug, Clone, thiserror::Error, Told)]
pub enum Refusal {
    #[error("something failed inside Tillgate: its log says more")]
    Internal,
    #[error("the database could not be read or written: try again")]
    Database,
    #[error(
        "there is no wallet yet: `tillgate wallet create` makes one, `tillgate wallet restore` restores one"
    )]
    NoWallet,
    #[error("the password could not be stored: {0}")]
    PasswordNotStored(String),
    #[error("The customer's display can only show a payment.")]
    CustomersDisplay,
    #[error("The desktop did not open a second window. Use the view in this window.")]
    NoSecondWindow,
    #[error("This desktop has no mail program set up. Copy the page's address instead.")]
    NoMailProgram,
    #[error("This desktop has no browser set up. Copy the page's address instead.")]
    NoBrowser,
    #[error("This payment has no page that a browser can open. Check the setting publicUrl.")]
    NoPage,
    #[error("{path} cannot be written ({error}). Free some space, or move old files.")]
    FileNotSaved { path: String, error: String },
    #[error("The gateway opens its database.")]
    GatewayOpening,
    #[error("The gateway was stopped.")]
    GatewayStopped,
    #[error("The gateway failed. Its log on standard error says why.")]
    GatewayFailed,
    #[error("Tillgate could not start here: {why}")]
    GatewayDown { why: Telling },
    #[error(
        "Another Tillgate serves this data directory, at {api}. Use its own window, or the command line. To work in this window, stop it and choose “Try again”. ({why})"
    )]
    GatewayElsewhere { api: String, why: String },
    #[error("The command failed. The log on standard error says why.")]
    CommandFailed,
    #[error("The command is for the environment {0}, which does not run in this window.")]
    OtherEnvironment(String),
}

/// A fault of an argument. Its text continues the argument's name.
#[derive(Debug, thiserror::Error, Told)]
pub enum ArgumentFault {
    #[error("must be from {least} to {most}")]
    Range { least: u32, most: u32 },
    #[error("must be from {least} to {most} sat/vB")]
    FeeRate { least: u64, most: u64 },
    #[error("must be an ISO 4217 code, like USD")]
    Currency,
    #[error("must be one of the currencies of your prices")]
    NoPrices,
    #[error("must be a time like 2026-01-12T12:06:20Z, or a date like 2026-01-12")]
    Time,
    #[error("must be the `next` of the previous page")]
    Place,
    #[error("must be 12 or 24")]
    WordCount,
    #[error("must name a server, like {example}")]
    Server { example: &'static str },
    #[error("must have from {least} to {most} entries")]
    Entries { least: usize, most: usize },
    #[error("must have 1 to {most} characters and no control character")]
    Name { most: usize },
    #[error("must be a colour like #1d6f42")]
    Color,
    #[error("say what to change: the daily limit, the minimum, or both")]
    NoLimit,
    #[error("must be at least {least} sat/vB now: the Bitcoin backend refuses less")]
    LowRate { least: u64 },
}
