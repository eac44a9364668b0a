//! The format of a sealed backup: a line of JSON with the key's recipe, then the content in
//! encrypted chunks (the STREAM construction with ChaCha20-Poly1305). The nonce of a chunk is its
//! number and whether it is the last, so a changed, missing, moved or cut chunk is refused. The
//! file's key is derived from the line too, so a changed line is noticed as well. Reading and
//! writing need memory for two chunks.

use std::io::{self, BufRead, Read, Write};

use chacha20poly1305::aead::Aead as _;
use chacha20poly1305::{ChaCha20Poly1305, KeyInit as _};
use hmac::{Hmac, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::error::BackupError;
use super::key::{BackupKey, KEY_BYTES, KeyRecipe};

/// Format version of the file.
const VERSION: u32 = 1;

/// Name of the cipher and its chunk size, in the file's first line.
const CIPHER: &str = "chacha20poly1305-stream-64k";

/// Content bytes of each chunk. The last chunk may have fewer.
const CHUNK_BYTES: usize = 64 * 1_024;

/// Bytes that the encryption adds to a chunk.
const TAG_BYTES: usize = 16;

/// Longest first line in bytes. Every line that we write is shorter.
const LINE_MAX: u64 = 1_024;

/// Bytes of a file's random id. It gives each file its own key under the same passphrase.
pub const FILE_ID_BYTES: usize = 32;

pub type FileId = [u8; FILE_ID_BYTES];

/// Separates the derivation of a file's key from other uses of the backup key.
const KEY_CONTEXT: &[u8] = b"tillgate backup, key of a file\0";

/// The first line of a file, unencrypted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    tillgate_backup: u32,
    #[serde(flatten)]
    recipe: KeyRecipe,
    cipher: String,
    /// In hexadecimal digits.
    file_id: String,
}

/// A writer that seals the bytes written to it.
pub struct Sealing<W: Write> {
    to: W,
    cipher: ChaCha20Poly1305,
    number: u64,
    chunk: Zeroizing<Vec<u8>>,
}

/// A file whose first line was read. Its content is not open yet.
pub struct Closed<R: BufRead> {
    from: R,
    /// The line's bytes as in the file.
    line: Vec<u8>,
    pub recipe: KeyRecipe,
    pub file_id: FileId,
}

/// A reader of a sealed file's content. Each byte that it returns is authentic.
pub struct Opening<R: BufRead> {
    from: R,
    cipher: ChaCha20Poly1305,
    number: u64,
    chunk: Zeroizing<Vec<u8>>,
    /// Number of bytes of the chunk that were returned.
    given: usize,
    /// Whether the last chunk was opened.
    is_over: bool,
}

impl<W: Write> Sealing<W> {
    /// Writes the first line. The bytes that follow are sealed.
    pub fn begin(mut to: W, key: &BackupKey, file_id: &FileId) -> Result<Self, BackupError> {
        let header = Header {
            tillgate_backup: VERSION,
            recipe: key.recipe().clone(),
            cipher: CIPHER.to_owned(),
            file_id: hex::encode(file_id),
        };
        let mut line =
            serde_json::to_vec(&header).map_err(io::Error::from).map_err(BackupError::writing)?;
        line.push(b'\n');
        to.write_all(&line).map_err(BackupError::writing)?;
        let chunk = Zeroizing::new(Vec::with_capacity(CHUNK_BYTES));
        Ok(Self { to, cipher: cipher_of(key, &line), number: 0, chunk })
    }

    /// Seals the remaining bytes as the last chunk. Returns the inner writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.seal(true)?;
        self.to.flush()?;
        Ok(self.to)
    }

    fn seal(&mut self, is_last: bool) -> io::Result<()> {
        let sealed = self
            .cipher
            .encrypt(&nonce(self.number, is_last).into(), self.chunk.as_slice())
            .map_err(|_| io::Error::other("a chunk cannot be sealed"))?;
        self.to.write_all(&sealed)?;
        self.number = next(self.number)?;
        self.chunk.clear();
        Ok(())
    }
}

impl<W: Write> Write for Sealing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.chunk.len() == CHUNK_BYTES {
            self.seal(false)?;
        }
        let (taken, _) = bytes.split_at(bytes.len().min(CHUNK_BYTES - self.chunk.len()));
        self.chunk.extend_from_slice(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // Only whole chunks are sealed here; `finish` seals the last.
        Ok(())
    }
}

impl<R: BufRead> Closed<R> {
    /// Reads the first line of a backup.
    pub fn read(mut from: R) -> Result<Self, BackupError> {
        let mut line = Vec::new();
        (&mut from).take(LINE_MAX).read_until(b'\n', &mut line).map_err(BackupError::reading)?;
        let version: Version =
            serde_json::from_slice(&line).map_err(|_| BackupError::NotABackup)?;
        if version.tillgate_backup != VERSION {
            return Err(BackupError::NewerForm);
        }
        let header: Header = serde_json::from_slice(&line).map_err(|_| BackupError::NewerForm)?;
        if header.cipher != CIPHER || !header.recipe.is_known() {
            return Err(BackupError::NewerForm);
        }
        let mut file_id = [0; FILE_ID_BYTES];
        hex::decode_to_slice(&header.file_id, &mut file_id).map_err(|_| BackupError::Damaged)?;
        Ok(Self { from, line, recipe: header.recipe, file_id })
    }

    /// Opens the content. With a wrong key the first read fails.
    pub fn open(self, key: &BackupKey) -> Opening<R> {
        let cipher = cipher_of(key, &self.line);
        let chunk = Zeroizing::new(Vec::new());
        Opening { from: self.from, cipher, number: 0, chunk, given: 0, is_over: false }
    }
}

/// The field of the first line that all versions of the format have.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    tillgate_backup: u32,
}

impl<R: BufRead> Opening<R> {
    /// Opens the next chunk; `false` if there is none.
    fn open_next(&mut self) -> io::Result<bool> {
        if self.is_over {
            return Ok(false);
        }
        let mut sealed = Vec::with_capacity(CHUNK_BYTES + TAG_BYTES);
        let longest = u64::try_from(CHUNK_BYTES + TAG_BYTES).unwrap_or(u64::MAX);
        (&mut self.from).take(longest).read_to_end(&mut sealed)?;
        // After the last chunk the file has no more bytes.
        let is_last = self.from.fill_buf()?.is_empty();
        let opened = self.cipher.decrypt(&nonce(self.number, is_last).into(), sealed.as_slice());
        let is_first = self.number == 0;
        self.chunk = Zeroizing::new(opened.map_err(|_| refused(is_first))?);
        self.given = 0;
        self.number = next(self.number)?;
        self.is_over = is_last;
        Ok(true)
    }
}

impl<R: BufRead> Read for Opening<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.given == self.chunk.len() {
            if !self.open_next()? {
                return Ok(0);
            }
        }
        let rest = self.chunk.get(self.given..).unwrap_or_default();
        let count = rest.len().min(into.len());
        into.split_at_mut(count).0.copy_from_slice(rest.split_at(count).0);
        self.given += count;
        Ok(count)
    }
}

fn cipher_of(key: &BackupKey, line: &[u8]) -> ChaCha20Poly1305 {
    let mut mac = <Hmac<Sha256> as hmac::Mac>::new_from_slice(key.bytes())
        .expect("HMAC takes keys of any length");
    mac.update(KEY_CONTEXT);
    mac.update(line);
    let file_key: Zeroizing<[u8; KEY_BYTES]> = Zeroizing::new(mac.finalize().into_bytes().into());
    ChaCha20Poly1305::new((&*file_key).into())
}

/// The chunk's number, and whether it is the last. Each key seals one file, so no nonce is used
/// twice.
fn nonce(number: u64, is_last: bool) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[3..11].copy_from_slice(&number.to_be_bytes());
    nonce[11] = u8::from(is_last);
    nonce
}

fn next(number: u64) -> io::Result<u64> {
    number.checked_add(1).ok_or_else(|| io::Error::other("the file is too large"))
}

fn refused(is_first: bool) -> io::Error {
    let what = if is_first { BackupError::WrongPassphrase } else { BackupError::Damaged };
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests;
