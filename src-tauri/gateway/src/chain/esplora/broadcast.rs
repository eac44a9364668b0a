//! Offering transactions to a server, which passes them on to its node and back what that says.

use bitcoin::Transaction;
use bitcoin::consensus::encode::serialize_hex;
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::server::{NoAnswer, Server};
use crate::chain::Broadcast;
use crate::chain::core::broadcast::meaning;
use crate::chain::core::rpc::Refused;
use crate::chain::shown::shown;

/// What stands in refusals of a parent that pays too little alone.
const OF_FEES: &[&str] = &["min relay fee not met", "mempool min fee not met"];

/// The answer of Core's `submitpackage`, which some servers pass on.
#[derive(Deserialize)]
struct PackageAnswer {
    package_msg: String,
}

/// Offers transactions one after the other, and together where a parent pays too little alone. The answer is about the last,
/// or about the first that was not taken.
pub(super) fn broadcast(server: &Server, package: &[Transaction]) -> Result<Broadcast, NoAnswer> {
    let mut answer = Broadcast::AlreadyKnown;
    for tx in package {
        answer = offer(server, tx)?;
        match &answer {
            Broadcast::Accepted | Broadcast::AlreadyKnown => {}
            Broadcast::Refused(why) if package.len() > 1 && OF_FEES.iter().any(|words| why.contains(words)) => {
                return Ok(if together(server, package)? { Broadcast::Accepted } else { answer });
            }
            Broadcast::Conflict | Broadcast::InputsMissing | Broadcast::InputsSpent | Broadcast::Refused(_) => break,
        }
    }
    Ok(answer)
}

fn offer(server: &Server, tx: &Transaction) -> Result<Broadcast, NoAnswer> {
    server.bucket.take_in_any_case();
    let (status, words) = server.post("/tx", serialize_hex(tx))?;
    if status == StatusCode::OK {
        let is_it = words.trim() == tx.compute_txid().to_string();
        return if is_it { Ok(Broadcast::Accepted) } else { Err(server.nonsense("/tx", &words).into()) };
    }
    if status != StatusCode::BAD_REQUEST {
        return Err(server.refuses(status, words.as_bytes()).into());
    }
    // What is not the node's own refusal says nothing of the transaction.
    let code = code(&words).ok_or_else(|| server.refuses(status, words.as_bytes()))?;
    Ok(meaning(Refused { code, message: shown(&words) })?)
}

/// Whether the server's node takes them all at once. One that cannot do that says nothing.
fn together(server: &Server, package: &[Transaction]) -> Result<bool, NoAnswer> {
    server.bucket.take_in_any_case();
    let hexes: Vec<String> = package.iter().map(serialize_hex).collect();
    let (status, words) = server.post("/txs/package", json!(hexes).to_string())?;
    let answer = serde_json::from_str::<PackageAnswer>(&words).ok();
    Ok(status == StatusCode::OK && answer.is_some_and(|answer| answer.package_msg == "success"))
}

/// The code of the node's refusal in a server's words: `sendrawtransaction RPC error: {"code":-25,"message":"…"}`, or
/// `sendrawtransaction RPC error -25: …`.
fn code(words: &str) -> Option<i64> {
    let behind = words.split_once("RPC error")?.1;
    let digits = behind.split_once('-')?.1;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end)?.parse::<i64>().ok()?.checked_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nodes_code_is_found_in_the_servers_words() {
        for (words, found) in [
            (r#"sendrawtransaction RPC error: {"code":-25,"message":"bad-txns-inputs-missingorspent"}"#, Some(-25)),
            ("sendrawtransaction RPC error -26: txn-mempool-conflict", Some(-26)),
            ("sendrawtransaction RPC error: connection refused", None),
            ("Too many requests -26", None),
            ("", None),
        ] {
            assert_eq!(code(words), found, "{words}");
        }
    }
}
