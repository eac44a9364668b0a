//! A mark file in an environment's folder which says that the environment has a wallet. By this
//! mark a command chooses its environment without opening a database that another process may use.
//!
//! The mark is written before the wallet is committed, and each opening makes it agree with the
//! database. A crash between mark and commit leaves a mark without a wallet; a command then reports
//! that there is no wallet.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tillgate_machine::data_dir::{self, DataDir, DataDirError};
use tillgate_machine::environment::Environment;
use tillgate_machine::trust;

const NAME: &str = "wallet.made";

/// Content of the file, for people.
const ABOUT: &[u8] =
    b"This environment has a wallet. If this file is deleted, Tillgate creates it again.\n";

/// Writes the mark durably. Call it before the wallet is committed.
///
/// # Errors
/// When the file cannot be written.
pub fn write(folder: &DataDir) -> Result<(), DataDirError> {
    let file = folder.path().join(NAME);
    let failed = |source| DataDirError::Io { action: "writing", path: file.clone(), source };
    put(&file).map_err(failed)
}

/// Makes the mark agree with the database.
///
/// # Errors
/// When the file can be neither written nor removed.
pub fn set(folder: &DataDir, has_wallet: bool) -> Result<(), DataDirError> {
    let file = folder.path().join(NAME);
    if has_wallet {
        return if file.exists() { Ok(()) } else { write(folder) };
    }
    match fs::remove_file(&file) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(DataDirError::Io { action: "removing", path: file, source })
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Whether the environment below `base` has a wallet, by its mark.
///
/// # Errors
/// When another user may have prepared the folder or the file.
pub fn is_there(base: &Path, environment: Environment) -> Result<bool, DataDirError> {
    let folder: PathBuf = data_dir::env_dir(base, environment);
    trust::may_hold_ours(base)?;
    Ok(trust::is_ours(&folder)? && trust::is_ours(&folder.join(NAME))?)
}

fn put(file: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut open = options.open(file)?;
    open.write_all(ABOUT)?;
    open.sync_all()?;
    // The file's name is durable once its folder is synced.
    #[cfg(unix)]
    if let Some(folder) = file.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tillgate_machine::data_dir::IfMissing;

    use super::*;

    #[test]
    fn a_wallet_is_known_without_its_database() {
        let folder = tempfile::tempdir().unwrap();
        let has = |environment| is_there(folder.path(), environment).unwrap();
        assert!(!has(Environment::Production), "there is no folder yet");
        let dir = DataDir::open(folder.path(), Environment::Production, IfMissing::Make).unwrap();
        assert!(!has(Environment::Production));
        write(&dir).unwrap();
        write(&dir).unwrap();
        assert!(has(Environment::Production) && !has(Environment::Test));
        drop(dir);
        DataDir::open(folder.path(), Environment::Production, IfMissing::Refuse)
            .map(|_| ())
            .unwrap_err();
        assert!(has(Environment::Production), "the mark counts, although there is no database");
    }

    #[test]
    fn an_opening_makes_the_mark_agree_with_the_database() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::open(folder.path(), Environment::Production, IfMissing::Make).unwrap();
        for has_wallet in [true, true, false, false, true] {
            set(&dir, has_wallet).unwrap();
            assert_eq!(is_there(folder.path(), Environment::Production).unwrap(), has_wallet);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_mark_that_is_a_symbolic_link_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::open(folder.path(), Environment::Production, IfMissing::Make).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", dir.path().join(NAME)).unwrap();
        let refused = is_there(folder.path(), Environment::Production).unwrap_err().to_string();
        assert!(refused.contains("symbolic link"), "{refused}");
    }
}
