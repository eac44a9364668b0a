//! Commands that are told as a remedy: they name the folder, the environment and the file of secrets that the line meant.

use std::ffi::OsString;
use std::sync::OnceLock;

use crate::console::Command;
use crate::machine::environment::Environment;

/// Options that name the gateway and the way to its secrets.
const NAMED: [&str; 3] = ["--data-dir", "--environment", "--secrets-file"];

/// The beginning of a command in a sentence.
const TOLD: &str = "`tillgate ";

/// The environment of a line that named none, where there is another.
static MEANT: OnceLock<Environment> = OnceLock::new();

/// Makes remedies name this environment, although the line did not.
pub(super) fn name(environment: Environment) {
    // One line means one environment.
    let _ = MEANT.set(environment);
}

/// Whether the answer tells commands, and holds nothing that somebody else wrote.
pub(super) const fn are_told_by(command: &Command) -> bool {
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

/// The text with commands as they are given from where this one was.
pub(super) fn as_given(text: &str) -> String {
    let meant = MEANT.get().map(|environment| format!("--environment {environment} ")).unwrap_or_default();
    text.replace(TOLD, &format!("{TOLD}{}{meant}", named(std::env::args_os())))
}

/// The options of a line that go on from the program's name. Environment variables hold for the next line anyway.
fn named(line: impl Iterator<Item = OsString>) -> String {
    // A word that is no text cannot be shown.
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

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:,@%".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named_by(line: &[&str]) -> String {
        named(line.iter().map(OsString::from))
    }

    #[test]
    fn a_remedy_names_what_the_line_named_and_nothing_else() {
        assert_eq!(named_by(&["tillgate", "status"]), "");
        let line = ["tillgate", "--data-dir", "/srv/till", "doctor", "--json", "--environment=production"];
        assert_eq!(named_by(&line), "--data-dir /srv/till --environment production ");
        let line = ["tillgate", "status", "--secrets-file", "/my safe/it's", "--data-dir"];
        assert_eq!(named_by(&line), r"--secrets-file '/my safe/it'\''s' ");
    }
}
