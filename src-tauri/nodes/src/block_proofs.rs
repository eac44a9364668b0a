//! Makes block headers invalid, and computes merkle branches.

use bitcoin::block::Header;
use bitcoin::hashes::{Hash as _, sha256d};
use bitcoin::{BlockHash, Target, Txid};

/// Removes the proof of work from a header.
pub(crate) fn take_work(header: &mut Header) {
    while has_work(header) {
        header.nonce = header.nonce.wrapping_add(1);
    }
}

/// Makes a header follow a block that does not exist.
pub(crate) fn break_link(header: &mut Header) {
    header.prev_blockhash = BlockHash::from_byte_array([7; 32]);
    while !has_work(header) {
        header.nonce = header.nonce.wrapping_add(1);
    }
}

/// The merkle branch of a transaction: the sibling hashes on its path to the root, the deepest
/// first.
pub(crate) fn merkle_branch(txids: &[Txid], place: usize) -> Vec<Txid> {
    let (mut level, mut place, mut branch) = (txids.to_vec(), place, Vec::new());
    while level.len() > 1 {
        if level.len() % 2 == 1 {
            level.extend(level.last().copied());
        }
        branch.extend(level.get(place ^ 1).copied());
        level = level.chunks(2).map(join).collect();
        place /= 2;
    }
    branch
}

fn join(pair: &[Txid]) -> Txid {
    let bytes: Vec<u8> = pair.iter().flat_map(|txid| txid.to_byte_array()).collect();
    Txid::from_raw_hash(sha256d::Hash::hash(&bytes))
}

fn has_work(header: &Header) -> bool {
    header.validate_pow(Target::MAX_ATTAINABLE_REGTEST).is_ok()
}
