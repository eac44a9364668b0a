//! The port to a Bitcoin backend, one module per backend, and the checks that apply to every backend.
//!
//! A backend reports facts and decides nothing. A fact that it cannot know is [`Fact::Unknown`], which never counts as
//! "no".
//!
//! There are two kinds of backend ([`Sees`]). One kind sees every transaction and picks ours with the watch list. The
//! other kind asks a server about the scripts in [`Scripts`]. Its answer names the scripts that it asked about
//! ([`Covered`]). A transaction of any other script may exist although the answer lacks it.
//!
//! A backend returns the state that it must remember for a script ([`LookAnswer::states`]). The state is stored in the
//! look's database transaction and read back with [`KnownScripts::state`]. A look that could not be stored is therefore
//! simply repeated. The token holds the position in the chain.

pub(crate) mod backend;
mod backend_kind;
mod checks;
pub(crate) mod configured;
pub(crate) mod core;
pub(crate) mod down;
pub(crate) mod electrum;
pub(crate) mod hot_scripts;
pub(crate) mod port;
pub(crate) mod sandbox;
mod servers;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod waker;

pub(crate) use backend_kind::BackendKind;
pub(crate) use checks::conflicts::{missing_ancestors, parents_first};
pub(crate) use checks::merkle_proof::coinbase_height;
pub(crate) use checks::relay_policy::{fee_named, may_a_higher_fee_help};
pub(crate) use checks::sanitized::quoted;
pub(crate) use hot_scripts::HotScripts;
pub use port::Broadcast;
#[cfg(test)]
pub(crate) use port::no_scripts;
pub(crate) use port::{
    Chain, ChainDown, Covered, KnownScripts, LookAnswer, LookRequest, NodeFeeRates, RecentTransactions, Scripts, Sees,
    TxFacts, WatchList,
};
pub(crate) use tillgate_domain::chain::{Fact, Identity, KnownPosition, ScriptState, Tip, TxPosition};
