//! The history of a script as a server tells it: pages of transactions, each of which must come to the id that it is told
//! under.

use std::collections::BTreeMap;

use bitcoin::hashes::{Hash as _, sha256};
use bitcoin::{FeeRate, Script, Transaction, Txid};

use super::answers::{Status, TxAnswer};
use super::server::{NoAnswer, Server};
use super::state::State;
use crate::chain::ChainDown;
use crate::chain::room::AnswerRoom;

/// Transactions on one page of a history, at which there may be another.
const PAGE: usize = 25;

/// Unconfirmed transactions that a server tells of one script at most.
const UNCONFIRMED_MAX: usize = 50;

/// Transactions on one page that are taken: servers tell those of the mempool in one with the latest of the chain.
const PAGE_MAX: usize = 2 * UNCONFIRMED_MAX;

/// Pages of one history in one look: 1,000 transactions.
const PAGES_MAX: usize = 40;

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
    /// All of it that is new, by these transactions; and whether that took more than one page.
    Whole { txids: Vec<Txid>, is_long: bool },
    /// Some of it.
    Part,
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

/// Reads of a script's history what is not known, as far as there is room, and puts it to what was told. The first question was
/// taken from the bucket.
pub(super) fn read(
    server: &Server,
    state: &State,
    script: &Script,
    (sights, room): (&mut Sights, &mut AnswerRoom),
) -> Result<History, NoAnswer> {
    let base = format!("/scripthash/{:x}/txs", sha256::Hash::hash(script.as_bytes()));
    let first = page(server, &base)?;
    let mut found: Vec<Txid> = first.iter().map(|(txid, _)| *txid).collect();
    let mut last = first.iter().rev().find(|(_, sight)| sight.status.confirmed).map(|(txid, _)| *txid);
    let unconfirmed = first.iter().filter(|(_, sight)| !sight.status.confirmed).count();
    let (is_full, mut is_known) = (first.len() >= PAGE, is_known(state, script, &first));
    take(first, sights, room);
    if unconfirmed >= PAGE {
        if !server.bucket.take() {
            return Ok(History::Part);
        }
        let more = page(server, &format!("{base}/mempool"))?;
        let is_cut_off = more.len() >= UNCONFIRMED_MAX;
        found.extend(more.iter().map(|(txid, _)| *txid));
        take(more, sights, room);
        if is_cut_off {
            return Ok(History::Part);
        }
    }
    let mut is_last = !is_full;
    for _ in 0..PAGES_MAX {
        if is_last || is_known {
            return Ok(History::Whole { txids: found, is_long: is_full });
        }
        if room.is_spent() || !server.bucket.take() {
            return Ok(History::Part);
        }
        let path = last.map_or_else(|| format!("{base}/chain"), |last| format!("{base}/chain/{last}"));
        let next = page(server, &path)?;
        found.extend(next.iter().map(|(txid, _)| *txid));
        last = next.last().map(|(txid, _)| *txid);
        is_last = next.len() < PAGE;
        is_known = self::is_known(state, script, &next);
        take(next, sights, room);
    }
    Ok(History::Part)
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
