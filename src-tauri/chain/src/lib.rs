//! The port to a Bitcoin backend, one module per backend, and the checks that apply to every
//! backend.
//!
//! A backend reports facts and decides nothing. A fact that it cannot know is [`Fact::Unknown`],
//! which never counts as "no".
//!
//! There are two kinds of backend ([`Sees`]). One kind sees every transaction and picks ours with
//! the watch list. The other kind asks a server about the scripts in [`Scripts`]. Its answer names
//! the scripts that it asked about ([`Covered`]). A transaction of any other script may exist
//! although the answer lacks it.
//!
//! A backend returns the state that it must remember for a script ([`LookAnswer::states`]). The
//! state is stored in the look's database transaction and read back with [`KnownScripts::state`]. A
//! look that could not be stored is therefore simply repeated. The token holds the position in the
//! chain.

pub mod backend;
mod backend_kind;
#[cfg(any(test, feature = "testing"))]
pub mod chain_wrapper;
pub mod checks;
pub mod configured;
pub mod core;
pub mod down;
pub mod electrum;
pub mod hot_scripts;
pub mod port;
pub mod sandbox;
pub mod servers;
pub mod waker;

pub use backend_kind::BackendKind;
pub use checks::conflicts::{missing_ancestors, parents_first};
pub use checks::merkle_proof::coinbase_height;
pub use checks::relay_policy::{fee_named, may_a_higher_fee_help};
pub use checks::sanitized::quoted;
pub use hot_scripts::HotScripts;
#[cfg(any(test, feature = "testing"))]
pub use port::no_scripts;
pub use port::{
    Broadcast, Chain, ChainDown, Covered, KnownScripts, LookAnswer, LookRequest, NodeFeeRates,
    RecentTransactions, Scripts, Sees, TxFacts, WatchList,
};
pub use tillgate_domain::chain::{Fact, Identity, KnownPosition, ScriptState, Tip, TxPosition};
