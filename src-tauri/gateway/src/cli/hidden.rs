//! What a person types at a terminal and nobody beside them is to read: the terminal does not show it, and shows again what is
//! typed after it, broken off by Ctrl-C or ended by a signal too.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Failure;
use crate::machine::secrets::Secret;

/// Whether somebody broke a question off: the program ends as Ctrl-C ends one, once it has left all as it was.
static BROKEN_OFF: AtomicBool = AtomicBool::new(false);

/// The exit status of a program that Ctrl-C ended, as shells have it: 128 and the signal's number.
const BY_CTRL_C: u8 = 130;

/// The terminal, which shows nothing that is typed as long as this value lives: between two lines of one question neither.
pub(super) struct Terminal {
    #[cfg(unix)]
    hidden: unix::Hiding,
}

impl Terminal {
    /// Takes it.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn hide() -> Result<Self, Failure> {
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
    /// Why nothing was read; Ctrl-C is told by [`status_if_broken_off`].
    pub(super) fn line(&mut self, question: &str) -> Result<Secret, Failure> {
        #[cfg(unix)]
        let line = self.hidden.ask(question);
        #[cfg(windows)]
        let line = rpassword::prompt_password(question).map(Secret::new);
        #[cfg(not(any(unix, windows)))]
        let line = Err::<Secret, _>(io::Error::new(io::ErrorKind::Unsupported, question));
        line.map_err(failed)
    }
}

/// Asks for one line, which the terminal does not show.
///
/// # Errors
/// As [`Terminal::line`].
pub(super) fn line(question: &str) -> Result<Secret, Failure> {
    Terminal::hide()?.line(question)
}

/// What Ctrl-C ends a program with, where a question was broken off by it: a shell that waits for us learns of it.
pub(super) fn status_if_broken_off() -> Option<u8> {
    // Not by the signal itself: whoever started us may have it ignored.
    BROKEN_OFF.load(Ordering::Relaxed).then_some(BY_CTRL_C)
}

fn failed(error: io::Error) -> Failure {
    if error.kind() == io::ErrorKind::Interrupted {
        BROKEN_OFF.store(true, Ordering::Relaxed);
        return Failure("it was broken off".to_owned());
    }
    Failure(format!("it cannot be asked for at this terminal: {error}"))
}

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io::{self, Write as _};

    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
    use zeroize::Zeroizing;

    use crate::cli::ending;
    use crate::machine::secrets::Secret;

    /// A line of a terminal has no more.
    const LINE_MAX: usize = 4_096;

    /// What the terminal sends for Ctrl-C while it raises no signals.
    const CTRL_C: u8 = 3;

    /// While it lives the terminal shows nothing that is typed, and hands Ctrl-C over as the end of the line, so that what was made
    /// is taken away before the program ends.
    pub(super) struct Hiding {
        terminal: File,
    }

    impl Hiding {
        pub(super) fn begin() -> io::Result<Self> {
            let terminal = File::options().read(true).write(true).open("/dev/tty")?;
            let before = tcgetattr(&terminal)?;
            let mut hidden = before.clone();
            hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ISIG);
            hidden.local_modes.insert(LocalModes::ECHONL);
            hidden.special_codes[SpecialCodeIndex::VEOL] = CTRL_C;
            ending::hides(&terminal, &before)?;
            let hiding = Self { terminal };
            // What is not read yet stays: words may be pasted in several lines.
            tcsetattr(&hiding.terminal, OptionalActions::Drain, &hidden)?;
            Ok(hiding)
        }

        pub(super) fn ask(&mut self, question: &str) -> io::Result<Secret> {
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
            // What was pasted and not asked for is thrown away: the shell would show it, and remember it.
            ending::shows(OptionalActions::Flush);
        }
    }

    /// One line, a byte at a time, so that nothing of it is left in a buffer.
    pub(super) fn line_of(from: &mut impl io::Read) -> io::Result<Secret> {
        let mut line = Zeroizing::new(Vec::with_capacity(LINE_MAX));
        let mut byte = [0];
        while line.len() < LINE_MAX && from.read(&mut byte)? == 1 && byte != [b'\n'] {
            if byte == [CTRL_C] {
                return Err(io::ErrorKind::Interrupted.into());
            }
            line.extend(byte);
        }
        let text = std::str::from_utf8(&line).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        Ok(Secret::new(text.trim_end_matches('\r').to_owned()))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_line_ends_with_its_end_and_what_follows_is_left() {
            let mut typed = &b"correct horse\r\nbattery\n"[..];
            assert_eq!(line_of(&mut typed).unwrap().reveal(), "correct horse");
            assert_eq!(line_of(&mut typed).unwrap().reveal(), "battery");
            assert_eq!(line_of(&mut typed).unwrap().reveal(), "");
        }

        #[test]
        fn ctrl_c_is_no_part_of_a_line() {
            let broken_off = line_of(&mut &b"corr\x03ect\n"[..]).unwrap_err();
            assert_eq!(broken_off.kind(), io::ErrorKind::Interrupted);
        }

        /// Set where this test runs at a terminal of its own.
        const AT_A_TERMINAL: &str = "TILLGATE_TEST_AT_A_TERMINAL";

        fn shows(terminal: &File) -> bool {
            tcgetattr(terminal).unwrap().local_modes.contains(LocalModes::ECHO)
        }

        /// Two lines of one question, with a third behind them for which nobody asks.
        fn at_a_terminal() {
            let own = File::options().read(true).write(true).open("/dev/tty").unwrap();
            assert!(shows(&own));
            let mut hidden = crate::cli::hidden::Terminal::hide().unwrap();
            for word in ["first", "second"] {
                assert_eq!(hidden.line("? ").unwrap().reveal(), word);
                assert!(!shows(&own), "after the {word}");
            }
            while rustix::io::ioctl_fionread(&own).unwrap() == 0 {
                std::thread::yield_now();
            }
            drop(hidden);
            assert!(shows(&own));
            assert_eq!(rustix::io::ioctl_fionread(&own).unwrap(), 0, "the shell would be given it");
        }

        #[test]
        fn between_two_lines_of_one_question_the_terminal_shows_nothing_and_what_is_left_is_thrown_away() {
            use std::process::{Command, Stdio};

            if std::env::var_os(AT_A_TERMINAL).is_some() {
                return at_a_terminal();
            }
            let program = std::env::current_exe().unwrap();
            let test = std::thread::current().name().unwrap().to_owned();
            let line = format!("'{}' --exact --nocapture --test-threads=1 '{test}'", program.display());
            let mut script = Command::new("script");
            script.args(["-qefc", &line, "/dev/null"]).env(AT_A_TERMINAL, "1");
            let mut script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let mut keys = script.stdin.take().unwrap();
            keys.write_all(b"first\nsecond\nthird\n").unwrap();
            // What it reads from stays open until it has ended.
            let output = script.wait_with_output().unwrap();
            drop(keys);
            let told = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && told.contains("1 passed"), "{told}");
        }
    }
}
