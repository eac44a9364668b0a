//! The folder of nightly backups at the moment at which it is named: it must be there and take files, and is marked. One that is
//! away later, as a disk in another room may be, is found away by the nights.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::mark::Mark;
use super::place::{found, on_disk, part_of};
use super::sealed::{FILE_ID_BYTES, FileId};
use super::{BackupError, contents};
use crate::gateway::Gateway;
use crate::store::backups::FolderRow;

/// A disk that takes longer is taken for one that does not answer.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);

/// Puts a mark into a folder, or finds its mark; refuses a folder to which no backup could be written now. The caller stores the
/// mark together with the setting that names the folder, or the next night would write into any folder of that name.
///
/// # Errors
/// Why not, with the remedy.
pub(crate) async fn mark_folder(gateway: &Gateway, folder: PathBuf) -> Result<FolderRow, BackupError> {
    let mut trial = [0; FILE_ID_BYTES];
    gateway.entropy.fill(&mut trial)?;
    let (known, new) = (known_mark(gateway, &folder)?, Mark::new(folder.clone(), gateway.entropy.as_ref())?);
    let look = move |folder: &Path| {
        takes_files(folder, &trial)?;
        match known.filter(|known| known.check().is_ok()) {
            Some(known) => Ok(known),
            None => new.put().map(|()| new),
        }
    };
    looked_at(&gateway.backups.folder_looks, folder, ANSWERED_WITHIN, look).await?.row()
}

/// The mark by which the folder was known so far.
pub(super) fn known_mark(gateway: &Gateway, folder: &Path) -> Result<Option<Mark>, BackupError> {
    Ok(gateway.store.read(|reader| Mark::known(reader, folder))?)
}

/// The answer of `look` about a folder, unless its disk is silent.
async fn looked_at<T: Send + 'static>(
    looks: &Arc<Semaphore>,
    folder: PathBuf,
    within: Duration,
    look: impl FnOnce(&Path) -> Result<T, BackupError> + Send + 'static,
) -> Result<T, BackupError> {
    // Held until the disk answers: so few threads may wait for disks that never do.
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
    // Rights and bits of the mode do not tell it of every disk.
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
    fn a_folder_must_be_there_be_one_and_take_files_and_is_left_as_it_was() {
        let base = tempfile::tempdir().unwrap();
        assert!(takes_files(base.path(), &[7; FILE_ID_BYTES]).is_ok());
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
        assert!(refusal(&base.path().join("nas")).contains("make it"));
        let file = base.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(refusal(&file).contains("is no folder"));
        assert!(refusal(&file.join("below")).contains("below"));
        // Nobody writes there, not even root.
        #[cfg(target_os = "linux")]
        assert!(refusal(Path::new("/proc")).contains("let the user who runs Tillgate write there"));
    }

    #[tokio::test]
    async fn a_disk_that_hangs_holds_up_nobody_and_few_threads() {
        let looks = Arc::new(Semaphore::new(1));
        let (answer, answers) = mpsc::channel();
        let hangs = move |_: &Path| {
            answers.recv().unwrap();
            Ok(())
        };
        let soon = Duration::from_millis(1);
        let silent = looked_at(&looks, PathBuf::from("/nas"), soon, hangs).await.unwrap_err().to_string();
        assert!(silent.contains("/nas") && silent.contains("did not answer"), "{silent}");
        let next = looked_at(&looks, PathBuf::from("/other"), ANSWERED_WITHIN, |_| Ok(())).await;
        assert!(matches!(next, Err(BackupError::SilentDisks)), "{next:?}");
        answer.send(()).unwrap();
        drop(looks.acquire().await.unwrap());
        looked_at(&looks, PathBuf::from("/other"), ANSWERED_WITHIN, |_| Ok(())).await.unwrap();
    }
}
