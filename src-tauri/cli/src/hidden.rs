//! Asks for secrets at a terminal. The terminal does not echo them. The echo returns afterwards,
//! also after Ctrl-C or a signal. On Unix this is written by hand: `rpassword` echoes between two
//! lines of one question, and its restoring does not run when a signal ends the program.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use tillgate_machine::secrets::Secret;

use super::failure::Failure;

/// Whether a person pressed Ctrl-C at a question. The program then cleans up, and ends with the
/// exit status of Ctrl-C.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The exit status of a program that Ctrl-C ended, by the convention of shells: 128 plus the
/// signal's number.
const BY_CTRL_C: u8 = 130;

/// A terminal without echo as long as this value lives, also between two lines of one question.
pub struct Terminal {
    #[cfg(unix)]
    hidden: unix::Hiding,
}

impl Terminal {
    /// Turns the terminal's echo off.
    ///
    /// # Errors
    /// There is no terminal.
    pub fn hide() -> Result<Self, Failure> {
        #[cfg(unix)]
        let terminal: io::Result<Self> = unix::Hiding::begin().map(|hidden| Self { hidden });
        #[cfg(windows)]
        let terminal: io::Result<Self> = Ok(Self {});
        #[cfg(not(any(unix, windows)))]
        let terminal: io::Result<Self> = Err(io::ErrorKind::Unsupported.into());
        terminal.map_err(failed)
    }

    /// Asks for one line.
    ///
    /// # Errors
    /// No line was read; after Ctrl-C [`status_if_interrupted`] returns a status.
    pub fn line(&mut self, question: &str) -> Result<Secret, Failure> {
        let question = &format!("{} ", question.trim_end());
        #[cfg(unix)]
        let line = self.hidden.ask(question);
        #[cfg(windows)]
        let line = rpassword::prompt_password(question).map(Secret::new);
        #[cfg(not(any(unix, windows)))]
        let line = Err::<Secret, _>(io::Error::new(io::ErrorKind::Unsupported, question));
        line.map_err(failed)
    }
}

/// Asks for one line, which the terminal does not echo.
///
/// # Errors
/// As [`Terminal::line`].
pub fn line(question: &str) -> Result<Secret, Failure> {
    Terminal::hide()?.line(question)
}

/// The exit status after Ctrl-C at a question, so that a waiting shell sees the signal.
pub fn status_if_interrupted() -> Option<u8> {
    // The signal itself is not raised, because it is ignored if the parent process ignored it.
    INTERRUPTED.load(Ordering::Relaxed).then_some(BY_CTRL_C)
}

fn failed(error: io::Error) -> Failure {
    if error.kind() == io::ErrorKind::Interrupted {
        INTERRUPTED.store(true, Ordering::Relaxed);
        return Failure("the command was cancelled with Ctrl-C".to_owned());
    }
    Failure(format!("the terminal cannot be used: {error}"))
}

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io::{self, Write as _};

    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
    use tillgate_machine::secrets::Secret;
    use zeroize::Zeroizing;

    use crate::ending;

    /// The longest line of a terminal, in bytes.
    const LINE_MAX: usize = 4_096;

    /// The byte that the terminal sends for Ctrl-C while `ISIG` is off.
    const CTRL_C: u8 = 3;

    /// Turns the echo off while this value lives. Ctrl-C ends the line and raises no signal, so
    /// that the program can remove the files that it created.
    pub struct Hiding {
        terminal: File,
    }

    impl Hiding {
        pub fn begin() -> io::Result<Self> {
            let terminal = File::options().read(true).write(true).open("/dev/tty")?;
            let before = tcgetattr(&terminal)?;
            let mut hidden = before.clone();
            hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ISIG);
            hidden.local_modes.insert(LocalModes::ECHONL);
            hidden.special_codes[SpecialCodeIndex::VEOL] = CTRL_C;
            ending::hides(&terminal, &before)?;
            let hiding = Self { terminal };
            // Unread input stays: words may be pasted in several lines.
            tcsetattr(&hiding.terminal, OptionalActions::Drain, &hidden)?;
            Ok(hiding)
        }

        pub fn ask(&mut self, question: &str) -> io::Result<Secret> {
            self.terminal.write_all(question.as_bytes())?;
            let line = line_of(&mut self.terminal);
            if line.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {
                let _ = self.terminal.write_all(b"\n");
            }
            line
        }
    }

    impl Drop for Hiding {
        fn drop(&mut self) {
            // Pasted input beyond the question is discarded: the shell would show it, and keep it
            // in its history.
            ending::shows(OptionalActions::Flush);
        }
    }

    /// Reads one line, a byte at a time, so that no part of it is left in a buffer.
    pub fn line_of(from: &mut impl io::Read) -> io::Result<Secret> {
        let mut line = Zeroizing::new(Vec::with_capacity(LINE_MAX));
        let mut byte = [0];
        while line.len() < LINE_MAX && from.read(&mut byte)? == 1 && byte != [b'\n'] {
            if byte == [CTRL_C] {
                return Err(io::ErrorKind::Interrupted.into());
            }
            line.extend(byte);
        }
        let text =
            std::str::from_utf8(&line).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        Ok(Secret::new(text.trim_end_matches('\r').to_owned()))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_read_takes_one_line_and_leaves_the_next() {
            let mut typed = &b"correct horse\r\nbattery\n"[..];
            assert_eq!(line_of(&mut typed).unwrap().reveal(), "correct horse");
            assert_eq!(line_of(&mut typed).unwrap().reveal(), "battery");
            assert_eq!(line_of(&mut typed).unwrap().reveal(), "");
        }

        #[test]
        fn ctrl_c_interrupts_a_line() {
            let interrupted = line_of(&mut &b"corr\x03ect\n"[..]).unwrap_err();
            assert_eq!(interrupted.kind(), io::ErrorKind::Interrupted);
        }

        /// Set in a test process that runs at a terminal of its own.
        const AT_A_TERMINAL: &str = "TILLGATE_TEST_AT_A_TERMINAL";

        fn shows(terminal: &File) -> bool {
            tcgetattr(terminal).unwrap().local_modes.contains(LocalModes::ECHO)
        }

        /// Asks for two lines; the third line of input must be discarded.
        fn at_a_terminal() {
            let own = File::options().read(true).write(true).open("/dev/tty").unwrap();
            assert!(shows(&own));
            let mut hidden = crate::hidden::Terminal::hide().unwrap();
            for word in ["first", "second"] {
                assert_eq!(hidden.line("? ").unwrap().reveal(), word);
                assert!(!shows(&own), "after the {word}");
            }
            while rustix::io::ioctl_fionread(&own).unwrap() == 0 {
                std::thread::yield_now();
            }
            drop(hidden);
            assert!(shows(&own));
            assert_eq!(
                rustix::io::ioctl_fionread(&own).unwrap(),
                0,
                "the shell would read the third line"
            );
        }

        #[test]
        fn the_echo_stays_off_between_lines_and_excess_is_dropped() {
            use std::process::{Command, Stdio};

            if std::env::var_os(AT_A_TERMINAL).is_some() {
                return at_a_terminal();
            }
            let program = std::env::current_exe().unwrap();
            let test = std::thread::current().name().unwrap().to_owned();
            let line =
                format!("'{}' --exact --nocapture --test-threads=1 '{test}'", program.display());
            let mut script = Command::new("script");
            script.args(["-qefc", &line, "/dev/null"]).env(AT_A_TERMINAL, "1");
            let mut script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let mut keys = script.stdin.take().unwrap();
            keys.write_all(b"first\nsecond\nthird\n").unwrap();
            // The script's input must stay open until the script has ended.
            let output = script.wait_with_output().unwrap();
            drop(keys);
            let told = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && told.contains("1 passed"), "{told}");
        }
    }
}
