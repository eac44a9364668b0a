//! The check of a folder for nightly backups when staff name it: the folder must exist and be
//! writable, and is marked. Whether the folder is still there later is checked by each nightly
//! backup.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tillgate_store::Store;

use tillgate_store::backups::FolderRow;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::contents;
use super::error::BackupError;
use super::mark::Mark;
use super::place::{found, on_disk, part_of};
use super::sealed::{FILE_ID_BYTES, FileId};
use crate::gateway::Gateway;

/// Longest wait for a disk's answer.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);

/// Marks a folder, or finds its mark. Refuses a folder to which no backup could be written now. The
/// caller must store the mark with the setting; otherwise the next nightly backup would use any
/// folder of that name.
///
/// # Errors
/// The reason why the folder is refused, with the remedy.
pub async fn mark_folder(gateway: &Gateway, folder: PathBuf) -> Result<FolderRow, BackupError> {
    let mut trial = [0; FILE_ID_BYTES];
    gateway.machine.entropy.fill(&mut trial)?;
    let (known, new) = (
        known_mark(&gateway.store, &folder)?,
        Mark::new(folder.clone(), gateway.machine.entropy.as_ref())?,
    );
    let look = move |folder: &Path| {
        takes_files(folder, &trial)?;
        match known.filter(|known| known.check().is_ok()) {
            Some(known) => Ok(known),
            None => new.put().map(|()| new),
        }
    };
    looked_at(&gateway.backups.folder_looks, folder, ANSWERED_WITHIN, look).await?.row()
}

/// The stored mark of a folder; `None` if this folder was not named before.
pub fn known_mark(store: &Store, folder: &Path) -> Result<Option<Mark>, BackupError> {
    Ok(store.read(|reader| Mark::known(reader, folder))?)
}

/// Runs `look` on a folder, with a time limit, because a disk may not answer.
async fn looked_at<T: Send + 'static>(
    looks: &Arc<Semaphore>,
    folder: PathBuf,
    within: Duration,
    look: impl FnOnce(&Path) -> Result<T, BackupError> + Send + 'static,
) -> Result<T, BackupError> {
    // The permit is kept until the disk answers, even after the time limit. This limits the threads
    // that wait for silent disks.
    let permit = Arc::clone(looks).try_acquire_owned().map_err(|_| BackupError::SilentDisks)?;
    let named = folder.clone();
    let looked = on_disk(move || {
        let _permit = permit;
        look(&folder)
    });
    timeout(within, looked).await.unwrap_or(Err(BackupError::SilentDisk(named)))
}

fn takes_files(folder: &Path, trial: &FileId) -> Result<(), BackupError> {
    if !found(folder)?.is_dir() {
        return Err(BackupError::NotAFolder(folder.to_owned()));
    }
    // Permissions do not tell for every disk whether a file can be written, so one is written.
    let file = part_of(&folder.join("trial"), trial);
    let written = contents::create_private(&file).map(drop).and_then(|()| fs::remove_file(&file));
    written.map_err(|source| BackupError::TakesNoFiles { folder: folder.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn refusal(folder: &Path) -> String {
        takes_files(folder, &[7; FILE_ID_BYTES]).unwrap_err().to_string()
    }

    #[test]
    fn a_folder_must_exist_and_be_writable_and_is_not_changed() {
        let base = tempfile::tempdir().unwrap();
        assert!(takes_files(base.path(), &[7; FILE_ID_BYTES]).is_ok());
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
        assert!(refusal(&base.path().join("nas")).contains("make it"));
        let file = base.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(refusal(&file).contains("is not a folder"));
        assert!(refusal(&file.join("below")).contains("below"));
        // Even root cannot write to `/proc`.
        #[cfg(target_os = "linux")]
        assert!(refusal(Path::new("/proc")).contains("let the user who runs Tillgate write there"));
    }

    #[tokio::test]
    async fn a_silent_disk_blocks_no_caller_and_few_threads() {
        let looks = Arc::new(Semaphore::new(1));
        let (answer, answers) = mpsc::channel();
        let hangs = move |_: &Path| {
            answers.recv().unwrap();
            Ok(())
        };
        let soon = Duration::from_millis(1);
        let silent =
            looked_at(&looks, PathBuf::from("/nas"), soon, hangs).await.unwrap_err().to_string();
        assert!(silent.contains("/nas") && silent.contains("did not answer"), "{silent}");
        let next = looked_at(&looks, PathBuf::from("/other"), ANSWERED_WITHIN, |_| Ok(())).await;
        assert!(matches!(next, Err(BackupError::SilentDisks)), "{next:?}");
        answer.send(()).unwrap();
        drop(looks.acquire().await.unwrap());
        looked_at(&looks, PathBuf::from("/other"), ANSWERED_WITHIN, |_| Ok(())).await.unwrap();
    }
}
