//! The port to a Bitcoin backend, a file or folder for each backend, and the checks that hold for all of them.
//!
//! A backend tells facts and holds no rule. A fact that it cannot know is [`Fact::Unknown`], which never counts as a
//! no.
//!
//! There are two kinds ([`Sees`]). One sees every transaction and picks out ours by the watch list. The other asks a
//! server about the scripts in [`Scripts`]. Its answer names the scripts that it asked about ([`Covered`]): a
//! transaction of any other script is not known to be absent.
//!
//! A backend hands out the state that it must remember of a script ([`View::states`]). The state is stored in the
//! look's database transaction and read back through [`KnownScripts::state`]. A look that could not be stored is
//! therefore simply repeated. The token holds the position in the chain.

pub(crate) mod backend;
mod checks;
pub(crate) mod configured;
pub(crate) mod core;
pub(crate) mod electrum;
pub(crate) mod hot_scripts;
pub(crate) mod port;
pub(crate) mod sandbox;
mod servers;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod waker;

pub(crate) use checks::conflicts::{missing_ancestors, parents_first};
pub(crate) use checks::merkle_proof::coinbase_height;
pub(crate) use checks::relay_policy::fee_named;
pub(crate) use checks::sanitized::quoted;
pub(crate) use hot_scripts::HotScripts;
pub use port::Broadcast;
#[cfg(test)]
pub(crate) use port::no_scripts;
pub(crate) use port::{
    Chain, ChainDown, Covered, KnownScripts, LookRequest, RecentTransactions, Scripts, Sees, TxFacts, View, WatchList,
};
pub(crate) use tillgate_domain::chain::{Fact, Identity, KnownPosition, ScriptState, Tip, TxPosition};
