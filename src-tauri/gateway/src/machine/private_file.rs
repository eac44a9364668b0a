//! Files of their owner's alone, replaced whole: a crash leaves the old one or the new one.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use zeroize::Zeroizing;

/// The file's text; `None` where there is no file.
pub(crate) fn read(file: &Path) -> io::Result<Option<Zeroizing<String>>> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(Zeroizing::new(text))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes beside the old file, syncs, and puts the new one in its place.
pub(crate) fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = file.as_os_str().to_owned();
    name.push(".new");
    let beside = Path::new(&name);
    // One that a crash left may have another mode; the mode is given at creation alone.
    match fs::remove_file(beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut open = options.open(beside)?;
    open.write_all(bytes)?;
    open.sync_all()?;
    fs::rename(beside, file)?;
    sync_folder(file)
}

/// A rename is durable once its folder is.
fn sync_folder(file: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(folder) = file.parent() {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        fs::File::open(folder)?.sync_all()?;
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}
