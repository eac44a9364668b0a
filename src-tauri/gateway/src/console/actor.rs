//! Who acts, as it stands in the audit: by which door, and as which user of the operating system.

use crate::machine::trust;

/// Who acts: `cli:ann`, `panel:ann`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor(String);

impl Actor {
    /// Whoever runs the command line as this program's user; the control socket hears nobody else.
    #[must_use]
    pub fn command_line() -> Self {
        Self(format!("cli:{}", trust::own_name()))
    }

    /// Whoever sits at the window.
    #[must_use]
    pub fn panel() -> Self {
        Self(format!("panel:{}", trust::own_name()))
    }

    /// The actor as the audit stores it.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}
