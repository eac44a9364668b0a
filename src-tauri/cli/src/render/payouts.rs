//! Payouts, as text for people.

use tillgate_console::alarms::AlarmsView;
use tillgate_console::btc::BtcView;
use tillgate_console::payouts::{
    AbandonEstimateView, AbandonedView, AnomalyAlike, BumpEstimateView, BumpedView, EstimateView,
    PaidBefore, PayoutItem, PayoutView, RefusalView, SendEstimateView, SenderView, SentAloneView,
    VersionItem,
};
use tillgate_domain::payout::PayoutState;
use tillgate_domain::words::count;
use tillgate_gateway::gateway::WaitCause;
use tillgate_told::Telling;

use super::certificates::certificate;
use super::deliveries::deliveries;
use super::labels::quoted;
use super::name::name;
use crate::remedy::as_given;
use crate::table::Align::{Left, Right};
use crate::table::{Table, fields};

/// The origin of a transaction that paid a payout but was not made here, and the remedy.
const ELSEWHERE: &str = "a transaction that was not made here: another copy of this wallet made it (stop that copy), or somebody else did \
     (if that payment was for something else, request the payout again)";

pub fn payouts(items: &[PayoutItem]) -> String {
    let mut table = Table::new(&[
        ("payout", Left),
        ("state", Left),
        ("amount BTC", Right),
        ("worth", Right),
        ("", Left),
        ("address", Left),
        ("created", Left),
        ("asked for by", Left),
        ("approved by", Left),
        ("waits for, or is stuck", Left),
    ]);
    for item in items {
        table.row([
            item.payout_id.clone(),
            item.state.to_string(),
            item.amount.shown.clone(),
            item.worth.shown.clone(),
            item.currency.clone(),
            item.address.clone(),
            item.creation_time.clone(),
            item.requested_by.clone(),
            item.approved_by.clone().unwrap_or_default(),
            waits_for(item)
                .or_else(|| item.stuck.as_ref().map(|stuck| stuck.message.to_string()))
                .unwrap_or_default(),
        ]);
    }
    table.render("No payouts.")
}

pub fn payout(view: &PayoutView) -> String {
    let mut text = fields(&about(view));
    let mut sharing = Table::new(&[
        ("shares its transaction with", Left),
        ("state", Left),
        ("amount BTC", Right),
    ]);
    for one in &view.shares_with {
        sharing.row([one.payout_id.clone(), one.state.to_string(), one.amount.shown.clone()]);
    }
    let mut history = Table::new(&[
        ("time", Left),
        ("step", Left),
        ("by", Left),
        ("transaction", Left),
        ("reason", Left),
    ]);
    for one in &view.history {
        history.row([
            one.time.clone(),
            name(one.step),
            one.by.clone().unwrap_or_default(),
            one.btc_tx_id.clone().unwrap_or_default(),
            in_english(&one.reason).unwrap_or_default(),
        ]);
    }
    let sharing = if view.shares_with.is_empty() { String::new() } else { sharing.render("") };
    let certificate = certificate(view.certificate.as_ref());
    for section in [
        versions(view),
        sharing,
        history.render("No steps."),
        certificate,
        deliveries(&view.deliveries),
    ] {
        if !section.is_empty() {
            text.push('\n');
            text.push_str(&section);
        }
    }
    let id = &view.item.payout_id;
    for (possible, what) in [
        (&view.can_approve, format!("To approve it: `tillgate payouts approve {id}`")),
        (
            &view.can_send,
            format!(
                "To send it alone at a fee rate of your own: `tillgate payouts send {id} --fee-rate N`"
            ),
        ),
        (&view.can_bump, format!("To raise its fee: `tillgate payouts bump {id}`")),
        (&view.can_abandon, format!("To cancel it: `tillgate payouts abandon {id}`")),
    ] {
        if possible.possible {
            text.push_str(&format!("\n{}\n", as_given(&what)));
        }
    }
    text
}

pub fn sent_alone(view: &SentAloneView) -> String {
    let SentAloneView { payout: shown, transaction, refusal } = view;
    let VersionItem { fee, fee_rate, btc_tx_id, accepted, .. } = transaction;
    let sums = format!("{} BTC, {fee_rate} sat/vB", fee.shown);
    let first = if *accepted {
        format!("The payout is sent for a fee of {sums}, in transaction {btc_tx_id}.")
    } else {
        let why = no_node(refusal.as_ref());
        format!(
            "Transaction {btc_tx_id} with a fee of {sums} is stored, but {why}. It is broadcast again after each block."
        )
    };
    format!("{first}\n\n{}", payout(shown))
}

pub fn send_estimate(view: &SendEstimateView) -> String {
    let worth = view.worth.as_ref().map(|worth| format!(", {worth}")).unwrap_or_default();
    fields(&[("fee", format!("{} BTC{worth}, {} sat/vB", view.fee.shown, view.fee_rate))])
}

pub fn bumped(view: &BumpedView) -> String {
    let BumpedView { payout: shown, replacement, is_least, refusal } = view;
    let least = if *is_least { ", the least that nodes take" } else { "" };
    let VersionItem { fee, fee_rate, btc_tx_id, .. } = replacement;
    let sums = format!("{} BTC, {fee_rate} sat/vB{least}", fee.shown);
    let first = if replacement.accepted {
        format!("The fee is raised to {sums}, in transaction {btc_tx_id}.")
    } else {
        let higher =
            as_given(&format!("`tillgate payouts bump {} --fee-rate N`", shown.item.payout_id));
        let remedy = if refusal.as_ref().is_some_and(|refusal| refusal.fee_may_help) {
            format!(" A higher fee: {higher}.")
        } else {
            String::new()
        };
        format!(
            "Transaction {btc_tx_id} with a fee of {sums} is stored, but {}{remedy}",
            not_accepted(refusal.as_ref())
        )
    };
    format!("{first}\n\n{}", payout(shown))
}

pub fn abandoned(view: &AbandonedView) -> String {
    let AbandonedView { payout: shown, replacement, refusal } = view;
    let Some(VersionItem { fee, btc_tx_id, accepted, .. }) = replacement else {
        return payout(shown);
    };
    let end = if *accepted {
        ".".to_owned()
    } else {
        format!(", but {}", not_accepted(refusal.as_ref()))
    };
    format!(
        "Transaction {btc_tx_id} pays the coins back for a fee of {} BTC{end}\n\n{}",
        fee.shown,
        payout(shown)
    )
}

/// The backend's refusal, or a clause that no node has accepted a transaction yet.
fn no_node(refusal: Option<&RefusalView>) -> String {
    refusal.map_or_else(
        || "no node has accepted it yet".to_owned(),
        |refusal| refusal.message.to_string(),
    )
}

/// A sentence that no node has accepted a stored transaction, and the reason.
fn not_accepted(refusal: Option<&RefusalView>) -> String {
    let why = no_node(refusal);
    format!(
        "{why}. It is broadcast again after each block. Until a node accepts it, the earlier transaction stays."
    )
}

pub fn abandon_estimate(view: &AbandonEstimateView) -> String {
    let fee =
        view.fee.as_ref().map_or_else(|| "none".to_owned(), |fee| format!("{} BTC", fee.shown));
    fields(&[("fee", fee), ("payouts", view.payouts.len().to_string())])
}

pub fn bump_estimate(view: &BumpEstimateView) -> String {
    let worth = view.worth.as_ref().map(|worth| format!(", {worth}")).unwrap_or_default();
    fields(&[
        ("fee now", format!("{} BTC", view.fee_now.shown)),
        ("fee then", format!("{} BTC{worth}", view.fee.shown)),
        ("rate", format!("{} sat/vB", view.fee_rate)),
    ])
}

fn about(view: &PayoutView) -> Vec<(&'static str, String)> {
    let item = &view.item;
    let none = || "–".to_owned();
    let mut rows = vec![
        ("payout", item.payout_id.clone()),
        ("state", item.state.to_string()),
        ("address", item.address.clone()),
        ("amount", format!("{} BTC, {}", item.amount.shown, item.worth)),
        ("rate", format!("{} {}", item.rate_shown, item.currency)),
        ("network fee", format!("{} BTC as offered", item.fee.shown)),
        ("total", format!("{} BTC, {}", item.total.shown, item.total_worth)),
    ];
    rows.extend(in_english(&view.fee_warning).map(|warning| ("warning", warning)));
    rows.extend(view.paid_before.as_ref().map(|before| ("paid before", paid_before(before))));
    rows.extend(view.anomaly_alike.as_ref().map(|alike| ("warning", refund_instead(alike))));
    rows.extend(item.fee_paid.as_ref().map(|fee| ("fee paid", format!("{} BTC", fee.shown))));
    rows.extend(waits_for(item).map(|why| ("waits for", why)));
    rows.extend(item.stuck.as_ref().map(|stuck| ("stuck", stuck.message.to_string())));
    rows.extend(in_english(&item.failure_reason).map(|why| {
        (if item.state == PayoutState::Failed { "failed because" } else { "ended because" }, why)
    }));
    if item.balance_short {
        rows.push(("balance", "too few coins were spendable at the request".to_owned()));
    }
    rows.extend(item.btc_tx_id.clone().map(|txid| ("transaction", txid)));
    if item.made_elsewhere {
        rows.push(("paid by", ELSEWHERE.to_owned()));
    }
    rows.extend([
        ("confirmations", item.confirmations.to_string()),
        ("created", item.creation_time.clone()),
        ("expires", item.expiration_time.clone()),
        ("approved", item.approval_time.clone().unwrap_or_else(none)),
        ("sent", item.sent_time.clone().unwrap_or_else(none)),
        ("failed", item.failed_time.clone().unwrap_or_else(none)),
        ("asked for by", item.requested_by.clone()),
        ("approved by", item.approved_by.clone().unwrap_or_else(none)),
        ("comment", item.comment.clone().unwrap_or_else(none)),
        ("label", quoted(&view.labels)),
        ("anomaly", item.anomaly_id.clone().unwrap_or_else(none)),
        ("notifies", view.notification_url.clone().unwrap_or_else(none)),
    ]);
    rows
}

fn paid_before(before: &PaidBefore) -> String {
    let PaidBefore { payout_id, state, amount, time } = before;
    format!(
        "the address has payout {payout_id} of {} BTC, {state}, requested {time}: make sure that this is not the same bill",
        amount.shown
    )
}

/// The remedy for a payout that may be meant as the refund of an anomaly.
fn refund_instead(alike: &AnomalyAlike) -> String {
    let id = &alike.anomaly_id;
    as_given(&format!(
        "open anomaly {id} holds exactly this sum: if this is its refund, use `tillgate anomalies refund {id}`, or it may be refunded twice"
    ))
}

/// The reason why a payout waits, with the remedy at the command line. Other fields of an answer
/// are left unchanged, because they may hold text that others wrote.
fn waits_for(item: &PayoutItem) -> Option<String> {
    let cause = item.wait_cause.unwrap_or(WaitCause::Other);
    item.waits_for.as_ref().map(|reason| as_given(&cause.at_the_command_line(reason)))
}

fn versions(view: &PayoutView) -> String {
    let mut table = Table::new(&[
        ("transaction", Left),
        ("pays", Left),
        ("fee BTC", Right),
        ("sat/vB", Right),
        ("confirmations", Right),
        ("position", Left),
        ("accepted", Left),
        ("signed", Left),
    ]);
    for one in &view.versions {
        table.row([
            one.btc_tx_id.clone(),
            if one.pays { "yes".to_owned() } else { "cancels".to_owned() },
            one.fee.shown.clone(),
            one.fee_rate.clone(),
            one.confirmations.to_string(),
            name(one.position),
            if one.accepted { "yes".to_owned() } else { "not yet".to_owned() },
            one.time.clone(),
        ]);
    }
    table.render(if view.item.made_elsewhere {
        "No transactions were made here."
    } else {
        "No transactions."
    })
}

pub fn released(view: &SenderView) -> String {
    let first = if view.released { "The sender continues." } else { "The sender was not on hold." };
    format!("{first} {}", waiting(view))
}

pub fn dismissed(view: &AlarmsView) -> String {
    let left = count(view.alarms.len() as u64, "alarm is", "alarms are");
    format!("The payout's alarms are dismissed. {left} left.\n")
}

pub fn retried(view: &SenderView) -> String {
    let first = if view.serving {
        "The secret store is asked again at once."
    } else {
        "No gateway runs, so the secret store is not asked now."
    };
    format!("{first} {}", waiting(view))
}

fn waiting(view: &SenderView) -> String {
    let queued = count(view.payouts_queued, "payout waits", "payouts wait");
    let serve =
        if view.serving || view.payouts_queued == 0 { "" } else { " `tillgate serve` sends them." };
    format!("{queued} to be sent.{serve}\n")
}

fn in_english(told: &Option<Telling>) -> Option<String> {
    told.as_ref().map(ToString::to_string)
}

pub fn estimate(view: &EstimateView) -> String {
    let btc = |sum: &Option<BtcView>| sum.as_ref().map(|sum| format!("{} BTC", sum.shown));
    let rows = [
        ("amount", btc(&view.amount)),
        ("fee", btc(&view.fee)),
        ("total", btc(&view.total)),
        ("largest amount", Some(format!("{} BTC", view.most.shown))),
        ("address", in_english(&view.address_problem)),
        ("problem", in_english(&view.amount_problem)),
        ("rate", in_english(&view.rate_problem).or_else(|| view.rate_shown.clone())),
    ];
    let rows: Vec<_> =
        rows.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))).collect();
    fields(&rows)
}
