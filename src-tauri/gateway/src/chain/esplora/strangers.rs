//! What is remembered of questions that strangers chose, payees and customers.

use bitcoin::ScriptBuf;

use crate::chain::untold::Untold;

/// What came of questions that strangers chose.
#[derive(Default)]
pub(super) struct Strangers {
    /// Payees of whom the server did not tell all, however often it was asked.
    pub payees: Untold<ScriptBuf>,
    /// Paths under which it is asked about others' transactions.
    pub paths: Untold<String>,
    /// A payee cut the last look short that asked about any: the next asks about none, so that all else has its turn.
    pub has_cut_short: bool,
    /// How often the server had wanted to be left alone when it last did so at a payee.
    pub silences: u64,
}
