//! The commands of payouts, limits and the statement.

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use tillgate_console::alarms::DismissAlarm;
use tillgate_console::limits::{SetLimits, ShowLimits};
use tillgate_console::payouts::{
    AbandonPayout, ApprovePayout, BumpPayout, ListPayouts, RejectPayout, ReleaseSender,
    RequestPayout, RetrySender, SendPayout, ShowPayout,
};
use tillgate_console::statement_sheet::StatementSheet;
use tillgate_console::{Command, statement};
use tillgate_domain::payout::PayoutState;
use tillgate_machine::locale;

use super::records::Range;

#[derive(Debug, Subcommand)]
pub enum Payouts {
    /// List payouts, newest first. JSON: {"items": [payout records], "itemsCount"}.
    List {
        #[command(flatten)]
        range: Range,
        /// Only those in this state (NEW, EXPIRED, QUEUED, SENT, FAILED); repeatable.
        #[arg(long = "status", value_name = "STATE")]
        states: Vec<PayoutState>,
        /// An id, address, transaction id, amount in BTC, or the requester's name (an API key,
        /// cli:…, panel:…).
        #[arg(long, value_name = "TEXT")]
        search: Option<String>,
    },
    /// Show one payout: what it waits for, its transactions, history and deliveries. JSON: the
    /// payout record.
    Show {
        /// The payout's id.
        id: String,
    },
    /// Request a payout. Until approved it is an offer, which expires after offerValidityMinutes.
    /// JSON: the payout record.
    Request(Request),
    /// Approve an offer: it is queued, and sent without further questions. JSON: the payout record.
    Approve {
        /// The payout's id.
        id: String,
    },
    /// Reject a shop's offer, or withdraw an offer of your own: it expires at once. JSON: the
    /// payout record.
    Reject {
        /// The payout's id.
        id: String,
        /// The reason, which the shop can read.
        #[arg(long, value_name = "TEXT", default_value = "")]
        reason: String,
    },
    /// Send an approved payout that waits, alone and at a fee rate of your own. JSON: the payout
    /// record.
    ///
    /// The rate may be above feeCapSatVb. For a payout that waits for lower fees, or because the
    /// Bitcoin backend has no estimate of the fee rate.
    Send {
        /// The payout's id.
        id: String,
        /// The fee rate in satoshis per virtual byte.
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000), value_name = "1-10000")]
        fee_rate: u32,
        /// Send it even if the fee exceeds the payout's amount.
        #[arg(long)]
        force: bool,
    },
    /// Replace a payout's transaction by one with a higher fee, which pays the same payouts. JSON:
    /// the payout record with "replacement", "isLeast", "refusal".
    ///
    /// The new fee follows the estimate, and is at least the fee that nodes require of a
    /// replacement (BIP125). If a later transaction spends the change, the later one is replaced
    /// instead, which raises the fee rate of both. A rate above feeCapSatVb needs --fee-rate.
    Bump {
        /// The payout's id.
        id: String,
        /// The fee rate in satoshis per virtual byte.
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000), value_name = "1-10000")]
        fee_rate: Option<u32>,
        /// Replace it even if the fee exceeds the sum that the transaction pays out.
        #[arg(long)]
        force: bool,
    },
    /// Cancel a payout. JSON: the payout record with "replacement", "refusal".
    ///
    /// A payout without a signed transaction is FAILED at once. Else a replacement returns the
    /// coins to this wallet. The payout is FAILED once the replacement has 6 confirmations, or SENT
    /// if the original is confirmed instead.
    Abandon {
        /// The payout's id.
        id: String,
        /// Cancel all payouts that share its transaction or spend its change.
        #[arg(long)]
        all: bool,
    },
    /// Dismiss a payout's alarms: sent after it had FAILED, paid twice, or sent by another copy.
    /// JSON: {"alarms"}.
    ///
    /// `status` and `doctor` report the alarms until then.
    Dismiss {
        /// The payout's id.
        id: String,
    },
    /// End the sender's hold, which begins after a restore or when another copy of this wallet was
    /// active. JSON: {"released", "serving", "payoutsQueued"}.
    ///
    /// First make sure that no other copy runs: two copies may pay the same payout twice.
    Release {
        /// The hold's reason as `tillgate status` showed it; refused if the reason has changed
        /// since.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Release even if the mempool shows a transaction of another copy of the wallet.
        #[arg(long)]
        force: bool,
    },
    /// Try a locked keyring again now, not only after a minute. JSON: as for release.
    Retry,
}

/// The payout to request.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("amount").required(true).args(["btc", "fiat"]))]
pub struct Request {
    /// The recipient's address.
    #[arg(long, value_name = "ADDRESS")]
    address: String,
    /// The amount in BTC.
    #[arg(long, value_name = "BTC")]
    btc: Option<String>,
    /// The amount in the currency of --currency.
    #[arg(long, value_name = "AMOUNT")]
    fiat: Option<String>,
    /// The currency in which the payout's value is recorded.
    #[arg(long, value_name = "CODE")]
    currency: String,
    /// A note on the payout's purpose.
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    /// The URL to notify when the payout is sent or fails.
    #[arg(long, value_name = "URL")]
    notification_url: Option<String>,
    /// Approve the payout at once.
    #[arg(long)]
    approve: bool,
    /// Pay even if another copy of this wallet paid this address, in any amount.
    #[arg(long)]
    again: bool,
}

#[derive(Debug, Subcommand)]
pub enum Limits {
    /// Show what may be paid out today. JSON: {"used", "available", "minPayoutAmount", "currency"}.
    Show {
        /// Show the amounts in this currency, at the current rate.
        #[arg(long, value_name = "CODE")]
        currency: Option<String>,
    },
    /// Change the limits (the settings dailyLimitBtc and minPayoutBtc) at once. JSON: as for show.
    #[command(group = ArgGroup::new("limit").required(true).multiple(true).args(["daily", "minimum"]))]
    Set {
        /// The maximum paid out in one day, from midnight to midnight UTC.
        #[arg(long, value_name = "BTC")]
        daily: Option<String>,
        /// The minimum amount of one payout.
        #[arg(long, value_name = "BTC")]
        minimum: Option<String>,
    },
}

/// The period and form of the statement.
#[derive(Debug, Args)]
pub struct Statement {
    /// The currency in which all rows are valued; it filters no rows.
    #[arg(long, value_name = "CODE")]
    currency: String,
    /// The time of the earliest rows: 2026-01-12T12:06:20Z, or 2026-01-12 for midnight UTC.
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// The end of the period; rows at this time are left out.
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// Print the statement in another form; --json is short for --format json.
    #[arg(long, value_enum)]
    pub format: Option<StatementFormat>,
}

/// A form of the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StatementFormat {
    /// A table for programs (RFC 4180), with points and commas.
    Csv,
    /// A table for the spreadsheets of your locale (LC_ALL, LC_NUMERIC, LANG), with a byte order
    /// mark.
    Spreadsheet,
    /// One JSON document.
    Json,
}

impl Payouts {
    pub fn command(self) -> Command {
        match self {
            Self::List { range, states, search } => {
                ListPayouts { limit: range.limit, offset: range.offset, states, search }.into()
            }
            Self::Show { id } => ShowPayout { payout_id: id }.into(),
            Self::Request(request) => RequestPayout {
                address: request.address,
                btc_amount: request.btc,
                fiat_amount: request.fiat,
                currency: request.currency,
                comment: request.comment,
                notification_url: request.notification_url,
                approve: request.approve,
                again: request.again,
            }
            .into(),
            Self::Approve { id } => ApprovePayout { payout_id: id }.into(),
            Self::Reject { id, reason } => RejectPayout { payout_id: id, reason }.into(),
            Self::Send { id, fee_rate, force } => {
                SendPayout { payout_id: id, fee_rate, force, fee_at_most_sats: None }.into()
            }
            Self::Bump { id, fee_rate, force } => {
                BumpPayout { payout_id: id, fee_rate, force, fee_at_most_sats: None }.into()
            }
            Self::Abandon { id, all } => {
                AbandonPayout { payout_id: id, all, fee_at_most_sats: None }.into()
            }
            Self::Release { reason, force } => ReleaseSender { reason, force }.into(),
            Self::Dismiss { id } => DismissAlarm { payout_id: id }.into(),
            Self::Retry => RetrySender {}.into(),
        }
    }
}

impl Limits {
    pub fn command(self) -> Command {
        match self {
            Self::Show { currency } => ShowLimits { currency }.into(),
            Self::Set { daily, minimum } => {
                SetLimits { daily_btc: daily, minimum_btc: minimum }.into()
            }
        }
    }
}

impl Statement {
    pub fn command(self) -> Command {
        let Self { currency, from, to, format } = self;
        let (kind, after, limit) = (None, None, None);
        let statement = statement::Statement { currency, from, to, kind, after, limit };
        match format {
            Some(StatementFormat::Csv) => StatementSheet { statement, locale: None }.into(),
            Some(StatementFormat::Spreadsheet) => {
                StatementSheet { statement, locale: Some(locale::of_numbers()) }.into()
            }
            Some(StatementFormat::Json) | None => statement.into(),
        }
    }
}
