//! The folder of an environment's files, closed to other users, and the lock that gives it to one
//! process.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::ballast;
use crate::environment::Environment;
use crate::trust::{self, Untrusted};

/// File name of the gateway's database, in an environment's folder and in a backup.
pub const DATABASE: &str = "tillgate.db";

/// File name of the sandbox's chain, in an environment's folder and in a backup.
pub const SANDBOX: &str = "sandbox.db";

/// The file that a process locks while it uses the folder.
pub const LOCK: &str = "lock";

/// The folder of one environment, locked as long as this value lives.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    /// The locked file. The system releases the lock when the file is closed, also by a crash.
    /// `None` only on Windows: during the move ([`Self::settle`]), and after it if another process
    /// has taken the lock.
    held: Option<File>,
    made: MadeFolders,
}

/// Folders that were made when a data directory was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MadeFolders {
    /// The environment's folder was made, and no other process used it before it was locked.
    pub environment: bool,
    /// The folder of all environments was made.
    pub base: bool,
}

/// Reason why the data directory cannot be used.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum DataDirError {
    #[error("this user has no home folder to keep data in: name a folder with --data-dir")]
    NoHome,
    #[error(
        "the data directory {path} is in use already, by another Tillgate{process}: stop it first, or name another --data-dir"
    )]
    InUse {
        path: PathBuf,
        /// ` (process 123)`, if known.
        process: String,
    },
    #[error(
        "there is no data directory {path}: check --data-dir and --environment; `tillgate serve` makes a new one"
    )]
    Missing {
        /// The environment's folder.
        path: PathBuf,
    },
    #[error(transparent)]
    Untrusted(#[from] Untrusted),
    #[error("{action} {path} failed: {source}")]
    Io {
        /// The attempted action.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

/// The treatment of a missing data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfMissing {
    /// Make the directory, for commands that may come before the first start.
    Make,
    /// Refuse, because a mistyped path must not become a new data directory.
    Refuse,
}

impl DataDir {
    /// Opens and locks the environment's folder below `base`.
    ///
    /// # Errors
    /// When the folder is missing and must not be made, another process uses it, another user may
    /// have prepared it, or it cannot be created.
    pub fn open(
        base: &Path,
        environment: Environment,
        if_missing: IfMissing,
    ) -> Result<Self, DataDirError> {
        let path = env_dir(base, environment);
        if !exists(base, environment)? && if_missing == IfMissing::Refuse {
            return Err(DataDirError::Missing { path });
        }
        let base_is_new = make_private(base)?;
        let is_new = create_private(&path)?;
        // From now on no other user can put files into the folder; existing files are checked.
        trust::is_ours(&path)?;
        trust::holds_ours_alone(&path)?;
        // The lock and the database need some room to be opened.
        ballast::give_up_if_full(&path);
        let lock = Some(lock(&path)?);
        // Another process may have locked and used the folder before.
        let is_unused = database(&path).symlink_metadata().is_err();
        Ok(Self {
            path,
            held: lock,
            made: MadeFolders { environment: is_new && is_unused, base: base_is_new },
        })
    }

    /// Opens and locks the folder in which an environment is restored, beside the environment's own
    /// folder. It may be new, or left by an interrupted restore.
    ///
    /// # Errors
    /// When another process is restoring, another user may have prepared the folder, or it cannot
    /// be created.
    pub fn restoring(base: &Path, environment: Environment) -> Result<Self, DataDirError> {
        trust::may_hold_ours(base)?;
        let path = restoring_dir(base, environment);
        trust::is_ours(&path)?;
        create_private(&path)?;
        trust::holds_ours_alone(&path)?;
        let lock = Some(lock(&path)?);
        Ok(Self { path, held: lock, made: MadeFolders::default() })
    }

    /// Moves a restored environment to its own folder, atomically and durably, and returns that
    /// folder. No other process can open the environment while this value lives.
    ///
    /// Windows moves no folder with an open file, and none onto an existing folder. So the lock is
    /// released there during the move. Another restore that takes the lock makes the move fail;
    /// then neither restore makes an environment.
    ///
    /// # Errors
    /// When the environment exists already, or the folder cannot be moved.
    pub fn settle(
        &mut self,
        base: &Path,
        environment: Environment,
    ) -> Result<PathBuf, DataDirError> {
        let settled = env_dir(base, environment);
        let failed = |action, path: &Path| {
            let path = path.to_owned();
            move |source| DataDirError::Io { action, path, source }
        };
        sync_folder(&self.path).map_err(failed("writing the folder", &self.path))?;
        if cfg!(windows) {
            self.held = None;
            // Only an empty folder is removed.
            let _ = std::fs::remove_dir(&settled);
        }
        // The move replaces an empty folder, and fails for any other.
        std::fs::rename(&self.path, &settled)
            .map_err(failed("moving the restored folder to", &settled))?;
        if cfg!(windows) {
            // If another process has taken the lock already, that process opens a complete
            // environment.
            self.held = lock(&settled).ok();
        }
        sync_folder(base).map_err(failed("writing the folder", base))?;
        Ok(settled)
    }

    /// The environment's folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folders that were made when the data directory was opened.
    pub const fn made(&self) -> MadeFolders {
        self.made
    }

    /// The gateway's database.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        database(&self.path)
    }

    /// The sandbox's chain.
    #[must_use]
    pub fn sandbox(&self) -> PathBuf {
        self.path.join(SANDBOX)
    }

    /// The socket through which the command line reaches a running gateway.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        socket(&self.path)
    }
}

/// The folder of all environments: the named one, or else the platform's data folder.
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

/// The files that the systemd unit reads at each start. They may hold a passphrase.
pub fn unit_files() -> Vec<PathBuf> {
    let dirs = directories::ProjectDirs::from("", "", "tillgate");
    dirs.map(|dirs| ["serve.env", "passphrase"].map(|name| dirs.config_dir().join(name)).to_vec())
        .unwrap_or_default()
}

/// Whether there is a data directory of the environment below `base`.
///
/// # Errors
/// When another user may have prepared it.
pub fn exists(base: &Path, environment: Environment) -> Result<bool, DataDirError> {
    let path = env_dir(base, environment);
    trust::may_hold_ours(base)?;
    let is_there = trust::is_ours(&path)? && trust::is_ours(&database(&path))?;
    trust::is_ours(&socket(&path))?;
    Ok(is_there)
}

fn database(env_dir: &Path) -> PathBuf {
    env_dir.join(DATABASE)
}

/// The folder of an environment below `base`.
#[must_use]
pub fn env_dir(base: &Path, environment: Environment) -> PathBuf {
    base.join(environment.as_str())
}

/// The folder of an environment while it is being restored.
fn restoring_dir(base: &Path, environment: Environment) -> PathBuf {
    base.join(format!("{environment}.restoring"))
}

/// Makes a move in this folder durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

/// The control socket in an environment's folder.
#[must_use]
pub fn socket(env_dir: &Path) -> PathBuf {
    env_dir.join("control.sock")
}

/// Makes the environment's own folder, for this user alone. Returns whether it was missing.
fn create_private(path: &Path) -> Result<bool, DataDirError> {
    let is_new = make_private(path)?;
    #[cfg(unix)]
    {
        let failed = |source| DataDirError::Io {
            action: "denying others access to the folder",
            path: path.to_owned(),
            source,
        };
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(path, mode).map_err(failed)?;
    }
    Ok(is_new)
}

/// Makes a folder for its owner alone, and missing folders above it. Returns whether the folder was
/// missing. An existing folder keeps its mode.
fn make_private(path: &Path) -> Result<bool, DataDirError> {
    let failed =
        |source| DataDirError::Io { action: "creating the folder", path: path.to_owned(), source };
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    if let Some(above) = path.parent() {
        builder.recursive(true).create(above).map_err(failed)?;
    }
    match builder.recursive(false).create(path) {
        Ok(()) => Ok(true),
        Err(_) if path.is_dir() => Ok(false),
        Err(error) => Err(failed(error)),
    }
}

fn lock(env_dir: &Path) -> Result<File, DataDirError> {
    let path = env_dir.join(LOCK);
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
            return Err(DataDirError::InUse {
                path: env_dir.to_owned(),
                process: holder(&mut file),
            });
        }
        Err(TryLockError::Error(source)) => return Err(failed("locking")(source)),
    }
    // The process id is for people; the lock is held by the kernel.
    let noted = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
    noted.map_err(failed("writing the lock"))?;
    Ok(file)
}

fn holder(file: &mut File) -> String {
    /// Most digits of a process id.
    const DIGITS_MAX: u64 = 20;
    let mut text = String::new();
    match file.take(DIGITS_MAX).read_to_string(&mut text) {
        Ok(_) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!(" (process {text})")
        }
        Ok(_) | Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_process_is_refused_until_the_first_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let first = DataDir::open(folder.path(), Environment::Test, IfMissing::Make).unwrap();
        let error = DataDir::open(folder.path(), Environment::Test, IfMissing::Make)
            .unwrap_err()
            .to_string();
        assert!(error.contains(&format!("(process {})", std::process::id())), "{error}");
        assert!(error.contains("--data-dir"), "{error}");
        drop(first);
        DataDir::open(folder.path(), Environment::Test, IfMissing::Make).unwrap();
    }

    #[test]
    fn only_the_first_opening_reports_that_it_made_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("data");
        let made = |environment| DataDir::open(&base, environment, IfMissing::Make).unwrap().made();
        let of = |environment, base| MadeFolders { environment, base };
        assert_eq!(made(Environment::Test), of(true, true));
        assert_eq!(made(Environment::Test), of(false, false), "the folder existed before");
        assert_eq!(made(Environment::Production), of(true, false));
    }

    #[test]
    fn the_environments_do_not_hinder_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let test = DataDir::open(folder.path(), Environment::Test, IfMissing::Make).unwrap();
        let production =
            DataDir::open(folder.path(), Environment::Production, IfMissing::Make).unwrap();
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
        let dir =
            DataDir::open(&folder.path().join("data"), Environment::Test, IfMissing::Make).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(dir.path()), 0o700);
        assert_eq!(mode(&dir.path().join("lock")), 0o600);
    }

    #[test]
    fn a_missing_folder_is_named_in_the_error_and_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let typo = folder.path().join("tilgate");
        let refuse =
            || DataDir::open(&typo, Environment::Test, IfMissing::Refuse).unwrap_err().to_string();
        assert!(refuse().contains(&typo.join("test").display().to_string()), "{}", refuse());
        assert!(!typo.exists(), "nothing was made");
        // A folder of that name without a database is no data directory, and is left as it is.
        std::fs::create_dir_all(typo.join("test")).unwrap();
        refuse();
        assert_eq!(std::fs::read_dir(typo.join("test")).unwrap().count(), 0);
        DataDir::open(&typo, Environment::Test, IfMissing::Make).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_made_by_others_is_refused_and_its_target_unchanged() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        let base = folder.path().join("data");
        let refused =
            || DataDir::open(&base, Environment::Test, IfMissing::Make).unwrap_err().to_string();
        std::fs::create_dir_all(base.join("test")).unwrap();
        for name in
            ["tillgate.db", "tillgate.db-wal", "sandbox.db", "lock", "control.sock", "secrets.json"]
        {
            let link = base.join("test").join(name);
            symlink(&target, &link).unwrap();
            assert!(
                refused().contains(name) && refused().contains("symbolic link"),
                "{}",
                refused()
            );
            std::fs::remove_file(&link).unwrap();
            std::fs::write(folder.path().join("diary"), "dear diary").unwrap();
            std::fs::hard_link(folder.path().join("diary"), &link).unwrap();
            assert!(
                refused().contains(name) && refused().contains("several names"),
                "{}",
                refused()
            );
            assert_eq!(std::fs::read_to_string(folder.path().join("diary")).unwrap(), "dear diary");
            std::fs::remove_file(link).unwrap();
        }
        std::fs::remove_dir_all(base.join("test")).unwrap();
        std::fs::create_dir(folder.path().join("elsewhere")).unwrap();
        symlink(folder.path().join("elsewhere"), base.join("test")).unwrap();
        assert!(refused().contains("symbolic link"), "{}", refused());
        assert_eq!(std::fs::read_dir(folder.path().join("elsewhere")).unwrap().count(), 0);
        assert!(!target.exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_in_which_everybody_may_write_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let open = |mode| {
            std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            DataDir::open(folder.path(), Environment::Test, IfMissing::Make).map(|_| ())
        };
        assert!(open(0o777).unwrap_err().to_string().contains("chmod o-w"));
        open(0o1777).expect("in a sticky folder other users cannot replace our folder");
        open(0o755).unwrap();
    }

    /// Only root can give files to another user. For other users the test prints that it was
    /// skipped.
    #[cfg(unix)]
    #[test]
    fn files_and_folders_of_another_user_are_refused() {
        use std::os::unix::fs::chown;
        const NOBODY: u32 = 65_534;
        if trust::own_uid() != 0 {
            eprintln!("skipped: only root can make another user's folder");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("data");
        let refused = |what: &Path| {
            chown(what, Some(NOBODY), None).unwrap();
            for if_missing in [IfMissing::Make, IfMissing::Refuse] {
                let why =
                    DataDir::open(&base, Environment::Test, if_missing).unwrap_err().to_string();
                assert!(why.contains("another user (uid 65534)"), "{}: {why}", what.display());
            }
            chown(what, Some(0), None).unwrap();
        };
        std::fs::create_dir_all(base.join("test")).unwrap();
        std::fs::write(base.join("test").join("tillgate.db"), "").unwrap();
        refused(&base);
        refused(&base.join("test"));
        refused(&base.join("test").join("tillgate.db"));
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&base, &link).unwrap();
        DataDir::open(&link, Environment::Test, IfMissing::Make)
            .expect("the user's own link to the base is accepted");
        std::os::unix::fs::lchown(&link, Some(NOBODY), None).unwrap();
        DataDir::open(&link, Environment::Test, IfMissing::Make).unwrap_err();
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error =
            DataDir::open(&file, Environment::Test, IfMissing::Make).unwrap_err().to_string();
        assert!(error.starts_with("creating the folder") && error.contains("file"), "{error}");
    }
}
