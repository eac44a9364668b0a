//! The commands of payouts, limits and the statement.

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use tillgate_domain::payout::PayoutState;

use super::records::Range;
use crate::console::alarms::DismissAlarm;
use crate::console::limits::{SetLimits, ShowLimits};
use crate::console::payouts::{
    AbandonPayout, ApprovePayout, BumpPayout, ListPayouts, ReleaseSender, RequestPayout, RetrySender, ShowPayout,
};
use crate::console::{Command, statement};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Payouts {
    /// List payouts, newest first. JSON: {"items": [payout records], "itemsCount"}.
    List {
        #[command(flatten)]
        range: Range,
        /// Only those in this state (NEW, EXPIRED, QUEUED, SENT, FAILED); repeatable.
        #[arg(long = "status", value_name = "STATE")]
        states: Vec<PayoutState>,
        /// An id, address, transaction id, amount in BTC, or the name of whoever asked (an API key, cli:…, panel:…).
        #[arg(long, value_name = "TEXT")]
        search: Option<String>,
    },
    /// Show one payout: what it waits for, its transactions, history and deliveries. JSON: the payout record.
    Show {
        /// Its id.
        id: String,
    },
    /// Ask for a payout; unless it is approved, it is an offer that ends after offerValidityMinutes. JSON: the payout record.
    Request(Request),
    /// Approve an offer: from then on it is sent without anybody's further doing. JSON: the payout record.
    Approve {
        /// Its id.
        id: String,
    },
    /// Replace its transaction by one with a higher fee; payouts that share it stay in it. JSON: the payout record with "replacement", "isLeast", "refusal".
    ///
    /// It pays the estimate, and at least the fee that nodes ask of a replacement (BIP125). If a later transaction
    /// spends its change, the bump replaces the later one, which lifts both. A rate above feeCapSatVb needs --fee-rate.
    Bump {
        /// Its id.
        id: String,
        /// In satoshis for a virtual byte.
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000), value_name = "1-10000")]
        fee_rate: Option<u32>,
        /// Also where the fee is above the sum that the transaction pays out.
        #[arg(long)]
        force: bool,
    },
    /// Give it up. JSON: the payout record with "replacement", "refusal".
    ///
    /// While nothing is signed it is FAILED at once. Else a transaction takes its place that pays ourselves, and it is FAILED
    /// once that has 6 confirmations. If the former one is confirmed instead, it is SENT.
    Abandon {
        /// Its id.
        id: String,
        /// Give up all payouts that share its transaction or rest on it.
        #[arg(long)]
        all: bool,
    },
    /// Say that you know of a payout's alarms: sent after it had FAILED, paid twice, or sent by another copy. JSON: {"alarms"}.
    ///
    /// `status` and `doctor` tell of them until then.
    Dismiss {
        /// Its id.
        id: String,
    },
    /// Let a sender that holds go on: it holds after a restore, and when another copy of this wallet works. JSON: {"released", "serving", "payoutsQueued"}.
    ///
    /// Make sure first that no other copy runs: two copies pay out twice.
    Release {
        /// The reason that `tillgate status` told; refused if the sender holds for another one by now.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Although the mempool shows a transaction of another copy of the wallet.
        #[arg(long)]
        force: bool,
    },
    /// Ask a keyring that was locked at once, not after a minute. JSON: as of release.
    Retry,
}

/// The payout to request.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("amount").required(true).args(["btc", "fiat"]))]
pub(in crate::cli) struct Request {
    /// Where to.
    #[arg(long, value_name = "ADDRESS")]
    address: String,
    /// The Bitcoin to send.
    #[arg(long, value_name = "BTC")]
    btc: Option<String>,
    /// The worth to send, in the currency.
    #[arg(long, value_name = "AMOUNT")]
    fiat: Option<String>,
    /// The currency that it is told in.
    #[arg(long, value_name = "CODE")]
    currency: String,
    /// Its purpose.
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
    /// The URL for notifications that it was sent or failed.
    #[arg(long, value_name = "URL")]
    notification_url: Option<String>,
    /// Approve it at once.
    #[arg(long)]
    approve: bool,
    /// Pay it although another copy of this wallet paid exactly this to this address.
    #[arg(long)]
    again: bool,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Limits {
    /// Show what may be paid out today. JSON: {"used", "available", "minPayoutAmount", "currency"}.
    Show {
        /// Tell it in this currency, at the rate of this moment.
        #[arg(long, value_name = "CODE")]
        currency: Option<String>,
    },
    /// Change the limits (the settings dailyLimitBtc, minPayoutBtc), at once. JSON: as of show.
    #[command(group = ArgGroup::new("limit").required(true).multiple(true).args(["daily", "minimum"]))]
    Set {
        /// The most that is paid out on one day, from midnight to midnight in UTC.
        #[arg(long, value_name = "BTC")]
        daily: Option<String>,
        /// The least amount of one payout.
        #[arg(long, value_name = "BTC")]
        minimum: Option<String>,
    },
}

/// The period and form of the statement.
#[derive(Debug, Args)]
pub(in crate::cli) struct Statement {
    /// The currency that all rows are valued in; it filters none.
    #[arg(long, value_name = "CODE")]
    currency: String,
    /// From then on: 2026-01-12T12:06:20Z, or 2026-01-12 for its midnight in UTC.
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Before then.
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// Print it for other programs; --json means json.
    #[arg(long, value_enum)]
    pub(super) format: Option<StatementFormat>,
}

/// A form of the statement for other programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum StatementFormat {
    /// A table with a header (RFC 4180).
    Csv,
    /// One JSON document.
    Json,
}

impl Payouts {
    pub(super) fn command(self) -> Command {
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
            Self::Bump { id, fee_rate, force } => {
                BumpPayout { payout_id: id, fee_rate, force, fee_at_most_sats: None }.into()
            }
            Self::Abandon { id, all } => AbandonPayout { payout_id: id, all, fee_at_most_sats: None }.into(),
            Self::Release { reason, force } => ReleaseSender { reason, force }.into(),
            Self::Dismiss { id } => DismissAlarm { payout_id: id }.into(),
            Self::Retry => RetrySender {}.into(),
        }
    }
}

impl Limits {
    pub(super) fn command(self) -> Command {
        match self {
            Self::Show { currency } => ShowLimits { currency }.into(),
            Self::Set { daily, minimum } => SetLimits { daily_btc: daily, minimum_btc: minimum }.into(),
        }
    }
}

impl Statement {
    pub(super) fn command(self) -> Command {
        let (after, limit) = (None, None);
        statement::Statement { currency: self.currency, from: self.from, to: self.to, after, limit }.into()
    }
}
