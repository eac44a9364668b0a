//! Saves lists as files in the person's folder for downloads, as a browser does.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tauri::{AppHandle, Manager as _};
use tillgate_console::{CommandError, Refusal};

use crate::gateway_task::GatewayTask;

/// The most files of one name, so that a full folder leads to an error.
const COPIES_MAX: u32 = 1_000;

/// A table that the gateway writes in pages.
#[derive(Debug, Clone, Copy)]
pub enum Table {
    Payments,
    Statement,
}

/// Saves a table for the spreadsheets of the person's locale, page by page. `asked` has the fields
/// of the table's command. Returns the file's path.
///
/// # Errors
/// The gateway's own error, or the file cannot be written.
pub async fn save(
    table: Table,
    app: &AppHandle,
    gateway: &GatewayTask,
    mut asked: Value,
) -> Result<Value, CommandError> {
    let (command, subject) = match table {
        Table::Payments => ("paymentsSheet", "payments"),
        Table::Statement => ("statementSheet", "statement"),
    };
    asked["command"] = json!(command);
    asked["locale"] = json!(tillgate_machine::locale::locale());
    let folder = app.path().download_dir().or_else(|_| app.path().home_dir());
    let folder = folder.map_err(|error| unsaved(Path::new("~"), &error))?;
    let name = format!("tillgate-{}-{subject}", gateway.environment().as_str());
    let (mut file, path) = create(&folder, &name).map_err(|error| unsaved(&folder, &error))?;
    match write_pages(gateway, asked, &mut file, &path).await {
        Ok(()) => Ok(json!({ "file": path })),
        Err(error) => {
            // A part of a list could be mistaken for the whole.
            let _ = std::fs::remove_file(&path);
            Err(error)
        }
    }
}

async fn write_pages(
    gateway: &GatewayTask,
    mut asked: Value,
    file: &mut File,
    path: &Path,
) -> Result<(), CommandError> {
    asked["after"] = Value::Null;
    loop {
        let mut page = gateway.ask(asked.clone()).await?;
        let text = page["text"].as_str().unwrap_or_default();
        file.write_all(text.as_bytes()).map_err(|error| unsaved(path, &error))?;
        asked["after"] = page["next"].take();
        if asked["after"].is_null() {
            return file.sync_all().map_err(|error| unsaved(path, &error));
        }
    }
}

/// Creates the first file of `name.csv`, `name-2.csv` and so on that does not exist.
fn create(folder: &Path, name: &str) -> io::Result<(File, PathBuf)> {
    std::fs::create_dir_all(folder)?;
    for copy in 1..=COPIES_MAX {
        let number = if copy == 1 { String::new() } else { format!("-{copy}") };
        let path = folder.join(format!("{name}{number}.csv"));
        match File::create_new(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn unsaved(path: &Path, error: &dyn std::fmt::Display) -> CommandError {
    let refusal =
        Refusal::FileNotSaved { path: path.display().to_string(), error: error.to_string() };
    CommandError::told("FILE_NOT_SAVED", &refusal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_same_name_is_kept() {
        let folder =
            std::env::temp_dir().join(format!("tillgate-downloads-{}", std::process::id()));
        let names = [1, 2, 3].map(|_| {
            let (_, path) = create(&folder, "payments").unwrap();
            path.file_name().unwrap().to_string_lossy().into_owned()
        });
        assert_eq!(names, ["payments.csv", "payments-2.csv", "payments-3.csv"]);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
