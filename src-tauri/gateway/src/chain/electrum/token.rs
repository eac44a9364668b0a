//! Where a look ended: blocks of the best chain with the work behind each, and what tells this answer from every other.

use bitcoin::BlockHash;
use bitcoin::hashes::Hash as _;

use crate::chain::core::token::{BlockId, thin_by};

/// The form of the token. One of another form, or another backend's, is as none.
const FORM: u8 = 2;

/// Bytes of a block.
const BLOCK: usize = 4 + 32 + 16;

/// Where a look ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// Tells this answer from others that end with the same block.
    pub answer: u128,
    /// Blocks of the best chain, the lowest first; never empty.
    pub blocks: Vec<Weighed>,
}

/// A block of the best chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Weighed {
    pub id: BlockId,
    /// The work of all blocks behind the token's first one up to it.
    pub work: u128,
}

impl Token {
    pub(super) fn write(&self) -> Vec<u8> {
        let mut bytes = vec![FORM];
        bytes.extend(self.answer.to_be_bytes());
        for Weighed { id, work } in &self.blocks {
            bytes.extend(id.height.to_be_bytes());
            bytes.extend(id.hash.to_byte_array());
            bytes.extend(work.to_be_bytes());
        }
        bytes
    }

    /// `None` where it is another backend's.
    pub(super) fn read(token: &[u8]) -> Option<Self> {
        let rest = token.strip_prefix(&[FORM])?;
        let (answer, rest) = rest.split_first_chunk()?;
        let mut blocks = Vec::new();
        for bytes in rest.chunks(BLOCK) {
            let (height, rest) = bytes.split_first_chunk()?;
            let (hash, work) = rest.split_first_chunk::<32>()?;
            let id = BlockId { height: u32::from_be_bytes(*height), hash: BlockHash::from_byte_array(*hash) };
            blocks.push(Weighed { id, work: u128::from_be_bytes(work.try_into().ok()?) });
        }
        let rises = blocks.is_sorted_by(|one, next| one.id.height < next.id.height && one.work <= next.work);
        (rises && !blocks.is_empty()).then_some(Self { answer: u128::from_be_bytes(*answer), blocks })
    }

    /// Adds the next block.
    pub(super) fn push(&mut self, block: Weighed) {
        self.blocks.push(block);
        thin_by(&mut self.blocks, |block| block.id.height);
    }

    /// The best block.
    pub(super) fn last(&self) -> Option<Weighed> {
        self.blocks.last().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_as_it_was_written_and_no_other_is() {
        let at = |height: u32, work| Weighed {
            id: BlockId { height, hash: BlockHash::from_byte_array([height as u8; 32]) },
            work,
        };
        let token = Token { answer: 7, blocks: vec![at(5, 0), at(90, u128::MAX)] };
        let bytes = token.write();
        assert_eq!(Token::read(&bytes), Some(token));
        for cut in 0..bytes.len() {
            let read = Token::read(&bytes[..cut]);
            assert!(read.is_none() || read.is_some_and(|read| read.blocks == [at(5, 0)]), "{cut}");
        }
        assert_eq!(Token::read(&[1; 80]), None);
        assert_eq!(Token::read(&Token { answer: 7, blocks: vec![at(9, 4), at(10, 3)] }.write()), None);
    }
}
