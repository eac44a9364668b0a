//! Ownership of files and folders: no file or folder that another user of this machine may have
//! made is trusted. The checks look at owners, modes and links, never at contents.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

/// The refusal of a file or folder that another user may have made.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum Untrusted {
    #[error(
        "{path} is a symbolic link, and Tillgate does not follow links to its data: find out who made it and remove it, or name another --data-dir"
    )]
    Link { path: PathBuf },
    /// The file has a second hard link. Another user may have made a link to a victim file, which
    /// would be overwritten.
    #[error(
        "{path} is one file under several names (hard links), and a write by Tillgate would change it under all names: copy it, remove this name, and put the copy in its place"
    )]
    SeveralNames { path: PathBuf },
    #[error(
        "{path} belongs to another user (uid {uid}), who could forge its content: run Tillgate as that user, or name a --data-dir of your own"
    )]
    OfAnother { path: PathBuf, uid: u32 },
    /// Any user may write in the folder, and could replace the data directory in it.
    #[error(
        "everybody may write in {path}: close it with chmod o-w {path}, or name another --data-dir"
    )]
    OpenToAll { path: PathBuf },
    #[error("looking at {path} failed: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
}

/// The uid under which this program runs.
#[cfg(unix)]
pub fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The name of the user under whom this program runs; the uid if the system knows no name.
pub fn own_name() -> String {
    whoami::username().unwrap_or_else(|error| {
        tracing::debug!(%error, "the system does not tell this user's name");
        #[cfg(unix)]
        return own_uid().to_string();
        #[cfg(not(unix))]
        return "unknown".to_owned();
    })
}

/// Whether `path` exists.
///
/// # Errors
/// An existing file or folder belongs to another user, is a symbolic link, or has several hard
/// links.
pub fn is_ours(path: &Path) -> Result<bool, Untrusted> {
    let Some(found) = existing(std::fs::symlink_metadata(path), path)? else { return Ok(false) };
    if found.is_symlink() {
        return Err(Untrusted::Link { path: path.to_owned() });
    }
    check_owner(path, &found, &[Owner::We])?;
    #[cfg(unix)]
    if found.is_file() && std::os::unix::fs::MetadataExt::nlink(&found) > 1 {
        return Err(Untrusted::SeveralNames { path: path.to_owned() });
    }
    Ok(true)
}

/// Refuses a folder in which another user could replace this user's folders. A link to the folder
/// must belong to this user or root.
pub fn may_hold_ours(folder: &Path) -> Result<(), Untrusted> {
    let Some(link) = existing(std::fs::symlink_metadata(folder), folder)? else { return Ok(()) };
    check_owner(folder, &link, &[Owner::We, Owner::Root])?;
    let Some(found) = existing(std::fs::metadata(folder), folder)? else { return Ok(()) };
    check_owner(folder, &found, &[Owner::We, Owner::Root])?;
    #[cfg(unix)]
    {
        /// Mode bit of a folder in which each user may remove only their own files.
        const STICKY: u32 = 0o1000;
        let mode = std::os::unix::fs::PermissionsExt::mode(&found.permissions());
        if mode & 0o002 != 0 && mode & STICKY == 0 {
            return Err(Untrusted::OpenToAll { path: folder.to_owned() });
        }
    }
    Ok(())
}

/// Refuses a folder that holds a symbolic link, a hard link or another user's file. Others may have
/// put it there before the folder was closed to them.
pub fn holds_ours_alone(folder: &Path) -> Result<(), Untrusted> {
    let failed = |source| Untrusted::Unreadable { path: folder.to_owned(), source };
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        // An entry that vanished since the listing does not count.
        is_ours(&entry.map_err(failed)?.path())?;
    }
    Ok(())
}

/// An allowed owner.
enum Owner {
    We,
    /// Root, who can do everything anyway.
    Root,
}

#[cfg(unix)]
fn check_owner(path: &Path, found: &Metadata, owners: &[Owner]) -> Result<(), Untrusted> {
    let uid = std::os::unix::fs::MetadataExt::uid(found);
    let is = |owner: &Owner| match owner {
        Owner::We => uid == own_uid(),
        Owner::Root => uid == 0,
    };
    if owners.iter().any(is) {
        Ok(())
    } else {
        Err(Untrusted::OfAnother { path: path.to_owned(), uid })
    }
}

/// Not checked, because the system closes a user's profile to other users.
#[cfg(not(unix))]
fn check_owner(_path: &Path, _found: &Metadata, _owners: &[Owner]) -> Result<(), Untrusted> {
    Ok(())
}

fn existing(found: io::Result<Metadata>, path: &Path) -> Result<Option<Metadata>, Untrusted> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(source) => Err(Untrusted::Unreadable { path: path.to_owned(), source }),
    }
}
