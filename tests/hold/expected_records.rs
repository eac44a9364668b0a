//! The expected records, computed from the sandbox's file by the rules of the interface, without
//! any of the gateway's code.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use bitcoin::Address;
use bitcoin::address::NetworkUnchecked;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::client::text;
use crate::harness::sandbox::sats;

/// Confirmations before an anomaly is raised, by default.
const ANOMALY_CONFIRMATIONS: u32 = 2;

/// The dust limit of the wallet's addresses, which are P2WPKH.
const DUST_LIMIT: i64 = 294;

/// Length of a timestamp's text up to its seconds.
const SECONDS: usize = "2026-01-12T12:06:20".len();

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    Block(u32),
    Mempool,
    Absent,
}

/// Opens a gateway's database for reading, even while the gateway runs. SQLite would resolve the
/// link `/proc/…/root` in its own mount namespace, so a file in another namespace is copied first.
/// The second value keeps that copy.
pub fn open(file: &Path) -> (Connection, Option<TempDir>) {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if !file.starts_with("/proc") {
        return (Connection::open_with_flags(file, flags).unwrap(), None);
    }
    let folder = TempDir::new().unwrap();
    let copy = folder.path().join("copy.db");
    std::fs::copy(file, &copy).unwrap();
    std::fs::copy(format!("{}-wal", file.display()), format!("{}-wal", copy.display())).unwrap();
    (Connection::open(copy).unwrap(), Some(folder))
}

/// A transaction that pays one of the merchant's addresses.
#[derive(Debug, Clone)]
pub struct IncomingTransaction {
    id: i64,
    txid: String,
    sats: i64,
    position: Position,
    /// Whether a transaction in the chain spends an input of this transaction or of its unconfirmed
    /// ancestors.
    conflict_in_chain: bool,
    conflict_in_mempool: bool,
    conflicts: HashSet<i64>,
}

/// One consistent view of the chain.
pub struct Chain {
    pub height: u32,
    txids: HashSet<String>,
    by_script: HashMap<Vec<u8>, Vec<IncomingTransaction>>,
}

impl Chain {
    /// Reads the sandbox's file, whether or not a gateway uses it.
    pub fn read(file: &Path) -> Self {
        let (database, _copied) = open(file);
        database.execute_batch("BEGIN").unwrap();
        let height =
            database.query_row("SELECT max(height) FROM blocks", [], |row| row.get(0)).unwrap();
        let positions = positions(&database);
        let (spends, spenders) = spends(&database);
        let spent: HashMap<i64, Vec<(i64, i64)>> = spends;
        let rivals = |id: i64| -> HashSet<i64> {
            let outpoints = spent.get(&id).into_iter().flatten();
            outpoints
                .flat_map(|outpoint| &spenders[outpoint])
                .copied()
                .filter(|other| *other != id)
                .collect()
        };
        let mut by_script: HashMap<Vec<u8>, Vec<IncomingTransaction>> = HashMap::new();
        let mut query = database
            .prepare("SELECT script, tx_id, sum(amount_sats) FROM outputs WHERE customer_key IS NULL GROUP BY 1, 2")
            .unwrap();
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        for row in rows {
            let (script, id, sats): (Vec<u8>, i64, i64) = row.unwrap();
            let (txid, position) = positions[&id].clone();
            // A conflict of an unconfirmed ancestor is also a conflict of this transaction.
            let (mut all_rivals, mut open, mut seen) = (HashSet::new(), vec![id], HashSet::new());
            while let Some(one) = open.pop() {
                if !seen.insert(one) {
                    continue;
                }
                all_rivals.extend(rivals(one));
                let parents = spent.get(&one).into_iter().flatten().map(|(parent, _)| *parent);
                open.extend(
                    parents.filter(|parent| !matches!(positions[parent].1, Position::Block(_))),
                );
            }
            let any_at =
                |is: fn(Position) -> bool| all_rivals.iter().any(|rival| is(positions[rival].1));
            let incoming = IncomingTransaction {
                id,
                txid,
                sats,
                position,
                conflict_in_chain: any_at(|position| matches!(position, Position::Block(_))),
                conflict_in_mempool: any_at(|position| position == Position::Mempool),
                conflicts: rivals(id),
            };
            by_script.entry(script).or_default().push(incoming);
        }
        let txids = positions.into_values().map(|(txid, _)| txid).collect();
        Self { height, txids, by_script }
    }

    /// Whether the sandbox ever accepted this transaction.
    pub fn knows(&self, txid: &str) -> bool {
        self.txids.contains(txid)
    }

    fn incoming(&self, address: &str) -> &[IncomingTransaction] {
        let address: Address<NetworkUnchecked> = address.parse().unwrap();
        let script = address.assume_checked().script_pubkey();
        self.by_script.get(script.as_bytes()).map_or(&[], Vec::as_slice)
    }

    fn confirmations(&self, position: Position) -> u32 {
        match position {
            Position::Block(height) => self.height - height + 1,
            Position::Mempool | Position::Absent => 0,
        }
    }

    /// Fails with the reason if a payment's record contradicts this chain. `clock` is the
    /// environment's time in RFC 3339.
    pub fn contradiction(
        &self,
        payment: &Value,
        anomalies: &[&Value],
        clock: &str,
    ) -> Result<(), String> {
        let incoming = self.incoming(&text(&payment["address"]));
        let counted = self.counted(payment, incoming)?;
        let status = payment["status"].as_str().unwrap();
        let was_confirmed = payment["paymentTime"].is_string();
        // In whole seconds, because the closing look starts within a second of the deadline; the
        // caller compares again.
        let before_deadline =
            clock[..SECONDS] < payment["expirationTime"].as_str().unwrap()[..SECONDS];
        if before_deadline && !was_confirmed {
            all_present_coins_count(incoming, &counted)?;
        }
        if takes_back(incoming, &counted, status) != (payment["conflictSeen"] == true) {
            return Err(format!("conflictSeen is {}", payment["conflictSeen"]));
        }
        let sum = |at_least: u32| -> i64 {
            let confirmed =
                counted.iter().filter(|(one, _)| self.confirmations(one.position) >= at_least);
            confirmed.map(|(_, sats)| sats).sum()
        };
        let (paid, amount) = (sum(0), sats(&payment["amount"]));
        if paid != sats(&payment["paidBtc"]) || amount - paid != sats(&payment["remainingToPayBtc"])
        {
            return Err(format!("{paid} satoshis count, but the record says otherwise"));
        }
        let possible =
            possible_states(before_deadline, was_confirmed, paid, paid >= amount, sum(1) >= amount);
        if !possible.contains(&status) {
            return Err(format!("the status is {status}, but the chain allows {possible:?}"));
        }
        if !["NEW", "UNDERPAID"].contains(&status) {
            self.each_satoshi_is_accounted_for(incoming, &counted, anomalies)?;
        }
        Ok(())
    }

    /// The transactions that the record counts, with the counted sums. Each must be as recorded,
    /// and must not be gone.
    fn counted<'a>(
        &self,
        payment: &Value,
        incoming: &'a [IncomingTransaction],
    ) -> Result<Vec<(&'a IncomingTransaction, i64)>, String> {
        let is_confirmed = payment["status"] == "CONFIRMED";
        let mut counted: Vec<(&IncomingTransaction, i64)> = Vec::new();
        for listed in payment["btcTransactions"].as_array().unwrap() {
            let txid = text(&listed["btcTxId"]);
            let one = incoming
                .iter()
                .find(|one| one.txid == txid)
                .ok_or(format!("{txid} does not pay the address"))?;
            let (amount, confirmations) =
                (sats(&listed["btcAmount"]), self.confirmations(one.position));
            if amount > one.sats || listed["confirmations"] != confirmations {
                return Err(format!(
                    "{txid} is recorded wrongly: {listed}, {confirmations} confirmations"
                ));
            }
            let gone = match one.position {
                Position::Block(_) => false,
                Position::Mempool => one.conflict_in_chain,
                Position::Absent => {
                    one.conflict_in_chain || (one.conflict_in_mempool && !is_confirmed)
                }
            };
            let twice = counted.iter().any(|(other, _)| one.conflicts.contains(&other.id));
            if gone || twice {
                return Err(format!(
                    "{txid} counts, although it is gone or a conflicting transaction counts: {one:?}"
                ));
            }
            counted.push((one, amount));
        }
        Ok(counted)
    }

    /// Section 3 of the interface: a satoshi with enough confirmations for an anomaly either counts
    /// or is in exactly one LATE_PAYMENT or EXTRA_PAYMENT anomaly.
    fn each_satoshi_is_accounted_for(
        &self,
        incoming: &[IncomingTransaction],
        counted: &[(&IncomingTransaction, i64)],
        anomalies: &[&Value],
    ) -> Result<(), String> {
        for one in
            incoming.iter().filter(|one| self.confirmations(one.position) >= ANOMALY_CONFIRMATIONS)
        {
            let counts: i64 =
                counted.iter().filter(|(other, _)| other.id == one.id).map(|(_, sats)| sats).sum();
            let of_it = anomalies.iter().filter(|anomaly| {
                let kind = anomaly["anomalyType"].as_str().unwrap();
                ["LATE_PAYMENT", "EXTRA_PAYMENT"].contains(&kind)
                    && anomaly["resolution"] == "OPEN"
                    && anomaly["btcTransactions"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .any(|tx| tx["btcTxId"] == one.txid)
            });
            let told: Vec<i64> = of_it.map(|anomaly| sats(&anomaly["paidBtc"])).collect();
            let missing = one.sats - counts - told.iter().sum::<i64>();
            // Coins below the dust limit could never be sent back, so no anomaly tells of them.
            let is_dust = told.is_empty() && (0..DUST_LIMIT).contains(&missing);
            if told.len() > 1 || !(missing == 0 || is_dust) {
                return Err(format!(
                    "{counts} satoshis of {one:?} count, and {told:?} are in anomalies"
                ));
            }
        }
        Ok(())
    }
}

/// Whether the mempool takes back coins of a CONFIRMED payment. Conflicts then pay the address less
/// than an unconfirmed transaction counts for, or less than all of them together.
fn takes_back(
    incoming: &[IncomingTransaction],
    counted: &[(&IncomingTransaction, i64)],
    status: &str,
) -> bool {
    let attacked: Vec<_> = counted
        .iter()
        .filter(|(one, _)| one.conflict_in_mempool && !matches!(one.position, Position::Block(_)))
        .collect();
    let rivals = |one: &IncomingTransaction| -> HashSet<i64> {
        let there = incoming.iter().filter(|other| other.position == Position::Mempool);
        there.map(|other| other.id).filter(|id| one.conflicts.contains(id)).collect()
    };
    let sum = |ids: &HashSet<i64>| -> i64 {
        incoming.iter().filter(|other| ids.contains(&other.id)).map(|other| other.sats).sum()
    };
    let loses = attacked.iter().any(|(one, sats)| sum(&rivals(one)) < *sats);
    let all: HashSet<i64> = attacked.iter().flat_map(|(one, _)| rivals(one)).collect();
    status == "CONFIRMED" && (loses || sum(&all) < attacked.iter().map(|(_, sats)| sats).sum())
}

/// Before the deadline of a payment that was never CONFIRMED, all coins that are not gone must
/// count in full.
fn all_present_coins_count(
    incoming: &[IncomingTransaction],
    counted: &[(&IncomingTransaction, i64)],
) -> Result<(), String> {
    for one in incoming {
        let is_there = match one.position {
            Position::Block(_) => true,
            Position::Mempool => !one.conflict_in_chain,
            Position::Absent => !one.conflict_in_chain && !one.conflict_in_mempool,
        };
        let displaced = counted.iter().any(|(other, _)| one.conflicts.contains(&other.id));
        let counts = counted.iter().any(|(other, sats)| other.id == one.id && *sats == one.sats);
        if is_there && !displaced && !counts {
            return Err(format!("{one:?} does not count"));
        }
    }
    Ok(())
}

/// The states that the interface's table of section 2 allows for these facts.
fn possible_states(
    before_deadline: bool,
    was_confirmed: bool,
    paid: i64,
    is_enough: bool,
    is_confirmed: bool,
) -> &'static [&'static str] {
    match (was_confirmed, before_deadline) {
        (_, _) if is_confirmed && was_confirmed => &["CONFIRMED"],
        // Only a block makes a CONFIRMED payment INVALID, and only a block makes it CONFIRMED
        // again.
        (true, _) if is_enough => &["CONFIRMED", "INVALID"],
        (true, _) => &["INVALID"],
        (false, _) if is_confirmed => &[],
        (false, true) if is_enough => &["UNCONFIRMED"],
        (false, true) if paid > 0 => &["UNDERPAID"],
        (false, true) => &["NEW"],
        (false, false) if is_enough => &["UNCONFIRMED", "EXPIRED", "INVALID"],
        (false, false) => &["EXPIRED", "INVALID"],
    }
}

fn positions(database: &Connection) -> HashMap<i64, (String, Position)> {
    let mut query =
        database.prepare("SELECT tx_id, txid, block_height, entered_ms FROM transactions").unwrap();
    let rows = query.query_map([], |row| {
        let mut txid: Vec<u8> = row.get(1)?;
        txid.reverse();
        let (height, entered): (Option<u32>, Option<i64>) = (row.get(2)?, row.get(3)?);
        let position = match (height, entered) {
            (Some(height), _) => Position::Block(height),
            (None, Some(_)) => Position::Mempool,
            (None, None) => Position::Absent,
        };
        Ok((row.get(0)?, (hex::encode(txid), position)))
    });
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

type Spends = (HashMap<i64, Vec<(i64, i64)>>, HashMap<(i64, i64), Vec<i64>>);

/// The outpoints that each transaction spends, and the transactions that spend each outpoint.
fn spends(database: &Connection) -> Spends {
    let mut query =
        database.prepare("SELECT spender_tx_id, prev_tx_id, prev_vout FROM spends").unwrap();
    let rows = query.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?)))).unwrap();
    let (mut spent, mut spenders): Spends = (HashMap::new(), HashMap::new());
    for row in rows {
        let (spender, outpoint): (i64, (i64, i64)) = row.unwrap();
        spent.entry(spender).or_default().push(outpoint);
        spenders.entry(outpoint).or_default().push(spender);
    }
    (spent, spenders)
}
