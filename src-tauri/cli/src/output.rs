//! Prints on stdout, and remembers whether the reader has closed the pipe.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the reader of the answer has closed the pipe.
static READER_LEFT: AtomicBool = AtomicBool::new(false);

/// The exit status of a program that a closed pipe ended, by the convention of shells: 128 plus the
/// number of SIGPIPE.
const BY_CLOSED_PIPE: u8 = 141;

/// Prints an answer. If the reader has closed the pipe, as `head` does, the program ends without a
/// message.
pub fn print_answer(text: &str) -> io::Result<()> {
    print(text).inspect_err(|error| {
        if error.kind() == io::ErrorKind::BrokenPipe {
            READER_LEFT.store(true, Ordering::Relaxed);
        }
    })
}

/// Writes to stdout and flushes it.
pub fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// The exit status after a reader closed the pipe of an answer.
pub fn status_if_reader_left() -> Option<u8> {
    READER_LEFT.load(Ordering::Relaxed).then_some(BY_CLOSED_PIPE)
}
