//! The chain of headers: what a server tells of its best block is believed as far as work was done for it, and where it
//! builds on what was known before.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::block::Header;
use bitcoin::consensus::Params;
use bitcoin::consensus::encode::{deserialize, deserialize_hex};
use bitcoin::{BlockHash, CompactTarget, Network, Target};
use serde::Deserialize;
use serde_json::json;
use tillgate_domain::time::Timestamp;

use super::asker::Asker;
use super::call::{call, shown};
use super::session::ToldTip;
use super::token::{Token, Weighed};
use crate::chain::ChainDown;
use crate::chain::core::blocks::may_follow;
use crate::chain::core::mempool::tip_changed;
use crate::chain::core::state::answer_number;
use crate::chain::core::token::BlockId;

/// Headers in one answer: as many as servers give at most.
const HEADERS_MAX: u32 = 2_016;

/// So many blocks below the best one a chain begins that was never looked at.
const BEGINS_BELOW: u32 = 100;

/// So many of the latest headers are kept.
const KEPT: u32 = 2_100;

/// Requests for headers in one look at most: enough for the whole chain, and no more.
const REQUESTS_MAX: u32 = 1_000;

/// Bytes of a header.
const HEADER: usize = 80;

/// From this block on Bitcoin's work was never easier than a sixth of that block's own, and this is it: whoever makes up a
/// chain must do as much.
const DEMANDING_FROM: u32 = 800_000;
const DEMANDED: u32 = 0x1720_0000;

/// Headers of the best chain, each of which is linked to the best block.
#[derive(Default)]
pub(super) struct Headers(BTreeMap<u32, Header>);

/// Where the best chain stands to what was known.
pub(super) struct Followed {
    /// The chain as it is now.
    pub token: Token,
    /// The last block that was known before; `None` where the chain is another.
    pub fork: Option<BlockId>,
}

#[derive(Deserialize)]
struct Told {
    /// One after the other, before version 1.6.
    hex: Option<String>,
    headers: Option<Vec<String>>,
}

/// Follows the chain from what is `known` to the best block that was told.
pub(super) fn follow(
    asker: &Asker<'_>,
    network: Network,
    headers: &mut Headers,
    known: Option<&Token>,
    tip: ToldTip,
) -> Result<Followed, ChainDown> {
    let Some(known) = known else {
        let start = tip.height.saturating_sub(BEGINS_BELOW);
        return Ok(Followed { token: begin(asker, network, headers, start, tip)?, fork: None });
    };
    let (Some(first), Some(last)) = (known.blocks.first().copied(), known.last()) else { return Err(tip_changed()) };
    if last.id == tip.id() {
        headers.0.insert(tip.height, tip.header);
        return Ok(Followed { token: known.clone(), fork: Some(last.id) });
    }
    let common = last_common(asker, known, tip.height)?;
    let token = match common {
        Some(common) => {
            let mut token = known.clone();
            token.blocks.retain(|block| block.id.height <= common.height);
            headers.0.split_off(&common.height.saturating_add(1));
            extend(asker, network, headers, &mut token, tip)?;
            token
        }
        None if tip.height < first.id.height => return Err(behind(tip, last)),
        None => begin(asker, network, headers, first.id.height, tip)?,
    };
    if token.last().is_none_or(|now| now.work < last.work) {
        return Err(behind(tip, last));
    }
    Ok(Followed { token, fork: common })
}

/// A chain of which nothing is known, from a height on.
fn begin(
    asker: &Asker<'_>,
    network: Network,
    headers: &mut Headers,
    start: u32,
    tip: ToldTip,
) -> Result<Token, ChainDown> {
    headers.0.clear();
    let first = *fetch(asker, start, 1)?.first().ok_or_else(tip_changed)?;
    check(network, None, start, &first)?;
    headers.0.insert(start, first);
    let id = BlockId { height: start, hash: first.block_hash() };
    let mut token = Token { answer: answer_number(), blocks: vec![Weighed { id, work: 0 }] };
    extend(asker, network, headers, &mut token, tip)?;
    Ok(token)
}

/// Goes on from a token's last block to the best one.
fn extend(
    asker: &Asker<'_>,
    network: Network,
    headers: &mut Headers,
    token: &mut Token,
    tip: ToldTip,
) -> Result<(), ChainDown> {
    let mut last = token.last().ok_or_else(tip_changed)?;
    let mut before = match headers.0.get(&last.id.height).filter(|header| header.block_hash() == last.id.hash) {
        Some(header) => *header,
        None => *fetch(asker, last.id.height, 1)?
            .first()
            .filter(|header| header.block_hash() == last.id.hash)
            .ok_or_else(tip_changed)?,
    };
    headers.0.insert(last.id.height, before);
    for _ in 0..REQUESTS_MAX {
        if last.id.height >= tip.height {
            break;
        }
        let start = last.id.height.saturating_add(1);
        let count = (tip.height - last.id.height).min(HEADERS_MAX);
        let told = fetch(asker, start, count)?;
        if told.is_empty() {
            return Err(tip_changed());
        }
        for (height, header) in (start..).zip(told) {
            check(network, Some(&before), height, &header)?;
            let work = last.work.saturating_add(work(&header));
            last = Weighed { id: BlockId { height, hash: header.block_hash() }, work };
            token.push(last);
            headers.0.insert(height, header);
            before = header;
        }
        let kept_from = last.id.height.saturating_sub(KEPT);
        headers.0 = headers.0.split_off(&kept_from);
    }
    if last.id == tip.id() { Ok(()) } else { Err(tip_changed()) }
}

/// The last block of a token that is still in the chain.
fn last_common(asker: &Asker<'_>, known: &Token, top: u32) -> Result<Option<BlockId>, ChainDown> {
    let reachable: Vec<BlockId> =
        known.blocks.iter().map(|block| block.id).filter(|id| id.height <= top).rev().collect();
    // Most reorganisations are short.
    for some in reachable.chunks(8) {
        let calls: Vec<_> = some.iter().map(|id| call("blockchain.block.header", json!([id.height]))).collect();
        let told: Vec<String> = asker.all(&calls)?;
        for (id, hex) in some.iter().zip(told) {
            let header: Header = deserialize_hex(&hex).map_err(|_| forged(id.height, "its header cannot be read"))?;
            if header.block_hash() == id.hash {
                return Ok(Some(*id));
            }
        }
    }
    Ok(None)
}

/// So many headers from a height on, or as many as the server has and gives.
fn fetch(asker: &Asker<'_>, start: u32, count: u32) -> Result<Vec<Header>, ChainDown> {
    let told: Told = asker.one(call("blockchain.block.headers", json!([start, count])))?;
    let unread = |_| forged(start, "its header cannot be read");
    let headers: Vec<Header> = match (told.headers, told.hex) {
        (Some(headers), _) => {
            headers.iter().map(|hex| deserialize_hex(hex)).collect::<Result<_, _>>().map_err(|_| unread(()))?
        }
        (None, Some(hex)) => {
            let bytes = hex::decode(hex).map_err(|_| unread(()))?;
            bytes.chunks(HEADER).map(deserialize).collect::<Result<_, _>>().map_err(|_| unread(()))?
        }
        (None, None) => return Err(ChainDown("the server answers no headers to blockchain.block.headers".to_owned())),
    };
    if u32::try_from(headers.len()).is_ok_and(|told| told <= count) {
        return Ok(headers);
    }
    Err(ChainDown("the server answers more headers than it was asked for".to_owned()))
}

/// Whether work was done for a header, and it follows on the one before it.
fn check(network: Network, before: Option<&Header>, height: u32, header: &Header) -> Result<(), ChainDown> {
    if before.is_some_and(|before| header.prev_blockhash != before.block_hash()) {
        return Err(forged(height, "it does not follow on the block before it"));
    }
    let params = Params::new(network);
    let easiest = match network {
        Network::Bitcoin if height >= DEMANDING_FROM => Target::from_compact(CompactTarget::from_consensus(DEMANDED)),
        _ => params.max_attainable_target,
    };
    let target = header.target();
    if target > easiest || header.validate_pow(target).is_err() {
        return Err(forged(height, "no work was done for it"));
    }
    if before.is_some_and(|before| !may_follow(network, height, before.bits, header.bits)) {
        return Err(forged(height, "its difficulty is not the one that must be"));
    }
    Ok(())
}

/// The work that a header stands for. All of Bitcoin's so far is below a thousandth of a millionth of the bound.
fn work(header: &Header) -> u128 {
    let bytes = header.work().to_be_bytes();
    let (high, low) = bytes.split_at(16);
    let low = low.try_into().map_or(u128::MAX, u128::from_be_bytes);
    if high.iter().all(|byte| *byte == 0) { low } else { u128::MAX }
}

fn behind(tip: ToldTip, last: Weighed) -> ChainDown {
    ChainDown(format!(
        "the server's best block is {}, with less work behind it than block {} had that was looked at before: it is behind, or lost blocks, and must catch up first (for another chain on purpose, name another --data-dir)",
        tip.height, last.id.height
    ))
}

pub(super) fn forged(height: u32, why: &str) -> ChainDown {
    ChainDown(format!("the server tells a block {height} that is none: {}; do not trust this server", shown(why)))
}

impl ToldTip {
    pub(super) fn id(&self) -> BlockId {
        BlockId { height: self.height, hash: self.header.block_hash() }
    }

    /// The time of its header.
    pub(super) fn time(&self) -> Timestamp {
        time(&self.header)
    }
}

/// The time of a header.
pub(super) fn time(header: &Header) -> Timestamp {
    Timestamp::from_ms(i64::from(header.time).saturating_mul(1_000))
}

impl Headers {
    /// The header of a block that was made sure of.
    pub(super) fn at(&self, height: u32) -> Option<&Header> {
        self.0.get(&height)
    }

    /// The hash of the block of a height.
    pub(super) fn hash_at(&self, height: u32) -> Option<BlockHash> {
        self.0.get(&height).map(Header::block_hash)
    }

    /// Makes sure of the headers of these heights, which must not lie above the best block: each by the headers between it
    /// and one that is known.
    pub(super) fn make_sure(
        &mut self,
        asker: &Asker<'_>,
        network: Network,
        heights: &BTreeSet<u32>,
    ) -> Result<(), ChainDown> {
        for height in heights.iter().rev() {
            while !self.0.contains_key(height) {
                let (above_at, above) =
                    self.0.range(height..).next().map(|(at, it)| (*at, *it)).ok_or_else(tip_changed)?;
                let start = above_at.saturating_sub(HEADERS_MAX).max(*height);
                let told = fetch(asker, start, above_at - start)?;
                let last = told.last().filter(|last| last.block_hash() == above.prev_blockhash);
                if last.is_none() || u32::try_from(told.len()) != Ok(above_at - start) {
                    return Err(forged(start, "the blocks above it do not build on it"));
                }
                let mut before = None;
                for (height, header) in (start..).zip(told) {
                    check(network, before.as_ref(), height, &header)?;
                    if height == start || heights.contains(&height) {
                        self.0.insert(height, header);
                    }
                    before = Some(header);
                }
            }
        }
        Ok(())
    }

    /// The median time of the best block and the ten before it, where they are known.
    pub(super) fn median_time(&self, tip_height: u32) -> Option<Timestamp> {
        let first = tip_height.checked_sub(10)?;
        let mut times: Vec<u32> = (first..=tip_height).map(|at| Some(self.0.get(&at)?.time)).collect::<Option<_>>()?;
        times.sort_unstable();
        times.get(5).map(|time| Timestamp::from_ms(i64::from(*time).saturating_mul(1_000)))
    }
}
