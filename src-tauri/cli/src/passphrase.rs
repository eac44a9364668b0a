//! The passphrases that a person or a script gives: from a file descriptor, from the environment,
//! or typed at a terminal. The secrets file and backups may have two passphrases, or share one if
//! only one is given.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::OnceLock;

use tillgate_console::Command;
use tillgate_console::backups::Passphrase;
use tillgate_machine::private_file;
use tillgate_machine::secrets::Secret;
use zeroize::Zeroizing;

use super::args::Common;
use super::failure::Failure;
use super::hidden;

/// The ways for a script to give the secrets file's passphrase, which backups share if they have
/// none of their own.
const HOW: &str = "in TILLGATE_PASSPHRASE or from --passphrase-fd";

/// The ways for a script to give the backups' own passphrase.
const HOW_OF_BACKUP: &str =
    "in TILLGATE_BACKUP_PASSPHRASE or TILLGATE_PASSPHRASE, or from --backup-passphrase-fd";

/// The longest passphrase, in bytes.
const PASSPHRASE_MAX: usize = 4_096;

/// The systemd credential that holds the passphrase. Child processes do not inherit it, unlike a
/// variable.
const CREDENTIAL: &str = "passphrase";

/// The passphrase of `--secrets-file`.
pub fn of_secrets_file(common: &Common) -> Result<Secret, Failure> {
    let given = match of_gateway(common)? {
        None => of_unit(std::env::var_os("CREDENTIALS_DIRECTORY").as_deref().map(Path::new))?,
        given => given,
    };
    given.ok_or_else(|| Failure(format!("--secrets-file needs its passphrase {HOW}")))
}

/// The passphrase in the unit's credential. `None` if the credential is missing or blank:
/// `packaging/tillgate.service` sets a blank one as the default.
fn of_unit(credentials: Option<&Path>) -> Result<Option<Secret>, Failure> {
    let Some(file) = credentials.map(|folder| folder.join(CREDENTIAL)) else { return Ok(None) };
    let failed =
        |error| Failure(format!("the passphrase cannot be read from {}: {error}", file.display()));
    match private_file::read(&file).map_err(failed)? {
        Some(text) if !text.trim().is_empty() => {
            usable(&file.display().to_string(), Zeroizing::new(text.as_bytes().to_vec())).map(Some)
        }
        Some(_) | None => Ok(None),
    }
}

/// The variable of the secrets file's passphrase. A script that exports it may not mean it for
/// backups.
const VARIABLE: &str = "TILLGATE_PASSPHRASE";

/// The hint how to give backups a passphrase of their own.
const OF_THEIR_OWN: &str =
    "TILLGATE_BACKUP_PASSPHRASE or --backup-passphrase-fd gives backups their own passphrase";

/// The passphrase of the backup in `file`, which is to be restored.
pub fn of_backup(common: &Common, file: &Path) -> Result<Secret, Failure> {
    check_there(file)?;
    match given(common)? {
        Some(passphrase) => Ok(passphrase),
        None if is_attended(common) => hidden::line("Passphrase of the backup: "),
        None => Err(Failure(format!("a backup is opened with its passphrase {HOW_OF_BACKUP}"))),
    }
}

/// Puts the passphrase into a command that needs it.
pub fn fill(common: &Common, command: &mut Command) -> Result<(), Failure> {
    match command {
        Command::BackUp(asked) if asked.file.is_some() => {
            asked.passphrase = Some(Passphrase::from_secret(&match given(common)? {
                Some(passphrase) => passphrase,
                None => {
                    check_free(asked.file.as_deref().map(Path::new))?;
                    new(common)?
                }
            }));
        }
        Command::SetBackupPassphrase(asked) => {
            // The passphrase must be remembered for years, so a person is asked for it, even if one
            // was exported for the secrets file.
            let is_asked = is_asked_anyway(common)?;
            let passphrase = match given(common)? {
                Some(passphrase) if !is_asked => passphrase,
                Some(_) | None => new(common)?,
            };
            asked.passphrase = Passphrase::from_secret(&passphrase);
        }
        Command::VerifyBackup(verify) => {
            check_there(Path::new(&verify.file))?;
            verify.passphrase = match given(common)? {
                Some(passphrase) => {
                    verify.stored_first = is_borrowed(common)?;
                    Some(Passphrase::from_secret(&passphrase))
                }
                None if is_attended(common) => {
                    Some(Passphrase::from_secret(&hidden::line("Passphrase of the backup: ")?))
                }
                // The gateway then tries the stored key of nightly backups.
                None => None,
            };
        }
        _ => {}
    }
    Ok(())
}

/// The notice that a command encrypted or opened a backup with a passphrase that was not given for
/// backups alone.
pub fn notice(common: &Common, command: &Command) -> Result<Option<String>, Failure> {
    let seals = match command {
        Command::BackUp(asked) => asked.file.is_some(),
        Command::SetBackupPassphrase(_) => !is_asked_anyway(common)?,
        Command::VerifyBackup(_) if is_borrowed(common)? => {
            return Ok(Some(format!(
                "the backup opened with the stored key or with the passphrase in {VARIABLE}: {OF_THEIR_OWN}"
            )));
        }
        _ => false,
    };
    if !seals {
        return Ok(None);
    }
    if is_shared(common)? {
        return Ok(Some(format!(
            "the backup opens with the secrets file's passphrase: {OF_THEIR_OWN}"
        )));
    }
    Ok(is_borrowed(common)?
        .then(|| format!("the backup opens with the passphrase in {VARIABLE}: {OF_THEIR_OWN}")))
}

/// The same notice for a restore, which also creates the secrets file.
pub fn notice_of_restore(common: &Common) -> Result<Option<String>, Failure> {
    if is_shared(common)? {
        let shared = "the new secrets file opens with the backup's passphrase, because one was given for both";
        return Ok(Some(format!("{shared}: {OF_THEIR_OWN}")));
    }
    Ok(is_borrowed(common)?
        .then(|| format!("the backup opened with the passphrase in {VARIABLE}: {OF_THEIR_OWN}")))
}

/// Whether there is a secrets file whose passphrase is also used for backups.
fn is_shared(common: &Common) -> Result<bool, Failure> {
    Ok(common.secrets_file.is_some()
        && of_backups_alone(common)?.is_none()
        && of_gateway(common)?.is_some())
}

/// The sentence that the passphrase in [`VARIABLE`] did not open a backup; `None` if another one
/// was tried.
pub fn what_was_tried(common: &Common) -> Option<String> {
    is_borrowed(common)
        .unwrap_or(false)
        .then(|| format!("the passphrase in {VARIABLE} was tried: {OF_THEIR_OWN}"))
}

/// Whether backups use a passphrase that may have been exported for the secrets file.
fn is_borrowed(common: &Common) -> Result<bool, Failure> {
    Ok(of_backups_alone(common)?.is_none()
        && common.passphrase_fd.is_none()
        && of_gateway(common)?.is_some())
}

/// Whether a person is asked for the passphrase of nightly backups, although one was exported,
/// perhaps for another purpose.
fn is_asked_anyway(common: &Common) -> Result<bool, Failure> {
    Ok(is_attended(common) && is_borrowed(common)?)
}

/// Refuses a missing backup before a person types its passphrase.
fn check_there(file: &Path) -> Result<(), Failure> {
    match std::fs::metadata(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Failure(format!("there is no file {}: name the backup", file.display())))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Refuses an existing file or a missing folder before a person types a passphrase twice.
fn check_free(file: Option<&Path>) -> Result<(), Failure> {
    let Some(file) = file else { return Ok(()) };
    if std::fs::symlink_metadata(file).is_ok() {
        return Err(Failure(format!("there is a file {} already: name a new one", file.display())));
    }
    match file.parent().filter(|folder| !folder.is_dir()) {
        Some(folder) => Err(Failure(format!(
            "there is no folder {} for the backup: make it, or name another",
            folder.display()
        ))),
        None => Ok(()),
    }
}

/// A new passphrase for backups, which a person types twice.
///
/// # Errors
/// No person can be asked, or the two passphrases differ.
fn new(common: &Common) -> Result<Secret, Failure> {
    if !is_attended(common) {
        return Err(Failure(format!("a backup needs a passphrase {HOW_OF_BACKUP}")));
    }
    let mut terminal = hidden::Terminal::hide()?;
    let first = terminal.line("New passphrase of the backup: ")?;
    let second = terminal.line("The same passphrase again: ")?;
    if first.reveal() == second.reveal() {
        Ok(first)
    } else {
        Err(Failure("the two passphrases are not the same: try again".to_owned()))
    }
}

/// The passphrase that a script gave for backups: their own, or else the environment's. `None` if
/// it gave none.
fn given(common: &Common) -> Result<Option<Secret>, Failure> {
    Ok(match of_backups_alone(common)? {
        Some(passphrase) => Some(passphrase),
        None => of_gateway(common)?,
    })
}

fn of_backups_alone(common: &Common) -> Result<Option<Secret>, Failure> {
    read_once(&common.backup_passphrase, common.backup_passphrase_fd, "TILLGATE_BACKUP_PASSPHRASE")
}

fn of_gateway(common: &Common) -> Result<Option<Secret>, Failure> {
    read_once(&common.passphrase, common.passphrase_fd, VARIABLE)
}

/// Reads the passphrase from the file descriptor, or else from the variable, and stores it in
/// `known`, because a file descriptor can be read only once. An unusable passphrase is an error, so
/// that no other passphrase is used instead.
fn read_once(
    known: &OnceLock<Secret>,
    fd: Option<i32>,
    variable: &str,
) -> Result<Option<Secret>, Failure> {
    if let Some(known) = known.get() {
        return Ok(Some(known.clone()));
    }
    let passphrase = match fd {
        #[cfg(unix)]
        Some(fd) => {
            let place = format!("file descriptor {fd}");
            let opened = std::fs::File::open(format!("/dev/fd/{fd}")).and_then(bounded);
            usable(
                &place,
                opened.map_err(|error| {
                    Failure(format!("the passphrase cannot be read from {place}: {error}"))
                })?,
            )?
        }
        #[cfg(not(unix))]
        Some(_) => {
            return Err(Failure(format!(
                "passphrases from file descriptors work on Unix only: use {variable}"
            )));
        }
        None => match std::env::var_os(variable) {
            Some(given) => usable(variable, Zeroizing::new(given.into_encoded_bytes()))?,
            None => return Ok(None),
        },
    };
    Ok(Some(known.get_or_init(|| passphrase).clone()))
}

/// Reads at most a little more than [`PASSPHRASE_MAX`], so that `usable` refuses an endless input
/// as too long.
#[cfg(unix)]
fn bounded(given: impl io::Read) -> io::Result<Zeroizing<Vec<u8>>> {
    use io::Read as _;
    let mut bytes = Zeroizing::new(Vec::with_capacity(PASSPHRASE_MAX + 3));
    given.take(PASSPHRASE_MAX as u64 + 3).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The passphrase that was read from `place`, if it is valid text and neither empty nor too long.
fn usable(place: &str, given: Zeroizing<Vec<u8>>) -> Result<Secret, Failure> {
    let Ok(text) = std::str::from_utf8(&given) else {
        return Err(Failure(format!("the passphrase in {place} is no text in UTF-8")));
    };
    match text.trim_end_matches(['\r', '\n']) {
        "" => Err(Failure(format!(
            "the passphrase in {place} is empty: give one there, or leave it out"
        ))),
        long if long.len() > PASSPHRASE_MAX => Err(Failure(format!(
            "the passphrase in {place} is too long: at most {PASSPHRASE_MAX} bytes are allowed"
        ))),
        passphrase => Ok(Secret::new(passphrase.to_owned())),
    }
}

/// Whether a person at the terminal can be asked.
fn is_attended(common: &Common) -> bool {
    !common.json && io::stdin().is_terminal() && io::stderr().is_terminal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_passphrase_is_used_or_refused_never_ignored() {
        let read = |given: &[u8]| {
            let read = usable("here", Zeroizing::new(given.to_vec()));
            read.map(|passphrase| passphrase.reveal().to_owned()).map_err(|Failure(why)| why)
        };
        assert_eq!(read(b"correct horse\r\n").as_deref(), Ok("correct horse"));
        assert!(read(b"").unwrap_err().contains("in here is empty"));
        assert!(read(b"\n").unwrap_err().contains("in here is empty"));
        assert!(read(b"correct \xff\n").unwrap_err().contains("UTF-8"));
        assert!(read(&vec![b'x'; PASSPHRASE_MAX + 1]).unwrap_err().contains("too long"));
    }

    #[test]
    fn a_unit_gives_its_passphrase_as_a_credential() {
        let folder = tempfile::tempdir().unwrap();
        let given = || {
            of_unit(Some(folder.path()))
                .map(|given| given.map(|passphrase| passphrase.reveal().to_owned()))
        };
        assert!(of_unit(None).unwrap().is_none() && given().unwrap().is_none());
        std::fs::write(folder.path().join("passphrase"), "\n").unwrap();
        assert!(given().unwrap().is_none(), "a blank credential counts as missing");
        std::fs::write(folder.path().join("passphrase"), "correct horse\n").unwrap();
        assert_eq!(given().unwrap().as_deref(), Some("correct horse"));
    }

    #[test]
    fn an_impossible_backup_is_refused_before_the_passphrase() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("till.backup");
        assert!(check_free(Some(&file)).is_ok() && check_free(None).is_ok());
        assert!(
            check_free(Some(&folder.path().join("none/till.backup")))
                .unwrap_err()
                .0
                .contains("no folder")
        );
        std::fs::write(&file, "").unwrap();
        assert!(check_free(Some(&file)).unwrap_err().0.contains("already: name a new one"));
    }

    #[cfg(unix)]
    #[test]
    fn an_endless_input_is_refused_as_too_long() {
        assert!(
            usable("here", bounded(io::repeat(b'x')).unwrap()).unwrap_err().0.contains("too long")
        );
    }
}
