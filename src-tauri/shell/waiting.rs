//! The tasks that wait for a person.

/// The number of each kind of task, in one environment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waiting {
    pub reversals: u64,
    /// Offers requested by API keys. An offer that a person requested needs no alert.
    pub offers: u64,
    /// Nightly backups are set up, and the last one failed or is overdue.
    pub no_backup: bool,
}
