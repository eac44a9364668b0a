//! The program `tillgate`: parses, asks the gateway that runs (or opens one), renders. Holds no rule.

mod args;
mod asked;
mod call;
mod csv;
mod hosted;
mod image;
mod json;
mod labels;
mod log;
mod render;
mod serve;
mod statement;
mod table;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;

use crate::daemon::Options;
use crate::machine::data_dir::WhereNone;
use crate::machine::secrets::{Secret, SecretsLocation};
use crate::settings::{Override, SETTINGS};
pub use hosted::{Hosted, NotServing};

use args::{Common, Meaning, Tillgate};

/// What blocking work may still take after everything else has ended.
const LEFTOVERS_WITHIN: Duration = Duration::from_millis(500);

/// Why the program ends with status 1: one line.
#[derive(Debug)]
struct Failure(String);

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// The whole program.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = match Tillgate::try_parse().and_then(Tillgate::checked) {
        Ok(arguments) => arguments,
        Err(error) => return explain(error),
    };
    keep_files_private();
    match run(arguments) {
        Ok(code) => code,
        Err(Failure(line)) => {
            let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
            let _ = writeln!(std::io::stderr(), "tillgate: {}", table::plain(&line));
            ExitCode::FAILURE
        }
    }
}

/// Prints help and version on stdout, wrong usage on stderr.
fn explain(error: clap::Error) -> ExitCode {
    // A closed pipe is no error.
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Whatever a library may create in the data directory is ours alone to read.
fn keep_files_private() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
}

fn run(arguments: Tillgate) -> Result<ExitCode, Failure> {
    let form = arguments.form();
    let Tillgate { common, act } = arguments;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = match act.meaning() {
        Meaning::Serve(serve) => {
            log::start(common.log_format, "info");
            runtime.block_on(serve::run(&common, serve)).map(|()| ExitCode::SUCCESS)
        }
        Meaning::Ask(command) => {
            // Its failure is one line, and that is not the log's.
            log::start(common.log_format, "off");
            runtime.block_on(call::run(&common, command, form))
        }
    };
    runtime.shutdown_timeout(LEFTOVERS_WITHIN);
    result
}

/// What to open a gateway with: flags, then environment variables; the database comes last.
fn options(common: &Common) -> Result<Options, Failure> {
    let secrets = match &common.secrets_file {
        Some(file) => SecretsLocation::File { file: file.clone(), passphrase: passphrase(common)? },
        None => SecretsLocation::Keyring,
    };
    let overrides = overrides(|variable| std::env::var(variable).ok());
    Ok(Options {
        environment: common.environment,
        data_dir: common.data_dir.clone(),
        where_none: WhereNone::Make,
        overrides,
        secrets,
    })
}

fn passphrase(common: &Common) -> Result<Secret, Failure> {
    let given = match common.passphrase_fd {
        #[cfg(unix)]
        Some(fd) => std::fs::read_to_string(format!("/dev/fd/{fd}"))
            .map_err(|error| Failure(format!("the passphrase cannot be read from file descriptor {fd}: {error}")))?,
        #[cfg(not(unix))]
        Some(_) => return Err(Failure("--passphrase-fd works on Unix only: use TILLGATE_PASSPHRASE".to_owned())),
        None => std::env::var("TILLGATE_PASSPHRASE").unwrap_or_default(),
    };
    let passphrase = Secret::new(given.trim_end_matches(['\r', '\n']).to_owned());
    if passphrase.reveal().is_empty() {
        let what = "--secrets-file needs its passphrase in TILLGATE_PASSPHRASE or from --passphrase-fd";
        return Err(Failure(what.to_owned()));
    }
    Ok(passphrase)
}

/// Settings given by environment variables: `merchantName` by `TILLGATE_MERCHANT_NAME`. An empty one gives nothing.
fn overrides(variable: impl Fn(&str) -> Option<String>) -> BTreeMap<String, Override> {
    SETTINGS
        .iter()
        .filter_map(|setting| {
            let by = variable_name(setting.name);
            let value = variable(&by).filter(|value| !value.is_empty())?;
            Some((setting.name.to_owned(), Override { value, by }))
        })
        .collect()
}

fn variable_name(setting: &str) -> String {
    let mut name = "TILLGATE_".to_owned();
    for character in setting.chars() {
        if character.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(character.to_ascii_uppercase());
    }
    name
}

/// Writes to stdout, and says whether anybody reads it.
fn print(text: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_has_a_variable() {
        assert_eq!(variable_name("tolerancePerMille"), "TILLGATE_TOLERANCE_PER_MILLE");
        let given = overrides(|name| match name {
            "TILLGATE_MERCHANT_NAME" => Some("Café".to_owned()),
            "TILLGATE_PUBLIC_URL" => Some(String::new()),
            _ => None,
        });
        assert_eq!(given.len(), 1);
        assert_eq!(given["merchantName"].value, "Café");
        assert_eq!(given["merchantName"].by, "TILLGATE_MERCHANT_NAME");
    }
}
