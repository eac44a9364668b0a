//! The commands of payments, anomalies and deliveries.

use clap::{Args, Subcommand};
use tillgate_domain::payment::PaymentState;

use crate::console::Command;
use crate::console::anomalies::{DismissAnomaly, ListAnomalies, RefundAnomaly, ShowAnomaly};
use crate::console::deliveries::{ListDeliveries, Resend};
use crate::console::payments::{AcceptPayment, ListPayments, ShowPayment};

/// Which part of a list.
#[derive(Debug, Args)]
pub(in crate::cli) struct Range {
    /// How many at most.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500), value_name = "1-500")]
    pub limit: u32,
    /// How many of the newest to pass over.
    #[arg(long, default_value_t = 0)]
    pub offset: u32,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Payments {
    /// List payments, newest first. JSON: {"items": […], "itemsCount"}.
    List {
        #[command(flatten)]
        range: Range,
        /// Only those in this state (NEW, UNDERPAID, UNCONFIRMED, CONFIRMED, EXPIRED, INVALID); repeatable.
        #[arg(long = "status", value_name = "STATE")]
        states: Vec<PaymentState>,
        /// An id, address, transaction id or the shop's own reference.
        #[arg(long, value_name = "TEXT")]
        search: Option<String>,
    },
    /// Show one payment with its transactions, history, deliveries and anomalies.
    Show {
        /// Its id.
        id: String,
    },
    /// Accept the coins that came for an underpaid, expired or invalid payment.
    Accept {
        /// Its id.
        id: String,
    },
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Anomalies {
    /// List anomalies, newest first. JSON: {"items": […], "itemsCount"}.
    List {
        #[command(flatten)]
        range: Range,
        /// Only those that wait for a decision.
        #[arg(long)]
        open: bool,
    },
    /// Show one anomaly.
    Show {
        /// Its id.
        id: String,
    },
    /// Dismiss an anomaly.
    Dismiss {
        /// Its id.
        id: String,
        /// Why, for the record; the shop reads it.
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Send an anomaly's coins back: a payout of all of them, the fee being the merchant's. JSON: the payout record.
    Refund {
        /// Its id.
        id: String,
        /// The address for its coins: ask the customer.
        #[arg(long, value_name = "ADDRESS")]
        address: String,
        /// The currency that the payout is told in [default: the payment's].
        #[arg(long, value_name = "CODE")]
        currency: Option<String>,
        /// Approve the payout at once; else it is an offer that ends after offerValidityMinutes.
        #[arg(long)]
        approve: bool,
        /// Send them although exactly this was paid to this address before, for something else.
        #[arg(long)]
        again: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Deliveries {
    /// List attempts to notify, newest first. JSON: {"items": […], "itemsCount"}.
    List {
        #[command(flatten)]
        range: Range,
        /// Only failed ones.
        #[arg(long)]
        failed: bool,
    },
    /// Queue the present record again, for a delivery, payment, anomaly or payout. JSON: {"queued"}.
    Resend {
        /// The id of the delivery, payment, anomaly or payout.
        id: String,
    },
}

impl Payments {
    /// The command for these arguments.
    pub(super) fn command(self) -> Command {
        match self {
            Self::List { range, states, search } => {
                ListPayments { limit: range.limit, offset: range.offset, states, search }.into()
            }
            Self::Show { id } => ShowPayment { payment_id: id }.into(),
            Self::Accept { id } => AcceptPayment { payment_id: id, agreed_sats: None }.into(),
        }
    }
}

impl Anomalies {
    /// The command for these arguments.
    pub(super) fn command(self) -> Command {
        match self {
            Self::List { range, open } => ListAnomalies { open, limit: range.limit, offset: range.offset }.into(),
            Self::Show { id } => ShowAnomaly { anomaly_id: id }.into(),
            Self::Dismiss { id, reason } => DismissAnomaly { anomaly_id: id, reason }.into(),
            Self::Refund { id, address, currency, approve, again } => {
                RefundAnomaly { anomaly_id: id, address, currency, approve, although_paid: again }.into()
            }
        }
    }
}

impl Deliveries {
    /// The command for these arguments.
    pub(super) fn command(self) -> Command {
        match self {
            Self::List { range, failed } => ListDeliveries { failed, limit: range.limit, offset: range.offset }.into(),
            Self::Resend { id } => Resend { id }.into(),
        }
    }
}
