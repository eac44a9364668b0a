//! The actor of a command, as the audit stores it: `cli` or `panel`, and the name of the operating
//! system's user.

use tillgate_machine::trust;

/// An actor: `cli:ann`, `panel:ann`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor(String);

impl Actor {
    /// The user at the command line. It is this program's own user, because the control socket
    /// admits no other.
    #[must_use]
    pub fn command_line() -> Self {
        Self(format!("cli:{}", trust::own_name()))
    }

    /// The user at the window.
    #[must_use]
    pub fn panel() -> Self {
        Self(format!("panel:{}", trust::own_name()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}
