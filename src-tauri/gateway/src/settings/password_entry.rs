//! Two entries in the secret store for the password of the Bitcoin backend, and the choice between
//! them.
//!
//! A new password is written to the entry that is not in effect. A row among the settings then puts
//! it into effect, in the transaction that stores the other settings. So after a power cut,
//! password and settings belong to the same change. A password left in the other entry is never
//! used, and the next change overwrites it.

use tillgate_machine::secrets::Purpose;
use tillgate_store::{Reader, StoreError};

/// An entry of the secret store for the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PasswordEntry {
    /// The entry in effect if no row names another.
    #[default]
    First,
    Second,
}

/// A password that was written to the secret store and is to take effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewPassword {
    /// The entry that holds the password.
    pub entry: PasswordEntry,
    /// Whether there is a password; false if it was removed.
    pub is_set: bool,
}

impl PasswordEntry {
    /// The setting whose value is in these entries.
    pub const SETTING: &'static str = "backendPassword";

    /// The row that says whether there is a password. It is written with [`Self::ROW`]; without it
    /// there is none.
    pub const IS_SET_ROW: &'static str = "backendPassword.isSet";

    const ALL: [Self; 2] = [Self::First, Self::Second];

    /// The row that names the entry in effect. It is not a setting, so it cannot be set by name.
    pub const ROW: &'static str = "backendPassword.entry";

    /// The text of this entry in [`Self::ROW`].
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::First => "1",
            Self::Second => "2",
        }
    }

    /// The entry that a row names.
    pub fn of_row(text: &str) -> Result<Self, StoreError> {
        Self::ALL
            .into_iter()
            .find(|entry| entry.as_str() == text)
            .ok_or(StoreError::BadValue(Self::ROW))
    }

    /// The entry in effect, by the database.
    ///
    /// # Errors
    /// The database cannot be read, or the row names no entry.
    pub fn in_effect(reader: &Reader<'_>) -> Result<Self, StoreError> {
        let rows = reader.settings()?;
        rows.iter()
            .find(|(name, _)| name == Self::ROW)
            .map_or(Ok(Self::default()), |(_, text)| Self::of_row(text))
    }

    /// The entry that is not in effect while this one is.
    pub const fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }

    /// The purpose under which the secret store holds this entry.
    pub const fn purpose(self) -> Purpose {
        match self {
            Self::First => Purpose::BackendPassword,
            Self::Second => Purpose::SecondBackendPassword,
        }
    }
}
