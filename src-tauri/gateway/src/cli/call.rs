//! One command: asked and its answer printed.

use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;

use super::args::{Common, Form};
use super::asked::{Asked, found};
use super::render::render;
use super::{Failure, json, labels, remedy, statement, tell, wallet};
use crate::console::settings::ListSettings;
use crate::console::{Command, CommandError, Status, StatusView, control, doctor};
use crate::machine::data_dir;

/// Runs the command and prints its answer in this form.
pub(super) async fn run(common: &Common, mut command: Command, form: Form) -> Result<ExitCode, Failure> {
    let mut gateway = Asked::new(common);
    match &mut command {
        Command::RestoreWallet(asked) => {
            wallet::check_birthday(asked, &mut gateway).await?;
            asked.words = wallet::read_valid()?;
        }
        Command::VerifyWords(asked) => asked.words = wallet::read()?,
        _ => {}
    }
    let done = ask(&mut gateway, &command, form).await;
    if done.is_err() {
        gateway.take_back(&command);
    }
    done
}

async fn ask(gateway: &mut Asked<'_>, command: &Command, form: Form) -> Result<ExitCode, Failure> {
    let common = gateway.common;
    if let Command::Statement(asked) = command {
        return statement::run(asked, form, gateway).await.map(|()| ExitCode::SUCCESS);
    }
    if let Command::WalletLabels(asked) = command {
        return labels::run(asked, form, gateway).await.map(|()| ExitCode::SUCCESS);
    }
    if let Command::CreateWallet(asked) = command {
        return wallet::create(asked, form, gateway).await.map(|()| ExitCode::SUCCESS);
    }
    let is_doctor = matches!(command, Command::Doctor(_));
    let view = match gateway.answer(command).await? {
        Ok(answer) => answer.map_err(refused)?,
        // What keeps the gateway from opening is just what a doctor is asked about.
        Err(error) if is_doctor => {
            let base = data_dir::base(common.data_dir.as_deref()).ok();
            let env_dir = base.map(|base| data_dir::env_dir(&base, common.environment));
            let (concerned, why) = (error.concerns(), error.to_string());
            serde_json::to_value(doctor::examine_unopened(common.environment, env_dir.as_deref(), concerned, why))?
        }
        Err(error) => return Err(error.into()),
    };
    let is_ill = match command {
        Command::Doctor(_) => view["ok"] != Value::Bool(true),
        Command::VerifyWords(_) => view["fits"] != Value::Bool(true),
        _ => false,
    };
    let text = match form {
        Form::Json => json::document(command, view)? + "\n",
        // Only the statement is a table.
        Form::Text | Form::Csv if remedy::are_told_by(command) => remedy::as_given(&render(command, view)?),
        Form::Text | Form::Csv => render(command, view)?,
    };
    tell(&text)?;
    Ok(if is_ill { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// A refusal, with what can be done about it at the command line.
fn refused(error: CommandError) -> Failure {
    let remedy = match error.error_type.as_str() {
        "PAYOUT_SHARES_TRANSACTION" => "say --all if you want that",
        "FEE_ABOVE_CAP" => "give it as --fee-rate if you want that",
        "SENDER_HOLDS" => "`tillgate payouts release` lets it go on",
        _ => return error.into(),
    };
    Failure(format!("{error}; {remedy}"))
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
