//! The password of the Bitcoin backend. It is never an argument, because other users can list a
//! process's arguments.

use std::io::{self, BufRead, IsTerminal as _};

use tillgate_console::Command;
use tillgate_console::settings::BACKEND_PASSWORD;
use tillgate_machine::secrets::Secret;
use zeroize::Zeroizing;

use super::failure::Failure;
use super::hidden;

/// The argument in place of the password: the password is read from the standard input.
pub const PASSWORD_IS_READ: &str = "-";

/// The longest password, in bytes. It also bounds how much of an endless input is read.
const PASSWORD_MAX: usize = 1_024;

/// Puts the password into a command that sets it. It is typed at a terminal without echo, or read
/// as a line of the standard input.
pub fn fill(command: &mut Command) -> Result<(), Failure> {
    let values: Vec<&mut String> = match command {
        Command::SetSetting(set) if set.name == BACKEND_PASSWORD => vec![&mut set.value],
        Command::ChangeSettings(change) => {
            let of_password = change.changes.iter_mut().filter(|one| one.name == BACKEND_PASSWORD);
            of_password.filter_map(|one| one.value.as_mut()).collect()
        }
        _ => Vec::new(),
    };
    if values.is_empty() {
        return Ok(());
    }
    let password = read_password()?;
    for value in values {
        password.reveal().clone_into(value);
    }
    Ok(())
}

fn read_password() -> Result<Secret, Failure> {
    let stdin = io::stdin();
    let password = if stdin.is_terminal() {
        hidden::line("Password of the Bitcoin backend (it is not shown): ")?
    } else {
        line_of(stdin.lock())?
    };
    checked(password)
}

/// The first line of a program's output or of a file.
fn line_of(given: impl BufRead) -> Result<Secret, Failure> {
    // Room for the line's end, and for one byte more, which shows that the password is too long.
    let mut line = Zeroizing::new(String::with_capacity(PASSWORD_MAX + 3));
    given.take(PASSWORD_MAX as u64 + 3).read_line(&mut line).map_err(|error| {
        Failure(format!("{BACKEND_PASSWORD} cannot be read from the standard input: {error}"))
    })?;
    Ok(Secret::new(line.trim_end_matches(['\r', '\n']).to_owned()))
}

/// Refuses a password that is too long or empty. An empty one would remove the stored password by
/// mistake; `settings unset` is the command for that.
fn checked(password: Secret) -> Result<Secret, Failure> {
    match password.reveal().len() {
        0 => Err(Failure(format!(
            "{BACKEND_PASSWORD} is empty, and nothing was changed: `tillgate settings unset {BACKEND_PASSWORD}` removes the stored one"
        ))),
        1..=PASSWORD_MAX => Ok(password),
        _ => Err(Failure(format!(
            "{BACKEND_PASSWORD} may have {PASSWORD_MAX} bytes at most, and nothing was changed"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_of(given: &[u8]) -> Result<String, String> {
        let read = line_of(given).and_then(checked);
        read.map(|password| password.reveal().to_owned()).map_err(|Failure(why)| why)
    }

    #[test]
    fn a_password_is_one_line_not_empty_and_bounded() {
        assert_eq!(read_of(b"correct horse\r\nbattery\n").as_deref(), Ok("correct horse"));
        let longest = "x".repeat(PASSWORD_MAX);
        assert_eq!(read_of(format!("{longest}\r\n").as_bytes()), Ok(longest.clone()));
        assert!(read_of(format!("{longest}x").as_bytes()).unwrap_err().contains("at most"));
        for empty in [&b""[..], b"\n", b"\r\n"] {
            assert!(read_of(empty).unwrap_err().contains("settings unset backendPassword"));
        }
        assert!(read_of(b"\xff\xfe\n").unwrap_err().contains("cannot be read"));
    }
}
