//! Blocks below the headers that are kept: linked one by one down to where a transaction of ours is said to stand. Of one in ten the
//! hash is remembered, so that a whole chain of them takes little room; from there the others are asked for again.

use std::collections::BTreeMap;

use bitcoin::BlockHash;

use super::Asking;
use super::headers::{self, Known};
use super::server::NoAnswer;
use super::state::State;

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
    fn put_below(&mut self, height: u32, below: &[Known]) {
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

    /// Keeps the header of a block that is asked about.
    fn keep(&mut self, height: u32, known: Known) {
        if self.whole.len() >= WHOLE_MAX {
            self.whole.clear();
        }
        self.whole.insert(height, known);
    }
}

/// Finds out which block of the chain of our headers has a height; [`State::header_at`] knows it then. `false` where nobody knows, or no
/// question is left.
pub(super) fn find(asking: &Asking<'_>, state: &mut State, height: u32) -> Result<bool, NoAnswer> {
    if state.header_at(height).is_some() {
        return Ok(true);
    }
    // One above the best block came meanwhile; and nothing of ours is older than the wallet.
    if state.headers.as_ref().is_none_or(|headers| height >= headers.first()) || height < asking.from {
        return Ok(false);
    }
    while let Some((lowest, known)) = state.lowest().filter(|(lowest, _)| *lowest > height) {
        let Some(below) = below(asking, lowest, &known)? else { return Ok(false) };
        state.deep.put_below(lowest, &below);
        take(state, (lowest, &below), height);
    }
    if state.header_at(height).is_some() {
        return Ok(true);
    }
    let remembered = state.deep.hashes.range(height..).next().map(|(above, hash)| (*above, *hash));
    let (above, known) = match remembered {
        Some((above, hash)) => {
            if !asking.take_turn() {
                return Ok(false);
            }
            (above, headers::block(asking.server, asking.network, hash)?.1)
        }
        None => {
            let headers = state.headers.as_ref();
            let Some(first) = headers.and_then(|it| Some((it.first(), *it.at(it.first())?))) else { return Ok(false) };
            first
        }
    };
    if above == height {
        state.deep.keep(height, known);
    } else if let Some(below) = below(asking, above, &known)? {
        take(state, (above, &below), height);
    }
    Ok(state.header_at(height).is_some())
}

/// Some blocks below one that is linked; `None` where no question is left.
fn below(asking: &Asking<'_>, height: u32, known: &Known) -> Result<Option<Vec<Known>>, NoAnswer> {
    if !asking.take_turn() {
        return Ok(None);
    }
    headers::below(asking.server, asking.network, height, known).map(Some)
}

/// Keeps the block of a height, where it is one of those `below`, the highest first.
fn take(state: &mut State, (above, below): (u32, &[Known]), height: u32) {
    if let Some((_, known)) = (0..above).rev().zip(below).find(|(at, _)| *at == height) {
        state.deep.keep(height, *known);
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
