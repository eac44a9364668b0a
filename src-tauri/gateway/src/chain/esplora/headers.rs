//! The best chain's latest headers: each is linked to the one before it, work was done for it, and the difficulty is one that
//! may be. What a server says of blocks and transactions is held against them.

use std::collections::VecDeque;

use bitcoin::block::Header;
use bitcoin::consensus::Params;
use bitcoin::{BlockHash, CompactTarget, Network, Target, Work};
use tillgate_domain::time::Timestamp;

use super::answers::BlockAnswer;
use super::server::{NoAnswer, Server};
use crate::chain::core::blocks::may_follow;
use crate::chain::core::token::BlockId;
use crate::chain::{ChainDown, Tip};

/// Headers that are kept, and that are linked one by one after a pause: two weeks and more. A server gives ten at a time.
pub(super) const LINKED_MAX: u32 = 2_016;

/// Blocks whose times make the median (Bitcoin's own number).
pub(super) const MEDIAN_OF: usize = 11;

/// Blocks that are asked for in one step upwards.
const STEP: u32 = 10;

/// Questions for headers in one answer of a look.
const PAGES_MAX: u32 = 20;

/// From these heights on no block of the main network was found with less work than this, by far. A chain of forged headers
/// costs no less. Below the first nothing is ours: no output had a witness.
const MAIN_FLOORS: [(u32, u32); 2] = [(600_000, 0x1720_0000), (481_824, 0x1802_0000)];

/// A header that was checked, with its hash.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub hash: BlockHash,
    pub header: Header,
}

/// The best chain's latest headers, without a gap.
#[derive(Debug, Clone)]
pub(super) struct Headers {
    first: u32,
    /// Never empty.
    chain: VecDeque<Known>,
}

/// How the server's chain was followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Followed {
    /// So far; the last block that both chains have, where some were taken back, and whether there is more.
    To { fork: Option<u32>, more: bool },
    /// It is too far away to be linked: begin anew from what the token says.
    Lost,
}

impl Known {
    /// Its header's time.
    pub(super) fn time(&self) -> Timestamp {
        Timestamp::from_ms(i64::from(self.header.time).saturating_mul(1_000))
    }
}

impl Headers {
    /// Begins with a block that was checked.
    pub(super) fn new(first: u32, known: Known) -> Self {
        Self { first, chain: VecDeque::from([known]) }
    }

    /// The lowest that is kept.
    pub(super) const fn first(&self) -> u32 {
        self.first
    }

    /// The best block's height.
    pub(super) fn height(&self) -> u32 {
        self.first.saturating_add(u32::try_from(self.chain.len().saturating_sub(1)).unwrap_or(u32::MAX))
    }

    /// What stands at a height.
    pub(super) fn at(&self, height: u32) -> Option<&Known> {
        self.chain.get(usize::try_from(height.checked_sub(self.first)?).ok()?)
    }

    /// Whether a block is in there.
    pub(super) fn holds(&self, block: &BlockId) -> bool {
        self.at(block.height).is_some_and(|known| known.hash == block.hash)
    }

    /// The best block.
    pub(super) fn tip(&self) -> Option<Tip> {
        let known = self.chain.back()?;
        Some(Tip { height: self.height(), hash: known.hash, time: known.time() })
    }

    /// The middle one of the times of the last eleven blocks, where they are known.
    pub(super) fn median_time(&self) -> Option<Timestamp> {
        let mut times: Vec<Timestamp> = self.chain.iter().rev().take(MEDIAN_OF).map(Known::time).collect();
        times.sort_unstable();
        times.get(MEDIAN_OF / 2).filter(|_| times.len() == MEDIAN_OF).copied()
    }

    fn work_above(&self, height: u32) -> Option<Work> {
        let above = self.chain.iter().skip(usize::try_from(height.saturating_sub(self.first)).ok()?).skip(1);
        above.map(|known| known.header.work()).reduce(|sum, work| sum + work)
    }

    /// Puts a branch above a height, in the place of what was there.
    fn put(&mut self, fork: u32, branch: Vec<Known>) {
        let kept = usize::try_from(fork.saturating_sub(self.first)).unwrap_or(usize::MAX).saturating_add(1);
        self.chain.truncate(kept);
        self.chain.extend(branch);
        while self.chain.len() > LINKED_MAX as usize {
            self.chain.pop_front();
            self.first = self.first.saturating_add(1);
        }
    }
}

/// The best block's hash, as the server has it now.
pub(super) fn tip_hash(server: &Server) -> Result<BlockHash, NoAnswer> {
    server.bucket.take_in_any_case();
    let hash = server.text("/blocks/tip/hash")?;
    Ok(hash.ok_or_else(|| server.nonsense("/blocks", "it has no best block"))?)
}

/// The hash that the server's best chain has at a height; `None` above its end.
pub(super) fn hash_at(server: &Server, height: u32) -> Result<Option<BlockHash>, NoAnswer> {
    server.bucket.wait();
    server.text(&format!("/block-height/{height}"))
}

/// A block by its hash, with the height that the server says it has. Its work is checked, and that it is the one.
pub(super) fn block(server: &Server, network: Network, hash: BlockHash) -> Result<(u32, Known), NoAnswer> {
    server.bucket.wait();
    let answer: Option<BlockAnswer> = server.json(&format!("/block/{hash}"))?;
    let answer = answer.ok_or_else(changed)?;
    let known = known(network, &answer)?;
    if known.hash == hash { Ok((answer.height, known)) } else { Err(forged(answer.height, "it is another block")) }
}

/// Follows the server's chain from what is known of it.
pub(super) fn follow(server: &Server, network: Network, headers: &mut Headers) -> Result<Followed, NoAnswer> {
    let tip = tip_hash(server)?;
    let mut fork: Option<u32> = None;
    if headers.tip().is_some_and(|known| known.hash == tip) {
        return Ok(Followed::To { fork, more: false });
    }
    if let Some(back) = headers.chain.iter().rev().position(|known| known.hash == tip) {
        let height = headers.height().saturating_sub(u32::try_from(back).unwrap_or(u32::MAX));
        return Err(behind(height, headers.height()));
    }
    let (height, last) = block(server, network, tip)?;
    if height <= headers.first() {
        return Err(behind(height, headers.height()));
    }
    if height > headers.height().saturating_add(LINKED_MAX) {
        return Ok(Followed::Lost);
    }
    if headers.tip().is_some_and(|tip| tip.hash == last.header.prev_blockhash) {
        let found = Branch { fork: headers.height(), blocks: vec![last] };
        if height != found.fork.saturating_add(1) {
            return Err(forged(height, "it has another height"));
        }
        take(network, headers, found)?;
        return Ok(Followed::To { fork, more: false });
    }
    for _ in 0..PAGES_MAX {
        let goal = height.min(headers.height().saturating_add(STEP));
        let expected = (goal == height).then_some(tip);
        let Some(found) = branch(server, network, headers, goal, expected)? else { return Ok(Followed::Lost) };
        if found.fork < headers.height() {
            fork = Some(fork.map_or(found.fork, |fork| fork.min(found.fork)));
        }
        take(network, headers, found)?;
        if headers.tip().is_some_and(|known| known.hash == tip) {
            return Ok(Followed::To { fork, more: false });
        }
    }
    Ok(Followed::To { fork, more: true })
}

/// Blocks that the server has above one that is known.
struct Branch {
    fork: u32,
    /// The lowest first.
    blocks: Vec<Known>,
}

/// What the server has from a height down to a block that is known; `None` where that lies below all that is.
fn branch(
    server: &Server,
    network: Network,
    headers: &Headers,
    goal: u32,
    mut expected: Option<BlockHash>,
) -> Result<Option<Branch>, NoAnswer> {
    let (mut blocks, mut height) = (Vec::new(), goal);
    for _ in 0..PAGES_MAX {
        server.bucket.wait();
        let page: Option<Vec<BlockAnswer>> = server.json(&format!("/blocks/{height}"))?;
        let page = page.filter(|page| !page.is_empty()).ok_or_else(changed)?;
        for answer in &page {
            let found = known(network, answer)?;
            if answer.height != height {
                return Err(forged(answer.height, "it has another height"));
            }
            if expected.is_some_and(|expected| expected != found.hash) {
                // The first of them may have changed meanwhile; the others cannot have.
                return Err(if blocks.is_empty() {
                    changed().into()
                } else {
                    forged(height.saturating_add(1), "it does not follow on the block before it")
                });
            }
            if headers.at(height).is_some_and(|known| known.hash == found.hash) {
                blocks.reverse();
                return Ok(Some(Branch { fork: height, blocks }));
            }
            if height <= headers.first() {
                return Ok(None);
            }
            expected = Some(found.header.prev_blockhash);
            blocks.push(found);
            height = height.saturating_sub(1);
            if headers.at(height).is_some_and(|known| Some(known.hash) == expected) {
                blocks.reverse();
                return Ok(Some(Branch { fork: height, blocks }));
            }
        }
    }
    Ok(None)
}

/// Takes a branch over, if it has more work than what it replaces.
fn take(network: Network, headers: &mut Headers, branch: Branch) -> Result<(), NoAnswer> {
    let Branch { fork, blocks } = branch;
    let mut before = headers.at(fork).ok_or_else(changed)?.header.bits;
    let mut height = fork;
    for known in &blocks {
        height = height.saturating_add(1);
        let bits = known.header.bits;
        check_floor(network, height, known)?;
        if !may_follow(network, height, before, bits) {
            return Err(forged(height, "its difficulty is not the one that must be"));
        }
        before = bits;
    }
    let work = blocks.iter().map(|known| known.header.work()).reduce(|sum, work| sum + work);
    if work <= headers.work_above(fork) {
        return Err(behind(height, headers.height()));
    }
    headers.put(fork, blocks);
    Ok(())
}

fn known(network: Network, answer: &BlockAnswer) -> Result<Known, NoAnswer> {
    let header = answer.header().ok_or_else(|| forged(answer.height, "its header is another's"))?;
    let target = header.target();
    if target > Params::new(network).max_attainable_target || header.validate_pow(target).is_err() {
        return Err(forged(answer.height, "no work was done for it"));
    }
    Ok(Known { hash: header.block_hash(), header })
}

/// Whether so much work was done for a block as for every one of its height and later.
pub(super) fn check_floor(network: Network, height: u32, known: &Known) -> Result<(), NoAnswer> {
    if network != Network::Bitcoin {
        return Ok(());
    }
    let floor = MAIN_FLOORS.iter().find(|(from, _)| height >= *from);
    let enough = floor
        .is_some_and(|(_, bits)| known.header.target() <= Target::from_compact(CompactTarget::from_consensus(*bits)));
    if enough { Ok(()) } else { Err(forged(height, "too little work was done for it")) }
}

/// The server's chain is not the one any more at which the look began.
pub(super) fn changed() -> ChainDown {
    ChainDown("the best block changed while it was looked at; the next look makes up for it".to_owned())
}

/// The server's chain ends before what was looked at.
pub(super) fn behind(height: u32, watched: u32) -> NoAnswer {
    ChainDown(format!(
        "the server's best block is {height}, with no more work behind it than block {watched} had that was looked at before: it is behind, or one of several servers behind its name is, and must catch up first (for another chain on purpose, name another --data-dir)"
    ))
    .into()
}

/// The server tells what cannot be.
pub(super) fn forged(height: u32, why: &str) -> NoAnswer {
    ChainDown(format!("the server tells a block {height} that is none: {why}; do not trust this server")).into()
}

#[cfg(test)]
mod tests {
    use bitcoin::constants::genesis_block;

    use super::*;

    fn of_main(bits: u32) -> Known {
        let mut header = genesis_block(Network::Bitcoin).header;
        header.bits = CompactTarget::from_consensus(bits);
        Known { hash: header.block_hash(), header }
    }

    #[test]
    fn no_block_of_the_main_network_is_believed_that_a_laptop_could_make() {
        // The difficulties of blocks 900,000 and 500,000 as they were, and that of the first block.
        for (height, bits, is_believed) in [
            (900_000, 0x1702_3a04, true),
            (900_000, 0x1800_9645, false),
            (900_000, 0x1d00_ffff, false),
            (500_000, 0x1800_9645, true),
            (500_000, 0x1d00_ffff, false),
            (100, 0x1d00_ffff, false),
        ] {
            let checked = check_floor(Network::Bitcoin, height, &of_main(bits));
            assert_eq!(checked.is_ok(), is_believed, "{height} {bits:x}");
        }
        assert!(check_floor(Network::Regtest, 100, &of_main(0x207f_ffff)).is_ok());
    }

    #[test]
    fn so_many_headers_are_kept_and_a_branch_takes_the_place_of_what_it_replaces() {
        let at = |height: u32| {
            let mut header = genesis_block(Network::Regtest).header;
            header.time = height;
            Known { hash: header.block_hash(), header }
        };
        let mut headers = Headers::new(5, at(5));
        headers.put(5, (6..=3_000).map(at).collect());
        assert_eq!((headers.first(), headers.height()), (3_001 - LINKED_MAX, 3_000));
        headers.put(2_990, vec![at(1), at(2)]);
        assert_eq!(headers.height(), 2_992);
        assert_eq!(headers.at(2_990).map(|known| known.header.time), Some(2_990));
        assert_eq!(headers.at(2_991).map(|known| known.header.time), Some(1));
        assert!(headers.at(2_993).is_none() && headers.at(3).is_none());
        assert!(headers.work_above(2_990) > headers.work_above(2_991));
        assert_eq!(headers.work_above(2_992), None);
    }
}
