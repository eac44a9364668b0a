//! `tillgate restore`. It asks no gateway, because the environment does not exist yet.

use std::io::Write as _;
use std::process::ExitCode;

use serde_json::json;
use tillgate_console::Actor;
use tillgate_gateway::backup::{self, BackupError, Restored};
use tillgate_machine::data_dir;

use super::args::{Common, Form, Restore};
use super::failure::Failure;
use super::options::options;
use super::output::print;
use super::passphrase;
use super::remedy::as_given;

/// Restores the backup and prints the next steps.
pub fn run(common: &Common, asked: &Restore, form: Form) -> Result<ExitCode, Failure> {
    let base = data_dir::base(common.data_dir.as_deref())?;
    // Refuses an existing environment before a person types a passphrase.
    backup::check_free(&base, common.environment)?;
    let file = std::path::absolute(&asked.file)?;
    let restored = backup::restore(&backup::Restore {
        passphrase: passphrase::of_backup(common, &file)?,
        file,
        base,
        environment: common.environment,
        secrets: options(common)?.secrets,
        actor: Actor::command_line().as_str().to_owned(),
    })
    .map_err(|error| refused(common, &error))?;
    if let Some(notice) = passphrase::notice_of_restore(common)? {
        let _ = writeln!(std::io::stderr(), "tillgate: {notice}");
    }
    print(&render(common, &restored, form))?;
    Ok(ExitCode::SUCCESS)
}

/// Why the backup was not restored. For a wrong passphrase it says which passphrase was tried.
fn refused(common: &Common, error: &BackupError) -> Failure {
    let tried = matches!(error, BackupError::WrongPassphrase)
        .then(|| passphrase::what_was_tried(common))
        .flatten();
    Failure(tried.map_or_else(|| error.to_string(), |tried| format!("{error}; {tried}")))
}

fn render(common: &Common, restored: &Restored, form: Form) -> String {
    let Restored { env_dir, made_at, has_wallet } = restored;
    match form {
        Form::Json => {
            let view = json!({
                "environment": common.environment.as_str(),
                "folder": env_dir.display().to_string(),
                "madeAt": made_at.iso_seconds(),
                "wallet": has_wallet,
            });
            format!("{view}\n")
        }
        Form::Text | Form::Table => as_given(&format!(
            "Restored to {}, from a backup of {}.\n\
             Later payments and payouts are missing: no address is given and nothing is sent before the chain was scanned.\n\
             Start the restored copy with `tillgate serve`, and never start the original again.\n",
            env_dir.display(),
            made_at.iso_seconds()
        )),
    }
}
