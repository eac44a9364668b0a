//! Files that only their owner may read. A file is replaced atomically: a crash leaves the old file
//! or the new one.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use zeroize::Zeroizing;

/// The file's text; `None` if there is no file. A pipe or device is refused, because a read from a
/// pipe without a writer never ends.
pub fn read(file: &Path) -> io::Result<Option<Zeroizing<String>>> {
    match check_regular(file).and_then(|()| fs::read_to_string(file)) {
        Ok(text) => Ok(Some(Zeroizing::new(text))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Refuses a pipe, a device, a folder.
pub fn check_regular(file: &Path) -> io::Result<()> {
    if fs::metadata(file)?.is_file() {
        Ok(())
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "this is no regular file: name a regular file",
        ))
    }
}

/// Writes a new file beside the old one, syncs it, and moves it into place.
pub fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = file.as_os_str().to_owned();
    name.push(".new");
    let beside = Path::new(&name);
    // A file left by a crash may have another mode, and the mode is set only for a new file.
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

/// A rename is durable once its folder is synced.
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn a_pipe_without_a_writer_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, file) = (folder.path().join("pipe"), folder.path().join("file"));
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        let refused = read(&pipe).unwrap_err().to_string();
        assert!(refused.contains("no regular file"), "{refused}");
        assert!(read(&file).unwrap().is_none());
        replace(&file, b"text").unwrap();
        assert_eq!(read(&file).unwrap().unwrap().as_str(), "text");
    }
}
