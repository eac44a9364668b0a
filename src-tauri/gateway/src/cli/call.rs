//! One command: put to the gateway that runs on the data directory, or to one opened for it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::Value;

use super::args::{Common, Form};
use super::render::render;
use super::{Failure, csv, json, options, print};
use crate::console::settings::ListSettings;
use crate::console::{Actor, Command, CommandError, Status, StatusView, control, dispatch, doctor};
use crate::daemon::{self, OpenError, Options};
use crate::machine::data_dir::{self, DataDirError, WhereNone};

/// How long a command waits for another that holds the data directory, or for a gateway that is just starting.
const WAIT_FOR_LOCK: Duration = Duration::from_secs(10);

/// How often it tries meanwhile.
const TRY_EVERY: Duration = Duration::from_millis(50);

/// Runs the command and prints its answer in this form.
pub(super) async fn run(common: &Common, command: Command, form: Form) -> Result<ExitCode, Failure> {
    let is_doctor = matches!(command, Command::Doctor(_));
    let view = match answer(common, &command).await? {
        Ok(answer) => answer?,
        // What keeps the gateway from opening is just what a doctor is asked about.
        Err(error) if is_doctor => {
            let base = data_dir::base(common.data_dir.as_deref()).ok();
            let env_dir = base.map(|base| data_dir::env_dir(&base, common.environment));
            let (concerned, why) = (error.concerns(), error.to_string());
            serde_json::to_value(doctor::examine_unopened(common.environment, env_dir.as_deref(), concerned, why))?
        }
        Err(error) => return Err(error.into()),
    };
    let is_ill = is_doctor && view["ok"] != Value::Bool(true);
    let text = match form {
        Form::Json => json::document(&command, view)? + "\n",
        Form::Csv => csv::table(&command, view)?,
        Form::Text => render(&command, view)?,
    };
    print(&text)?;
    Ok(if is_ill { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// A setting may be chosen before the first start; any other command on a folder that is not there is a typing error.
fn where_none(command: &Command) -> WhereNone {
    if matches!(command, Command::SetSetting(_)) { WhereNone::Make } else { WhereNone::Refuse }
}

type Answer = Result<Result<Value, CommandError>, OpenError>;

async fn answer(common: &Common, command: &Command) -> Result<Answer, Failure> {
    let (env_dir, is_there) = match found(common) {
        Ok(found) => found,
        Err(error) => return Ok(Err(error.into())),
    };
    let socket = data_dir::socket(&env_dir);
    // A socket of anybody else's is not spoken to: the folder's owner, and its own, were looked at.
    if is_there && let Some(answer) = control::ask(&socket, command).await {
        return Ok(Ok(answer));
    }
    let options = Options { where_none: where_none(command), ..options(common)? };
    let mut waited = Duration::ZERO;
    loop {
        match daemon::open(options.clone()).await {
            Ok(app) => {
                if !is_there {
                    let _ = writeln!(std::io::stderr(), "tillgate: made the data directory {}", env_dir.display());
                }
                return Ok(Ok(dispatch(&app, command.clone(), &Actor::command_line()).await));
            }
            Err(OpenError::DataDir(DataDirError::InUse { .. })) if waited < WAIT_FOR_LOCK => {}
            Err(error) => return Ok(Err(error)),
        }
        if let Some(answer) = control::ask(&socket, command).await {
            return Ok(Ok(answer));
        }
        tokio::time::sleep(TRY_EVERY).await;
        waited += TRY_EVERY;
    }
}

/// The environment's folder, and whether it holds a database already.
fn found(common: &Common) -> Result<(PathBuf, bool), DataDirError> {
    let base = data_dir::base(common.data_dir.as_deref())?;
    let is_there = data_dir::exists(&base, common.environment)?;
    Ok((data_dir::env_dir(&base, common.environment), is_there))
}

/// What the gateway that serves the data directory tells of itself; `None` where none does.
pub(super) async fn running(common: &Common) -> Option<StatusView> {
    let (env_dir, _) = found(common).ok()?;
    let answer = control::ask(&data_dir::socket(&env_dir), &Status {}.into()).await?;
    serde_json::from_value(answer.ok()?).ok()
}

/// Whether a gateway answers on the socket.
pub(super) async fn is_running(socket: &Path) -> bool {
    control::ask(socket, &ListSettings {}.into()).await.is_some()
}
