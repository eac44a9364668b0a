//! A restored copy of the wallet: it looks from the wallet's birth, whatever was looked at before, and becomes a wallet like
//! any other once such a look has come to the best block.

mod hold;

use std::collections::HashSet;

use bitcoin::ScriptBuf;
use tillgate_domain::restore::RestoreState;
use tillgate_domain::time::Timestamp;

use super::error::WatchError;
use crate::chain::{Covered, Sees};
use crate::gateway::Gateway;
use crate::store::keychains::Keychain;
use crate::store::restore::{AskedIndices, Restore};
use crate::store::{StoreError, Tx};

/// Scripts that one look asks about: as many as a backend takes at once.
const ASKED_MAX: u32 = 1_000;

/// What a look has come to, for a restored copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scanned {
    /// The view begins with the first block that is looked at.
    pub from_start: bool,
    /// The look is not at its end.
    pub more: bool,
    /// The copy as it stood when the look began.
    pub restore: Option<Restore>,
    /// What was asked, where the backend asks about single scripts; `None` where it sees every block up to the best one.
    pub asked: Option<Asking>,
    /// The backend has told of everything up to the best block.
    pub covers_all: bool,
    /// The block up to which was looked.
    pub height: u32,
    /// When the look began.
    pub at: Timestamp,
    /// The setting `restoreSkip`.
    pub skip: u32,
}

/// The next scripts of a restored wallet that are asked about.
pub(super) struct Scan {
    pub scripts: Vec<ScriptBuf>,
    /// How many of the scripts are addresses; the others are of change.
    addresses: usize,
    /// Their first indices.
    first: AskedIndices,
    /// The first indices behind them.
    next: AskedIndices,
}

/// What came of asking.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asking {
    /// The first indices that were not asked about, or not answered.
    next: AskedIndices,
}

impl Scan {
    /// The next scripts of both keychains, as far as they are known ahead; `None` where the backend sees every block.
    pub(super) fn of(gateway: &Gateway, restore: &Restore) -> Result<Option<Self>, WatchError> {
        let (Sees::Scripts, Some(wallet)) = (gateway.chain.sees(), gateway.wallet.get()) else { return Ok(None) };
        let end = gateway.store.read(|reader| reader.indices_to_ask(restore))?;
        let asked = restore.asked;
        let change_left = end.change.saturating_sub(asked.change);
        let addresses = end.addresses.saturating_sub(asked.addresses).min(ASKED_MAX - change_left.min(ASKED_MAX / 2));
        let change = change_left.min(ASKED_MAX - addresses);
        let next = AskedIndices {
            addresses: asked.addresses.saturating_add(addresses),
            change: asked.change.saturating_add(change),
        };
        let derive = |keychain, index| wallet.keychains.script(keychain, index).ok();
        // A keychain that has no more is asked about to its end.
        let mut scripts: Vec<_> =
            (asked.addresses..next.addresses).map_while(|index| derive(Keychain::External, index)).collect();
        let addresses = scripts.len();
        scripts.extend((asked.change..next.change).map_while(|index| derive(Keychain::Internal, index)));
        Ok(Some(Self { scripts, addresses, first: asked, next }))
    }

    /// What came of it, under what the look covered. A server that may be asked a few questions in a look answers about the first
    /// ones: the next look goes on behind them. What the server refuses to tell is gone by.
    pub(super) fn asking(&self, covered: &Covered, refused: &HashSet<ScriptBuf>) -> Asking {
        let (addresses, change) = self.scripts.split_at(self.addresses);
        let behind = |scripts: &[ScriptBuf], first: u32, next: u32| {
            let open =
                scripts.iter().zip(first..).find(|(script, _)| !covered.holds(script) && !refused.contains(*script));
            open.map_or(next, |(_, index)| index)
        };
        let next = AskedIndices {
            addresses: behind(addresses, self.first.addresses, self.next.addresses),
            change: behind(change, self.first.change, self.next.change),
        };
        Asking { next }
    }

    /// The indices that are gone by although the server does not tell all of their scripts.
    pub(super) fn passed_by(&self, refused: &HashSet<ScriptBuf>) -> Vec<(Keychain, u32)> {
        let (addresses, change) = self.scripts.split_at(self.addresses);
        let of = |keychain, scripts: &[ScriptBuf], first: u32| {
            let of_these = scripts.iter().zip(first..).filter(|(script, _)| refused.contains(*script));
            of_these.map(|(_, index)| (keychain, index)).collect::<Vec<_>>()
        };
        let mut passed_by = of(Keychain::External, addresses, self.first.addresses);
        passed_by.extend(of(Keychain::Internal, change, self.first.change));
        passed_by
    }
}

/// Whether the next look begins at the wallet's birth, wherever the last one ended.
pub(super) const fn begins_at_birth(restore: Option<&Restore>) -> bool {
    match restore {
        Some(Restore { state: RestoreState::Awaited, .. }) => true,
        Some(_) | None => false,
    }
}

/// Breaks off a look under way where staff stopped it.
pub(super) fn goes_on(gateway: &Gateway) -> Result<(), WatchError> {
    match gateway.store.read(|reader| reader.dangerous_restore())? {
        Some(Restore { state: RestoreState::Stopped, .. }) => Err(WatchError::Stopped),
        Some(_) | None => Ok(()),
    }
}

/// Takes over how far a look has come, in the transaction that stores it. Once it has come from the birth to the best block
/// the danger is over: what was found that this database did not know is left to people, and so are the payouts that wait in it.
pub(super) fn note(tx: &Tx<'_>, scanned: &Scanned) -> Result<(), StoreError> {
    let (Some(restore), Some(known)) = (tx.dangerous_restore()?, scanned.restore) else { return Ok(()) };
    // A look that was under way when it was restored, or restored once more, was another's.
    if !restore.is_same_as(&known) {
        return Ok(());
    }
    match restore.state {
        RestoreState::Awaited if !scanned.from_start => return Ok(()),
        RestoreState::Awaited | RestoreState::Scanning => {}
        // It was stopped while the look was under way: it goes on from here.
        RestoreState::Stopped | RestoreState::Looked => return Ok(()),
    }
    tx.scan_restore()?;
    if scanned.more {
        // A crash goes on from here. What was asked about counts with the last answer of the look.
        return if scanned.asked.is_none() { tx.note_scanned_blocks(scanned.height) } else { Ok(()) };
    }
    match scanned.asked {
        // Whatever else it was that answered: it has not told of all.
        None if !scanned.covers_all => return Ok(()),
        None => tx.note_scanned_blocks(scanned.height)?,
        // Another chain: what was asked of the one before counts for nothing.
        Some(_) if scanned.from_start && restore.state == RestoreState::Scanning => {
            return tx.note_asked_indices(AskedIndices::default());
        }
        Some(Asking { next }) => {
            tx.note_asked_indices(next)?;
            let end = tx.indices_to_ask(&restore)?;
            if next.addresses < end.addresses || next.change < end.change {
                return Ok(());
            }
            tx.note_scanned_blocks(scanned.height)?;
        }
    }
    let looked = tx.finish_restore(scanned.at, scanned.skip)?;
    if let Some(reason) = hold::reason(tx, &looked)? {
        tx.hold_restored(scanned.at, &reason)?;
    }
    Ok(())
}

/// Gives addresses again once the look is stored that ended the danger, and answers whether it did. To be called after its
/// commit.
pub(super) fn follow(gateway: &Gateway) -> Result<bool, StoreError> {
    let Some(wallet) = gateway.wallet.get().filter(|wallet| wallet.addresses.is_withheld()) else { return Ok(false) };
    let (restore, external, internal) = gateway.store.read(|reader| {
        Ok::<_, StoreError>((
            reader.restore()?,
            reader.keychain(Keychain::External)?,
            reader.keychain(Keychain::Internal)?,
        ))
    })?;
    let (Some(restore), Some((_, next_address)), Some((_, next_change))) = (restore, external, internal) else {
        return Ok(false);
    };
    if restore.is_dangerous() {
        return Ok(false);
    }
    match wallet.follow(&restore, next_address, next_change) {
        Ok(()) => {
            tracing::info!(
                unknown = restore.unknown,
                first_given = restore.first_given,
                "the restored wallet has looked through the whole chain"
            );
            gateway.sender_wake.notify_one();
            gateway.note_change();
        }
        Err(error) => tracing::error!(%error, "the restored wallet gives no addresses"),
    }
    Ok(true)
}
