//! The batches that one look settles.

/// Batches that a look settles.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Due {
    #[default]
    Nothing,
    /// These batches.
    Batches(Vec<i64>),
    /// All batches, and everything else that a block decides. `before` is the tip height of the last full settling.
    All { before: Option<u32> },
}
