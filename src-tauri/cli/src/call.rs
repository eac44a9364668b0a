//! Runs one command and prints its answer.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;
use tillgate_console::backups::WRONG_PASSPHRASE;
use tillgate_console::settings::ListSettings;
use tillgate_console::{Command, CommandError, Status, StatusView, control, doctor};
use tillgate_machine::data_dir;

use super::args::{Common, Form};
use super::failure::Failure;
use super::gateway_client::{GatewayClient, found};
use super::output::print_answer;
use super::render::render;
use super::{json, label_pages, passphrase, remedy, sheet_pages, statement_pages, wallet};

/// Runs the command and prints its answer in `form`.
pub async fn run(common: &Common, mut command: Command, form: Form) -> Result<ExitCode, Failure> {
    let mut gateway = GatewayClient::new(common);
    match &mut command {
        Command::RestoreWallet(asked) => {
            wallet::check_birthday(asked, &mut gateway).await?;
            asked.words = wallet::read_valid()?;
        }
        Command::VerifyWords(asked) => asked.words = wallet::read_words()?,
        _ => {}
    }
    let done = ask(&mut gateway, &command, form).await;
    if done.is_err() {
        gateway.take_back(&command);
    }
    done
}

async fn ask(
    gateway: &mut GatewayClient<'_>,
    command: &Command,
    form: Form,
) -> Result<ExitCode, Failure> {
    let common = gateway.common;
    if let Command::Statement(asked) = command {
        return statement_pages::run(asked, form, gateway).await.map(|()| ExitCode::SUCCESS);
    }
    if let Command::StatementSheet(asked) = command {
        return sheet_pages::statement(asked, gateway).await.map(|()| ExitCode::SUCCESS);
    }
    if let Command::PaymentsSheet(asked) = command {
        return sheet_pages::payments(asked, gateway).await.map(|()| ExitCode::SUCCESS);
    }
    if let Command::WalletLabels(asked) = command {
        return label_pages::run(asked, form, gateway).await.map(|()| ExitCode::SUCCESS);
    }
    if let Command::CreateWallet(asked) = command {
        return wallet::create(asked, form, gateway).await.map(|()| ExitCode::SUCCESS);
    }
    let is_doctor = matches!(command, Command::Doctor(_));
    let view = match gateway.answer(command).await? {
        Ok(answer) => answer.map_err(|error| refused(common, &error))?,
        // The doctor reports why the gateway does not open.
        Err(error) if is_doctor => {
            let base = data_dir::base(common.data_dir.as_deref()).ok();
            let env_dir = base.map(|base| data_dir::env_dir(&base, common.environment));
            let (concerned, why) = (error.concerns(), error.to_string());
            serde_json::to_value(doctor::examine_unopened(
                common.environment,
                env_dir.as_deref(),
                concerned,
                why,
            ))?
        }
        Err(error) => return Err(error.into()),
    };
    let is_ill = match command {
        Command::Doctor(_) => view["ok"] != Value::Bool(true),
        Command::VerifyWords(_) => view["fits"] != Value::Bool(true),
        _ => false,
    };
    if let (Form::Json, Some(refusal)) = (form, view["refusal"]["message"]["message"].as_str()) {
        // The record on stdout does not hold the refusal.
        let _ = writeln!(
            std::io::stderr(),
            "tillgate: {refusal}; the transaction is broadcast again after each block"
        );
    }
    let text = match form {
        Form::Json => json::document(command, view)? + "\n",
        // Only lists that are printed page by page have a table.
        Form::Text | Form::Table if remedy::are_told_by(command) => {
            remedy::as_given(&render(command, view)?)
        }
        Form::Text | Form::Table => render(command, view)?,
    };
    print_answer(&text)?;
    Ok(if is_ill { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// A refusal, with its remedy at the command line.
fn refused(common: &Common, error: &CommandError) -> Failure {
    let remedy = if error.error_type == WRONG_PASSPHRASE {
        passphrase::what_was_tried(common)
    } else {
        remedy(error).map(str::to_owned)
    };
    Failure(remedy.map_or_else(|| error.to_string(), |remedy| format!("{error}; {remedy}")))
}

fn remedy(error: &CommandError) -> Option<&'static str> {
    Some(match error.error_type.as_str() {
        "PAYOUT_SHARES_TRANSACTION" => "add --all to do that",
        "FEE_ABOVE_PAYOUT" => "add --force to do that",
        "FEE_ABOVE_CAP" => {
            "to bump at this rate, give it as --fee-rate; to cancel the payout at this rate, raise the setting `feeCapSatVb` first"
        }
        // An approval has no such option: staff reject the offer.
        "PAYOUT_PAID_BEFORE" if error.field.is_some() => "add --again to do that",
        "SENDER_HOLDS" => "`tillgate payouts release` ends the hold",
        "OTHER_COPY_UNSEEN" => "start the gateway (`tillgate serve`), and try again",
        _ => return None,
    })
}

/// The status of the gateway that serves the data directory; `None` if none serves it.
pub async fn running(common: &Common) -> Option<StatusView> {
    let (env_dir, _) = found(common).ok()?;
    let answer = control::ask(&data_dir::socket(&env_dir), &Status {}.into()).await?;
    serde_json::from_value(answer.ok()?).ok()
}

/// Whether a gateway answers on the socket.
pub async fn is_running(socket: &Path) -> bool {
    control::ask(socket, &ListSettings {}.into()).await.is_some()
}

#[cfg(test)]
mod tests {
    use bitcoin::hashes::Hash as _;

    use super::*;
    use tillgate_gateway::anomalies::RefundError;
    use tillgate_gateway::payouts::ApproveError;
    use tillgate_gateway::sender::ReplaceError;

    #[test]
    fn only_the_command_line_says_to_start_the_gateway() {
        let error = CommandError::from(ReplaceError::Unseen(tillgate_told::Telling::of_text(
            "the backend is being asked",
        )));
        assert!(
            !error.to_string().contains("tillgate"),
            "the window must name no command: {error}"
        );
        assert!(remedy(&error).is_some_and(|remedy| remedy.contains("`tillgate serve`")));
    }

    #[test]
    fn only_the_command_line_says_how_to_refund_again() {
        let txid = bitcoin::Txid::from_byte_array([7; 32]);
        let error = CommandError::from(RefundError::PaidBefore { txid, amount_sats: 1 });
        assert!(
            !error.to_string().contains("--"),
            "the window has a checkbox, not an option: {error}"
        );
        assert!(remedy(&error).is_some_and(|remedy| remedy.contains("--again")));
        let address = "bcrt1q".to_owned();
        let error = CommandError::from(ApproveError::PaidBefore { txid, amount_sats: 1, address });
        assert_eq!(remedy(&error), None, "an approval has no such option");
    }
}
