//! The batches that one look settles.

/// What a look settles.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Due {
    #[default]
    Nothing,
    /// These batches.
    Batches(Vec<i64>),
    /// All batches, and what else a block decides; the last time was at this height.
    All { before: Option<u32> },
}
