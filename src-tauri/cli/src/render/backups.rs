//! Backups, as text for people.

use tillgate_console::backups::{BackupItem, BackupsView, VerifiedBackup};
use tillgate_domain::plain::plain;

use crate::table::Align::{Left, Right};
use crate::table::{Table, fields};

pub fn backups(view: &BackupsView) -> String {
    let or_none =
        |text: &Option<String>, none: &str| text.clone().unwrap_or_else(|| none.to_owned());
    let last = view
        .last
        .as_ref()
        .map_or_else(|| "none yet".to_owned(), |last| format!("{}, {}", last.made_at, last.file));
    let mut text = fields(&[
        ("last", last),
        (
            "nightly to",
            or_none(&view.folder, "no folder: `tillgate settings set backupFolder FOLDER`"),
        ),
        (
            "passphrase set",
            or_none(&view.passphrase_set_at, "no: `tillgate backup --set-passphrase`"),
        ),
        ("next", or_none(&view.next_at, "none")),
        ("kept", view.keep.to_string()),
    ]);
    if let Some(trouble) = &view.trouble {
        text.push_str(&format!("Trouble: {}\n", plain(&trouble.message)));
    }
    if !view.nightly.is_empty() {
        text.push('\n');
        text.push_str(&table(&view.nightly));
    }
    text
}

pub fn made(view: &BackupItem) -> String {
    format!(
        "{}: {} bytes, of {}. It was read back, and opens.\n",
        plain(&view.file),
        view.size_bytes,
        view.made_at
    )
}

pub fn verified(view: &VerifiedBackup) -> String {
    format!("The backup of {} would restore this wallet.\n", view.made_at)
}

fn table(items: &[BackupItem]) -> String {
    let mut table =
        Table::new(&[("made", Left), ("bytes", Right), ("checked", Left), ("file", Left)]);
    for item in items {
        let checked = item.checked_at.clone().unwrap_or_default();
        table.row([item.made_at.clone(), item.size_bytes.to_string(), checked, item.file.clone()]);
    }
    table.render("No nightly backups.")
}
