//! Proofs that a transaction is in its block: the way from it to the root that the block's header names.

use bitcoin::hashes::{Hash as _, sha256d};
use bitcoin::{Transaction, TxMerkleNode, Txid};
use serde::Deserialize;

/// Steps of a proof at most: no block has 2^32 transactions.
const STEPS_MAX: usize = 32;

/// Bytes without witness of what may be taken for two hashes of the tree side by side. No wallet pays with so few.
const LIKE_TWO_HASHES: usize = 64;

/// What a server tells for a proof.
#[derive(Debug, Deserialize)]
pub(super) struct Proof {
    pub block_height: u32,
    /// The hashes beside the way, the deepest first, each written as an id is.
    pub merkle: Vec<Txid>,
    pub pos: u32,
}

impl Proof {
    /// Whether it leads from a transaction to a root.
    pub(super) fn leads_to(&self, tx: &Transaction, root: TxMerkleNode) -> bool {
        if self.merkle.len() > STEPS_MAX || tx.base_size() == LIKE_TWO_HASHES {
            return false;
        }
        let mut hash = tx.compute_txid().to_byte_array();
        let mut place = self.pos;
        for beside in &self.merkle {
            let beside = beside.to_byte_array();
            let pair = if place & 1 == 0 { [hash, beside] } else { [beside, hash] };
            // A last hash without a neighbour stands beside itself on the left alone.
            if place & 1 == 1 && hash == beside {
                return false;
            }
            hash = sha256d::Hash::hash(&pair.concat()).to_byte_array();
            place >>= 1;
        }
        place == 0 && TxMerkleNode::from_byte_array(hash) == root
    }
}

#[cfg(test)]
mod tests {
    use bitcoin::absolute::LockTime;
    use bitcoin::transaction::Version;

    use super::*;

    fn tx(number: u32) -> Transaction {
        let lock_time = LockTime::from_height(number).unwrap();
        Transaction { version: Version::TWO, lock_time, input: Vec::new(), output: Vec::new() }
    }

    fn pair(left: [u8; 32], right: [u8; 32]) -> [u8; 32] {
        sha256d::Hash::hash(&[left, right].concat()).to_byte_array()
    }

    #[test]
    fn a_proof_holds_for_its_own_transaction_place_and_root_and_for_no_other() {
        let txs: Vec<Transaction> = (0..3).map(tx).collect();
        let [a, b, c] = [0, 1, 2].map(|at: usize| txs[at].compute_txid().to_byte_array());
        let (ab, cc) = (pair(a, b), pair(c, c));
        let root = TxMerkleNode::from_byte_array(pair(ab, cc));
        let id = Txid::from_byte_array;
        let proof = |pos, merkle: &[[u8; 32]]| Proof {
            block_height: 1,
            pos,
            merkle: merkle.iter().map(|hash| id(*hash)).collect(),
        };
        assert!(proof(0, &[b, cc]).leads_to(&txs[0], root));
        assert!(proof(1, &[a, cc]).leads_to(&txs[1], root));
        assert!(proof(2, &[c, ab]).leads_to(&txs[2], root));
        assert!(!proof(3, &[c, ab]).leads_to(&txs[2], root), "there is no fourth");
        assert!(!proof(1, &[b, cc]).leads_to(&txs[0], root));
        assert!(!proof(4, &[b, cc]).leads_to(&txs[0], root), "beyond the tree");
        assert!(!proof(0, &[b, cc]).leads_to(&txs[2], root));
        assert!(!proof(0, &[b]).leads_to(&txs[0], root));
        let long = vec![b; 40];
        assert!(!proof(0, &long).leads_to(&txs[0], root));
    }
}
