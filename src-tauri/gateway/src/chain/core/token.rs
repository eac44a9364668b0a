//! Where a look ended: the best chain's latest blocks, fewer the older they are, so that the fork of any reorganisation is
//! found near; and what tells this answer from every other.

use bitcoin::BlockHash;
use bitcoin::hashes::Hash as _;

/// The form of the token. One of another form is as none.
pub(in crate::chain) const FORM: u8 = 1;

/// So many of the latest blocks are all kept.
const DENSE: u32 = 8;

/// A block of the best chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::chain) struct BlockId {
    pub height: u32,
    pub hash: BlockHash,
}

/// Where a look ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::chain) struct Token {
    /// Tells this answer from others that end with the same block.
    pub answer: u128,
    /// The work of the best chain that was looked at.
    pub work: [u8; 32],
    /// Blocks of it, the lowest first; never empty.
    pub blocks: Vec<BlockId>,
}

impl Token {
    pub(in crate::chain) fn write(&self) -> Vec<u8> {
        let mut bytes = vec![FORM];
        bytes.extend(self.answer.to_be_bytes());
        bytes.extend(self.work);
        for block in &self.blocks {
            bytes.extend(block.height.to_be_bytes());
            bytes.extend(block.hash.to_byte_array());
        }
        bytes
    }

    /// `None` where it is another backend's.
    pub(in crate::chain) fn read(token: &[u8]) -> Option<Self> {
        let rest = token.strip_prefix(&[FORM])?;
        let (answer, rest) = rest.split_first_chunk()?;
        let (work, rest) = rest.split_first_chunk()?;
        let mut blocks = Vec::new();
        for bytes in rest.chunks(36) {
            let (height, hash) = bytes.split_first_chunk()?;
            blocks.push(BlockId { height: u32::from_be_bytes(*height), hash: BlockHash::from_slice(hash).ok()? });
        }
        let rises = blocks.is_sorted_by(|one, next| one.height < next.height);
        (rises && !blocks.is_empty()).then_some(Self { answer: u128::from_be_bytes(*answer), work: *work, blocks })
    }
}

/// Leaves out what is dense far below the last of these blocks. A height that is kept once is kept as long as a reorganisation
/// may need it: the more powers of two divide it, the longer. The first stays.
pub(in crate::chain) fn thin(blocks: &mut Vec<BlockId>) {
    thin_by(blocks, |block| block.height);
}

/// The same of whatever has a height of its own.
pub(in crate::chain) fn thin_by<T>(blocks: &mut Vec<T>, height: impl Fn(&T) -> u32) {
    let (Some(first), Some(last)) = (blocks.first().map(&height), blocks.last().map(&height)) else { return };
    blocks.retain(|block| {
        let height = height(block);
        let octave = (last.saturating_sub(height) / DENSE).checked_ilog2().map_or(0, |octave| octave.saturating_add(1));
        height == first || height.trailing_zeros() >= octave
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(height: u32) -> BlockId {
        let mut hash = [0; 32];
        hash[..4].copy_from_slice(&height.to_be_bytes());
        BlockId { height, hash: BlockHash::from_byte_array(hash) }
    }

    #[test]
    fn a_token_is_read_as_it_was_written_and_no_other_is() {
        let token = Token { answer: 7, work: [3; 32], blocks: vec![at(5), at(900)] };
        assert_eq!(Token::read(&token.write()), Some(token.clone()));
        let bytes = token.write();
        for cut in 0..bytes.len() {
            let read = Token::read(&bytes[..cut]);
            assert!(read.is_none() || read.is_some_and(|read| read.blocks == [at(5)]), "{cut}");
        }
        assert_eq!(Token::read(&[2; 80]), None);
        assert_eq!(Token::read(&Token { answer: 7, work: [3; 32], blocks: vec![at(9), at(9)] }.write()), None);
    }

    #[test]
    fn a_fork_is_found_not_much_deeper_than_it_is_and_a_long_chain_needs_few_blocks() {
        let mut blocks = Vec::new();
        for height in 3..100_000 {
            blocks.push(at(height));
            thin(&mut blocks);
        }
        assert!(blocks.len() < 200, "{}", blocks.len());
        assert_eq!(blocks[0], at(3));
        for depth in [1u32, 5, 50, 500, 5_000, 50_000] {
            let fork = 99_999 - depth;
            let found = blocks.iter().rev().find(|block| block.height <= fork).unwrap();
            assert!(fork - found.height <= depth, "depth {depth}: {}", found.height);
        }
    }
}
