//! The program `tillgate`: parses the command line, asks the running gateway or opens one, and
//! prints the answer. It decides no business rule.

mod args;
mod call;
mod daemon;
#[cfg(unix)]
mod ending;
mod environment;
mod failure;
mod gateway_client;
mod hidden;
mod hosted;
mod image;
mod json;
mod label_pages;
mod log;
mod made;
mod options;
mod output;
mod passphrase;
mod password;
mod privacy;
mod remedy;
mod render;
mod restore;
mod runtime;
mod serve;
mod serve_both;
mod sheet_pages;
mod statement_pages;
#[cfg(test)]
mod strangers;
mod table;
mod usage;
mod wallet;

use std::io::Write as _;
use std::process::ExitCode;

use args::{CommonArgs, Form, Meaning, ServeArgs, Tillgate};
use environment::Chosen;
use failure::Failure;
pub use hosted::{Hosted, NotServing};
pub use statement_pages::Written as WrittenStatement;
use tillgate_console::Command;

/// Runs the command line of this process and returns its exit status.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = match Tillgate::from_command_line().and_then(Tillgate::checked) {
        Ok(arguments) => arguments,
        Err(error) => return usage::explain(error),
    };
    privacy::keep_private();
    let Failure(line) = match run(arguments) {
        Ok(code) => return code,
        Err(failure) => failure,
    };
    if let Some(status) = output::status_if_reader_left() {
        return ExitCode::from(status);
    }
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let _ = writeln!(
        std::io::stderr(),
        "tillgate: {}",
        tillgate_domain::plain::plain(&remedy::as_given(&line))
    );
    hidden::status_if_interrupted().map_or(ExitCode::FAILURE, ExitCode::from)
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
            restore::run(
                &common.in_environment(environment::of_change(&common)?.environment),
                &asked,
                form,
            )
        }
        Meaning::Ask(command) => {
            // A failed command prints its own line on stderr, outside the log.
            log::start(common.log_format, log::OF_A_COMMAND);
            ask(&common, command, form)
        }
    }
}

fn serve_all(common: &CommonArgs, serve: ServeArgs) -> Result<ExitCode, Failure> {
    match environment::to_serve(common).as_slice() {
        &[environment] => runtime::run(serve::run(common.in_environment(environment), serve))?,
        several => {
            if let Err(code) = usage::check_shared(common, &serve) {
                return Ok(code);
            }
            serve_both::run(common, &serve, several)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs `command` in one environment. If the command line names no environment although production
/// has data, stderr names the environment used.
fn ask(common: &CommonArgs, mut command: Command, form: Form) -> Result<ExitCode, Failure> {
    let Chosen { environment, is_told } = if command.only_shows() {
        environment::of_reading(common)?
    } else {
        environment::of_change(common)?
    };
    if is_told {
        remedy::name(environment);
    }
    let common = common.in_environment(environment);
    passphrase::fill(&common, &mut command)?;
    password::fill(&mut command)?;
    let notice = passphrase::notice(&common, &command)?;
    let answered = runtime::run(call::run(&common, command, form));
    if let (Ok(_), Some(notice)) = (&answered, notice) {
        let _ = writeln!(std::io::stderr(), "tillgate: {notice}");
    }
    match answered {
        Ok(code) if is_told => {
            let told =
                format!("this was environment {environment} (--environment chooses another)");
            let _ = writeln!(std::io::stderr(), "tillgate: {told}");
            Ok(code)
        }
        Err(Failure(why)) if is_told => Err(Failure(format!(
            "{why} (this was environment {environment}: --environment chooses another)"
        ))),
        Ok(_) | Err(_) => answered,
    }
}
