//! The program `tillgate`: parses, asks the gateway that runs (or opens one), renders. Holds no rule.

mod args;
mod asked;
mod both;
mod call;
mod csv;
#[cfg(unix)]
mod ending;
mod hidden;
mod hosted;
mod image;
mod json;
mod labels;
mod log;
mod made;
mod passphrase;
mod password;
mod remedy;
mod render;
mod restore;
mod serve;
mod statement;
#[cfg(test)]
mod strangers;
mod table;
mod wallet;
mod which;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::{CommandFactory as _, Parser as _};

use crate::console::Command;
use crate::daemon::Options;
use crate::machine::data_dir::WhereNone;
use crate::machine::secrets::SecretsLocation;
use crate::settings::{Override, SETTINGS};
pub use hosted::{Hosted, NotServing};

use args::{Common, CommonArgs, Form, Meaning, ServeArgs, Tillgate};
use which::Chosen;

/// Time for blocking work that is left after everything else has ended.
const LEFTOVERS_WITHIN: Duration = Duration::from_millis(500);

/// Whether the reader of the answer has closed the pipe.
static READ_ENOUGH: AtomicBool = AtomicBool::new(false);

/// The exit status of a program that a closed pipe ended, by the convention of shells: 128 and the number of SIGPIPE.
const BY_CLOSED_PIPE: u8 = 141;

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
    keep_private();
    match run(arguments) {
        Ok(code) => code,
        Err(_) if READ_ENOUGH.load(Ordering::Relaxed) => ExitCode::from(BY_CLOSED_PIPE),
        Err(Failure(line)) => {
            let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
            let _ = writeln!(std::io::stderr(), "tillgate: {}", table::plain(&remedy::as_given(&line)));
            hidden::status_if_broken_off().map_or(ExitCode::FAILURE, ExitCode::from)
        }
    }
}

/// Prints help and version on stdout, wrong usage on stderr.
fn explain(error: clap::Error) -> ExitCode {
    // A closed pipe is no error.
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Keeps files and memory from others: secrets pass through both. A crash leaves no core dump, and on Linux no other program of
/// this user reads the memory.
fn keep_private() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    // The web process of the window inherits it.
    #[cfg(unix)]
    let _ = rustix::process::setrlimit(
        rustix::process::Resource::Core,
        rustix::process::Rlimit { current: Some(0), maximum: Some(0) },
    );
}

fn run(arguments: Tillgate) -> Result<ExitCode, Failure> {
    let form = arguments.form();
    let Tillgate { common, act } = arguments;
    match act.meaning() {
        Meaning::Serve(serve) => {
            log::start(common.log_format, "info");
            serve_all(&common, serve)
        }
        Meaning::Restore(asked) => {
            log::start(common.log_format, log::OF_A_COMMAND);
            restore::run(&common.of(which::of_change(&common)?.environment), &asked, form)
        }
        Meaning::Ask(command) => {
            // The command's failure is one line of its own, outside the log.
            log::start(common.log_format, log::OF_A_COMMAND);
            ask(&common, command, form)
        }
    }
}

fn serve_all(common: &CommonArgs, serve: ServeArgs) -> Result<ExitCode, Failure> {
    match which::to_serve(common).as_slice() {
        &[environment] => on_runtime(serve::run(common.of(environment), serve))?,
        several => {
            if let Err(code) = for_all(common, &serve) {
                return Ok(code);
            }
            both::run(common, &serve, several)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses, as wrong usage, arguments that two gateways in one process cannot share.
fn for_all(common: &CommonArgs, serve: &ServeArgs) -> Result<(), ExitCode> {
    let variables: Vec<String> = overrides(|name| std::env::var(name).ok()).into_values().map(|one| one.by).collect();
    let Some(why) = which::for_one_alone(common, serve, &variables) else { return Ok(()) };
    Err(explain(Tillgate::command().error(clap::error::ErrorKind::ArgumentConflict, why)))
}

/// Asks one gateway. If no environment was named and both live, it says which one answered.
fn ask(common: &CommonArgs, mut command: Command, form: Form) -> Result<ExitCode, Failure> {
    let Chosen { environment, is_told } =
        if which::only_shows(&command) { which::of_reading(common)? } else { which::of_change(common)? };
    if is_told {
        remedy::name(environment);
    }
    let common = common.of(environment);
    passphrase::fill(&common, &mut command)?;
    password::fill(&mut command)?;
    let notice = passphrase::notice(&common, &command)?;
    let answered = on_runtime(call::run(&common, command, form));
    if let (Ok(_), Some(notice)) = (&answered, notice) {
        let _ = writeln!(std::io::stderr(), "tillgate: {notice}");
    }
    match answered {
        Ok(code) if is_told => {
            let _ = writeln!(std::io::stderr(), "tillgate: this was {environment} (--environment names another)");
            Ok(code)
        }
        Err(Failure(why)) if is_told => {
            Err(Failure(format!("{why} (this was {environment}: --environment names another)")))
        }
        Ok(_) | Err(_) => answered,
    }
}

fn on_runtime<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(LEFTOVERS_WITHIN);
    done
}

/// The options to open a gateway with: flags first, then environment variables. The database's settings come last.
fn options(common: &Common) -> Result<Options, Failure> {
    let secrets = match &common.secrets_file {
        Some(file) => SecretsLocation::File { file: file.clone(), passphrase: passphrase::of_secrets_file(common)? },
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

/// Settings given by environment variables: `merchantName` by `TILLGATE_MERCHANT_NAME`. An empty variable is ignored.
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

/// Prints an answer. If the reader has closed the pipe, as `head` does, the program ends without a message.
fn tell(text: &str) -> std::io::Result<()> {
    print(text).inspect_err(|error| {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            READ_ENOUGH.store(true, Ordering::Relaxed);
        }
    })
}

/// Writes to stdout; an error means that the reader is gone.
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
