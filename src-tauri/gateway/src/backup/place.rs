//! The files and folders of backups: their paths and names, and the temporary folder for unsealed
//! copies.

use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};

use tillgate_domain::time::Timestamp;
use tillgate_machine::clock::{local_offset_ms, machine_now};
use tillgate_machine::environment::Environment;

use super::error::BackupError;
use super::sealed::FileId;
use crate::gateway::Gateway;

/// Most backups of one day in the folder. That is one every nine seconds; more would be a mistake.
const OF_ONE_DAY_MAX: u32 = 9_999;

/// Prefix of the names of folders for unsealed copies.
const SCRATCH: &str = "backing-up-";

/// A private folder that is removed on drop.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(env_dir: &Path, file_id: &FileId) -> Result<Self, BackupError> {
        let path = env_dir.join(format!("{SCRATCH}{}", short(file_id)));
        create_private(&path).map_err(BackupError::at("creating the folder", &path))?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::error!(folder = %self.0.display(), %error, "a folder with copies of the databases could not be removed: remove it");
        }
    }
}

/// Removes folders with unsealed copies after a crash. No backup may be in progress.
pub fn remove_scratches(env_dir: &Path) -> Result<(), BackupError> {
    for entry in fs::read_dir(env_dir).map_err(BackupError::at("reading the folder", env_dir))? {
        let path = entry.map_err(BackupError::at("reading the folder", env_dir))?.path();
        let is_scratch = path
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with(SCRATCH));
        if is_scratch && path.is_dir() {
            fs::remove_dir_all(&path).map_err(BackupError::at("removing the folder", &path))?;
        }
    }
    Ok(())
}

/// Creates a folder that only its owner can open. Refuses if the path exists.
pub fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Checks that a person named the absolute path of a file.
pub fn checked(path: PathBuf) -> Result<PathBuf, BackupError> {
    if path.to_str().is_none() {
        return Err(BackupError::NotText(path));
    }
    if !path.is_absolute()
        || path.file_name().is_none()
        || path.to_string_lossy().ends_with(std::path::MAIN_SEPARATOR)
    {
        return Err(BackupError::NotAFile(path));
    }
    Ok(path)
}

/// A path in the folder of the setting `backupFolder` that no file has and no backup had before.
pub fn in_folder(gateway: &Gateway) -> Result<PathBuf, BackupError> {
    let folder = gateway
        .settings
        .snapshot()
        .backup_folder
        .as_ref()
        .map(PathBuf::from)
        .ok_or(BackupError::NoFolder)?;
    let now = machine_now();
    let date = now.plus_ms(local_offset_ms(now));
    let given = gateway.store.read(|reader| reader.backup_paths())?;
    Ok(free_name(&folder, gateway.environment, date, &given))
}

/// Runs `work` on a blocking thread, because the disk of backups may be remote and may not answer.
pub async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BackupError> + Send + 'static,
) -> Result<T, BackupError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(BackupError::Panicked))
}

/// A free name: `tillgate-test-2026-11-22.backup`, or `tillgate-test-2026-11-22-2.backup` and so on
/// for further backups of that day. No name is used twice, even after its file was removed. So a
/// name that somebody noted is never another backup's.
fn free_name(
    folder: &Path,
    environment: Environment,
    date: Timestamp,
    given: &[String],
) -> PathBuf {
    let iso = date.iso_seconds();
    let day = iso.split('T').next().unwrap_or_default();
    let first = format!("tillgate-{environment}-{day}");
    let numbers = |path: &Path| number_of(path, &first);
    // The folder always has the newest backup. So its number is known even if the database was
    // restored and lacks it.
    let there = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| numbers(&entry.path()))
        .max();
    let known = given.iter().filter_map(|path| numbers(Path::new(path))).max();
    let next = there.max(known).map_or(1, |highest| highest.saturating_add(1)).min(OF_ONE_DAY_MAX);
    let name = |number: u32| match number {
        1 => folder.join(format!("{first}.backup")),
        number => folder.join(format!("{first}-{number}.backup")),
    };
    // If the folder cannot be listed, each name is tried. If all names are taken, `give_name`
    // refuses the last one.
    let is_free = |path: &PathBuf| path.symlink_metadata().is_err();
    (next..=OF_ONE_DAY_MAX).map(name).find(is_free).unwrap_or_else(|| name(OF_ONE_DAY_MAX))
}

/// A backup's number within its day, from a name that begins with `first`; `None` for other files.
fn number_of(path: &Path, first: &str) -> Option<u32> {
    let rest = path.file_name()?.to_str()?.strip_prefix(first)?.strip_suffix(".backup")?;
    if rest.is_empty() {
        Some(1)
    } else {
        rest.strip_prefix('-')?.parse().ok().filter(|number| *number <= OF_ONE_DAY_MAX)
    }
}

/// Whether a file's name has the form of [`in_folder`]'s names.
pub fn is_name_of_ours(path: &Path, environment: Environment) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let prefix = format!("tillgate-{environment}-");
    let Some(middle) = name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(".backup"))
    else {
        return false;
    };
    middle.len() >= 10 && middle.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

/// The folder of a file, which must exist.
pub fn folder_of(path: &Path) -> Result<&Path, BackupError> {
    let folder = path.parent().ok_or_else(|| BackupError::NotAFile(path.to_owned()))?;
    if found(folder)?.is_dir() { Ok(folder) } else { Err(BackupError::NotAFile(path.to_owned())) }
}

/// The metadata of a folder, which must exist.
pub fn found(folder: &Path) -> Result<fs::Metadata, BackupError> {
    fs::metadata(folder).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => BackupError::NoSuchFolder(folder.to_owned()),
        _ => BackupError::at("looking at the folder", folder)(error),
    })
}

/// The path of a backup's file while it is written.
pub fn part_of(path: &Path, file_id: &FileId) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.part", short(file_id)))
}

/// Renames a written file to its name, durably. Refuses if the name exists.
pub fn give_name(part: &Path, path: &Path) -> Result<(), BackupError> {
    match rename_to_new(part, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(BackupError::Exists(path.to_owned()));
        }
        renamed => renamed.map_err(BackupError::at("naming", path))?,
    }
    sync_folder(path).map_err(|error| {
        // After a power cut the file could be missing, so the backup fails.
        let _ = fs::remove_file(path);
        BackupError::at("writing the folder of", path)(error)
    })
}

#[cfg(target_os = "linux")]
fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems have no rename that refuses an existing name.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => rename_if_free(from, to),
        renamed => Ok(renamed?),
    }
}

#[cfg(not(target_os = "linux"))]
fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    rename_if_free(from, to)
}

fn rename_if_free(from: &Path, to: &Path) -> io::Result<()> {
    if to.exists() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}

/// Syncs the folder of a file: only then is the file's name durable.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        match fs::File::open(folder)?.sync_all() {
            // Some file systems, mostly of networks, cannot sync folders.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
            synced => return synced,
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

fn short(file_id: &FileId) -> String {
    hex::encode(file_id.iter().take(8).copied().collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_several_names_and_no_name_is_used_twice() {
        let folder = tempfile::tempdir().unwrap();
        let day = Timestamp::from_ms(1_768_219_580_123);
        let next = || free_name(folder.path(), Environment::Test, day, &[]);
        for name in ["tillgate-test-2026-01-12.backup", "tillgate-test-2026-01-12-2.backup"] {
            assert_eq!(next(), folder.path().join(name));
            assert!(
                is_name_of_ours(&next(), Environment::Test)
                    && !is_name_of_ours(&next(), Environment::Production)
            );
            fs::write(next(), "").unwrap();
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("/nowhere", next()).unwrap();
            assert_eq!(
                next(),
                folder.path().join("tillgate-test-2026-01-12-4.backup"),
                "a link uses up a name too"
            );
        }
        // The oldest backup was removed, and a person moved another one away.
        fs::remove_file(folder.path().join("tillgate-test-2026-01-12.backup")).unwrap();
        let in_the_safe = ["/elsewhere/tillgate-test-2026-01-12-9.backup".to_owned()];
        let next = free_name(folder.path(), Environment::Test, day, &in_the_safe);
        assert_eq!(next, folder.path().join("tillgate-test-2026-01-12-10.backup"));
        // A foreign file with a similar name uses up no name of a day.
        fs::write(folder.path().join("tillgate-test-2026-01-12-4294967295.backup"), "").unwrap();
        assert_eq!(free_name(folder.path(), Environment::Test, day, &in_the_safe), next);
        for other in [
            "tillgate-test-.backup",
            "tillgate-test-2026-01-12.backup.old",
            "letter.txt",
            "tillgate-test-x.backup",
        ] {
            assert!(!is_name_of_ours(Path::new(other), Environment::Test), "{other}");
        }
    }

    #[test]
    fn an_existing_file_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let (part, path) = (folder.path().join("part"), folder.path().join("diary"));
        fs::write(&part, "backup").unwrap();
        fs::write(&path, "dear diary").unwrap();
        assert!(matches!(give_name(&part, &path), Err(BackupError::Exists(_))));
        assert_eq!(rename_if_free(&part, &path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "dear diary");
        give_name(&part, &folder.path().join("new")).unwrap();
        assert!(!part.exists());
    }
}
