//! Completes the commands that an answer recommends: they get the data directory, the environment
//! and the secrets file of the present command line.

use std::ffi::OsString;
use std::sync::OnceLock;

use tillgate_console::Command;
use tillgate_machine::environment::Environment;

/// Options that select the gateway and its secrets.
const NAMED: [&str; 3] = ["--data-dir", "--environment", "--secrets-file"];

/// The beginning of a command in a sentence.
const TOLD: &str = "`tillgate ";

/// The environment that was used, if the line named none although production has data.
static MEANT: OnceLock<Environment> = OnceLock::new();

/// Makes remedies name this environment, although the line did not.
pub fn name(environment: Environment) {
    // A process runs one line, so the value is set at most once.
    let _ = MEANT.set(environment);
}

/// Whether the answer recommends commands, and shows texts of servers and strangers only in quotes.
pub const fn are_told_by(command: &Command) -> bool {
    matches!(
        command,
        Command::Status(_)
            | Command::Doctor(_)
            | Command::WalletInfo(_)
            | Command::RestoreWallet(_)
            | Command::ShowRestore(_)
            | Command::StopRestore(_)
            | Command::ContinueRestore(_)
            | Command::ReleaseSender(_)
            | Command::RetrySender(_)
    )
}

/// The text with the options of the present line added to each recommended command.
pub fn as_given(text: &str) -> String {
    let meant =
        MEANT.get().map(|environment| format!("--environment {environment} ")).unwrap_or_default();
    text.replace(TOLD, &format!("{TOLD}{}{meant}", named(std::env::args_os())))
}

/// The options of a line that a recommended command needs too. Environment variables apply to the
/// next line anyway.
fn named(line: impl Iterator<Item = OsString>) -> String {
    // A word that is not UTF-8 cannot be shown.
    let mut line = line.skip(1).map(|word| word.into_string().unwrap_or_default());
    let mut named = String::new();
    while let Some(word) = line.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (word, None),
        };
        if NAMED.contains(&name.as_str())
            && let Some(value) = value.or_else(|| line.next()).filter(|value| !value.is_empty())
        {
            named.push_str(&format!("{name} {} ", quoted(&value)));
        }
    }
    named
}

/// The word, in quotes if a shell would otherwise change it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:,@%".contains(c);
    if word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named_by(line: &[&str]) -> String {
        named(line.iter().map(OsString::from))
    }

    #[test]
    fn a_remedy_repeats_the_options_that_select_the_gateway() {
        assert_eq!(named_by(&["tillgate", "status"]), "");
        let line =
            ["tillgate", "--data-dir", "/srv/till", "doctor", "--json", "--environment=production"];
        assert_eq!(named_by(&line), "--data-dir /srv/till --environment production ");
        let line = ["tillgate", "status", "--secrets-file", "/my safe/it's", "--data-dir"];
        assert_eq!(named_by(&line), r"--secrets-file '/my safe/it'\''s' ");
    }
}
