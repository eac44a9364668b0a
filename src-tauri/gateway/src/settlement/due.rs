//! The batches that one look settles.

/// Batches that a look settles.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Due {
    #[default]
    Nothing,
    /// These batches.
    Batches(Vec<i64>),
    /// All batches, and everything else that a block decides. `before` is the height of the last time.
    All { before: Option<u32> },
}
