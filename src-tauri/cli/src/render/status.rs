//! The answers of `status` and `doctor`.

use tillgate_console::backend_test::BackendTestView;
use tillgate_console::doctor::DoctorView;
use tillgate_console::status::{BackendItem, StatusView};
use tillgate_domain::plain::plain;
use tillgate_domain::words::count;
use tillgate_gateway::gateway::WaitCause;

use crate::table::Align::{Left, Right};
use crate::table::{Table, fields};

pub fn doctor(view: &DoctorView) -> String {
    let mut table = Table::new(&[("", Left), ("check", Left), ("finding", Left)]);
    for check in &view.checks {
        let mark = if check.ok { "ok" } else { "!!" };
        table.row([mark.to_owned(), check.name.clone(), check.message.clone()]);
    }
    table.render("Nothing was checked.") + if view.ok { "All is well.\n" } else { "" }
}

pub fn servers(view: &BackendTestView) -> String {
    let mut table = Table::new(&[("", Left), ("server", Left), ("finding", Left)]);
    for server in &view.servers {
        let mark = if server.ok { "ok" } else { "!!" };
        table.row([mark.to_owned(), plain(&server.url), plain(&server.message.message)]);
    }
    table.render("No server was asked.")
}

pub fn status(view: &StatusView) -> String {
    let none = || "–".to_owned();
    let failing = match view.failing_servers.as_slice() {
        [] => view.failing_notifications.to_string(),
        servers => format!("{}, to {}", view.failing_notifications, servers.join(", ")),
    };
    let mut text = fields(&[
        ("environment", view.environment.clone()),
        ("version", view.version.clone()),
        (
            "serving",
            if view.serving {
                "yes".to_owned()
            } else {
                "no: `tillgate serve` starts it".to_owned()
            },
        ),
        ("API", view.api.clone().unwrap_or_else(none)),
        ("pages", view.pages.clone().unwrap_or_else(none)),
        ("clock", view.clock.clone()),
        ("backend", view.backend.as_ref().map_or_else(|| "none is set".to_owned(), backend)),
        ("last look", last_look(view)),
        ("chain", chain(view)),
        ("open payments", view.open_payments.to_string()),
        ("open anomalies", view.open_anomalies.to_string()),
        ("open reversals", view.open_reversals.to_string()),
        ("balance", format!("{} BTC", view.balance.shown)),
        ("shops' offers", offers(view)),
        ("payouts to send", payouts_to_send(view)),
        ("sender", sender(view)),
        ("waiting notifications", view.waiting_notifications.to_string()),
        ("failing notifications", failing),
        (
            "notifications signed",
            if view.hmac_key {
                "yes".to_owned()
            } else {
                "no: `tillgate hmac-key rotate` makes a key".to_owned()
            },
        ),
        ("secrets", view.secrets.clone()),
    ]);
    let mut rates = Table::new(&[("currency", Left), ("rate", Right), ("", Left)]);
    for rate in &view.rates {
        let fresh = if rate.fresh { "fresh".to_owned() } else { "stale".to_owned() };
        rates.row([rate.currency.clone(), rate.shown.clone(), fresh]);
    }
    text.push('\n');
    text.push_str(&rates.render("No exchange rates."));
    for alarm in &view.alarms {
        let (message, id) = (plain(&alarm.message.message), plain(&alarm.payout_id));
        text.push_str(&format!(
            "\nALARM: {message}; once it is settled: `tillgate payouts dismiss {id}`\n"
        ));
    }
    for twin in &view.sender_hold_transactions {
        text.push_str(&format!("\nMADE BY ANOTHER COPY: {}\n", plain(&twin.at_the_command_line())));
    }
    let unlisted = view
        .sender_hold_transactions_count
        .saturating_sub(view.sender_hold_transactions.len() as u64);
    if unlisted > 0 {
        text.push_str(&format!(
            "\n{} of another copy.\n",
            count(unlisted, "more transaction", "more transactions")
        ));
    }
    for stuck in &view.stuck {
        text.push_str(&format!("\nSTUCK: {}\n", plain(&stuck.at_the_command_line())));
    }
    let unnamed = view.stuck_payouts.saturating_sub(view.stuck.len() as u64);
    if unnamed > 0 {
        let more = count(unnamed, "more payout is stuck", "more payouts are stuck");
        text.push_str(&format!("\n{more}: `tillgate payouts list` tells of each.\n"));
    }
    let mut sources =
        Table::new(&[("rate source", Left), ("last answer", Left), ("age", Right), ("", Left)]);
    for source in &view.rate_sources {
        sources.row([
            source.name.clone(),
            source.answered_at.clone().unwrap_or_else(none),
            source.age_seconds.map_or_else(none, |seconds| format!("{seconds} s")),
            match (&source.error, &source.answered_at) {
                (Some(why), _) => format!("FAILS: {}", plain(&why.message)),
                (None, Some(_)) => "answers".to_owned(),
                (None, None) => "not asked yet".to_owned(),
            },
        ]);
    }
    text.push('\n');
    text.push_str(&sources.render("No rate sources."));
    for warning in &view.warnings {
        text.push_str(&format!("\nWarning: {}\n", plain(&warning.message)));
    }
    text
}

/// Offers of shops that wait for approval.
fn offers(view: &StatusView) -> String {
    match view.offers_waiting {
        0 => "0".to_owned(),
        waiting => format!("{waiting}: `tillgate payouts list --status NEW`"),
    }
}

/// How many approved payouts are not sent, and why.
fn payouts_to_send(view: &StatusView) -> String {
    let queued = view.payouts_queued;
    if queued == 0 {
        return "0".to_owned();
    }
    if view.sender_hold.is_some() || !view.serving {
        return format!("{queued}: see the line “sender”");
    }
    match &view.sender_waits_for {
        Some(reason) => {
            let cause = view.sender_wait_cause.unwrap_or(WaitCause::Other);
            format!("{queued}: {}", cause.at_the_command_line(reason))
        }
        None => {
            format!("{queued}: each is sent in its turn, or once a node accepts its transaction")
        }
    }
}

fn backend(backend: &BackendItem) -> String {
    let name = backend.kind.name();
    if backend.servers.is_empty() {
        return name.to_owned();
    }
    let zmq = match &backend.zmq {
        Some(zmq) => format!(", notifies by ZMQ at {zmq}"),
        None if backend.kind.has_notices() => ", without ZMQ".to_owned(),
        None => String::new(),
    };
    format!("{name} at {}{zmq}", backend.servers.join(", then "))
}

fn last_look(view: &StatusView) -> String {
    match &view.chain_looked_at {
        Some(at) => format!("{at}, up to block {}", view.chain_height),
        None => "never".to_owned(),
    }
}

/// Whether the chain is watched now, with the remedy if it is not.
fn chain(view: &StatusView) -> String {
    let remedy = "`tillgate serve` starts one";
    match (&view.chain_error, &view.catching_up, &view.chain_looked_at) {
        (Some(error), ..) => format!("NOT WATCHED: {error}"),
        (None, ..) if view.backend.is_none() => {
            let example =
                "`tillgate settings set backendUrl http://127.0.0.1:8332` (your node's address)";
            format!(
                "NOT WATCHED: no Bitcoin backend is set: {example}, and backendCookieFile or backendUser"
            )
        }
        (None, Some(catching_up), _) => format!("BEHIND: {catching_up}"),
        (None, None, _) if view.serving => "watched".to_owned(),
        (None, None, None) => {
            format!("NOT WATCHED: the chain was never looked at, and no gateway runs: {remedy}")
        }
        (None, None, Some(_)) => format!("NOT WATCHED: no gateway runs: {remedy}"),
    }
}

fn sender(view: &StatusView) -> String {
    match &view.sender_hold {
        Some(reason) => view
            .sender_hold_cause
            .unwrap_or(WaitCause::Hold)
            .at_the_command_line(&format!("HOLDS: {reason}")),
        None if !view.has_wallet => {
            "sends nothing: there is no wallet yet: `tillgate wallet create` makes one".to_owned()
        }
        None if view.serving => "ready".to_owned(),
        None => WaitCause::Gateway.at_the_command_line(&"sends nothing: no gateway runs"),
    }
}
