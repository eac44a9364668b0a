//! Offers transactions to a node, and interprets its refusals.

use bitcoin::Transaction;
use bitcoin::consensus::encode::serialize_hex;
use serde_json::json;

use super::rpc::{Refused, Rpc, call};
use crate::checks::relay_policy::{OF_CONFLICTS, OF_INPUTS, OF_KNOWN};
use crate::port::{Broadcast, ChainDown};

/// A transaction with unknown or spent inputs, or with too high a fee (`RPC_TRANSACTION_ERROR`).
const ERROR: i64 = -25;
/// A transaction against the rules of the mempool (`RPC_TRANSACTION_REJECTED`).
const REJECTED: i64 = -26;
/// A transaction that is in a block (`RPC_TRANSACTION_ALREADY_IN_UTXO_SET`).
const IN_UTXO_SET: i64 = -27;

/// Offers transactions one after the other. The answer is about the last, or about the first that
/// was refused.
pub fn broadcast(rpc: &Rpc, package: &[Transaction]) -> Result<Broadcast, ChainDown> {
    let mut answer = Broadcast::AlreadyKnown;
    for tx in package {
        // 0: the node sets no limit to the fee, because the signer does.
        answer = match rpc.try_ask(call("sendrawtransaction", json!([serialize_hex(tx), 0])))? {
            Ok(_) => Broadcast::Accepted,
            Err(refused) => meaning(refused)?,
        };
        match answer {
            Broadcast::Accepted | Broadcast::AlreadyKnown => {}
            Broadcast::Conflict(_)
            | Broadcast::InputsMissing
            | Broadcast::InputsSpent
            | Broadcast::Refused(_) => break,
        }
    }
    Ok(answer)
}

/// The meaning of a refusal for a transaction. `Err` if the error does not concern the transaction.
fn meaning(refused: Refused) -> Result<Broadcast, ChainDown> {
    let says = |words: &[&str]| {
        let message = refused.message.to_ascii_lowercase();
        words.iter().any(|words| message.contains(words))
    };
    Ok(match refused.code {
        IN_UTXO_SET => Broadcast::AlreadyKnown,
        REJECTED | ERROR if says(OF_KNOWN) => Broadcast::AlreadyKnown,
        REJECTED if says(OF_CONFLICTS) => Broadcast::Conflict(refused.message),
        REJECTED | ERROR if says(OF_INPUTS) => Broadcast::InputsMissing,
        // -22: the node cannot decode the transaction.
        REJECTED | ERROR | -22 => Broadcast::Refused(refused.message),
        _ => return Err(refused.down("sendrawtransaction")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_of_bitcoin_core_has_its_outcome() {
        let of = |code, message: &str| meaning(Refused { code, message: message.to_owned() });
        let refused = |why: &str| Ok(Broadcast::Refused(why.to_owned()));
        let conflict = |why: &str| Ok(Broadcast::Conflict(why.to_owned()));
        let too_little = "insufficient fee, rejecting replacement 00ff; new feerate 0.1 <= old";
        for (code, message, meant) in [
            (-25, "bad-txns-inputs-missingorspent", Ok(Broadcast::InputsMissing)),
            (-25, "Missing inputs", Ok(Broadcast::InputsMissing)),
            (-25, "Inputs missing or spent", Ok(Broadcast::InputsMissing)),
            (-26, "txn-mempool-conflict", conflict("txn-mempool-conflict")),
            (-26, too_little, conflict(too_little)),
            (-26, "txn-already-in-mempool", Ok(Broadcast::AlreadyKnown)),
            (-27, "Transaction already in block chain", Ok(Broadcast::AlreadyKnown)),
            (-27, "Transaction outputs already in utxo set", Ok(Broadcast::AlreadyKnown)),
            (-26, "min relay fee not met, 1 < 110", refused("min relay fee not met, 1 < 110")),
            (
                -26,
                "bad-txns-premature-spend-of-coinbase",
                refused("bad-txns-premature-spend-of-coinbase"),
            ),
            (-22, "TX decode failed", refused("TX decode failed")),
        ] {
            assert_eq!(of(code, message), meant, "{message}");
        }
        assert!(
            of(-32_601, "Method not found").is_err(),
            "a missing method does not concern the transaction"
        );
    }
}
