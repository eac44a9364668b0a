//! Proofs of a transaction's block and of a block's height. They rest on the Merkle path to the
//! root in the header, not on a server's claim.

use bitcoin::hashes::Hash as _;
use bitcoin::opcodes::all::{OP_PUSHNUM_1, OP_PUSHNUM_16};
use bitcoin::script::{Instruction, read_scriptint};
use bitcoin::{Transaction, TxMerkleNode};

/// Steps of a path at most: no block holds so many transactions.
const STEPS_MAX: usize = 20;

/// The length of two hashes. A transaction of this length without its witness could be an inner
/// node of the tree. Wallets' payments are longer.
const INNER_LENGTH: usize = 64;

/// Whether a Merkle path can prove the transaction at all. Otherwise its block stays unknown, and a
/// server that names a block is not taken for a liar.
pub fn is_provable(tx: &Transaction) -> bool {
    tx.base_size() != INNER_LENGTH
}

/// Whether this path, deepest hash first, leads from the transaction at index `place` of a block to
/// this root.
pub fn proves_inclusion(
    tx: &Transaction,
    place: u32,
    way: &[TxMerkleNode],
    root: TxMerkleNode,
) -> bool {
    if way.len() > STEPS_MAX || place >> way.len() != 0 || !is_provable(tx) {
        return false;
    }
    let mut node = TxMerkleNode::from_raw_hash(tx.compute_txid().to_raw_hash());
    for (step, other) in way.iter().enumerate() {
        let is_left = (place >> step) & 1 == 0;
        // Only a left node may be paired with itself, when it has no neighbour.
        if !is_left && node == *other {
            return false;
        }
        let (left, right) = if is_left { (node, *other) } else { (*other, node) };
        node = TxMerkleNode::hash(&[left.to_byte_array(), right.to_byte_array()].concat());
    }
    node == root
}

/// The height in a block's coinbase transaction (BIP34); `None` if it has none.
pub fn coinbase_height(tx: &Transaction) -> Option<u32> {
    match tx.input.first()?.script_sig.instructions().next()?.ok()? {
        Instruction::PushBytes(height) => {
            u32::try_from(read_scriptint(height.as_bytes()).ok()?).ok()
        }
        Instruction::Op(number) => {
            let number = number.to_u8();
            let is_one = (OP_PUSHNUM_1.to_u8()..=OP_PUSHNUM_16.to_u8()).contains(&number);
            is_one.then(|| u32::from(number - OP_PUSHNUM_1.to_u8()) + 1)
        }
    }
}

/// Whether the block with this root is at this height, by its coinbase transaction (BIP34). The
/// height in a mined block cannot be forged.
pub fn proves_height(
    reward: &Transaction,
    way: &[TxMerkleNode],
    root: TxMerkleNode,
    height: u32,
) -> bool {
    reward.is_coinbase()
        && proves_inclusion(reward, 0, way, root)
        && coinbase_height(reward) == Some(height)
}

#[cfg(test)]
mod tests {
    use bitcoin::absolute::LockTime;
    use bitcoin::{Amount, Block, ScriptBuf, TxOut, transaction};

    use super::*;

    fn tx(number: u64) -> Transaction {
        let output = TxOut { value: Amount::from_sat(number), script_pubkey: ScriptBuf::new() };
        let (version, lock_time) = (transaction::Version::TWO, LockTime::ZERO);
        Transaction { version, lock_time, input: Vec::new(), output: vec![output] }
    }

    fn join(left: TxMerkleNode, right: TxMerkleNode) -> TxMerkleNode {
        TxMerkleNode::hash(&[left.to_byte_array(), right.to_byte_array()].concat())
    }

    /// Three transactions, each with its path, and their root. The third has no neighbour.
    fn three() -> (Vec<Transaction>, [[TxMerkleNode; 2]; 3], TxMerkleNode) {
        let txs: Vec<Transaction> = (1..=3).map(tx).collect();
        let [a, b, c] = [0, 1, 2]
            .map(|at: usize| TxMerkleNode::from_raw_hash(txs[at].compute_txid().to_raw_hash()));
        let header = bitcoin::constants::genesis_block(bitcoin::Network::Regtest).header;
        let root = Block { header, txdata: txs.clone() }.compute_merkle_root().unwrap();
        (txs, [[b, join(c, c)], [a, join(c, c)], [c, join(a, b)]], root)
    }

    #[test]
    fn only_the_correct_merkle_path_proves_inclusion() {
        let (txs, ways, root) = three();
        for ((place, tx), way) in (0u32..).zip(&txs).zip(&ways) {
            assert!(proves_inclusion(tx, place, way, root), "{place}");
        }
        let way = &ways[2];
        for (what, tx, place, way, root) in [
            ("another transaction", &txs[0], 2, &way[..], root),
            ("another index", &txs[2], 1, way, root),
            ("a fourth transaction, which does not exist", &txs[2], 3, way, root),
            ("an index beyond the tree", &txs[2], 2 + 4, way, root),
            ("a shorter path", &txs[2], 0, &way[..1], root),
            ("another root", &txs[2], 2, way, way[0]),
            ("a path that is too long", &txs[2], 2, &[way[0]; 40], root),
        ] {
            assert!(!proves_inclusion(tx, place, way, root), "{what}");
        }
    }

    #[test]
    fn an_inner_node_of_the_tree_proves_no_transaction() {
        let mut inner = tx(1);
        inner.output[0].script_pubkey = ScriptBuf::from_bytes(vec![0x51; 64 - inner.base_size()]);
        assert_eq!(inner.base_size(), INNER_LENGTH);
        let root = TxMerkleNode::from_raw_hash(inner.compute_txid().to_raw_hash());
        assert!(!is_provable(&inner) && is_provable(&tx(1)));
        assert!(!proves_inclusion(&inner, 0, &[], root));
    }
}
