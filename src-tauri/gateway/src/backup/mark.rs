//! The mark of the folder of nightly backups: a small file that is written when the folder is
//! named. A folder without its mark takes no backup. If a disk is not mounted, its mount point is
//! often an empty folder on the computer's own disk, whose failure the backups should survive.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tillgate_machine::entropy::{Entropy, NoEntropy};
use tillgate_store::backups::FolderRow;
use tillgate_store::{Reader, StoreError};

use super::error::BackupError;
use super::{contents, place};

/// Random bytes in a mark's name. So the marks of two installations in one folder differ, and a
/// folder that was named earlier is not mistaken for the present one.
const ID_BYTES: usize = 8;

/// The explanation for people who find the file.
const TEXT: &str = "This file marks the folder for Tillgate's nightly backups. Without it, Tillgate writes no backup to the folder. \
Keep it, and copy it with the backups if you move them.\n";

/// A folder and the name of its mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    folder: PathBuf,
    name: String,
}

impl Mark {
    pub fn new(folder: PathBuf, entropy: &dyn Entropy) -> Result<Self, NoEntropy> {
        let mut id = [0; ID_BYTES];
        entropy.fill(&mut id)?;
        Ok(Self { folder, name: format!(".tillgate-{}", hex::encode(id)) })
    }

    /// The stored mark, if it is the mark of this folder.
    pub fn known(reader: &Reader<'_>, folder: &Path) -> Result<Option<Self>, StoreError> {
        let row = reader.backup_folder()?;
        Ok(row
            .filter(|row| Path::new(&row.path) == folder)
            .map(|row| Self { folder: row.path.into(), name: row.mark }))
    }

    /// Refuses a folder without its mark.
    pub fn check(&self) -> Result<(), BackupError> {
        let file = self.file();
        match fs::symlink_metadata(&file) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(BackupError::OtherFolder {
                    folder: self.folder.clone(),
                    mark: self.name.clone(),
                })
            }
            Err(error) => Err(BackupError::at("looking at", &file)(error)),
        }
    }

    /// Whether the mark has this name.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name
    }

    /// Writes the mark into its folder, durably.
    pub fn put(&self) -> Result<(), BackupError> {
        let file = self.file();
        let refused = |source| BackupError::TakesNoFiles { folder: self.folder.clone(), source };
        let mut written = contents::create_private(&file).map_err(refused)?;
        let durable = written.write_all(TEXT.as_bytes()).and_then(|()| written.sync_all());
        durable.and_then(|()| place::sync_folder(&file)).map_err(|source| {
            let _ = fs::remove_file(&file);
            refused(source)
        })
    }

    /// The mark as a database row.
    pub fn row(&self) -> Result<FolderRow, BackupError> {
        let path = self.folder.to_str().ok_or_else(|| BackupError::NotText(self.folder.clone()))?;
        Ok(FolderRow { path: path.to_owned(), mark: self.name.clone() })
    }

    fn file(&self) -> PathBuf {
        self.folder.join(&self.name)
    }
}
