//! Limits, the wallet's sums, and the statement.

use tillgate_domain::restore::RestoreState;
use tillgate_domain::words::count;

use crate::cli::table::Align::{Left, Right};
use crate::cli::table::{Table, fields};
use crate::console::limits::LimitsView;
use crate::console::statement::{StatementItem, StatementTotal, StatementTotals};
use crate::console::sums::FiatView;
use crate::console::wallet::{RestoreView, RestoredView, WalletDescriptorView, WalletInfoView};

pub(super) fn limits(view: &LimitsView) -> String {
    let worth = |pick: fn(&crate::console::limits::LimitsWorth) -> &FiatView| {
        let sum = view.worth.as_ref().map(pick);
        sum.map(|sum| format!(", {} {}", sum.shown, sum.currency)).unwrap_or_default()
    };
    fields(&[
        ("a day", format!("{} BTC", view.daily.shown)),
        ("approved today", format!("{} BTC{}", view.used.shown, worth(|worth| &worth.used))),
        ("left today", format!("{} BTC{}", view.available.shown, worth(|worth| &worth.available))),
        ("one payout at least", format!("{} BTC{}", view.minimum.shown, worth(|worth| &worth.minimum))),
        ("the next day begins", view.resets.clone()),
    ])
}

pub(super) fn wallet(view: &WalletInfoView) -> String {
    fields(&[
        ("balance", format!("{} BTC", view.balance.shown)),
        ("spendable", format!("{} BTC", view.spendable.shown)),
        (
            "locked",
            format!(
                "{} BTC that payouts without a block spend; their change may be spendable already",
                view.locked.shown
            ),
        ),
        ("pending", format!("{} BTC of customers that no block holds yet", view.pending.shown)),
        ("addresses", view.address_type.clone()),
        ("network", view.network.clone()),
        ("next address", format!("number {}", view.next_index)),
        (
            "gap limit",
            format!(
                "{} for another wallet's program (the longest run of addresses without a coin is {})",
                view.gap_limit, view.longest_unused
            ),
        ),
    ]) + &view.restore.as_ref().map(restore).unwrap_or_default()
}

/// The progress of a restored wallet's look.
pub(super) fn restore(view: &RestoreView) -> String {
    let blocks = match (view.scanned_height, view.chain_height) {
        (Some(scanned), _) if view.state == RestoreState::Looked => {
            format!("block {scanned}, from block {} on", view.birth_height.saturating_add(1))
        }
        (Some(scanned), Some(tip)) => format!("block {scanned} of {tip}, {} %", view.percent),
        (Some(scanned), None) => format!("block {scanned}"),
        (None, _) if view.awaits_backend => "nothing yet".to_owned(),
        (None, _) if view.to_ask > 0 => format!(
            "{} of {} were asked about, {} %; what is found adds some",
            view.asked,
            count(u64::from(view.to_ask), "address", "addresses"),
            view.percent
        ),
        (None, _) => format!("it begins above block {}", view.birth_height),
    };
    let state = match view.state {
        RestoreState::Awaited | RestoreState::Scanning if view.awaits_backend => {
            "nothing is looked through before a Bitcoin backend is set, like `tillgate settings set backend=core backendUrl=http://127.0.0.1:8332 backendCookieFile=/home/me/.bitcoin/.cookie` (or backend=electrum with the address of such a server); until the chain was looked through no address is given and nothing is sent"
        }
        RestoreState::Awaited => {
            "the chain is looked through by `tillgate serve`; until then no address is given and nothing is sent"
        }
        RestoreState::Scanning => "the chain is looked through; until it was no address is given and nothing is sent",
        RestoreState::Stopped => {
            "its look was stopped: `tillgate wallet restore --continue` lets it go on; no address is given and nothing is sent"
        }
        RestoreState::Looked => "the chain was looked through",
    };
    fields(&[
        ("restored", state.to_owned()),
        ("looked up to", blocks),
        (
            "found",
            format!(
                "{} beside those of payments and payouts that are known here",
                count(u64::from(view.found), "transaction", "transactions")
            ),
        ),
        (
            "looks ahead",
            format!(
                "{} addresses beyond the last in use: the longest run that nobody paid, and restoreSkip for a copy that was restored before",
                view.looks_ahead
            ),
        ),
    ])
}

pub(super) fn restored(view: &RestoredView) -> String {
    match (&view.restore, view.made) {
        (Some(view), true) => format!("The wallet is there.\n{}", restore(view)),
        (Some(view), false) => format!("The wallet was there, and is looked for once more.\n{}", restore(view)),
        (None, _) => "The wallet was there; its words are with the secrets. With --birthday or --gap the chain is looked through once more.\n".to_owned(),
    }
}

pub(super) fn descriptors(view: &WalletDescriptorView) -> String {
    fields(&[("external", view.external.clone()), ("internal", view.internal.clone())])
}

/// A page of movements. `widths` are the columns' widths on the pages before it, if there were any; only the first
/// page has headings.
pub(in crate::cli) fn movements(items: &[StatementItem], widths: &mut Vec<usize>) -> String {
    let mut table = Table::new(&[
        ("time", Left),
        ("kind", Left),
        ("BTC", Right),
        ("worth", Right),
        ("", Left),
        ("rate", Right),
        ("about", Left),
        ("transaction", Left),
    ]);
    for item in items {
        let (worth, currency) = shown(item.worth.as_ref());
        let about = [("payout", &item.payout_id), ("anomaly", &item.anomaly_id), ("payment", &item.payment_id)];
        let about = about.into_iter().find_map(|(what, id)| id.as_ref().map(|id| format!("{what} {id}")));
        table.row([
            item.time.clone(),
            item.kind.to_string(),
            item.amount.shown.clone(),
            worth,
            currency,
            item.exchange_rate.clone().unwrap_or_default(),
            about.unwrap_or_default(),
            item.btc_tx_id.clone().unwrap_or_default(),
        ]);
    }
    table.render_on("No movements.", widths)
}

/// The sums after the last page.
pub(in crate::cli) fn totals(sums: &StatementTotals) -> String {
    let mut text = String::new();
    for (heading, sums) in [("day", &sums.by_day), ("month", &sums.by_month)] {
        text.push('\n');
        text.push_str(&totals_of(heading, sums));
    }
    text.push_str(&format!("\nTotal: {} BTC\n", sums.total.shown));
    text
}

fn totals_of(heading: &'static str, totals: &[StatementTotal]) -> String {
    let mut table = Table::new(&[(heading, Left), ("BTC", Right), ("worth", Right), ("", Left), ("fees BTC", Right)]);
    for total in totals {
        let (worth, currency) = shown(total.worth.as_ref());
        table.row([total.period.clone(), total.amount.shown.clone(), worth, currency, total.fee.shown.clone()]);
    }
    table.render("No sums.")
}

fn shown(worth: Option<&FiatView>) -> (String, String) {
    worth.map(|worth| (worth.shown.clone(), worth.currency.clone())).unwrap_or_default()
}
