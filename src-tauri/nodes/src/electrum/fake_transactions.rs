//! Transactions that a server invents: they have no valid signature, and were never in a node.

use bitcoin::absolute::LockTime;
use bitcoin::hashes::Hash as _;
use bitcoin::transaction::Version;
use bitcoin::{Amount, OutPoint, Script, Sequence, Transaction, TxIn, TxOut, Txid, Witness};

use super::fault::ElectrumFault;

/// `count` payments to a script, without their witness.
pub(super) fn payments(script: &Script, count: u32) -> impl Iterator<Item = Transaction> {
    (0..count).map(move |number| payment(script, number))
}

/// The transaction with this id, among those that a fault invents.
pub(super) fn transaction(fault: &ElectrumFault, txid: &Txid) -> Option<Transaction> {
    match fault {
        ElectrumFault::InventedPayments { script, count, witness } => {
            let mut tx = payments(script, *count).find(|tx| tx.compute_txid() == *txid)?;
            let witness = Witness::from_slice(&[vec![7; *witness]]);
            tx.input.iter_mut().for_each(|input| input.witness = witness.clone());
            Some(tx)
        }
        ElectrumFault::InventedSpend(tx) | ElectrumFault::InventedWaiting(tx) => {
            Some(tx).filter(|tx| tx.compute_txid() == *txid).cloned()
        }
        _ => None,
    }
}

fn payment(script: &Script, number: u32) -> Transaction {
    let previous_output = OutPoint { txid: Txid::hash(&number.to_be_bytes()), vout: 0 };
    let input = TxIn { previous_output, sequence: Sequence::MAX, ..TxIn::default() };
    let output = TxOut { value: Amount::from_sat(1_000), script_pubkey: script.to_owned() };
    Transaction {
        version: Version::TWO,
        lock_time: LockTime::ZERO,
        input: vec![input],
        output: vec![output],
    }
}

/// The id of a transaction that does not exist.
pub(super) fn txid(number: u32) -> Txid {
    Txid::hash(&number.to_le_bytes())
}
