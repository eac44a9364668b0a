//! The content of a sealed file: the manifest, the secrets, then the databases one after another.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use tillgate_machine::data_dir::{DATABASE, SANDBOX};
use tillgate_machine::secrets::{Purpose, Secret};
use zeroize::{Zeroize, Zeroizing};

use super::error::BackupError;

/// Longest manifest in bytes. Every manifest that we write is shorter.
const LIST_MAX: u32 = 64 * 1_024;

/// Largest size of the secrets in bytes. The secrets of every gateway are smaller.
const SECRETS_MAX: u32 = 1_024 * 1_024;

/// Size of a copy buffer in bytes.
const COPY_BYTES: usize = 64 * 1_024;

/// Describes a backup and lists its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// `test` or `production`.
    pub environment: String,
    /// Id of the installation that owned the secrets.
    pub installation: String,
    /// Time of the database's copy, in milliseconds of the machine's clock.
    pub made_at_ms: i64,
    /// Version of the program that made the backup.
    pub program: String,
    /// The files that follow the secrets, in this order.
    pub files: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    /// [`DATABASE`] or [`SANDBOX`].
    pub name: String,
    pub bytes: u64,
}

/// Secrets by the name of their purpose, wiped when dropped.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secrets(BTreeMap<String, String>);

impl Drop for Secrets {
    fn drop(&mut self) {
        self.0.values_mut().for_each(Zeroize::zeroize);
    }
}

impl Secrets {
    pub fn put(&mut self, purpose: Purpose, secret: &Secret) {
        self.0.insert(purpose.as_str().to_owned(), secret.reveal().to_owned());
    }

    pub fn get(&self, purpose: Purpose) -> Option<Secret> {
        self.0.get(purpose.as_str()).cloned().map(Secret::new)
    }
}

/// Writes the manifest and the secrets. The files must follow.
pub fn write_head(to: &mut impl Write, manifest: &Manifest, secrets: &Secrets) -> io::Result<()> {
    write_short(to, &serde_json::to_vec(manifest)?)?;
    write_short(to, &Zeroizing::new(serde_json::to_vec(secrets)?))
}

/// Reads the manifest and the secrets. Refuses secrets and files that this program does not know.
pub fn read_head(from: &mut impl Read) -> Result<(Manifest, Secrets), BackupError> {
    let manifest: Manifest =
        serde_json::from_slice(&read_short(from, LIST_MAX)?).map_err(|_| BackupError::NewerForm)?;
    let secrets: Secrets = serde_json::from_slice(&read_short(from, SECRETS_MAX)?)
        .map_err(|_| BackupError::NewerForm)?;
    let known = |name: &String| Purpose::ALL.iter().any(|purpose| purpose.as_str() == name);
    let names: Vec<&str> = manifest.files.iter().map(|part| part.name.as_str()).collect();
    if !secrets.0.keys().all(known) || !matches!(names.as_slice(), [DATABASE] | [DATABASE, SANDBOX])
    {
        return Err(BackupError::NewerForm);
    }
    Ok((manifest, secrets))
}

/// Writes the first `bytes` bytes of a file. Calls `goes_on` before each piece, and stops if it
/// returns `false`.
pub fn write_file(
    to: &mut impl Write,
    file: &Path,
    bytes: u64,
    goes_on: &dyn Fn() -> bool,
) -> Result<(), BackupError> {
    let mut from = File::open(file).map_err(BackupError::at("opening", file))?;
    copy(&mut from, to, bytes, goes_on, BackupError::at("reading", file), BackupError::writing)
}

/// Unpacks the next file into `folder`, readable only for its owner, and syncs it.
pub fn unpack(
    from: &mut impl Read,
    part: &Part,
    folder: &Path,
    goes_on: &dyn Fn() -> bool,
) -> Result<(), BackupError> {
    let path = folder.join(&part.name);
    let mut file = create_private(&path).map_err(BackupError::at("creating", &path))?;
    copy(
        from,
        &mut file,
        part.bytes,
        goes_on,
        BackupError::reading,
        BackupError::at("writing", &path),
    )?;
    file.sync_all().map_err(BackupError::at("writing", &path))
}

/// Reads the next file and discards it.
pub fn skip(
    from: &mut impl Read,
    part: &Part,
    goes_on: &dyn Fn() -> bool,
) -> Result<(), BackupError> {
    copy(from, &mut io::sink(), part.bytes, goes_on, BackupError::reading, BackupError::writing)
}

/// Refuses bytes after the last file.
pub fn ends(from: &mut impl Read) -> Result<(), BackupError> {
    match from.read(&mut [0]).map_err(BackupError::reading)? {
        0 => Ok(()),
        _ => Err(BackupError::Damaged),
    }
}

/// Creates a file that only its owner can read. Refuses if the path exists.
pub fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn copy(
    from: &mut impl Read,
    to: &mut impl Write,
    bytes: u64,
    goes_on: &dyn Fn() -> bool,
    reading: impl FnOnce(io::Error) -> BackupError,
    writing: impl FnOnce(io::Error) -> BackupError,
) -> Result<(), BackupError> {
    let mut piece = Zeroizing::new(vec![0; COPY_BYTES]);
    let mut left = bytes;
    while left > 0 {
        if !goes_on() {
            return Err(BackupError::Interrupted);
        }
        let wanted = usize::try_from(left).unwrap_or(COPY_BYTES).min(COPY_BYTES);
        let Some(room) = piece.get_mut(..wanted) else { return Err(BackupError::Damaged) };
        if let Err(error) = from.read_exact(room) {
            return Err(reading(error));
        }
        if let Err(error) = to.write_all(room) {
            return Err(writing(error));
        }
        left = left.saturating_sub(u64::try_from(wanted).unwrap_or(u64::MAX));
    }
    Ok(())
}

fn write_short(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(|_| io::Error::other("too long"))?;
    to.write_all(&length.to_be_bytes())?;
    to.write_all(bytes)
}

fn read_short(from: &mut impl Read, longest: u32) -> Result<Zeroizing<Vec<u8>>, BackupError> {
    let mut length = [0; 4];
    from.read_exact(&mut length).map_err(BackupError::reading)?;
    let length = u32::from_be_bytes(length);
    if length > longest {
        return Err(BackupError::Damaged);
    }
    let mut bytes =
        Zeroizing::new(vec![0; usize::try_from(length).map_err(|_| BackupError::Damaged)?]);
    from.read_exact(&mut bytes).map_err(BackupError::reading)?;
    Ok(bytes)
}
