//! Chain and mempool as a server shows them: the index, bent by a fault.

use bitcoin::block::Header;
use bitcoin::constants::genesis_block;
use bitcoin::hashes::Hash as _;
use bitcoin::{Amount, BlockHash, OutPoint, Transaction, Txid, Witness};

use super::fault::EsploraFault;
use super::index::{Index, ScriptHash};
use crate::bent;

/// What a server shows in one answer.
pub(super) struct Shown<'a> {
    pub index: &'a Index,
    pub fault: Option<&'a EsploraFault>,
    /// The last block that it has; `None` where it is up to date.
    pub ends_at: Option<u32>,
}

impl Shown<'_> {
    /// Height of the best block.
    pub(super) fn height(&self) -> u32 {
        let height = u32::try_from(self.index.blocks.len().saturating_sub(1)).unwrap_or(u32::MAX);
        self.ends_at.map_or(height, |end| height.min(end))
    }

    /// Height of the best block as it is told.
    pub(super) fn told_height(&self) -> u32 {
        self.told(self.height())
    }

    /// The height that is told of a block.
    pub(super) fn told(&self, height: u32) -> u32 {
        match self.fault {
            Some(EsploraFault::Higher { above, by }) if height > *above => height.saturating_add(*by),
            _ => height,
        }
    }

    /// The height that is told of a block where somebody asks about it alone.
    pub(super) fn told_alone(&self, height: u32) -> u32 {
        match self.fault {
            Some(EsploraFault::Deeper { block, by }) if height == *block => height.saturating_sub(*by),
            _ => height,
        }
    }

    /// The height of the block that is told to have this one where somebody asks about it alone; `None` where none has.
    pub(super) fn meant_alone(&self, told: u32) -> Option<u32> {
        match self.fault {
            Some(EsploraFault::Deeper { block, .. }) if told == self.told_alone(*block) => Some(*block),
            _ => self.meant(told),
        }
    }

    /// The height of the block that is told to have this one; `None` where none has.
    pub(super) fn meant(&self, told: u32) -> Option<u32> {
        match self.fault {
            Some(EsploraFault::Higher { above, by }) if told > *above => {
                told.checked_sub(*by).filter(|height| height > above)
            }
            _ => Some(told),
        }
    }

    /// The header at a height.
    pub(super) fn header(&self, height: u32) -> Option<Header> {
        if height > self.height() {
            return None;
        }
        let mut header = self.index.blocks.get(height as usize)?.header;
        match self.fault {
            Some(EsploraFault::OtherNetwork(network)) if height == 0 => header = genesis_block(network).header,
            Some(EsploraFault::NoProofOfWork) if height == self.height() => bent::take_work(&mut header),
            Some(EsploraFault::BrokenLink) if height == self.height() => bent::break_link(&mut header),
            _ => {}
        }
        Some(header)
    }

    /// The height of a block that is shown.
    pub(super) fn height_of(&self, hash: BlockHash) -> Option<u32> {
        (0..=self.height()).rev().find(|height| self.header(*height).is_some_and(|it| it.block_hash() == hash))
    }

    /// A transaction, and the height of the block that it is said to be in.
    pub(super) fn tx(&self, txid: &Txid) -> Option<(Transaction, Option<u32>)> {
        let (tx, height) = self.index.tx(txid)?;
        if self.fault == Some(&EsploraFault::MissingHistory) && !tx.is_coinbase() {
            return None;
        }
        // A server that is behind has nothing unconfirmed.
        if self.ends_at.is_some_and(|end| height.is_none_or(|height| height > end)) {
            return None;
        }
        let mut tx = tx.clone();
        if self.fault == Some(&EsploraFault::ForgedTransactions) {
            for output in &mut tx.output {
                output.value = output.value.checked_add(Amount::from_sat(1_000_000)).unwrap_or(output.value);
            }
        }
        if let (Some(EsploraFault::Bloated(bytes)), None) = (self.fault, height) {
            tx.input.iter_mut().for_each(|input| input.witness = Witness::from_slice(&[vec![7; *bytes]]));
        }
        let invented = (self.fault == Some(&EsploraFault::InventedConfirmations)).then(|| self.height());
        Some((tx, height.or(invented)))
    }

    /// What is told of a script: the transactions of the mempool, and those of the chain, the newest first.
    pub(super) fn history(&self, script: &ScriptHash) -> (Vec<Txid>, Vec<Txid>) {
        let is_shown = |txid: &Txid| self.tx(txid).is_some();
        let mempool = self.index.in_mempool(script).into_iter().filter(is_shown).collect();
        (mempool, self.index.history(script).filter(is_shown).collect())
    }

    /// What spends an output, with which input, and the height of its block.
    pub(super) fn spender(&self, outpoint: &OutPoint) -> Option<(Txid, u32, Option<u32>)> {
        if self.fault == Some(&EsploraFault::InventedSpends) {
            let height = self.height();
            let coinbase = self.index.blocks.get(height as usize)?.txids.first()?;
            return Some((*coinbase, 0, Some(height)));
        }
        let (txid, vin, _) = self.index.spender(outpoint)?;
        let (_, height) = self.tx(&txid)?;
        Some((txid, vin, height))
    }

    /// The way from a transaction to the root of its block, and its place in there.
    pub(super) fn proof(&self, txid: &Txid) -> Option<(u32, Vec<Txid>, usize)> {
        let (_, height) = self.tx(txid)?;
        let height = height?;
        let txids = &self.index.blocks.get(height as usize)?.txids;
        // One that is invented has the first place.
        let place = txids.iter().position(|one| one == txid).unwrap_or(0);
        let mut path = bent::merkle_branch(txids, place);
        if self.fault == Some(&EsploraFault::ForgedProofs) {
            path.push(Txid::from_byte_array([9; 32]));
        }
        Some((height, path, place))
    }
}
