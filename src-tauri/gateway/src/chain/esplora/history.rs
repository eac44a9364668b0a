//! The history of a script as a server tells it: pages of transactions, each of which must come to the id that it is told
//! under.

use std::collections::BTreeMap;

use bitcoin::hashes::{Hash as _, sha256};
use bitcoin::{FeeRate, Script, Transaction, Txid};

use super::Asking;
use super::answers::{Status, TxAnswer};
use super::server::{NoAnswer, Server};
use super::state::{Pages, Run, State};
use crate::chain::room::AnswerRoom;
use crate::chain::{AskedPayee, ChainDown};

/// Transactions on one page of a history, at which there may be another.
const PAGE: usize = 25;

/// Unconfirmed transactions that a server tells of one script at most.
const UNCONFIRMED_MAX: usize = 50;

/// Transactions on one page that are taken: servers tell those of the mempool in one with the latest of the chain.
const PAGE_MAX: usize = 2 * UNCONFIRMED_MAX;

/// Pages of one history in one look: 1,000 transactions.
const PAGES_MAX: usize = 40;

/// The same of a history that nobody waits for.
const PAGES_MAX_UNAWAITED: usize = 4;

/// Pages of a payee's history: 200 transactions.
const PAGES_MAX_OF_PAYEE: usize = 8;

/// What a server tells of a transaction.
#[derive(Debug, Clone)]
pub(super) struct Sight {
    pub tx: Transaction,
    pub status: Status,
    /// Its own fee over its virtual size; `None` where the server does not say.
    pub fee_rate: Option<FeeRate>,
}

/// Everything that was told in one look.
pub(super) type Sights = BTreeMap<Txid, Sight>;

/// What was read of a history.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum History {
    /// All of it that is new, by these transactions; whether it has more than one page; and whether more waits in the mempool than
    /// the server tells.
    Whole { txids: Vec<Txid>, is_long: bool, is_cut: bool },
    /// Some of it: the next look goes on.
    Part(Pages),
}

/// What is read of one history in one look.
struct Reading {
    /// What the looks before read of it and told.
    run: Option<Run>,
    found: Vec<Txid>,
    pages: Pages,
    /// The next page begins behind this transaction; `None`: with the first of the chain.
    last: Option<Txid>,
    /// Transactions that no proof is known of.
    unproved: usize,
}

impl Sight {
    fn of(answer: &TxAnswer) -> Result<Self, NoAnswer> {
        let tx = answer.tx().ok_or_else(|| {
            ChainDown(format!(
                "what the server tells as transaction {} is another; do not trust this server",
                answer.txid
            ))
        })?;
        // Rounded down: what is not below a wanted rate pays it.
        let rate = |fee: u64| fee.checked_mul(1_000)?.checked_div(tx.weight().to_wu()).map(FeeRate::from_sat_per_kwu);
        let fee_rate = answer.fee_sats().and_then(rate);
        Ok(Self { tx, status: answer.status, fee_rate })
    }
}

/// Asks about one transaction; `None` where the server knows nothing of it. The question was taken from the bucket.
pub(super) fn transaction(server: &Server, txid: Txid) -> Result<Option<Sight>, NoAnswer> {
    let answer: Option<TxAnswer> = server.json(&format!("/tx/{txid}"))?;
    let Some(answer) = answer else { return Ok(None) };
    if answer.txid != txid {
        return Err(server.nonsense("/tx", "it tells another transaction than it was asked about").into());
    }
    Sight::of(&answer).map(Some)
}

/// Whether the server tells histories: that of a script which nobody uses. One that fails at one history of ours, and at this, tells none.
pub(super) fn tells_histories(server: &Server) -> bool {
    server.bucket.take_in_any_case();
    page(server, &format!("/scripthash/{:x}/txs", sha256::Hash::hash(b"nobody"))).is_ok()
}

/// Reads of a script's history what is not known, as far as there is room and time, and puts it to what was told. The first
/// question was taken from the bucket; further pages are waited for.
pub(super) fn read(
    asking: &Asking<'_>,
    state: &State,
    (script, is_patient): (&Script, bool),
    (sights, room): (&mut Sights, &mut AnswerRoom),
) -> Result<History, NoAnswer> {
    let server = asking.server;
    let base = format!("/scripthash/{:x}/txs", sha256::Hash::hash(script.as_bytes()));
    let first = page(server, &base)?;
    let unconfirmed = first.iter().filter(|(_, sight)| !sight.status.confirmed).count();
    let (is_full, mut is_known) = (first.len() >= PAGE, is_known(state, script, &first));
    let mut reading = Reading::new(state, script);
    reading.note(state, &first);
    take(first, sights, room);
    let mut is_cut = false;
    if unconfirmed >= PAGE {
        if !asking.take_page() {
            return Ok(reading.breaks_off(true));
        }
        let more = page(server, &format!("{base}/mempool"))?;
        is_cut = more.len() >= UNCONFIRMED_MAX;
        reading.found.extend(more.iter().map(|(txid, _)| *txid));
        take(more, sights, room);
    }
    let mut is_last = !is_full;
    let pages = if is_patient { PAGES_MAX } else { PAGES_MAX_UNAWAITED };
    for _ in 0..pages {
        if is_last || is_known {
            return Ok(History::Whole { txids: reading.found, is_long: is_full, is_cut });
        }
        // What cannot be proved in this look is read in the next.
        if room.is_spent() || reading.unproved >= asking.proofs_max().max(PAGE) || !asking.take_page() {
            return Ok(reading.breaks_off(true));
        }
        let path = reading.last.map_or_else(|| format!("{base}/chain"), |last| format!("{base}/chain/{last}"));
        let next = page(server, &path)?;
        is_last = next.len() < PAGE;
        is_known = self::is_known(state, script, &next);
        reading.note(state, &next);
        take(next, sights, room);
    }
    if is_last || is_known {
        return Ok(History::Whole { txids: reading.found, is_long: is_full, is_cut });
    }
    Ok(reading.breaks_off(false))
}

/// Reads of a payee's history what may pay a payout, the latest pages, and puts it to what was told. The first question was taken from
/// the bucket. Answers what was read; `None` where time ran out.
pub(super) fn read_of_payee(
    asking: &Asking<'_>,
    payee: &AskedPayee,
    (sights, room): (&mut Sights, &mut AnswerRoom),
) -> Result<Option<Vec<Txid>>, NoAnswer> {
    let base = format!("/scripthash/{:x}/txs", sha256::Hash::hash(payee.script.as_bytes()));
    let is_younger = |status: &Status| !status.confirmed || status.block_height.is_some_and(|it| it > payee.above);
    let (mut found, mut path) = (Vec::new(), base.clone());
    for number in 0..PAGES_MAX_OF_PAYEE {
        if number > 0 && (room.is_spent() || !asking.take_page()) {
            return Ok(None);
        }
        let mut next = page(asking.server, &path)?;
        let unconfirmed = next.iter().filter(|(_, sight)| !sight.status.confirmed).count();
        let last = next.iter().rev().find(|(_, sight)| sight.status.confirmed).map(|(txid, _)| *txid);
        let is_last = next.len() < PAGE || next.iter().any(|(_, sight)| !is_younger(&sight.status));
        next.retain(|(_, sight)| is_younger(&sight.status));
        found.extend(next.iter().map(|(txid, _)| *txid));
        take(next, sights, room);
        if number == 0 && unconfirmed >= PAGE {
            if !asking.take_page() {
                return Ok(None);
            }
            let more = page(asking.server, &format!("{base}/mempool"))?;
            found.extend(more.iter().map(|(txid, _)| *txid));
            take(more, sights, room);
        }
        if is_last {
            return Ok(Some(found));
        }
        path = last.map_or_else(|| format!("{base}/chain"), |last| format!("{base}/chain/{last}"));
    }
    tracing::warn!(script = %payee.script.to_hex_string(), "a payee was paid more often since the payout was asked for than is looked through; the latest are");
    Ok(Some(found))
}

impl Reading {
    fn new(state: &State, script: &Script) -> Self {
        let run = state.runs.get(script).copied();
        let pages = Pages { meets: run.is_none(), ..Pages::default() };
        Self { run, found: Vec::new(), pages, last: None, unproved: 0 }
    }

    /// Notes a page, and behind which transaction the next begins. Of what was read and told before nothing is read again.
    fn note(&mut self, state: &State, page: &[(Txid, Sight)]) {
        self.found.extend(page.iter().map(|(txid, _)| *txid));
        let in_chain = || page.iter().filter(|(_, sight)| sight.status.confirmed).map(|(txid, _)| *txid);
        self.unproved = self.unproved.saturating_add(in_chain().filter(|txid| !state.is_proved(txid)).count());
        self.last = in_chain().next_back().or(self.last);
        if self.pages.meets {
            self.pages.below.extend(in_chain());
            return;
        }
        for txid in in_chain() {
            if let Some(run) = self.run.filter(|run| run.first == txid) {
                (self.pages.meets, self.last) = (true, Some(run.last));
                return;
            }
            self.pages.above.push(txid);
        }
    }

    fn breaks_off(mut self, is_late: bool) -> History {
        self.pages.is_late = is_late;
        History::Part(self.pages)
    }
}

fn take(page: Vec<(Txid, Sight)>, sights: &mut Sights, room: &mut AnswerRoom) {
    page.iter().for_each(|(_, sight)| room.note_tx(&sight.tx));
    sights.extend(page);
}

/// Whether nothing older can be new: the history was read to its end before, and all of this page's chain is known.
fn is_known(state: &State, script: &Script, page: &[(Txid, Sight)]) -> bool {
    let mut in_chain = page.iter().filter(|(_, sight)| sight.status.confirmed).peekable();
    let told = |(txid, _): &(Txid, Sight)| state.is_told(txid);
    in_chain.peek().is_some() && state.complete.contains(script) && in_chain.all(told)
}

fn page(server: &Server, path: &str) -> Result<Vec<(Txid, Sight)>, NoAnswer> {
    let answers: Option<Vec<TxAnswer>> = server.json(path)?;
    let answers = answers.ok_or_else(|| server.nonsense(path, "it knows no histories of scripts"))?;
    answers.iter().take(PAGE_MAX).map(|answer| Ok((answer.txid, Sight::of(answer)?))).collect()
}
