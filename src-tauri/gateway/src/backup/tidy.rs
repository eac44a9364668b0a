//! What is removed: old nightly backups once a newer one is good, and what a backup that was cut short left behind.

use std::path::Path;
use std::sync::Arc;

use super::{BackupError, examine, place};
use crate::gateway::Gateway;

/// Removes the oldest of the nightly backups beyond those that are kept: files that we wrote, as their ids show, and that have
/// the name that we gave them.
pub(super) async fn remove_old(gateway: &Arc<Gateway>) -> Result<(), BackupError> {
    let keep = usize::try_from(gateway.settings.snapshot().backup_keep).unwrap_or(usize::MAX);
    let rows = gateway.store.read(|reader| reader.nightly_backups())?;
    for row in rows.into_iter().skip(keep) {
        let path = Path::new(&row.path);
        let is_ours = place::is_name_of_ours(path, gateway.environment)
            && examine::file_id(path).is_ok_and(|file_id| file_id == row.file_id);
        if is_ours && let Err(error) = std::fs::remove_file(path) {
            tracing::warn!(file = row.path, %error, "an old backup could not be removed");
            continue;
        }
        // What was moved away or replaced meanwhile is not ours to remove; a folder that is not there just now may come back.
        if is_ours || path.parent().is_some_and(Path::is_dir) {
            gateway.store.write(move |tx| tx.remove_backup(&row.file_id)).await?;
        }
    }
    Ok(())
}

/// Finds out what became of backups that a crash cut short, and removes what it left in the clear. The caller has the turn.
pub(super) async fn settle_cut_short(gateway: &Arc<Gateway>) -> Result<(), BackupError> {
    place::remove_scratches(gateway.data_dir.path())?;
    for row in gateway.store.read(|reader| reader.backups_being_written())? {
        let path = Path::new(&row.path);
        let is_whole = examine::file_id(path).is_ok_and(|file_id| file_id == row.file_id);
        let size_bytes = std::fs::metadata(path).map_or(0, |found| found.len());
        // It was read back before it got its name; the other name is ours alone.
        let _ = std::fs::remove_file(place::part_of(path, &row.file_id));
        let ended = gateway.store.write(move |tx| match (is_whole, row.nightly) {
            (true, _) => tx.finish_backup(&row.file_id, size_bytes, row.begun_at),
            (false, true) => tx.fail_backup(&row.file_id, "Tillgate was stopped meanwhile", row.begun_at),
            (false, false) => tx.forget_backup(&row.file_id),
        });
        ended.await?;
    }
    Ok(())
}
