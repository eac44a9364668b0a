//! Removes old nightly backups after a newer one was made, and the remains of interrupted backups.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tillgate_machine::environment::Environment;

use super::error::BackupError;
use super::sealed::FileId;
use super::{examine, place};
use crate::gateway::Gateway;

/// Removes the oldest nightly backups beyond the setting `backupKeep`. A file is removed only if
/// its id and the form of its name show that this installation wrote it.
pub async fn remove_old(gateway: &Arc<Gateway>) -> Result<(), BackupError> {
    let keep = usize::try_from(gateway.settings.snapshot().backup_keep).unwrap_or(usize::MAX);
    let rows = gateway.store.read(|reader| reader.nightly_backups())?;
    for row in rows.into_iter().skip(keep) {
        let (path, environment, file_id) =
            (PathBuf::from(&row.path), gateway.environment, row.file_id);
        if place::on_disk(move || Ok(is_gone(&path, environment, &file_id))).await? {
            gateway.store.write(move |tx| tx.remove_backup(&row.file_id)).await?;
        }
    }
    Ok(())
}

/// Removes a file if this installation wrote it. Returns whether its row can be deleted.
fn is_gone(path: &Path, environment: Environment, file_id: &FileId) -> bool {
    let is_ours = place::is_name_of_ours(path, environment)
        && examine::file_id(path).is_ok_and(|id| id == *file_id);
    if is_ours && let Err(error) = std::fs::remove_file(path) {
        tracing::warn!(file = %path.display(), %error, "an old backup could not be removed");
        return false;
    }
    // The row of a file that was moved or replaced can be deleted. If the folder is missing, its
    // disk may only be unplugged, so the row is kept.
    is_ours || path.parent().is_some_and(Path::is_dir)
}

/// Stores the outcome of interrupted backups, and removes their remains. The caller must hold the
/// lock `Backups::turn`.
pub async fn settle_interrupted(gateway: &Arc<Gateway>) -> Result<(), BackupError> {
    place::remove_scratches(gateway.machine.data_dir.path())?;
    for row in gateway.store.read(|reader| reader.backups_being_written())? {
        let (path, file_id) = (PathBuf::from(&row.path), row.file_id);
        let found = place::on_disk(move || {
            let is_whole = examine::file_id(&path).is_ok_and(|id| id == file_id);
            // A file with its final name is complete, because it was read back before the rename.
            // Only a file with the temporary name is removed.
            let _ = std::fs::remove_file(place::part_of(&path, &file_id));
            Ok((is_whole, std::fs::metadata(&path).map_or(0, |found| found.len())))
        });
        let (is_whole, size_bytes) = found.await?;
        let ended = gateway.store.write(move |tx| match (is_whole, row.nightly) {
            (true, _) => tx.finish_backup(&row.file_id, size_bytes, row.begun_at),
            (false, true) => tx.fail_backup(
                &row.file_id,
                &"Tillgate was stopped during the backup".into(),
                row.begun_at,
            ),
            (false, false) => tx.forget_backup(&row.file_id),
        });
        ended.await?;
    }
    Ok(())
}
