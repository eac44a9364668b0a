//! The passphrase that a person or a script gives: from a descriptor, from TILLGATE_PASSPHRASE, or asked for at a terminal.

use std::fs::File;
use std::io::{self, IsTerminal as _};

use zeroize::Zeroizing;

use super::Failure;
use super::args::Common;
use crate::console::Command;
use crate::console::backups::Passphrase;
use crate::machine::secrets::Secret;

/// How a script gives one.
const HOW: &str = "in TILLGATE_PASSPHRASE or from --passphrase-fd";

/// A line of a terminal has no more.
const LINE_MAX: usize = 4_096;

/// The passphrase of `--secrets-file`.
pub(super) fn of_secrets_file(common: &Common) -> Result<Secret, Failure> {
    given(common)?.ok_or_else(|| Failure(format!("--secrets-file needs its passphrase {HOW}")))
}

/// The passphrase of the backup that is to be restored.
pub(super) fn of_backup(common: &Common) -> Result<Secret, Failure> {
    match given(common)? {
        Some(passphrase) => Ok(passphrase),
        None if may_ask(common) => asked("Passphrase of the backup: "),
        None => Err(Failure(format!("a backup is opened with its passphrase {HOW}"))),
    }
}

/// Puts the passphrase into a command that wants one.
pub(super) fn fill(common: &Common, command: &mut Command) -> Result<(), Failure> {
    match command {
        Command::BackUp(asked) if asked.file.is_some() => asked.passphrase = Some(Passphrase::of(&new(common)?)),
        Command::SetBackupPassphrase(asked) => asked.passphrase = Passphrase::of(&new(common)?),
        Command::VerifyBackup(verify) => {
            verify.passphrase = match given(common)? {
                Some(passphrase) => Some(Passphrase::of(&passphrase)),
                None if may_ask(common) => Some(Passphrase::of(&asked("Passphrase of the backup: ")?)),
                // The key that is stored for nightly backups.
                None => None,
            };
        }
        _ => {}
    }
    Ok(())
}

/// A passphrase for something new: who types it, types it twice.
fn new(common: &Common) -> Result<Secret, Failure> {
    if let Some(passphrase) = given(common)? {
        return Ok(passphrase);
    }
    if !may_ask(common) {
        return Err(Failure(format!("a backup needs a passphrase {HOW}")));
    }
    let first = asked("New passphrase of the backup: ")?;
    let second = asked("The same once more: ")?;
    if first.reveal() == second.reveal() {
        Ok(first)
    } else {
        Err(Failure("the two passphrases are not the same: try again".to_owned()))
    }
}

/// What a script gave; `None` where it gave nothing.
fn given(common: &Common) -> Result<Option<Secret>, Failure> {
    if let Some(known) = common.passphrase.get() {
        return Ok(Some(known.clone()));
    }
    let given = Zeroizing::new(match common.passphrase_fd {
        #[cfg(unix)]
        Some(fd) => std::fs::read_to_string(format!("/dev/fd/{fd}"))
            .map_err(|error| Failure(format!("the passphrase cannot be read from file descriptor {fd}: {error}")))?,
        #[cfg(not(unix))]
        Some(_) => return Err(Failure("--passphrase-fd works on Unix only: use TILLGATE_PASSPHRASE".to_owned())),
        None => std::env::var("TILLGATE_PASSPHRASE").unwrap_or_default(),
    });
    let passphrase = given.trim_end_matches(['\r', '\n']);
    if passphrase.is_empty() {
        return Ok(None);
    }
    // A descriptor gives it once, and it may be the secrets file's and the backup's.
    Ok(Some(common.passphrase.get_or_init(|| Secret::new(passphrase.to_owned())).clone()))
}

/// Whether a person sits there who expects to be asked.
fn may_ask(common: &Common) -> bool {
    !common.json && io::stdin().is_terminal() && io::stderr().is_terminal()
}

#[cfg(unix)]
fn asked(question: &str) -> Result<Secret, Failure> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
    use std::io::Write as _;

    let failed = |error: io::Error| Failure(format!("the passphrase cannot be asked for: {error}"));
    let mut terminal = File::options().read(true).write(true).open("/dev/tty").map_err(failed)?;
    terminal.write_all(question.as_bytes()).map_err(failed)?;
    let shown = tcgetattr(&terminal).map_err(|error| failed(error.into()))?;
    let mut hidden = shown.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    hidden.local_modes.insert(LocalModes::ECHONL);
    tcsetattr(&terminal, OptionalActions::Flush, &hidden).map_err(|error| failed(error.into()))?;
    let line = line_of(&mut terminal);
    tcsetattr(&terminal, OptionalActions::Flush, &shown).map_err(|error| failed(error.into()))?;
    line.map_err(failed)
}

#[cfg(not(unix))]
fn asked(_question: &str) -> Result<Secret, Failure> {
    Err(Failure(format!("give the passphrase {HOW}")))
}

/// One line, a byte at a time, so that nothing of it is left in a buffer.
fn line_of(from: &mut impl io::Read) -> io::Result<Secret> {
    let mut line = Zeroizing::new(Vec::with_capacity(LINE_MAX));
    let mut byte = [0];
    while line.len() < LINE_MAX && from.read(&mut byte)? == 1 && byte != [b'\n'] {
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
}
