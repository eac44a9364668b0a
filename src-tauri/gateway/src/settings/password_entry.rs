//! Which of two entries with the secrets holds the password of the Bitcoin backend.
//!
//! A password is kept in the entry that holds none in effect, and comes into effect by a row among the settings, in the
//! transaction that stores what was set beside it. Wherever the power fails, password and settings are those of one
//! change; what such an end leaves in the other entry is in effect nowhere, and the next change writes over it.

use crate::machine::secrets::Purpose;
use crate::store::{Reader, StoreError};

/// An entry with the secrets that can hold the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum PasswordEntry {
    /// Where it lies as long as no row says otherwise.
    #[default]
    First,
    Second,
}

/// A password that comes into effect, lying with the secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewPassword {
    /// Where it lies.
    pub entry: PasswordEntry,
    /// Whether it is one, and not that there is none any more.
    pub is_set: bool,
}

impl PasswordEntry {
    /// The setting whose value lies there.
    pub(crate) const SETTING: &'static str = "backendPassword";

    /// The setting that names whose password it is.
    pub(super) const OF: &'static str = "backendUser";

    /// The name of the row that says whether there is a password, beside [`Self::ROW`].
    pub(super) const IS_SET_ROW: &'static str = "backendPassword.isSet";

    const ALL: [Self; 2] = [Self::First, Self::Second];

    /// The name of the row, which is no setting's: nobody can set it.
    pub(super) const ROW: &'static str = "backendPassword.entry";

    /// What the row says of it.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::First => "1",
            Self::Second => "2",
        }
    }

    /// The entry that a row names.
    pub(super) fn of_row(text: &str) -> Result<Self, StoreError> {
        Self::ALL.into_iter().find(|entry| entry.as_str() == text).ok_or(StoreError::BadValue(Self::ROW))
    }

    /// The entry in effect, as the database has it.
    ///
    /// # Errors
    /// When it cannot be read, or the row names none.
    pub(crate) fn in_effect(reader: &Reader<'_>) -> Result<Self, StoreError> {
        let rows = reader.settings()?;
        rows.iter().find(|(name, _)| name == Self::ROW).map_or(Ok(Self::default()), |(_, text)| Self::of_row(text))
    }

    /// The one that is not in effect while this one is.
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }

    /// What its secret is for.
    pub(crate) const fn purpose(self) -> Purpose {
        match self {
            Self::First => Purpose::BackendPassword,
            Self::Second => Purpose::SecondBackendPassword,
        }
    }
}
