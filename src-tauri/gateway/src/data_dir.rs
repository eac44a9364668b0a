//! Where an environment's files lie, for their owner alone, and the lock by which one process alone uses them.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::environment::Environment;

/// The folder of one environment, locked as long as this value lives.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    /// Unlocked when it is closed, also by a crash.
    _lock: File,
}

/// Why the data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// The platform gives this user none.
    #[error("this user has no home folder to keep data in: name a folder with --data-dir")]
    NoHome,
    /// Another process has it.
    #[error(
        "the data directory {path} is in use already, by another Tillgate{process}: stop that one first, or name another --data-dir"
    )]
    InUse {
        /// The environment's folder.
        path: PathBuf,
        /// ` (process 123)`, where it is known.
        process: String,
    },
    /// A file operation failed.
    #[error("{action} {path} failed: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

impl DataDir {
    /// Takes the environment's folder below `base` ([`base`]), creating what is missing.
    ///
    /// # Errors
    /// When another process uses it, or it cannot be created.
    pub fn open(base: &Path, environment: Environment) -> Result<Self, DataDirError> {
        let path = env_dir(base, environment);
        create_private(&path)?;
        let lock = lock(&path)?;
        Ok(Self { path, _lock: lock })
    }

    /// The environment's folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The gateway's database.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.path.join("tillgate.db")
    }

    /// The sandbox's chain.
    #[must_use]
    pub fn sandbox(&self) -> PathBuf {
        self.path.join("sandbox.db")
    }

    /// Where the command line reaches a running gateway.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        socket(&self.path)
    }
}

/// The folder that holds the environments' folders: the one that was named, else the platform's.
///
/// # Errors
/// [`DataDirError::NoHome`].
pub fn base(named: Option<&Path>) -> Result<PathBuf, DataDirError> {
    match named {
        Some(path) => std::path::absolute(path).map_err(|source| DataDirError::Io {
            action: "finding the folder",
            path: path.to_owned(),
            source,
        }),
        None => directories::ProjectDirs::from("", "", "tillgate")
            .map(|dirs| dirs.data_local_dir().to_owned())
            .ok_or(DataDirError::NoHome),
    }
}

/// The folder of an environment below `base`.
#[must_use]
pub fn env_dir(base: &Path, environment: Environment) -> PathBuf {
    base.join(environment.as_str())
}

/// The control socket in an environment's folder.
#[must_use]
pub fn socket(env_dir: &Path) -> PathBuf {
    env_dir.join("control.sock")
}

/// A folder that exists keeps its mode but for the environment's own, which is ours alone to use.
fn create_private(path: &Path) -> Result<(), DataDirError> {
    let failed = |action| move |source| DataDirError::Io { action, path: path.to_owned(), source };
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(failed("creating the folder"))?;
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(path, mode).map_err(failed("closing to others the folder"))?;
    }
    Ok(())
}

fn lock(env_dir: &Path) -> Result<File, DataDirError> {
    let path = env_dir.join("lock");
    let failed = |action| {
        let path = path.clone();
        move |source| DataDirError::Io { action, path, source }
    };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&path).map_err(failed("opening the lock"))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(DataDirError::InUse { path: env_dir.to_owned(), process: holder(&mut file) });
        }
        Err(TryLockError::Error(source)) => return Err(failed("locking")(source)),
    }
    // For people only: the lock itself is the kernel's.
    let noted = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
    noted.map_err(failed("writing the lock"))?;
    Ok(file)
}

fn holder(file: &mut File) -> String {
    /// A process id has no more digits.
    const DIGITS_MAX: u64 = 20;
    let mut text = String::new();
    match file.take(DIGITS_MAX).read_to_string(&mut text) {
        Ok(_) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => format!(" (process {text})"),
        Ok(_) | Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_process_is_refused_until_the_first_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let first = DataDir::open(folder.path(), Environment::Test).unwrap();
        let error = DataDir::open(folder.path(), Environment::Test).unwrap_err().to_string();
        assert!(error.contains(&format!("(process {})", std::process::id())), "{error}");
        assert!(error.contains("--data-dir"), "{error}");
        drop(first);
        DataDir::open(folder.path(), Environment::Test).unwrap();
    }

    #[test]
    fn the_environments_do_not_hinder_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let test = DataDir::open(folder.path(), Environment::Test).unwrap();
        let production = DataDir::open(folder.path(), Environment::Production).unwrap();
        assert_ne!(test.path(), production.path());
    }

    #[cfg(unix)]
    #[test]
    fn folder_and_lock_are_for_their_owner_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let open = folder.path().join("data").join("test");
        std::fs::create_dir_all(&open).unwrap();
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).unwrap();
        let dir = DataDir::open(&folder.path().join("data"), Environment::Test).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(dir.path()), 0o700);
        assert_eq!(mode(&dir.path().join("lock")), 0o600);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = DataDir::open(&file, Environment::Test).unwrap_err().to_string();
        assert!(error.starts_with("creating the folder") && error.contains("file"), "{error}");
    }
}
