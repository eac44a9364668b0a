//! The commands of payments, anomalies and deliveries.

use clap::{Args, Subcommand, ValueEnum};
use tillgate_console::Command;
use tillgate_console::anomalies::{
    AskRefundAddress, DismissAnomaly, ListAnomalies, RefundAnomaly, ShowAnomaly,
};
use tillgate_console::deliveries::{ListDeliveries, Resend};
use tillgate_console::payments::{
    AcceptPayment, CancelPayment, ListPayments, PaymentsNarrowing, PaymentsSheet, ShowPayment,
};
use tillgate_domain::payment::PaymentState;
use tillgate_machine::locale;

/// The part of a list to show.
#[derive(Debug, Args)]
pub struct Range {
    /// The maximum number of items.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500), value_name = "1-500")]
    pub limit: u32,
    /// The number of newest items to skip.
    #[arg(long, default_value_t = 0)]
    pub offset: u32,
}

#[derive(Debug, Subcommand)]
pub enum Payments {
    /// List payments, newest first. JSON: {"items": […], "itemsCount", "sums"}; only a narrowed
    /// list has sums.
    List {
        #[command(flatten)]
        range: Range,
        /// Only those in this state (NEW, UNDERPAID, UNCONFIRMED, CONFIRMED, EXPIRED, INVALID);
        /// repeatable.
        #[arg(long = "status", value_name = "STATE")]
        states: Vec<PaymentState>,
        /// A part of the reference, message, address, payment id or transaction id, or the amount.
        #[arg(long, value_name = "TEXT")]
        search: Option<String>,
        /// Only those of this API key.
        #[arg(long, value_name = "NAME")]
        key: Option<String>,
        /// Print all that match as a table, not only a page of them.
        #[arg(long, value_enum, conflicts_with_all = ["limit", "offset"])]
        format: Option<ListFormat>,
    },
    /// Show one payment with its transactions, history, deliveries and anomalies.
    Show {
        /// The payment's id.
        id: String,
    },
    /// Accept the coins received for an underpaid, expired or invalid payment.
    Accept {
        /// The payment's id.
        id: String,
    },
    /// Cancel a payment that is NEW and that no coins were seen for: it expires at once.
    Cancel {
        /// The payment's id.
        id: String,
    },
}

/// A table with a heading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// For programs (RFC 4180), with points and commas.
    Csv,
    /// For the spreadsheets of your locale (LC_ALL, LC_NUMERIC, LANG), with a byte order mark.
    Spreadsheet,
}

impl ListFormat {
    /// The locale whose spreadsheets read the table; `None` for CSV.
    pub fn locale(self) -> Option<String> {
        match self {
            Self::Csv => None,
            Self::Spreadsheet => Some(locale::of_numbers()),
        }
    }
}

#[derive(Debug, Subcommand)]
pub enum Anomalies {
    /// List anomalies, newest first. JSON: {"items": […], "itemsCount"}.
    List {
        #[command(flatten)]
        range: Range,
        /// Only anomalies that await a decision.
        #[arg(long)]
        open: bool,
    },
    /// Show one anomaly.
    Show {
        /// The anomaly's id.
        id: String,
    },
    /// Dismiss an anomaly.
    Dismiss {
        /// The anomaly's id.
        id: String,
        /// The reason; it is stored, and the shop can read it.
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Ask the customer on the payment page for the address of a refund. Give the customer the
    /// page's URL.
    Ask {
        /// The anomaly's id.
        id: String,
    },
    /// Refund an anomaly: a payout of all its coins; the merchant pays the fee. JSON: the payout
    /// record.
    Refund {
        /// The anomaly's id.
        id: String,
        /// The address for the refund: ask the customer for it.
        #[arg(long, value_name = "ADDRESS")]
        address: String,
        /// The currency in which the payout's value is recorded [default: the payment's].
        #[arg(long, value_name = "CODE")]
        currency: Option<String>,
        /// Approve the payout at once; else it is an offer, which expires after
        /// offerValidityMinutes.
        #[arg(long)]
        approve: bool,
        /// Refund even if another copy of this wallet paid this address, or a payout since paid
        /// exactly this amount.
        #[arg(long)]
        again: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum Deliveries {
    /// List attempts to notify, newest first. JSON: {"items": […], "itemsCount"}.
    List {
        #[command(flatten)]
        range: Range,
        /// Only failed attempts.
        #[arg(long)]
        failed: bool,
    },
    /// Send a notification of the record as it is now, by the id of a record or of a delivery.
    /// JSON: {"queued"}.
    Resend {
        /// The id of the delivery, payment, anomaly or payout.
        id: String,
    },
}

impl Payments {
    /// The command for these arguments.
    pub fn command(self) -> Command {
        match self {
            Self::List { range: Range { limit, offset }, states, search, key, format } => {
                let narrowing = PaymentsNarrowing {
                    states,
                    search,
                    label: key,
                    ..PaymentsNarrowing::default()
                };
                match format {
                    Some(format) => {
                        PaymentsSheet { narrowing, locale: format.locale(), after: None }.into()
                    }
                    None => ListPayments { limit, offset, narrowing }.into(),
                }
            }
            Self::Show { id } => ShowPayment { payment_id: id }.into(),
            Self::Accept { id } => AcceptPayment { payment_id: id, agreed_sats: None }.into(),
            Self::Cancel { id } => CancelPayment { payment_id: id }.into(),
        }
    }
}

impl Anomalies {
    /// The command for these arguments.
    pub fn command(self) -> Command {
        match self {
            Self::List { range, open } => {
                ListAnomalies { open, limit: range.limit, offset: range.offset }.into()
            }
            Self::Show { id } => ShowAnomaly { anomaly_id: id }.into(),
            Self::Ask { id } => AskRefundAddress { anomaly_id: id }.into(),
            Self::Dismiss { id, reason } => DismissAnomaly { anomaly_id: id, reason }.into(),
            Self::Refund { id, address, currency, approve, again } => {
                RefundAnomaly { anomaly_id: id, address, currency, approve, although_paid: again }
                    .into()
            }
        }
    }
}

impl Deliveries {
    /// The command for these arguments.
    pub fn command(self) -> Command {
        match self {
            Self::List { range, failed } => {
                ListDeliveries { failed, limit: range.limit, offset: range.offset }.into()
            }
            Self::Resend { id } => Resend { id }.into(),
        }
    }
}
