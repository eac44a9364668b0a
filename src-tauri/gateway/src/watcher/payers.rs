//! Who else pays payouts: their twins ([`crate::store::twins`]), as far as they count or are waited for. A payee may pay himself all of many
//! payouts of one sum in each of many transactions: so each twin is read and judged once for all payouts that are looked at together.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};

use bitcoin::Txid;
use tillgate_domain::batch::{Position, Version};
use tillgate_domain::time::Timestamp;

use super::conflicts::{ANCESTORS_MAX, conflict_height};
use super::signed;
use crate::chain::Fact;
use crate::store::batches::VersionRow;
use crate::store::payouts::PayoutRow;
use crate::store::twins::TwinRow;
use crate::store::{Reader, StoreError};

/// How long a payout waits for what somebody else may have paid and nothing shows any more.
const AWAITED_FOR_MS: i64 = 24 * 3_600_000;

/// Who else pays payouts, as long as nothing moves but the payouts.
pub(crate) struct Payers<'a> {
    reader: &'a Reader<'a>,
    judged: RefCell<HashMap<Txid, Payer>>,
    /// Whether a payout is SENT under their ids.
    has_sent: RefCell<HashMap<Txid, bool>>,
    /// Of which that may be otherwise since, so that the ledger is to hold something else of them.
    changed: RefCell<BTreeSet<Txid>>,
    moment: Cell<Option<Moment>>,
}

/// A twin that pays payouts, without its transaction: there may be hundreds of long ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Payer {
    pub txid: Txid,
    pub moves_ours: bool,
    noticed_at: Timestamp,
    /// Where the last look found it.
    pub position: Position,
    /// Whether a copy of this wallet made it, or a block holds it.
    is_signed: Fact,
    /// As the rules see it.
    facts: Version,
}

/// What is the same for all payers.
#[derive(Clone, Copy)]
struct Moment {
    /// When the chain was last looked at, if it ever was.
    looked_at: Option<Timestamp>,
    /// Staff are to say what becomes of twins.
    is_held: bool,
}

impl Payer {
    /// Until when what moves nothing of this wallet is waited for where nothing shows it any more.
    pub(crate) const fn awaited_until(&self) -> Timestamp {
        self.noticed_at.plus_ms(AWAITED_FOR_MS)
    }

    fn judge(reader: &Reader<'_>, twin: &TwinRow) -> Result<Self, StoreError> {
        let TwinRow { txid, position, moves_ours, noticed_at, .. } = *twin;
        let is_signed = signed::of_twin(reader, twin)?;
        let facts = if is_signed == Fact::No {
            // Ruled out from the beginning: nobody signed it who may spend what it spends.
            let position = Position::Absent;
            Version { txid, pays: true, accepted: false, position, conflict_height: Some(0) }
        } else {
            let ours = conflict_height(reader, &twin.tx, &txid, ANCESTORS_MAX)?;
            let conflict_height = [twin.conflict_height, ours].into_iter().flatten().min();
            Version { txid, pays: true, accepted: false, position, conflict_height }
        };
        Ok(Self { txid, moves_ours, noticed_at, position, is_signed, facts })
    }
}

impl<'a> Payers<'a> {
    /// Knows nothing yet.
    pub(crate) fn of(reader: &'a Reader<'a>) -> Self {
        Self {
            reader,
            judged: RefCell::default(),
            has_sent: RefCell::default(),
            changed: RefCell::default(),
            moment: Cell::new(None),
        }
    }

    /// The twins that pay a payout, as far as they count. One that nobody signed counts only where a payout is SENT under its id: as
    /// ruled out.
    pub(super) fn to_settle_by(&self, payout: &PayoutRow) -> Result<Vec<Version>, StoreError> {
        let mut counting = Vec::new();
        for txid in self.reader.twins_of_payout(payout.seq)? {
            let payer = self.payer(&txid)?;
            if payer.is_signed == Fact::Yes || self.has_sent(&txid)? {
                counting.push(payer.facts);
            }
        }
        Ok(counting)
    }

    /// What pays a payout in our stead, so that nothing may be signed that pays it: another copy's transaction, wherever that stands, as
    /// long as it may be mined. Of one that shows no signature of this wallet, as long as the mempool is said to hold it; once it is gone,
    /// until staff release the sender that holds for it. For what moves nothing of this wallet nobody holds: that is waited for until a day
    /// after it was noticed, for a copy that works offers again what drops out.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub(crate) fn paid_elsewhere(&self, payout: &PayoutRow, tip_height: u32) -> Result<Option<Payer>, StoreError> {
        self.first(payout, tip_height, |payer| Ok(self.counts(payer)? || self.is_waited_for(payer)?))
    }

    /// The same of what is signed and stored: whether that must not be broadcast. What moves nothing of this wallet keeps back nothing that
    /// a node ever took: it left before, and a payee who pays himself would hold up all whose payouts share the transaction, as often as he
    /// likes. What no node took yet he holds up for a day at most, unless it counts: a block holds what he paid, or held it.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub(crate) fn is_held_back_for(&self, payout: &PayoutRow, tip_height: u32) -> Result<bool, StoreError> {
        let signed_at = Cell::new(None);
        let first = self.first(payout, tip_height, |payer| {
            let counts = self.counts(payer)?;
            if payer.moves_ours {
                return Ok(counts || self.is_in_mempool_or_held(payer)?);
            }
            if !counts && !self.is_waited_for(payer)? {
                return Ok(false);
            }
            let at = signed_at.get().map_or_else(|| self.signed_and_never_taken(payout), Ok)?;
            signed_at.set(Some(at));
            let looked_at = self.moment()?.looked_at;
            let is_young = |at: Timestamp| looked_at.is_none_or(|looked_at| looked_at < at.plus_ms(AWAITED_FOR_MS));
            Ok(at.is_some_and(|at| counts || is_young(at)))
        })?;
        Ok(first.is_some())
    }

    /// A payout was stored that named the first of these transactions and names the other.
    pub(super) fn note_changed(&self, txids: [Option<Txid>; 2]) {
        for txid in txids.into_iter().flatten() {
            self.has_sent.borrow_mut().remove(&txid);
            self.changed.borrow_mut().insert(txid);
        }
    }

    /// What payouts named, and name now, that were stored since this was last asked.
    pub(super) fn take_changed(&self) -> BTreeSet<Txid> {
        self.changed.take()
    }

    /// The first twin of a payout that may be mined and is to be reckoned with.
    fn first(
        &self,
        payout: &PayoutRow,
        tip_height: u32,
        is_reckoned_with: impl Fn(&Payer) -> Result<bool, StoreError>,
    ) -> Result<Option<Payer>, StoreError> {
        for txid in self.reader.twins_of_payout(payout.seq)? {
            let payer = self.payer(&txid)?;
            let may_be_mined = !payer.facts.is_ruled_out(tip_height);
            if may_be_mined && is_reckoned_with(&payer)? {
                return Ok(Some(payer));
            }
        }
        Ok(None)
    }

    fn payer(&self, txid: &Txid) -> Result<Payer, StoreError> {
        if let Some(payer) = self.judged.borrow().get(txid) {
            return Ok(*payer);
        }
        let twin = self.reader.twin(txid)?.ok_or(StoreError::BadValue("twins.txid"))?;
        let payer = Payer::judge(self.reader, &twin)?;
        self.judged.borrow_mut().insert(*txid, payer);
        Ok(payer)
    }

    fn counts(&self, payer: &Payer) -> Result<bool, StoreError> {
        signed::counts(payer.is_signed, || self.has_sent(&payer.txid))
    }

    fn has_sent(&self, txid: &Txid) -> Result<bool, StoreError> {
        if let Some(has_sent) = self.has_sent.borrow().get(txid) {
            return Ok(*has_sent);
        }
        let has_sent = self.reader.has_sent(txid)?;
        self.has_sent.borrow_mut().insert(*txid, has_sent);
        Ok(has_sent)
    }

    fn moment(&self) -> Result<Moment, StoreError> {
        if let Some(moment) = self.moment.get() {
            return Ok(moment);
        }
        let looked_at = self.reader.watched_chain()?.map(|watched| watched.looked_at);
        let moment = Moment { looked_at, is_held: self.reader.sender_hold()?.is_some() };
        self.moment.set(Some(moment));
        Ok(moment)
    }

    /// Whether a twin that is in no block is waited for: it is said to wait, or moves nothing of this wallet and was noticed a short time
    /// ago.
    fn is_waited_for(&self, payer: &Payer) -> Result<bool, StoreError> {
        let looked_at = self.moment()?.looked_at.unwrap_or(payer.noticed_at);
        Ok(self.is_in_mempool_or_held(payer)? || (!payer.moves_ours && looked_at < payer.awaited_until()))
    }

    /// Whether a twin is said to be in the mempool, or staff are to say what becomes of it.
    fn is_in_mempool_or_held(&self, payer: &Payer) -> Result<bool, StoreError> {
        Ok(payer.position == Position::Mempool || self.moment()?.is_held)
    }

    /// When the first was signed of what is signed for a payout, where no node ever took any of it.
    fn signed_and_never_taken(&self, payout: &PayoutRow) -> Result<Option<Timestamp>, StoreError> {
        let versions = payout.batch_seq.map_or_else(|| Ok(Vec::new()), |batch_seq| self.reader.versions(batch_seq))?;
        let was_never_taken =
            |version: &VersionRow| version.accepted_at.is_none() && version.position == Position::Absent;
        let first = versions.iter().map(|version| version.created_at).min();
        Ok(first.filter(|_| versions.iter().all(was_never_taken)))
    }
}
