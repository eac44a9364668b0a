//! The scan of a restored copy of the wallet. It starts at the wallet's birth, even if earlier
//! looks went further. After the scan reaches the best block, the copy works like any other wallet.

mod hold;

pub use hold::HeldAfterScan;
use std::collections::HashSet;
use std::sync::Arc;
use tillgate_store::Store;

use bitcoin::ScriptBuf;
use tillgate_chain::{Covered, Sees};
use tillgate_domain::restore::RestoreState;
use tillgate_domain::time::Timestamp;
use tillgate_store::keychains::Keychain;
use tillgate_store::restore::{AskedIndices, Restore};
use tillgate_store::{StoreError, Tx};

use super::error::WatchError;
use crate::gateway::Gateway;
use crate::wallet::Wallet;

/// Most scripts in one look of a scan: as many as a backend takes at once.
const ASKED_MAX: u32 = 1_000;

/// The result of a look, as far as it concerns the scan.
#[derive(Debug, Clone, Copy)]
pub struct Scanned {
    pub from_start: bool,
    pub more: bool,
    /// The stored restore at the start of the look.
    pub restore: Option<Restore>,
    /// Progress over the scripts asked about; `None` for a backend that delivers whole blocks.
    pub asked: Option<ScanProgress>,
    pub covers_all: bool,
    pub height: u32,
    /// When the look began.
    pub at: Timestamp,
    /// The setting `restoreSkip`.
    pub skip: u32,
}

/// The next scripts of a restored wallet to ask about.
pub struct Scan {
    asked: Vec<Asked>,
    /// First index of each keychain after `asked`.
    next: AskedIndices,
}

/// A script of the wallet's type or of the other type.
struct Asked {
    keychain: Keychain,
    index: u32,
    script: ScriptBuf,
    is_other: bool,
}

/// Progress after the backend's answer.
#[derive(Debug, Clone, Copy)]
pub struct ScanProgress {
    /// First index of each keychain that was not asked about, or not answered.
    next: AskedIndices,
}

impl Scan {
    /// The next scripts of both keychains; `None` if the backend sees every block.
    pub fn load(gateway: &Gateway, restore: &Restore) -> Result<Option<Self>, WatchError> {
        let (Sees::Scripts, Some(wallet)) = (gateway.backend.chain.sees(), gateway.wallet.get())
        else {
            return Ok(None);
        };
        let end = gateway.store.read(|reader| reader.indices_to_ask(restore))?;
        let (asked, other) = (restore.asked, wallet.other());
        // Both types are asked about, each with the same indices.
        let most = if other.is_some() { ASKED_MAX / 2 } else { ASKED_MAX };
        let change_left = end.change.saturating_sub(asked.change);
        let addresses =
            end.addresses.saturating_sub(asked.addresses).min(most - change_left.min(most / 2));
        let change = change_left.min(most - addresses);
        let next = AskedIndices {
            addresses: asked.addresses.saturating_add(addresses),
            change: asked.change.saturating_add(change),
        };
        // At the end of a keychain there are fewer scripts.
        let of = |keychain, index| {
            let own = wallet.keychains.script(keychain, index).ok().map(|script| (script, false));
            let others = other
                .as_ref()
                .and_then(|other| other.script(keychain, index))
                .map(|script| (script, true));
            let both = own.into_iter().chain(others);
            both.map(move |(script, is_other)| Asked { keychain, index, script, is_other })
        };
        let addresses =
            (asked.addresses..next.addresses).flat_map(|index| of(Keychain::External, index));
        let change = (asked.change..next.change).flat_map(|index| of(Keychain::Internal, index));
        Ok(Some(Self { asked: addresses.chain(change).collect(), next }))
    }

    pub fn scripts(&self) -> Vec<ScriptBuf> {
        self.asked.iter().map(|asked| asked.script.clone()).collect()
    }

    /// The progress, given the scripts that the look covered. A server with a request limit answers
    /// only the first scripts, and the next look continues after them. Scripts that the server
    /// refuses to report are skipped.
    pub fn progress(&self, covered: &Covered, refused: &HashSet<ScriptBuf>) -> ScanProgress {
        let behind = |keychain, next| {
            let mut of_keychain = self.asked.iter().filter(|asked| asked.keychain == keychain);
            let open = of_keychain
                .find(|asked| !covered.holds(&asked.script) && !refused.contains(&asked.script));
            open.map_or(next, |asked| asked.index)
        };
        let next = AskedIndices {
            addresses: behind(Keychain::External, self.next.addresses),
            change: behind(Keychain::Internal, self.next.change),
        };
        ScanProgress { next }
    }

    /// Skipped indices: the server refuses to report their scripts in full.
    pub fn skipped(&self, refused: &HashSet<ScriptBuf>) -> Vec<(Keychain, u32)> {
        let of_wallet =
            self.asked.iter().filter(|asked| !asked.is_other && refused.contains(&asked.script));
        of_wallet.map(|asked| (asked.keychain, asked.index)).collect()
    }
}

/// Whether the next look starts at the wallet's birth.
pub const fn begins_at_birth(restore: Option<&Restore>) -> bool {
    match restore {
        Some(Restore { state: RestoreState::Awaited, .. }) => true,
        Some(_) | None => false,
    }
}

/// Fails if staff stopped the scan.
pub fn check_not_stopped(store: &Store) -> Result<(), WatchError> {
    match store.read(|reader| reader.dangerous_restore())? {
        Some(Restore { state: RestoreState::Stopped, .. }) => Err(WatchError::Stopped),
        Some(_) | None => Ok(()),
    }
}

/// Stores the progress of a scan in the transaction of its look. The scan ends at the best block.
/// The sender then holds if [`hold::reason`] finds something that staff must check.
pub fn note(tx: &Tx<'_>, scanned: &Scanned) -> Result<(), StoreError> {
    let (Some(restore), Some(known)) = (tx.dangerous_restore()?, scanned.restore) else {
        return Ok(());
    };
    // The look started before this restore, so its result does not concern the restore.
    if !restore.is_same_as(&known) {
        return Ok(());
    }
    match restore.state {
        RestoreState::Awaited if !scanned.from_start => return Ok(()),
        RestoreState::Awaited | RestoreState::Scanning => {}
        // Staff stopped the scan during this look. A resumed scan continues from the stored
        // progress.
        RestoreState::Stopped | RestoreState::Looked => return Ok(()),
    }
    tx.scan_restore()?;
    if scanned.more {
        // After a crash the scan continues from this height. Progress over scripts is stored with a
        // look's last answer.
        return if scanned.asked.is_none() {
            tx.note_scanned_blocks(scanned.height)
        } else {
            Ok(())
        };
    }
    match scanned.asked {
        // The answer does not cover all blocks: it came from a backend that is asked about scripts.
        None if !scanned.covers_all => return Ok(()),
        None => tx.note_scanned_blocks(scanned.height)?,
        // The chain changed: the progress over scripts starts again.
        Some(_) if scanned.from_start && restore.state == RestoreState::Scanning => {
            return tx.note_asked_indices(AskedIndices::default());
        }
        Some(ScanProgress { next }) => {
            tx.note_asked_indices(next)?;
            let end = tx.indices_to_ask(&restore)?;
            if next.addresses < end.addresses || next.change < end.change {
                return Ok(());
            }
            tx.note_scanned_blocks(scanned.height)?;
        }
    }
    if tx.take_other_type(&restore)? {
        return Ok(());
    }
    let looked = tx.finish_restore(scanned.at, scanned.skip)?;
    if let Some(reason) = hold::reason(tx, &looked)? {
        tx.hold_restored(scanned.at, &reason)?;
    }
    Ok(())
}

/// Replaces the wallet if an earlier scan found coins at the other address type alone: the database
/// has that type's descriptors since. Call this before a look, so that no look mixes the types.
pub fn follow_type(gateway: &Gateway) -> Result<(), WatchError> {
    let Some(wallet) = gateway.wallet.get() else { return Ok(()) };
    let stored = gateway.store.read(|reader| reader.keychain(Keychain::External))?;
    if stored.is_none_or(|(descriptor, _)| descriptor == wallet.keychains.descriptors().external) {
        return Ok(());
    }
    let skip = gateway.settings.snapshot().restore_skip;
    if let Some(wallet) = Wallet::load(&gateway.store, gateway.network, skip)? {
        let address_type = wallet.keychains.address_type().as_str();
        tracing::info!(
            address_type,
            "the words have coins at this address type alone: the wallet takes it"
        );
        gateway.wallet.set(Arc::new(wallet));
        gateway.signals.note_change();
    }
    Ok(())
}

/// Makes the wallet give addresses again once the scan has ended. Returns whether the scan had
/// ended and addresses were still withheld. Call this after the commit of the look.
pub fn resume_addresses(gateway: &Gateway) -> Result<bool, StoreError> {
    let Some(wallet) = gateway.wallet.get().filter(|wallet| wallet.addresses.is_withheld()) else {
        return Ok(false);
    };
    let (restore, external, internal) = gateway.store.read(|reader| {
        Ok::<_, StoreError>((
            reader.restore()?,
            reader.keychain(Keychain::External)?,
            reader.keychain(Keychain::Internal)?,
        ))
    })?;
    let (Some(restore), Some((_, next_address)), Some((_, next_change))) =
        (restore, external, internal)
    else {
        return Ok(false);
    };
    if restore.is_dangerous() {
        return Ok(false);
    }
    match wallet.apply_restore(&restore, next_address, next_change) {
        Ok(()) => {
            tracing::info!(
                unknown = restore.unknown,
                first_given = restore.first_given,
                "the scan of the restored wallet has reached the best block"
            );
            gateway.sending.wake.notify_one();
            gateway.signals.note_change();
        }
        Err(error) => tracing::error!(%error, "the restored wallet cannot give addresses"),
    }
    Ok(true)
}
