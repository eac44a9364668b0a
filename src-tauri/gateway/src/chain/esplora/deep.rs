//! Blocks below the headers that are kept: linked one by one down to where a transaction of ours is said to stand. Of one in ten the
//! hash is remembered, so that a whole chain of them takes little room; from there the others are asked for again.

use std::collections::BTreeMap;

use bitcoin::BlockHash;

use super::headers::Known;

/// One block of so many is remembered: of as many a server tells at a time.
const EVERY: u32 = 10;

/// Headers of blocks that were asked about which are kept whole.
const WHOLE_MAX: usize = 2_016;

/// Blocks below the headers that are kept, each linked up to the best one.
#[derive(Default)]
pub(super) struct Deep {
    /// Hashes of one in ten, by their heights.
    hashes: BTreeMap<u32, BlockHash>,
    /// The lowest one.
    lowest: Option<(u32, Known)>,
    /// Those that were asked about.
    whole: BTreeMap<u32, Known>,
}

impl Deep {
    pub(super) fn at(&self, height: u32) -> Option<&Known> {
        self.whole.get(&height)
    }

    pub(super) const fn lowest(&self) -> Option<(u32, Known)> {
        self.lowest
    }

    /// Takes blocks below a height over, the highest first.
    pub(super) fn put_below(&mut self, height: u32, below: &[Known]) {
        for (height, known) in (0..height).rev().zip(below) {
            self.note(height, known.hash);
            self.lowest = Some((height, *known));
        }
    }

    /// Takes the next block above over, which is not kept elsewhere any more.
    pub(super) fn note(&mut self, height: u32, hash: BlockHash) {
        if height.is_multiple_of(EVERY) {
            self.hashes.insert(height, hash);
        }
    }

    /// The lowest block that is remembered and stands no lower than a height.
    pub(super) fn remembered_from(&self, height: u32) -> Option<(u32, BlockHash)> {
        self.hashes.range(height..).next().map(|(height, hash)| (*height, *hash))
    }

    /// Keeps the header of a block that is asked about.
    pub(super) fn keep(&mut self, height: u32, known: Known) {
        if self.whole.len() >= WHOLE_MAX {
            self.whole.clear();
        }
        self.whole.insert(height, known);
    }
}

#[cfg(test)]
mod tests {
    use bitcoin::Network;
    use bitcoin::constants::genesis_block;

    use super::*;

    #[test]
    fn all_blocks_of_the_main_network_that_may_hold_anything_of_ours_take_two_megabytes() {
        let header = genesis_block(Network::Bitcoin).header;
        let known = Known { hash: header.block_hash(), header };
        let mut deep = Deep::default();
        let (from, to) = (481_824, 901_824);
        for page in (from..to).rev().step_by(10) {
            deep.put_below(page + 1, &[known; 10]);
            deep.keep(page, known);
        }
        let bytes = deep.hashes.len() * size_of::<(u32, BlockHash)>() + deep.whole.len() * size_of::<(u32, Known)>();
        assert!(bytes < 2 << 20, "{bytes} bytes");
        assert_eq!(deep.lowest().map(|(height, _)| height), Some(from));
    }
}
