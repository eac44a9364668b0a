//! Limits, the wallet's sums, and the statement.

use tillgate_console::limits::LimitsView;
use tillgate_console::statement::{StatementItem, StatementTotal, StatementTotals};
use tillgate_console::sums::FiatView;
use tillgate_console::wallet::{
    NothingFound, RestoreView, RestoredView, WalletDescriptorView, WalletInfoView,
};
use tillgate_domain::restore::RestoreState;
use tillgate_domain::words::count;

use crate::table::Align::{Left, Right};
use crate::table::{Table, fields};

pub fn limits(view: &LimitsView) -> String {
    let worth = |pick: fn(&tillgate_console::limits::LimitsWorth) -> &FiatView| {
        let sum = view.worth.as_ref().map(pick);
        sum.map(|sum| format!(", {sum}")).unwrap_or_default()
    };
    fields(&[
        ("daily limit", format!("{} BTC", view.daily.shown)),
        ("approved today", format!("{} BTC{}", view.used.shown, worth(|worth| &worth.used))),
        ("left today", format!("{} BTC{}", view.available.shown, worth(|worth| &worth.available))),
        ("minimum payout", format!("{} BTC{}", view.minimum.shown, worth(|worth| &worth.minimum))),
        ("resets at", view.resets.clone()),
    ])
}

pub fn wallet(view: &WalletInfoView) -> String {
    fields(&[
        ("balance", format!("{} BTC", view.balance.shown)),
        ("spendable", format!("{} BTC", view.spendable.shown)),
        (
            "locked",
            format!(
                "{} BTC in unconfirmed payouts; their change may be spendable already",
                view.locked.shown
            ),
        ),
        ("pending", format!("{} BTC from customers, not confirmed yet", view.pending.shown)),
        ("addresses", view.address_type.clone()),
        ("network", view.network.clone()),
        ("next address", format!("number {}", view.next_index)),
        (
            "gap limit",
            format!(
                "{} in another wallet program (the longest run of addresses without a coin is {})",
                view.gap_limit, view.longest_unused
            ),
        ),
    ]) + &view.restore.as_ref().map(restore).unwrap_or_default()
}

const LIKE_ELECTRUM: &str = "Note: these words are also a valid Electrum seed, as one wallet in some two hundred is by chance. If Electrum made them, restore them in Electrum, and send the coins to a new wallet.\n";

/// The progress of a restored wallet's scan.
pub fn restore(view: &RestoreView) -> String {
    let blocks = match (view.scanned_height, view.chain_height) {
        (Some(scanned), _) if view.state == RestoreState::Looked => {
            format!("block {scanned}, from block {} on", view.birth_height.saturating_add(1))
        }
        (Some(scanned), Some(tip)) => format!("block {scanned} of {tip}, {} %", view.percent),
        (Some(scanned), None) => format!("block {scanned}"),
        (None, _) if view.awaits_backend => "nothing yet".to_owned(),
        (None, _) if view.to_ask > 0 => format!(
            "{} of {} asked about, {} %; coins that are found add more",
            view.asked,
            count(u64::from(view.to_ask), "address", "addresses"),
            view.percent
        ),
        (None, _) => format!("nothing yet; the scan begins above block {}", view.birth_height),
    };
    let state = match view.state {
        RestoreState::Awaited | RestoreState::Scanning if view.awaits_backend => {
            "the scan waits for a Bitcoin backend: set one, like `tillgate settings set backend=core backendUrl=http://127.0.0.1:8332 backendCookieFile=/home/me/.bitcoin/.cookie` (or backend=electrum with the address of an Electrum server); until the scan ends no address is given and nothing is sent"
        }
        RestoreState::Awaited => {
            "`tillgate serve` scans the chain; until the scan ends no address is given and nothing is sent"
        }
        RestoreState::Scanning => {
            "the chain is being scanned; until that ends no address is given and nothing is sent"
        }
        RestoreState::Stopped => {
            "the scan was stopped: `tillgate wallet restore --continue` continues it; until it ends no address is given and nothing is sent"
        }
        RestoreState::Looked => "the chain was scanned",
    };
    let mut lines = vec![
        ("restored", state.to_owned()),
        ("scanned up to", blocks),
        (
            "found",
            format!(
                "{} beside those of known payments and payouts",
                count(u64::from(view.found), "transaction", "transactions")
            ),
        ),
        (
            "looks ahead",
            format!(
                "{} addresses beyond the last used one: the gap, and restoreSkip for addresses that an earlier restored copy skipped",
                view.looks_ahead
            ),
        ),
    ];
    if view.found_nothing {
        lines.push(("warning", NothingFound.to_string()));
    }
    if let Some(other) = &view.at_other_type {
        lines.push(("elsewhere", other.sentence()));
    }
    fields(&lines)
}

pub fn restored(view: &RestoredView) -> String {
    let warning = if view.like_electrum { LIKE_ELECTRUM } else { "" };
    let told = match (&view.restore, view.made) {
        (Some(view), true) => format!("The wallet is there.\n{}", restore(view)),
        (Some(view), false) => format!("The wallet existed already, and the chain is scanned again.\n{}", restore(view)),
        (None, _) => "The wallet existed already; its words are stored with the secrets again. With --birthday or --gap the chain is scanned again too.\n".to_owned(),
    };
    told + warning
}

pub fn descriptors(view: &WalletDescriptorView) -> String {
    fields(&[
        ("descriptor", view.descriptor.clone()),
        ("external", view.external.clone()),
        ("internal", view.internal.clone()),
    ])
}

/// A page of movements. `widths` are the columns' widths so far, empty before the first page; only
/// the first page has headings.
pub fn movements(items: &[StatementItem], widths: &mut Vec<usize>) -> String {
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
        let about = [
            ("payout", &item.payout_id),
            ("anomaly", &item.anomaly_id),
            ("payment", &item.payment_id),
        ];
        let about =
            about.into_iter().find_map(|(what, id)| id.as_ref().map(|id| format!("{what} {id}")));
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
pub fn totals(sums: &StatementTotals) -> String {
    let mut text = String::new();
    for (heading, sums) in [("day", &sums.by_day), ("month", &sums.by_month)] {
        text.push('\n');
        text.push_str(&totals_of(heading, sums));
    }
    text.push_str(&format!("\nTotal: {} BTC\n", sums.total.shown));
    text
}

fn totals_of(heading: &'static str, totals: &[StatementTotal]) -> String {
    let mut table = Table::new(&[
        (heading, Left),
        ("BTC", Right),
        ("worth", Right),
        ("", Left),
        ("fees BTC", Right),
    ]);
    for total in totals {
        let (worth, currency) = shown(total.worth.as_ref());
        table.row([
            total.period.clone(),
            total.amount.shown.clone(),
            worth,
            currency,
            total.fee.shown.clone(),
        ]);
    }
    table.render("No sums.")
}

fn shown(worth: Option<&FiatView>) -> (String, String) {
    worth.map(|worth| (worth.shown.clone(), worth.currency.clone())).unwrap_or_default()
}
