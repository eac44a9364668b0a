//! Saves lists as files in the person's folder for downloads, as a browser does. A person can break
//! it off.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use tauri::{AppHandle, Emitter as _, Manager as _};
use tillgate_cli::WrittenStatement;
use tillgate_console::statement::{PAGE_MAX, StatementView};
use tillgate_console::{CommandError, Refusal};
use tokio_util::sync::CancellationToken;

use crate::gateway_task::GatewayTask;
use crate::window;

/// The most files of one name, so that a full folder leads to an error.
const COPIES_MAX: u32 = 1_000;

/// The most characters of a name that the panel chooses.
const NAME_MAX: usize = 120;

/// Event for the panel: the number of rows that were written so far.
const SAVING: &str = "saving";

/// A list that the gateway gives in pages.
#[derive(Debug, Clone, Copy)]
pub enum List {
    Payments,
    Takings,
    Statement,
    Acts,
}

/// Breaks off the files that are being saved; kept as Tauri state.
#[derive(Debug, Default)]
pub struct Saving(Mutex<CancellationToken>);

/// How the pages become a file.
enum Form<'a> {
    /// The gateway writes the lines of a table.
    Table,
    /// The gateway gives the movements of a statement.
    Json(WrittenStatement<'a>),
}

impl Saving {
    fn token(&self) -> CancellationToken {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Breaks off all files that are being saved now.
    pub fn stop(&self) {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).cancel();
    }
}

/// Saves a list page by page, for the spreadsheets of the person's locale or as JSON. `asked` has
/// the fields of the list's command. It may also have a `name` for the file, and a statement `json`
/// as its `form`. Returns the file's path; null if a person broke it off.
///
/// # Errors
/// The gateway's own error, or the file cannot be written.
pub async fn save(
    list: List,
    app: &AppHandle,
    gateway: &GatewayTask,
    mut asked: Value,
) -> Result<Value, CommandError> {
    let stop = app.state::<Saving>().token();
    let currency = asked["currency"].as_str().unwrap_or_default().to_owned();
    let (command, subject, form) = match list {
        List::Payments => ("paymentsSheet", "payments", Form::Table),
        List::Takings => ("booksSheet", "takings", Form::Table),
        List::Acts => ("actsSheet", "acts", Form::Table),
        List::Statement if asked["form"] == "json" => {
            ("statement", "statement", Form::Json(WrittenStatement::as_json(&currency)))
        }
        List::Statement => ("statementSheet", "statement", Form::Table),
    };
    let name = asked["name"].as_str().filter(|name| is_name(name)).map(str::to_owned);
    let name =
        name.unwrap_or_else(|| format!("tillgate-{}-{subject}", gateway.environment().as_str()));
    asked["command"] = json!(command);
    let ending = match form {
        Form::Table => {
            asked["locale"] = json!(tillgate_machine::locale::locale());
            "csv"
        }
        Form::Json(_) => {
            asked["limit"] = json!(PAGE_MAX);
            "json"
        }
    };
    let folder = app.path().download_dir().or_else(|_| app.path().home_dir());
    let folder = folder.map_err(|error| unsaved(Path::new("~"), &error))?;
    let (mut file, path) =
        create(&folder, &name, ending).map_err(|error| unsaved(&folder, &error))?;
    let told = |rows: u64| {
        if let Err(error) = app.emit_to(window::LABEL, SAVING, rows.to_string()) {
            tracing::warn!(%error, "the panel cannot be told how far a file is saved");
        }
    };
    let write = write_pages(gateway, asked, form, &mut file, &path, told);
    match stop.run_until_cancelled(write).await {
        Some(Ok(())) => Ok(json!({ "file": path })),
        // A part of a list could be mistaken for the whole.
        Some(Err(error)) => {
            let _ = std::fs::remove_file(&path);
            Err(error)
        }
        None => {
            let _ = std::fs::remove_file(&path);
            Ok(json!({ "file": null }))
        }
    }
}

async fn write_pages(
    gateway: &GatewayTask,
    mut asked: Value,
    mut form: Form<'_>,
    file: &mut File,
    path: &Path,
    told: impl Fn(u64),
) -> Result<(), CommandError> {
    let failed = |error: io::Error| unsaved(path, &error);
    asked["after"] = Value::Null;
    let mut rows = 0;
    loop {
        let page = gateway.ask(asked.clone()).await?;
        asked["after"] = page["next"].clone();
        let (text, count) = form.read(page)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        rows += count;
        told(rows);
        if asked["after"].is_null() {
            if let Form::Json(written) = form {
                file.write_all(written.end().as_bytes()).map_err(failed)?;
            }
            return file.sync_all().map_err(failed);
        }
    }
}

impl Form<'_> {
    /// The text of a page, and the number of its rows.
    fn read(&mut self, page: Value) -> Result<(String, u64), CommandError> {
        match self {
            Self::Table => {
                let text = page["text"].as_str().unwrap_or_default().to_owned();
                Ok((text, page["rows"].as_u64().unwrap_or_default()))
            }
            Self::Json(written) => {
                let page: StatementView = serde_json::from_value(page)
                    .map_err(|_| CommandError::told("INTERNAL", &Refusal::Internal))?;
                Ok((written.page(&page), u64::try_from(page.items.len()).unwrap_or(u64::MAX)))
            }
        }
    }
}

/// Whether a text can only name a file in the folder.
fn is_name(text: &str) -> bool {
    let length = text.chars().count();
    (1..=NAME_MAX).contains(&length) && text.chars().all(|it| it.is_alphanumeric() || it == '-')
}

/// Creates the first file of `name.csv`, `name-2.csv` and so on that does not exist.
fn create(folder: &Path, name: &str, ending: &str) -> io::Result<(File, PathBuf)> {
    std::fs::create_dir_all(folder)?;
    for copy in 1..=COPIES_MAX {
        let number = if copy == 1 { String::new() } else { format!("-{copy}") };
        let path = folder.join(format!("{name}{number}.{ending}"));
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
            let (_, path) = create(&folder, "payments", "csv").unwrap();
            path.file_name().unwrap().to_string_lossy().into_owned()
        });
        assert_eq!(names, ["payments.csv", "payments-2.csv", "payments-3.csv"]);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_name_from_the_panel_leads_to_no_other_folder() {
        assert!(is_name("Cafe-Blau-2026-10-statement") && is_name("Кафе-2026"));
        for name in ["", "../x", "a/b", "a.b", "a\\b", "C:", "a b", "x".repeat(121).as_str()] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn a_stop_breaks_off_the_present_files_and_no_later_one() {
        let saving = Saving::default();
        let present = saving.token();
        saving.stop();
        assert!(present.is_cancelled() && !saving.token().is_cancelled());
    }
}
