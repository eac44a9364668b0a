//! Checks that a backup would restore this installation's wallet, by the steps of a restore up to
//! the examination.

use std::path::PathBuf;
use std::sync::Arc;

use tillgate_domain::time::Timestamp;
use tillgate_machine::clock::machine_now;
use tillgate_machine::secrets::Secret;
use tokio_util::sync::CancellationToken;

use super::contents::Manifest;
use super::error::BackupError;
use super::examine::{self, GoesOn, SealedFile};
use super::make::{stored_key, turn};
use super::place::{self, Scratch};
use super::sealed::FileId;
use super::tidy;
use crate::gateway::Gateway;

/// A backup that would restore this wallet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Time of the backup, by the clock of the machine that made it.
    pub made_at: Timestamp,
    pub program: String,
}

/// The key to try.
pub enum Tried {
    /// A passphrase typed for this backup.
    Passphrase(Secret),
    /// The key in the secret store.
    Stored,
    /// The key in the secret store if it fits the file, otherwise this passphrase. The passphrase
    /// may have been given for the secrets file only.
    StoredFirst(Secret),
}

/// Checks a backup: opens all of it, examines its databases as a restore would, and compares its
/// wallet with this installation's. Stores the time of the check.
pub async fn verify(
    gateway: &Arc<Gateway>,
    file: PathBuf,
    tried: Tried,
) -> Result<Verified, BackupError> {
    let _turn = turn(&gateway.backups).await?;
    tidy::settle_interrupted(gateway).await?;
    let file = place::checked(file)?;
    let stop = CancellationToken::new();
    let _stops = stop.clone().drop_guard();
    let worker = Arc::clone(gateway);
    let work = tokio::task::spawn_blocking(move || {
        prove(&worker, &file, &tried, &|| !stop.is_cancelled())
    });
    let (manifest, file_id) = work.await.unwrap_or(Err(BackupError::Panicked))?;
    let at = machine_now();
    gateway.store.write(move |tx| tx.note_backup_checked(&file_id, at)).await?;
    gateway.signals.note_change();
    Ok(Verified { made_at: Timestamp::from_ms(manifest.made_at_ms), program: manifest.program })
}

fn prove(
    gateway: &Gateway,
    file: &std::path::Path,
    tried: &Tried,
    goes_on: GoesOn<'_>,
) -> Result<(Manifest, FileId), BackupError> {
    let ours = gateway.wallet.get().ok_or(BackupError::NoWallet)?;
    let sealed = SealedFile::with_key(file, |recipe| {
        // The recipe includes the salt, so a stored key with another recipe does not open the file.
        let stored = || {
            stored_key(gateway.machine.secrets.as_ref()).and_then(|key| {
                if key.recipe() == recipe { Ok(key) } else { Err(BackupError::OtherKey) }
            })
        };
        match tried {
            Tried::Passphrase(passphrase) => recipe.key(passphrase),
            Tried::Stored => stored(),
            Tried::StoredFirst(passphrase) => stored().or_else(|_| recipe.key(passphrase)),
        }
    })?;
    // Reads all of the file before it is unpacked, so that no part of a damaged file is unpacked.
    sealed.read_through(goes_on)?;
    let scratch = Scratch::new(gateway.machine.data_dir.path(), &sealed.file_id)?;
    let (manifest, secrets) = sealed.unpack(scratch.path(), goes_on)?;
    let wallet = examine::examine(scratch.path(), &manifest, &secrets, gateway.environment)?;
    if wallet.as_ref() != Some(ours.keychains.descriptors()) {
        return Err(BackupError::OtherWallet);
    }
    Ok((manifest, sealed.file_id))
}
