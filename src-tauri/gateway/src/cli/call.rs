//! One command: put to the gateway that runs on the data directory, or to one opened for it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::Value;

use super::args::Common;
use super::render::render;
use super::{Failure, options, print};
use crate::console::views::CommandError;
use crate::console::{Command, control, dispatch};
use crate::data_dir::{self, DataDirError};
use crate::doctor;
use crate::gateway::{Gateway, OpenError};

/// How long a command waits for another that holds the data directory, or for a gateway that is just starting.
const WAIT_FOR_LOCK: Duration = Duration::from_secs(10);

/// How often it tries meanwhile.
const TRY_EVERY: Duration = Duration::from_millis(50);

/// Runs the command and prints its answer.
pub async fn run(common: &Common, command: Command) -> Result<ExitCode, Failure> {
    let env_dir = data_dir::base(common.data_dir.as_deref()).map(|base| data_dir::env_dir(&base, common.environment));
    let view = match answer(common, &env_dir, &command).await? {
        Ok(answer) => answer?,
        // What keeps the gateway from opening is just what a doctor is asked about.
        Err(error) if command == Command::Doctor => {
            let env_dir = env_dir.as_deref().ok();
            serde_json::to_value(doctor::examine_unopened(common.environment, env_dir, &error))?
        }
        Err(error) => return Err(error.into()),
    };
    let is_ill = command == Command::Doctor && view["ok"] != Value::Bool(true);
    let text = if common.json { format!("{view}\n") } else { render(&command, view)? };
    print(&text)?;
    Ok(if is_ill { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

type Answer = Result<Result<Value, CommandError>, OpenError>;

async fn answer(
    common: &Common,
    env_dir: &Result<PathBuf, DataDirError>,
    command: &Command,
) -> Result<Answer, Failure> {
    if let Ok(env_dir) = env_dir
        && let Some(answer) = control::ask(&data_dir::socket(env_dir), command).await
    {
        return Ok(Ok(answer));
    }
    let options = options(common)?;
    let mut waited = Duration::ZERO;
    loop {
        match Gateway::open(options.clone()).await {
            Ok(gateway) => return Ok(Ok(dispatch(&gateway, command.clone(), "cli").await)),
            Err(OpenError::DataDir(DataDirError::InUse { .. })) if waited < WAIT_FOR_LOCK => {}
            Err(error) => return Ok(Err(error)),
        }
        if let Ok(env_dir) = env_dir
            && let Some(answer) = control::ask(&data_dir::socket(env_dir), command).await
        {
            return Ok(Ok(answer));
        }
        tokio::time::sleep(TRY_EVERY).await;
        waited += TRY_EVERY;
    }
}

/// Whether a gateway answers on the socket.
pub async fn is_running(socket: &Path) -> bool {
    control::ask(socket, &Command::ListSettings).await.is_some()
}
