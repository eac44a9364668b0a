//! The headers of a node's chain, each linked to the header before it up to the best block. The
//! fork from the known chain and the work are computed from these headers alone, never from the
//! node's claims.

use bitcoin::Network;
use bitcoin::block::Header;

use super::blocks::{self, forged};
use super::rpc::Rpc;
use crate::checks::errors::tip_changed;
use crate::checks::header_rules;
use crate::checks::header_rules::HeaderFault;
use crate::checks::token::{BlockId, Token, WeighedBlock, work_as_u128};
use crate::port::ChainDown;

/// Headers in one request.
const HEADERS_MAX: u32 = 2_000;

/// Limit of linked headers, which take 160 MB: enough for decades. One answer links them all. A
/// node sends tens of thousands of headers in a second, and reading the blocks takes a thousand
/// times as long.
const LINKED_MAX: u32 = 2_000_000;

/// Linked headers at consecutive heights, the first at `from`.
pub struct Linked {
    from: u32,
    headers: Vec<Header>,
}

/// Links a node's headers from a height up to its best block. Begins lower if the difficulty check
/// needs more headers.
pub fn link(rpc: &Rpc, network: Network, from: u32, tip: BlockId) -> Result<Linked, ChainDown> {
    let from = header_rules::linked_from(network, from);
    if tip.height.saturating_sub(from) > LINKED_MAX {
        return Err(forged(tip.height, "no chain is so long"));
    }
    let mut linked = Linked { from, headers: Vec::new() };
    let mut next = from;
    while next <= tip.height {
        let heights = next..tip.height.saturating_add(1).min(next.saturating_add(HEADERS_MAX));
        next = heights.end;
        let hashes = blocks::hashes(rpc, heights.clone())?;
        let told: Option<Vec<BlockId>> = heights
            .zip(hashes)
            .map(|(height, hash)| Some(BlockId { height, hash: hash? }))
            .collect();
        for header in blocks::headers_of(rpc, &told.ok_or_else(tip_changed)?)? {
            if let Err(why) = linked.push(network, header) {
                // The chain may have changed between two requests.
                let before = linked.last_id();
                return Err(before.map_or_else(
                    || forged(from, why),
                    |before| blocks::unlinked(rpc, before, why),
                ));
            }
        }
    }
    if linked.id(tip.height) == Some(tip) { Ok(linked) } else { Err(tip_changed()) }
}

impl Linked {
    fn push(&mut self, network: Network, header: Header) -> Result<(), HeaderFault> {
        let height = self.next_height();
        match self.headers.last() {
            Some(before) => {
                let first =
                    header_rules::period_before(network, height).and_then(|first| self.at(first));
                header_rules::check_next(network, height, (first, before), &header)?;
            }
            None => header_rules::check_alone(network, height, &header)?,
        }
        self.headers.push(header);
        Ok(())
    }

    fn next_height(&self) -> u32 {
        u32::try_from(self.headers.len()).map_or(u32::MAX, |count| self.from.saturating_add(count))
    }

    fn last_id(&self) -> Option<BlockId> {
        self.id(self.next_height().checked_sub(1)?)
    }

    /// The last `count` headers up to a height.
    pub fn last(&self, up_to: u32, count: u32) -> &[Header] {
        let end = up_to.saturating_add(1);
        self.range(end.saturating_sub(count), end)
    }

    pub fn at(&self, height: u32) -> Option<&Header> {
        self.range(height, height.saturating_add(1)).first()
    }

    pub fn id(&self, height: u32) -> Option<BlockId> {
        Some(BlockId { height, hash: self.at(height)?.block_hash() })
    }

    /// The work of the blocks above one height up to another.
    pub fn work(&self, above: u32, up_to: u32) -> u128 {
        let headers = self.range(above.saturating_add(1), up_to.saturating_add(1));
        headers.iter().fold(0, |sum, header| sum.saturating_add(work_as_u128(header.work())))
    }

    /// The highest of these blocks that a token lists. Fails if the token lists one of them at
    /// another height.
    pub fn last_known(&self, known: &Token) -> Result<Option<WeighedBlock>, ChainDown> {
        let mut last = None;
        for (height, header) in (self.from..).zip(&self.headers) {
            let Some(block) = known.block(header.block_hash()) else { continue };
            if block.id.height != height {
                return Err(forged(height, "it has another height"));
            }
            last = Some(block);
        }
        Ok(last)
    }

    /// The linked headers at heights from `from` to below `to`.
    fn range(&self, from: u32, to: u32) -> &[Header] {
        let index =
            |height: u32| (height.saturating_sub(self.from) as usize).min(self.headers.len());
        self.headers.get(index(from)..index(to)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use bitcoin::consensus::encode::deserialize_hex;
    use bitcoin::constants::genesis_block;

    use super::*;

    /// Blocks 0 and 1 of the main network.
    fn first_two() -> [Header; 2] {
        let first = genesis_block(Network::Bitcoin).header;
        let second = "010000006fe28c0ab6f1b372c1a6a246ae63f74f931e8365e15a089c68d6190000000000982051fd1e4ba744bbbe680e1fee1\
                      4677ba1a3c3540bf7b1cdb606e857233e0e61bc6649ffff001d01e36299";
        [first, deserialize_hex(second).unwrap()]
    }

    #[test]
    fn main_network_headers_with_little_work_are_refused() {
        let [first, second] = first_two();
        for (from, before, told) in
            [(900_000, None, first), (899_999, Some(first), second), (0, None, first)]
        {
            let mut linked = Linked { from, headers: before.into_iter().collect() };
            assert_eq!(linked.push(Network::Bitcoin, told), Err("too little work was done for it"));
        }
    }

    #[test]
    fn work_counts_the_linked_headers_only() {
        let header = genesis_block(Network::Regtest).header;
        let linked = Linked { from: 5, headers: vec![header; 10] };
        for (above, up_to, blocks) in
            [(5, 14, 9), (7, 9, 2), (9, 9, 0), (9, 7, 0), (0, 4, 0), (0, 6, 2), (12, 900, 2)]
        {
            assert_eq!(linked.work(above, up_to), 2 * blocks, "above {above} up to {up_to}");
        }
        assert_eq!(
            (linked.last(14, 11).len(), linked.last(8, 3).len(), linked.last(6, 11).len()),
            (10, 3, 2)
        );
        assert_eq!(
            (linked.id(4).is_some(), linked.id(5).is_some(), linked.id(15).is_some()),
            (false, true, false)
        );
    }
}
