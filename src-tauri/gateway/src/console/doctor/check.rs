//! One check of the doctor.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The result of a check: a sentence either way.
pub(super) type Finding = Result<String, String>;

/// One check of `doctor`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct CheckItem {
    /// The name of the check: `keyring`, `chain`, `rates`, `clock`, `disk`, `ports`, `permissions`, `database`,
    /// `notifications`, `payouts`, `stuck`, `alarms`, `backups`; `folder`, `lock` and others if the gateway could not
    /// be opened.
    pub name: String,
    /// Whether the check passed.
    pub ok: bool,
    /// The finding, and the remedy.
    pub message: String,
}

/// The item of a check by its finding.
pub(super) fn check(name: &str, finding: Finding) -> CheckItem {
    let ok = finding.is_ok();
    let message = match finding {
        Ok(message) | Err(message) => message,
    };
    CheckItem { name: name.to_owned(), ok, message }
}
