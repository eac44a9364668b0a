//! The chain of headers. A server's tip is accepted by its proof of work and its link to known
//! blocks.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::block::Header;
use bitcoin::consensus::encode::{deserialize, deserialize_hex};
use bitcoin::{BlockHash, Network, Transaction, TxMerkleNode, Txid};
use serde::Deserialize;
use serde_json::json;
use tillgate_domain::time::Timestamp;

use super::calls::call;
use super::connection::AnnouncedTip;
use super::connection::Asker;
use crate::checks::errors::{self, behind, tip_changed};
use crate::checks::header_rules::{self, time};
use crate::checks::merkle_proof::proves_height;
use crate::checks::token::{BlockId, Token, work_as_u128};
use crate::port::{BEFORE_BIRTH, ChainDown};

/// Headers in one request: the most that servers return.
const HEADERS_MAX: u32 = 2_016;

/// The number of latest headers kept.
const KEPT: u32 = 2_100;

/// Limit of header requests in one look: enough for the whole chain.
const REQUESTS_MAX: u32 = 1_000;

const HEADER: usize = 80;

/// Headers of the best chain, each linked to the best block.
#[derive(Default)]
pub struct Headers(BTreeMap<u32, Header>);

/// The relation of the best chain to the known blocks.
pub struct Followed {
    pub token: Token,
    /// The last known block that is in the best chain; `None` if there is none. Headers link it to
    /// the tip. The server's answers about single blocks only suggest where to start.
    pub fork: Option<BlockId>,
}

/// The first transaction of a block.
#[derive(Deserialize)]
struct First {
    tx_hash: Txid,
    /// The sibling hashes on its Merkle path, the deepest first.
    merkle: Vec<TxMerkleNode>,
}

#[derive(Deserialize)]
struct HeadersAnswer {
    /// Concatenated headers, before version 1.6.
    hex: Option<String>,
    headers: Option<Vec<String>>,
}

/// Follows the chain from the `known` blocks to the announced best block.
pub fn follow(
    asker: &Asker<'_>,
    network: Network,
    headers: &mut Headers,
    known: Option<&Token>,
    tip: AnnouncedTip,
) -> Result<Followed, ChainDown> {
    check_announced(network, &tip)?;
    let Some(known) = known else {
        let mut followed =
            begin(asker, network, headers, None, tip.height.saturating_sub(BEFORE_BIRTH))?;
        extend(asker, network, headers, None, (&mut followed, tip))?;
        return Ok(followed);
    };
    check_height(Some(known), tip.id())?;
    let (Some(first), Some(last)) = (known.first(), known.last()) else {
        return Err(tip_changed());
    };
    let said =
        if last.id == tip.id() { Some(last.id) } else { last_common(asker, known, tip.height)? };
    let mut followed = match said {
        Some(said) => {
            let mut token = known.clone();
            token.cut(said.height);
            headers.cut_above(said);
            Followed { token, fork: Some(said) }
        }
        None if tip.height < first.height => return Err(behind("server", tip.height, known)),
        None => begin(asker, network, headers, Some(known), first.height)?,
    };
    extend(asker, network, headers, Some(known), (&mut followed, tip))?;
    if followed.fork != said {
        tracing::warn!(height = ?followed.fork.map(|fork| fork.height), "the server denied a block that its own chain holds; the denial is ignored");
    }
    if followed.token.is_behind() { Err(behind("server", tip.height, known)) } else { Ok(followed) }
}

/// Begins a chain at a height, if no block is known or the server denies all known blocks.
fn begin(
    asker: &Asker<'_>,
    network: Network,
    headers: &mut Headers,
    known: Option<&Token>,
    start: u32,
) -> Result<Followed, ChainDown> {
    headers.0.clear();
    let start = header_rules::linked_from(network, start);
    let first = *fetch(asker, start, 1)?.first().ok_or_else(tip_changed)?;
    check(network, start, &first)?;
    let id = BlockId { height: start, hash: first.block_hash() };
    check_height(known, id)?;
    prove_height(asker, start, &first)?;
    headers.0.insert(start, first);
    let mut token = Token::begin(id);
    token.most = known.map_or(0, |known| known.most);
    let is_known = known.is_some_and(|known| token.rejoin(known, id));
    Ok(Followed { token, fork: is_known.then_some(id) })
}

/// Checks the height of a block that is linked to no block of known height.
fn prove_height(asker: &Asker<'_>, height: u32, header: &Header) -> Result<(), ChainDown> {
    // Each new connection has compared the genesis block.
    if height == 0 {
        return Ok(());
    }
    let first: First =
        asker.one(call("blockchain.transaction.id_from_pos", json!([height, 0, true])))?;
    let reward: String = asker.one(call("blockchain.transaction.get", json!([first.tx_hash])))?;
    let reward: Transaction =
        deserialize_hex(&reward).map_err(|_| errors::unproved_height(height))?;
    if proves_height(&reward, &first.merkle, header.merkle_root, height) {
        Ok(())
    } else {
        Err(forged(height, "it has another height"))
    }
}

/// Extends the chain from the token's last block to the tip. The highest known block on the way is
/// the fork.
fn extend(
    asker: &Asker<'_>,
    network: Network,
    headers: &mut Headers,
    known: Option<&Token>,
    (followed, tip): (&mut Followed, AnnouncedTip),
) -> Result<(), ChainDown> {
    let mut last = followed.token.last().ok_or_else(tip_changed)?.id;
    let before = match headers.0.get(&last.height).filter(|header| header.block_hash() == last.hash)
    {
        Some(header) => *header,
        None if last == tip.id() => tip.header,
        None => *fetch(asker, last.height, 1)?
            .first()
            .filter(|header| header.block_hash() == last.hash)
            .ok_or_else(tip_changed)?,
    };
    headers.0.insert(last.height, before);
    headers.fetch_period_start(asker, network, last.height, tip.height)?;
    let mut before = before;
    for _ in 0..REQUESTS_MAX {
        if last.height >= tip.height {
            break;
        }
        let start = last.height.saturating_add(1);
        let count = (tip.height - last.height).min(HEADERS_MAX);
        let told = fetch(asker, start, count)?;
        if told.is_empty() {
            return Err(tip_changed());
        }
        for (height, header) in (start..).zip(told) {
            let first = header_rules::period_before(network, height)
                .and_then(|first| headers.0.get(&first));
            let checked = header_rules::check_next(network, height, (first, &before), &header);
            checked.map_err(|why| forged(height, why))?;
            last = BlockId { height, hash: header.block_hash() };
            check_height(known, last)?;
            if known.is_some_and(|known| followed.token.rejoin(known, last)) {
                followed.fork = Some(last);
            } else {
                followed.token.push(last, work_as_u128(header.work()));
            }
            headers.0.insert(height, header);
            before = header;
        }
        let kept_from = last.height.saturating_sub(KEPT);
        headers.0 = headers.0.split_off(&kept_from);
    }
    if last == tip.id() { Ok(()) } else { Err(tip_changed()) }
}

/// The token's last block that the server claims to have in its chain: after a reorganisation, the
/// fork.
fn last_common(asker: &Asker<'_>, known: &Token, top: u32) -> Result<Option<BlockId>, ChainDown> {
    let reachable: Vec<BlockId> =
        known.blocks().iter().map(|block| block.id).filter(|id| id.height <= top).rev().collect();
    // Most reorgs are short.
    for some in reachable.chunks(8) {
        let calls: Vec<_> =
            some.iter().map(|id| call("blockchain.block.header", json!([id.height]))).collect();
        let told: Vec<String> = asker.all(&calls)?;
        for (id, hex) in some.iter().zip(told) {
            let header: Header = deserialize_hex(&hex)
                .map_err(|_| forged(id.height, "its header cannot be read"))?;
            if header.block_hash() == id.hash {
                return Ok(Some(*id));
            }
        }
    }
    Ok(None)
}

/// At most `count` headers from a height on.
fn fetch(asker: &Asker<'_>, start: u32, count: u32) -> Result<Vec<Header>, ChainDown> {
    let told: HeadersAnswer = asker.one(call("blockchain.block.headers", json!([start, count])))?;
    let unread = |_| forged(start, "its header cannot be read");
    let headers: Vec<Header> = match (told.headers, told.hex) {
        (Some(headers), _) => headers
            .iter()
            .map(|hex| deserialize_hex(hex))
            .collect::<Result<_, _>>()
            .map_err(|_| unread(()))?,
        (None, Some(hex)) => {
            let bytes = hex::decode(hex).map_err(|_| unread(()))?;
            bytes
                .chunks(HEADER)
                .map(deserialize)
                .collect::<Result<_, _>>()
                .map_err(|_| unread(()))?
        }
        (None, None) => {
            return Err(ChainDown::of_text(
                "the server answers no headers to blockchain.block.headers".to_owned(),
            ));
        }
    };
    if u32::try_from(headers.len()).is_ok_and(|told| told <= count) {
        return Ok(headers);
    }
    Err(ChainDown::of_text("the server answers more headers than it was asked for".to_owned()))
}

/// Checks a header without known neighbours.
fn check(network: Network, height: u32, header: &Header) -> Result<(), ChainDown> {
    header_rules::check_alone(network, height, header).map_err(|why| forged(height, why))
}

/// Checks that the server reports a known block at its known height, which the block's hash fixes.
/// A greater height would add confirmations and work that do not exist.
fn check_height(known: Option<&Token>, told: BlockId) -> Result<(), ChainDown> {
    match known.and_then(|known| known.height_of(told.hash)) {
        Some(height) if height != told.height => Err(forged(told.height, "it has another height")),
        Some(_) | None => Ok(()),
    }
}

/// Checks an announced tip without its neighbours.
pub fn check_announced(network: Network, tip: &AnnouncedTip) -> Result<(), ChainDown> {
    check(network, tip.height, &tip.header)
}

pub fn forged(height: u32, why: &str) -> ChainDown {
    errors::forged("server", height, why)
}

impl AnnouncedTip {
    pub fn id(&self) -> BlockId {
        BlockId { height: self.height, hash: self.header.block_hash() }
    }

    pub fn time(&self) -> Timestamp {
        time(&self.header)
    }
}

impl Headers {
    /// Drops the headers above this block. Drops all headers if this block is not among them.
    fn cut_above(&mut self, block: BlockId) {
        if self.hash_at(block.height) == Some(block.hash) {
            self.0.split_off(&block.height.saturating_add(1));
        } else {
            self.0.clear();
        }
    }

    pub fn at(&self, height: u32) -> Option<&Header> {
        self.0.get(&height)
    }

    pub fn hash_at(&self, height: u32) -> Option<BlockHash> {
        self.0.get(&height).map(Header::block_hash)
    }

    /// Fetches and checks the headers at these heights, none above the tip. Each must link to the
    /// next known header above.
    pub fn fetch_linked(
        &mut self,
        asker: &Asker<'_>,
        network: Network,
        heights: &BTreeSet<u32>,
    ) -> Result<(), ChainDown> {
        for height in heights.iter().rev() {
            while !self.0.contains_key(height) {
                let (above_at, above) = self
                    .0
                    .range(height..)
                    .next()
                    .map(|(at, it)| (*at, *it))
                    .ok_or_else(tip_changed)?;
                let start = above_at.saturating_sub(HEADERS_MAX).max(*height);
                let told = fetch(asker, start, above_at - start)?;
                let last = told.last().filter(|last| last.block_hash() == above.prev_blockhash);
                if last.is_none() || u32::try_from(told.len()) != Ok(above_at - start) {
                    return Err(forged(start, "the blocks above it do not build on it"));
                }
                let mut before: Option<Header> = None;
                for (height, header) in (start..).zip(told) {
                    let checked = match &before {
                        Some(before) => {
                            header_rules::check_linked(network, height, before, &header)
                        }
                        None => header_rules::check_alone(network, height, &header),
                    };
                    checked.map_err(|why| forged(height, why))?;
                    if height == start || heights.contains(&height) {
                        self.0.insert(height, header);
                    }
                    before = Some(header);
                }
            }
        }
        Ok(())
    }

    /// Fetches the first header of the difficulty period of `above`, if a new period begins at
    /// `up_to` or below. The difficulty of the new period follows from that header. Later periods
    /// are fetched from their first header on.
    fn fetch_period_start(
        &mut self,
        asker: &Asker<'_>,
        network: Network,
        above: u32,
        up_to: u32,
    ) -> Result<(), ChainDown> {
        let first = header_rules::linked_from(network, above);
        let ends =
            (above..=up_to).skip(1).find_map(|height| header_rules::period_before(network, height));
        match ends {
            Some(_) => self.fetch_linked(asker, network, &BTreeSet::from([first])),
            None => Ok(()),
        }
    }

    /// The median time of the best block and the ten before it, if they are known.
    pub fn median_time(&self, tip_height: u32) -> Option<Timestamp> {
        let first = tip_height.checked_sub(header_rules::MEDIAN_REACHES)?;
        header_rules::median_time((first..=tip_height).filter_map(|at| self.0.get(&at).map(time)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks 0 and 1 of the main network.
    fn first_two() -> [Header; 2] {
        let first = bitcoin::constants::genesis_block(Network::Bitcoin).header;
        let second = "010000006fe28c0ab6f1b372c1a6a246ae63f74f931e8365e15a089c68d6190000000000982051fd1e4ba744bbbe680e1fee1\
                      4677ba1a3c3540bf7b1cdb606e857233e0e61bc6649ffff001d01e36299";
        [first, deserialize_hex(second).unwrap()]
    }

    #[test]
    fn mainnet_tip_with_the_work_of_a_laptop_is_refused() {
        let [first, second] = first_two();
        for refused in [
            check(Network::Bitcoin, 0, &first),
            header_rules::check_linked(Network::Bitcoin, 1, &first, &second)
                .map_err(|why| forged(1, why)),
            check_announced(Network::Bitcoin, &AnnouncedTip { height: 1, header: second }),
            check_announced(Network::Bitcoin, &AnnouncedTip { height: 900_000, header: second }),
        ] {
            let sentence = refused.unwrap_err().to_string();
            assert!(sentence.contains("too little work was done for it"), "{sentence}");
        }
    }
}
