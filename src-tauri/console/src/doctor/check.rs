//! The item of one check in the view of `doctor`.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The result of a check. Both `Ok` and `Err` hold a sentence for people.
pub type Finding = Result<String, String>;

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct CheckItem {
    /// The name of the check: `keyring`, `chain`, `rates`, `clock`, `disk`, `ports`, `permissions`,
    /// `database`, `notifications`, `payouts`, `stuck`, `alarms`, `backups`, `restore`; `folder`,
    /// `lock` and others if the gateway could not be opened.
    pub name: String,
    /// Whether the check passed.
    pub ok: bool,
    /// The finding, and the remedy if the check failed.
    pub message: String,
}

pub fn check(name: &str, finding: Finding) -> CheckItem {
    let ok = finding.is_ok();
    let message = match finding {
        Ok(message) | Err(message) => message,
    };
    CheckItem { name: name.to_owned(), ok, message }
}
