//! The best chain's latest headers: each is linked to the one before it, work was done for it, and the difficulty is one that
//! may be. What a server says of blocks and transactions is held against them.

use std::collections::VecDeque;

use bitcoin::block::Header;
use bitcoin::{BlockHash, Network, Txid, Work};
use tillgate_domain::time::Timestamp;

use super::answers::{BlockAnswer, ProofAnswer, TxAnswer};
use super::server::{NoAnswer, Server};
use crate::chain::headers as rules;
use crate::chain::proof::stands_at;
use crate::chain::refusals::{ends_lower, tip_changed};
use crate::chain::token::BlockId;
use crate::chain::{Tip, refusals};

/// Headers that are kept: two weeks and more. A server gives ten at a time.
pub(super) const LINKED_MAX: u32 = 2_016;

/// Blocks that are asked for in one step upwards.
const STEP: u32 = 10;

/// Questions for headers in one answer of a look.
const PAGES_MAX: u32 = 20;

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
    /// It parts from what is kept below all of it: begin anew from what the token says.
    Lost,
}

impl Known {
    /// Its header's time.
    pub(super) fn time(&self) -> Timestamp {
        rules::time(&self.header)
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
        rules::median_time(self.chain.iter().rev().map(Known::time))
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
    let answer = answer.ok_or_else(tip_changed)?;
    let known = known(network, &answer)?;
    if known.hash == hash { Ok((answer.height, known)) } else { Err(forged(answer.height, "it is another block")) }
}

/// The block that the server's best chain has at a height, of which only its work is checked.
pub(super) fn at(server: &Server, network: Network, height: u32) -> Result<Known, NoAnswer> {
    let hash = hash_at(server, height)?.ok_or_else(tip_changed)?;
    let (said, known) = block(server, network, hash)?;
    if said == height { Ok(known) } else { Err(forged(said, "it has another height")) }
}

/// Makes sure of the height of a block that is linked to none whose height is known.
pub(super) fn prove_height(server: &Server, height: u32, known: &Known) -> Result<(), NoAnswer> {
    // The first block of all was compared already.
    if height == 0 {
        return Ok(());
    }
    server.bucket.wait();
    let txid: Option<Txid> = server.text(&format!("/block/{}/txid/0", known.hash))?;
    let txid = txid.ok_or_else(|| refusals::unproved_height(height))?;
    server.bucket.wait();
    let reward: Option<TxAnswer> = server.json(&format!("/tx/{txid}"))?;
    server.bucket.wait();
    let proof: Option<ProofAnswer> = server.json(&format!("/tx/{txid}/merkle-proof"))?;
    let reward = reward.and_then(|reward| reward.tx());
    let (reward, proof) = reward.zip(proof).ok_or_else(|| refusals::unproved_height(height))?;
    let stands = proof.pos == 0 && stands_at(&reward, &proof.merkle, known.header.merkle_root, height);
    if stands { Ok(()) } else { Err(forged(height, "it has another height")) }
}

/// Some blocks below one that is known, the highest first, each linked to the one above it.
pub(super) fn below(server: &Server, network: Network, height: u32, known: &Known) -> Result<Vec<Known>, NoAnswer> {
    let (mut at, mut above, mut found) = (height, *known, Vec::new());
    let start = height.saturating_sub(1);
    let page: Option<Vec<BlockAnswer>> = server.json(&format!("/blocks/{start}"))?;
    for answer in page.filter(|page| !page.is_empty()).ok_or_else(tip_changed)? {
        if at == 0 {
            break;
        }
        let block = self::known(network, &answer)?;
        if answer.height != at.saturating_sub(1) {
            return Err(forged(answer.height, "it has another height"));
        }
        rules::check_next(network, at, &block.header, &above.header).map_err(|why| forged(at, why))?;
        at = answer.height;
        check_floor(network, at, &block)?;
        above = block;
        found.push(block);
    }
    Ok(found)
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
        return Err(ends_lower(height, headers.height()).into());
    }
    let (height, last) = block(server, network, tip)?;
    if height <= headers.first() {
        return Err(ends_lower(height, headers.height()).into());
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
        let page = page.filter(|page| !page.is_empty()).ok_or_else(tip_changed)?;
        for answer in &page {
            let found = known(network, answer)?;
            if answer.height != height {
                return Err(forged(answer.height, "it has another height"));
            }
            if expected.is_some_and(|expected| expected != found.hash) {
                // The first of them may have changed meanwhile; the others cannot have.
                return Err(if blocks.is_empty() {
                    tip_changed().into()
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
    let mut before = headers.at(fork).ok_or_else(tip_changed)?.header;
    let mut height = fork;
    for known in &blocks {
        height = height.saturating_add(1);
        rules::check_next(network, height, &before, &known.header).map_err(|why| forged(height, why))?;
        before = known.header;
    }
    let work = blocks.iter().map(|known| known.header.work()).reduce(|sum, work| sum + work);
    if work <= headers.work_above(fork) {
        return Err(ends_lower(height, headers.height()).into());
    }
    headers.put(fork, blocks);
    Ok(())
}

fn known(network: Network, answer: &BlockAnswer) -> Result<Known, NoAnswer> {
    let header = answer.header().ok_or_else(|| forged(answer.height, "its header is another's"))?;
    rules::check_work(network, &header).map_err(|why| forged(answer.height, why))?;
    Ok(Known { hash: header.block_hash(), header })
}

/// Whether a block may be believed that is not linked to others.
pub(super) fn check_floor(network: Network, height: u32, known: &Known) -> Result<(), NoAnswer> {
    rules::check_alone(network, height, &known.header).map_err(|why| forged(height, why))
}

/// The server tells what cannot be.
pub(super) fn forged(height: u32, why: &str) -> NoAnswer {
    refusals::forged("server", height, why).into()
}

#[cfg(test)]
mod tests {
    use bitcoin::constants::genesis_block;

    use super::*;

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
