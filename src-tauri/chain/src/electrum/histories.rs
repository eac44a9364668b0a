//! The histories of scripts. Each is checked against the status of its script.

use std::collections::{BTreeMap, HashSet};

use bitcoin::Txid;
use bitcoin::hashes::{Hash as _, sha256};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::calls::{self, Owner, Refused, ScriptHash, Status, subscribe_script, typed};
use super::connection::Asker;
use crate::port::ChainDown;

/// Limit of entries in a history; a longer history counts as refused.
const ENTRIES_MAX: usize = 10_000;

/// Tries for a history that does not match its status: a transaction may arrive between the two
/// requests.
const TRIES: usize = 4;

/// A transaction that touches a script.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Entry {
    #[serde(rename = "tx_hash")]
    pub txid: Txid,
    /// The block's height. In the mempool 0, or negative with an unconfirmed parent.
    pub height: i64,
    /// In satoshis, for a transaction in the mempool.
    #[serde(default, deserialize_with = "satoshis")]
    fee: Option<u64>,
}

/// The transactions that touch a script, and their status.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    pub status: Status,
    pub entries: Vec<Entry>,
}

impl Entry {
    /// The height of its block, if it is in one.
    pub fn block(&self) -> Option<u32> {
        u32::try_from(self.height).ok().filter(|height| *height > 0)
    }

    pub fn rests_on_unconfirmed(&self) -> bool {
        self.height < 0
    }

    pub const fn fee_sats(&self) -> Option<u64> {
        self.fee
    }
}

/// Drops a fee that is not a whole number of satoshis.
fn satoshis<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let text = Box::<RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(text.get()).ok())
}

/// Subscribes to scripts, and returns each status. `None` if the server refuses a script of too
/// many transactions, or a script of others for any reason. Scripts that the server did not reach
/// are left out.
pub fn subscribe(
    asker: &Asker<'_>,
    hashes: &[ScriptHash],
    owner: Owner,
) -> Result<BTreeMap<ScriptHash, Option<Status>>, ChainDown> {
    let calls: Vec<_> = hashes.iter().map(|hash| subscribe_script(*hash, owner)).collect();
    let mut found = BTreeMap::new();
    for (answer, (hash, call)) in asker.tries(&calls)?.into_iter().zip(hashes.iter().zip(&calls)) {
        let status = match answer {
            // The session has stored the status already.
            Ok(_) => asker.connection.session.status(hash),
            Err(Refused::NotReached) => continue,
            Err(refused) if refused.is_too_popular() || owner == Owner::Others => None,
            Err(refused) => return Err(refused.down(call.method)),
        };
        found.insert(*hash, status);
    }
    Ok(found)
}

/// Reads the histories of subscribed scripts. `None` for a history that is too long. For a script
/// of others also after any other refusal, or if the history keeps changing. Scripts that the
/// server did not reach are left out.
pub fn fetch(
    asker: &Asker<'_>,
    hashes: &[ScriptHash],
    owner: Owner,
) -> Result<BTreeMap<ScriptHash, Option<History>>, ChainDown> {
    let (mut found, mut unreached) = (BTreeMap::new(), HashSet::new());
    // A script of others without a status is read later.
    let is_heard =
        |hash: &ScriptHash| owner == Owner::Ours || asker.connection.session.status(hash).is_some();
    let mut open: Vec<ScriptHash> = hashes.iter().copied().filter(is_heard).collect();
    for tried in 0..TRIES {
        if tried > 0 {
            let refused =
                subscribe(asker, &open, owner)?.into_iter().filter(|(_, status)| status.is_none());
            found.extend(refused.map(|(hash, _)| (hash, None)));
            open.retain(|hash| !found.contains_key(hash));
        }
        let calls: Vec<_> = open.iter().map(|hash| calls::history(*hash, owner)).collect();
        for (answer, (hash, call)) in asker.tries(&calls)?.into_iter().zip(open.iter().zip(&calls))
        {
            let entries: Vec<Entry> = match answer {
                Ok(answer) => typed(call.method, &answer)?,
                Err(Refused::NotReached) => {
                    unreached.insert(*hash);
                    continue;
                }
                Err(refused) if refused.is_too_popular() || owner == Owner::Others => {
                    found.insert(*hash, None);
                    continue;
                }
                Err(refused) => return Err(refused.down(call.method)),
            };
            if entries.len() > ENTRIES_MAX {
                found.insert(*hash, None);
            } else if let Some(status) = asker.connection.session.status(hash)
                && matches_status(status, &entries)
            {
                found.insert(*hash, Some(History { status, entries }));
            }
        }
        open.retain(|hash| !found.contains_key(hash) && !unreached.contains(hash));
        if open.is_empty() {
            return Ok(found);
        }
    }
    if owner == Owner::Others {
        found.extend(open.into_iter().map(|hash| (hash, None)));
        return Ok(found);
    }
    Err(ChainDown::of_text(
        "the server's history of a script does not match the script's status: the server withholds something, or is inconsistent just now".to_owned(),
    ))
}

/// Whether a status matches a history. Before version 1.6 the order of unconfirmed entries varies.
fn matches_status(status: Status, entries: &[Entry]) -> bool {
    let ids: HashSet<Txid> = entries.iter().map(|entry| entry.txid).collect();
    if ids.len() != entries.len() {
        return false;
    }
    if status == status_of(entries) {
        return true;
    }
    let (mined, mut waiting): (Vec<Entry>, Vec<Entry>) =
        entries.iter().cloned().partition(|entry| entry.block().is_some());
    waiting.sort_by_key(|entry| (std::cmp::Reverse(entry.height), entry.txid.to_string()));
    status == status_of(&[mined, waiting].concat())
}

/// The status of a history, as the protocol defines it.
fn status_of(entries: &[Entry]) -> Status {
    if entries.is_empty() {
        return None;
    }
    let text: String =
        entries.iter().map(|entry| format!("{}:{}:", entry.txid, entry.height)).collect();
    Some(sha256::Hash::hash(text.as_bytes()).to_byte_array())
}

#[cfg(test)]
mod tests {
    use super::super::calls::status;
    use super::*;

    /// The protocol's own example.
    const EXAMPLE: &str = r#"[
        {"tx_hash": "a6c9c361bd0bc536d6a22648efbf8f9b200e425ef6c3a7a9669dc444c532a347", "height": 2472},
        {"tx_hash": "9c42f84b2fcdaff676ba25d9d4941741cc0d1a01cce0c23fdc4c0b2afa38431c", "height": 2473},
        {"tx_hash": "770f2d4371b3fabb902dd9a103e2dd005fcd3971181078fca4a2a1d6ff127b30", "height": 2473},
        {"tx_hash": "80b19848aed792565ab7c5a79b7c2a00fbf985741579396ebe0ab6098e607311", "height": 0, "fee": 200},
        {"tx_hash": "e02a1dadfa83b996b24175df807b271ea5d02937ef5b35c195fac1e1bdc3198f", "height": 0, "fee": 300},
        {"tx_hash": "bb4c8ab438c13b89ca80d1d5bee25b0b6b7f55673f4d801998ba97db161d9e85", "height": -1, "fee": 200}
    ]"#;
    const STATUS: &str = "78e96c6562cafa71c115503b9411fdfdc595a45031e2ab76ff75162fe1b0590d";

    #[test]
    fn a_history_matches_its_status_in_any_order_of_the_mempool() {
        let told = status(Some(STATUS)).unwrap();
        let entries: Vec<Entry> = serde_json::from_str(EXAMPLE).unwrap();
        assert!(matches_status(told, &entries));
        let mut mixed = entries.clone();
        mixed.swap(3, 5);
        assert!(matches_status(told, &mixed));
        assert!(!matches_status(told, &entries[1..]), "the first entry is withheld");
        assert!(!matches_status(None, &entries) && !matches_status(told, &[]));
        assert!(matches_status(None, &[]));
        let twice = [entries.clone(), vec![entries[5].clone()]].concat();
        assert!(!matches_status(status_of(&twice), &twice));
        assert_eq!((entries[0].block(), entries[3].fee_sats()), (Some(2_472), Some(200)));
        assert!(entries[5].rests_on_unconfirmed() && entries[5].block().is_none());
    }

    #[test]
    fn invalid_fees_of_any_json_type_are_dropped() {
        for fee in [r#"[{"":0},{"":[]}]"#, "1.5", "-1", r#""200""#, "null"] {
            let entry: Entry = serde_json::from_str(&format!(
                r#"{{"tx_hash": "{}", "height": 0, "fee": {fee}}}"#,
                "a6".repeat(32)
            ))
            .unwrap();
            assert_eq!(entry.fee_sats(), None, "{fee}");
        }
    }
}
