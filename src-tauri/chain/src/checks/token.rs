//! The end of a look, in one form for every backend, so that a backend continues where another
//! stopped. A token lists blocks of the best chain with their work. Older blocks are sparser: a
//! listed block lies at most n blocks below a fork of depth n. A token also holds the heights up to
//! which all is known, and a unique number.

use std::hash::{BuildHasher as _, RandomState};

use bitcoin::hashes::Hash as _;
use bitcoin::{BlockHash, Work};

use crate::port::{Covered, Scripts};

/// The version of the written form.
const FORM: u8 = 5;

const BLOCK: usize = 4 + 32 + 16;

/// So many of the latest blocks are kept without gaps.
const DENSE: u32 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockId {
    pub height: u32,
    pub hash: BlockHash,
}

/// A block of the best chain, with the work of the chain up to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeighedBlock {
    pub id: BlockId,
    /// The work from the token's first block up to this one.
    pub work: u128,
}

/// The end of a look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Distinguishes this answer from others with the same best block.
    pub answer: u128,
    /// The most work of a chain whose look was completed, counted from the first of `blocks`.
    /// During an incomplete look the listed blocks may have less.
    pub most: u128,
    /// All scripts were looked at up to this height, not just some.
    pub whole_up_to: u32,
    /// A node's whole blocks were read up to this height, so no server could hide a transaction
    /// there.
    pub read_up_to: u32,
    /// The best height when the current round over all scripts began; 0 if unknown.
    pub round_from: u32,
    /// Blocks of the chain, the lowest first; never empty.
    blocks: Vec<WeighedBlock>,
}

impl Token {
    /// The token of a new chain, from this block on.
    pub fn begin(id: BlockId) -> Self {
        Self {
            answer: answer_number(),
            most: 0,
            whole_up_to: 0,
            read_up_to: 0,
            round_from: 0,
            blocks: vec![WeighedBlock { id, work: 0 }],
        }
    }

    pub fn write(&self) -> Vec<u8> {
        let mut bytes = vec![FORM];
        bytes.extend(self.answer.to_be_bytes());
        bytes.extend(self.most.to_be_bytes());
        bytes.extend(self.whole_up_to.to_be_bytes());
        bytes.extend(self.read_up_to.to_be_bytes());
        bytes.extend(self.round_from.to_be_bytes());
        for WeighedBlock { id, work } in &self.blocks {
            bytes.extend(id.height.to_be_bytes());
            bytes.extend(id.hash.to_byte_array());
            bytes.extend(work.to_be_bytes());
        }
        bytes
    }

    /// `None` for any other bytes, such as the sandbox's token.
    pub fn read(token: &[u8]) -> Option<Self> {
        body(token.strip_prefix(&[FORM])?)?.sound()
    }

    /// The token itself, if its heights rise and its work never falls.
    fn sound(self) -> Option<Self> {
        let rises = self
            .blocks
            .is_sorted_by(|one, next| one.id.height < next.id.height && one.work <= next.work);
        (rises && !self.blocks.is_empty()).then_some(self)
    }

    /// The lowest block, from which work is counted.
    pub fn first(&self) -> Option<BlockId> {
        self.blocks.first().map(|block| block.id)
    }

    pub fn last(&self) -> Option<WeighedBlock> {
        self.blocks.last().copied()
    }

    /// The height above which blocks left the chain, if the new chain forks off at `fork` or shares
    /// no block; `None` if no block left.
    pub fn left_above(&self, fork: Option<BlockId>) -> Option<u32> {
        match fork {
            Some(fork) => self.last().filter(|last| last.id != fork).map(|_| fork.height),
            None => Some(0),
        }
    }

    pub fn blocks(&self) -> &[WeighedBlock] {
        &self.blocks
    }

    pub fn block(&self, hash: BlockHash) -> Option<WeighedBlock> {
        self.blocks.iter().find(|block| block.id.hash == hash).copied()
    }

    pub fn height_of(&self, hash: BlockHash) -> Option<u32> {
        self.block(hash).map(|block| block.id.height)
    }

    /// Adds a block above the last one. `work` is the work of the blocks after the last one, up to
    /// this block.
    pub fn push(&mut self, id: BlockId, work: u128) {
        let work = self.last().map_or(0, |last| last.work).saturating_add(work);
        self.blocks.push(WeighedBlock { id, work });
        thin(&mut self.blocks);
    }

    /// Drops the blocks above a height. A token without blocks is useless.
    pub fn cut(&mut self, height: u32) {
        self.blocks.retain(|block| block.id.height <= height);
        self.whole_up_to = self.whole_up_to.min(height);
        self.read_up_to = self.read_up_to.min(height);
        self.round_from = self.round_from.min(height);
    }

    /// If `before` lists the block `id`, becomes `before` up to that block, since only one chain
    /// lies below a block. Returns whether `before` lists it.
    pub fn rejoin(&mut self, before: &Self, id: BlockId) -> bool {
        let is_known = before.height_of(id.hash) == Some(id.height);
        if is_known {
            *self = Self { answer: self.answer, ..before.clone() };
            self.cut(id.height);
        }
        is_known
    }

    /// Makes `id` the last block, even if it lies below all blocks of the token. Blocks above it
    /// are dropped. `between` is the work from `id` to `above`, a block of the token.
    pub fn begin_at(&mut self, id: BlockId, above: WeighedBlock, between: u128) {
        self.blocks.retain(|block| block.id.height < id.height);
        match self.blocks.last() {
            // Work never falls from one block to the next.
            Some(last) => {
                let work = above.work.saturating_sub(between).max(last.work);
                self.blocks.push(WeighedBlock { id, work });
            }
            None => {
                self.most = self.most.saturating_sub(above.work).saturating_add(between);
                self.blocks.push(WeighedBlock { id, work: 0 });
            }
        }
    }

    /// The token to store during an incomplete look: the start of the look, so that an interrupted
    /// look is repeated. Without an earlier token, the look starts at the first block of this one.
    pub fn unfinished(&self, before: Option<&Self>) -> Self {
        let begun = || self.first().map_or_else(|| self.clone(), Self::begin);
        Self { answer: self.answer, ..before.cloned().unwrap_or_else(begun) }
    }

    /// Notes that the look up to the best block is complete.
    pub fn end(&mut self) {
        self.most = self.last().map_or(self.most, |last| last.work);
    }

    /// Notes the progress that a complete look made in the round over all scripts.
    pub fn note_round(&mut self, scripts: &Scripts<'_>, cold_taken: usize, covered: &Covered) {
        if scripts.round_ended {
            self.end_round();
        }
        // A script that is not covered is a gap, and a round with a gap proves nothing.
        if scripts.cold.iter().take(cold_taken).any(|script| !covered.holds(script)) {
            self.round_from = 0;
        }
    }

    /// Ends a round over all scripts: each was asked about since the round began.
    fn end_round(&mut self) {
        self.whole_up_to = self.whole_up_to.max(self.round_from);
        self.round_from = self.last().map_or(0, |last| last.id.height);
    }

    /// Whether the best block has less work than a chain looked at before.
    pub fn is_behind(&self) -> bool {
        self.last().is_none_or(|last| last.work < self.most)
    }
}

/// The work as a `u128`, saturating. All of Bitcoin's work so far is below a billionth of the
/// maximum.
pub fn work_as_u128(work: Work) -> u128 {
    let bytes = work.to_be_bytes();
    let (high, low) = bytes.split_at(16);
    let low = low.try_into().map_or(u128::MAX, u128::from_be_bytes);
    if high.iter().all(|byte| *byte == 0) { low } else { u128::MAX }
}

/// A number that no other answer has, in this run or an earlier one.
pub fn answer_number() -> u128 {
    let [high, low] = [(); 2].map(|()| u128::from(RandomState::new().hash_one(0)));
    high << 64 | low
}

/// Reads the bytes after the version.
fn body(bytes: &[u8]) -> Option<Token> {
    let (answer, rest) = bytes.split_first_chunk()?;
    let (most, rest) = rest.split_first_chunk()?;
    let (whole_up_to, rest) = rest.split_first_chunk()?;
    let (read_up_to, rest) = rest.split_first_chunk()?;
    let (round_from, rest) = rest.split_first_chunk()?;
    Some(Token {
        answer: u128::from_be_bytes(*answer),
        most: u128::from_be_bytes(*most),
        whole_up_to: u32::from_be_bytes(*whole_up_to),
        read_up_to: u32::from_be_bytes(*read_up_to),
        round_from: u32::from_be_bytes(*round_from),
        blocks: weighed(rest)?,
    })
}

fn weighed(bytes: &[u8]) -> Option<Vec<WeighedBlock>> {
    let mut blocks = Vec::new();
    for bytes in bytes.chunks(BLOCK) {
        let (height, rest) = bytes.split_first_chunk()?;
        let (hash, work) = rest.split_first_chunk::<32>()?;
        let id = BlockId {
            height: u32::from_be_bytes(*height),
            hash: BlockHash::from_byte_array(*hash),
        };
        blocks.push(WeighedBlock { id, work: u128::from_be_bytes(work.try_into().ok()?) });
    }
    Some(blocks)
}

/// Thins out the older blocks. The higher the power of two that divides a height, the longer the
/// block is kept. The first block stays.
fn thin(blocks: &mut Vec<WeighedBlock>) {
    let height = |block: &WeighedBlock| block.id.height;
    let (Some(first), Some(last)) = (blocks.first().map(height), blocks.last().map(height)) else {
        return;
    };
    blocks.retain(|block| {
        let height = height(block);
        let octave = (last.saturating_sub(height) / DENSE)
            .checked_ilog2()
            .map_or(0, |octave| octave.saturating_add(1));
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

    fn weighed(height: u32, work: u128) -> WeighedBlock {
        WeighedBlock { id: at(height), work }
    }

    fn token(blocks: Vec<WeighedBlock>) -> Token {
        Token { answer: 7, most: 9, whole_up_to: 5, read_up_to: 4, round_from: 6, blocks }
    }

    #[test]
    fn a_written_token_is_read_back_and_invalid_bytes_are_not() {
        let whole = token(vec![weighed(5, 0), weighed(90, u128::MAX)]);
        let bytes = whole.write();
        assert_eq!(Token::read(&bytes), Some(whole));
        for cut in 0..bytes.len() {
            let read = Token::read(&bytes[..cut]);
            assert!(
                read.is_none() || read.is_some_and(|read| read.blocks == [weighed(5, 0)]),
                "{cut}"
            );
        }
        for wrong in
            [vec![weighed(9, 4), weighed(10, 3)], vec![weighed(9, 4), weighed(9, 4)], vec![]]
        {
            assert_eq!(Token::read(&token(wrong).write()), None);
        }
        assert_eq!(Token::read(&[FORM + 1; 80]), None);
    }

    #[test]
    fn a_long_chain_needs_few_blocks_to_find_every_fork() {
        let mut token = Token::begin(at(3));
        (4..100_000).for_each(|height| token.push(at(height), 2));
        assert!(token.blocks().len() < 200, "{}", token.blocks().len());
        assert_eq!((token.first(), token.last()), (Some(at(3)), Some(weighed(99_999, 2 * 99_996))));
        for depth in [1u32, 5, 50, 500, 5_000, 50_000] {
            let fork = 99_999 - depth;
            let found = token.blocks().iter().rev().find(|block| block.id.height <= fork).unwrap();
            assert!(fork - found.id.height <= depth, "depth {depth}: {}", found.id.height);
        }
    }

    #[test]
    fn a_chain_with_less_work_than_the_known_one_is_behind() {
        let mut token = Token::begin(at(10));
        (11..=20).for_each(|height| token.push(at(height), 2));
        token.end();
        token.cut(15);
        assert!(token.is_behind());
        (16..=19).for_each(|height| token.push(at(height), 2));
        assert!(token.is_behind(), "one block is missing");
        token.push(at(20), 2);
        assert!(!token.is_behind());
        token.cut(9);
        assert!(token.is_behind() && token.last().is_none());
    }

    #[test]
    fn only_a_listed_block_restores_what_was_known_up_to_it() {
        let mut known = Token { whole_up_to: 14, round_from: 19, ..Token::begin(at(10)) };
        (11..=20).for_each(|height| known.push(at(height), 2));
        known.end();
        let mut token = known.clone();
        token.cut(11);
        token.push(BlockId { height: 12, hash: at(99).hash }, 2);
        let other = token.clone();
        assert!(!token.rejoin(&known, BlockId { height: 13, hash: at(98).hash }));
        assert!(!token.rejoin(&known, BlockId { height: 13, ..at(14) }), "a block has one height");
        assert_eq!(token, other);
        token.answer = 7;
        assert!(token.rejoin(&known, at(17)));
        known.cut(17);
        assert_eq!(token, Token { answer: 7, ..known });
        assert_eq!((token.most, token.whole_up_to, token.round_from), (20, 14, 17));
    }

    #[test]
    fn a_lower_start_still_needs_the_work_of_the_known_chain() {
        let of = || {
            let mut token = Token::begin(at(10));
            (11..=20).for_each(|height| token.push(at(height), 2));
            token.end();
            token
        };
        let above = of().last().unwrap();
        for start in [4, 10, 13] {
            let mut token = of();
            token.begin_at(at(start), above, u128::from(20 - start) * 2);
            assert_eq!(token.last().map(|last| last.id), Some(at(start)));
            (start + 1..20).for_each(|height| token.push(at(height), 2));
            assert!(token.is_behind(), "from {start}");
            token.push(at(20), 2);
            assert!(!token.is_behind(), "from {start}");
        }
    }

    #[test]
    fn a_finished_round_covers_all_up_to_the_height_at_its_start() {
        let mut token = Token::begin(at(10));
        token.end_round();
        assert_eq!(
            (token.whole_up_to, token.round_from),
            (0, 10),
            "the start of that round is unknown"
        );
        token.push(at(30), 2);
        token.end_round();
        assert_eq!((token.whole_up_to, token.round_from), (10, 30));
        assert_eq!(token.read_up_to, 0, "no node read a block");
        token.push(at(31), 2);
        token.cut(8);
        assert_eq!(
            (token.whole_up_to, token.round_from),
            (8, 8),
            "heights above the cut are dropped"
        );
    }
}
