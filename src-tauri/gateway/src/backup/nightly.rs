//! Nightly backups: when they are started, and their faults.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tillgate_domain::time::Timestamp;
use tillgate_machine::clock::{local_offset_ms, machine_now};
use tillgate_store::backups::{BackupRow, BackupState};
use tillgate_store::{Reader, StoreError};
use tillgate_told::{Telling, Time, Told};
use tokio_util::sync::CancellationToken;

use super::make::{KeySource, Place, make_in_turn, turn};
use super::mark::Mark;
use super::schedule::{Before, next_at};
use super::tidy::settle_interrupted;
use crate::gateway::Gateway;
use crate::settings::LiveSettings;

/// Interval between checks of the machine's clock and the settings.
const ASK_EVERY: Duration = Duration::from_secs(60);

/// The actor in the audit.
const ACTOR: &str = "nightly";

/// Age of the last good backup after which a fault is reported.
const LATE_AFTER_MS: i64 = 36 * 3_600_000;

/// A fault of nightly backups.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Told)]
pub enum NightlyFault {
    #[error(
        "no nightly backup is made, because no passphrase is set: `tillgate backup --set-passphrase`"
    )]
    NoPassphrase,
    #[error(
        "the last backup to the folder of nightly backups failed, and is tried again in an hour: {why} ({last_good})"
    )]
    Failed {
        why: Telling,
        last_good: LastGood,
        /// Whether the folder's mark is missing.
        is_other_folder: bool,
    },
    #[error("no backup was made last night: {last_good}; nightly backups need a running Tillgate")]
    Late { last_good: LastGood },
}

/// The last good backup.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Told)]
pub enum LastGood {
    #[error("there is no good backup yet")]
    None,
    #[error("the last good backup is of {at}")]
    At { at: Time },
}

/// Makes nightly backups until `shutdown`.
pub async fn run(gateway: Arc<Gateway>, shutdown: CancellationToken) {
    if let Ok(_turn) = gateway.backups.turn.try_lock()
        && let Err(error) = settle_interrupted(&gateway).await
    {
        tracing::error!(%error, "the remains of an interrupted backup could not be removed");
    }
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = once(&gateway, machine_now()) => {}
        }
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = gateway.backups.wake.notified() => {}
            () = tokio::time::sleep(ASK_EVERY) => {}
        }
    }
}

/// Makes a backup if one is due by the machine's clock. A failure is stored, and reported by
/// [`nightly_fault`].
pub async fn once(gateway: &Arc<Gateway>, now: Timestamp) {
    if gateway.settings.snapshot().backup_folder.is_none() {
        return;
    }
    // While another backup is being made, whether one is due is not known yet. The next check tries
    // again.
    let Ok(_turn) = turn(&gateway.backups).await else { return };
    let due = gateway.store.read(|reader| {
        let is_key_set = reader.backup_passphrase_set_at()?.is_some();
        Ok::<_, StoreError>(
            is_key_set && next_at(before(reader)?, now, local_offset_ms(now)) <= now,
        )
    });
    match due {
        Ok(false) => return,
        Ok(true) => {}
        Err(error) => return tracing::error!(%error, "whether a backup is due could not be read"),
    }
    match make_in_turn(gateway, Place::Folder, KeySource::Stored, ACTOR).await {
        Ok(made) => {
            tracing::info!(file = %made.path.display(), bytes = made.size_bytes, "the nightly backup is made")
        }
        Err(error) => {
            tracing::error!(%error, "the nightly backup failed; it is tried again in an hour")
        }
    }
}

/// Time of the next nightly backup; `None` if none is made.
pub fn due_at(
    settings: &LiveSettings,
    reader: &Reader<'_>,
    now: Timestamp,
) -> Result<Option<Timestamp>, StoreError> {
    if settings.snapshot().backup_folder.is_none() || reader.backup_passphrase_set_at()?.is_none() {
        return Ok(None);
    }
    Ok(Some(next_at(before(reader)?, now, local_offset_ms(now)).max(now)))
}

/// The fault of nightly backups, for staff; `None` if there is none.
pub fn nightly_fault(
    settings: &LiveSettings,
    reader: &Reader<'_>,
    now: Timestamp,
) -> Result<Option<NightlyFault>, StoreError> {
    let Some(folder) = settings.snapshot().backup_folder.clone() else { return Ok(None) };
    if reader.backup_passphrase_set_at()?.is_none() {
        return Ok(Some(NightlyFault::NoPassphrase));
    }
    let good = reader.last_nightly_backup(BackupState::Good)?;
    let last_good = good
        .as_ref()
        .map_or_else(|| LastGood::None, |good| LastGood::At { at: good.begun_at.into() });
    if let Some(failed) = reader.last_nightly_backup(BackupState::Failed)?
        && good.as_ref().is_none_or(|good| good.seq < failed.seq)
    {
        let why = failed.failure.unwrap_or_else(|| Telling::of_text(String::new()));
        // The stored failure may be of a former folder, or of this folder before it was named
        // again.
        let mark = Mark::known(reader, Path::new(&folder))?;
        let is_other_folder = failed
            .missing_mark
            .is_some_and(|missing| mark.is_some_and(|mark| mark.is_called(&missing)));
        return Ok(Some(NightlyFault::Failed { why, last_good, is_other_folder }));
    }
    let is_late = |good: &BackupRow| good.begun_at.plus_ms(LATE_AFTER_MS) < now;
    match good.as_ref().filter(|good| is_late(good)) {
        Some(_) => Ok(Some(NightlyFault::Late { last_good })),
        None => Ok(None),
    }
}

fn before(reader: &Reader<'_>) -> Result<Before, StoreError> {
    let good = reader.last_nightly_backup(BackupState::Good)?;
    let failed = reader.last_nightly_backup(BackupState::Failed)?;
    // The order is that of the sequence numbers, because the clock may have been changed.
    let failed = failed.filter(|failed| good.as_ref().is_none_or(|good| good.seq < failed.seq));
    Ok(Before {
        good_at: good.map(|row| row.begun_at),
        failed_at: failed.and_then(|row| row.done_at),
    })
}
