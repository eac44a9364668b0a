//! The port to a Bitcoin backend, with one file for each backend. [`open`] chooses among them.
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

pub(crate) mod bell;
pub(crate) mod chosen;
pub(crate) mod core;
pub(crate) mod electrum;
mod facts;
mod headers;
pub(crate) mod hot;
pub(crate) mod open;
pub(crate) mod port;
mod proof;
mod recent;
mod refusals;
mod room;
pub(crate) mod sandbox;
mod several;
mod shown;
#[cfg(test)]
pub(crate) mod tests;
mod token;

pub(crate) use core::broadcast::fee_named;
pub(crate) use facts::{missing_ancestors, parents_first};
pub(crate) use hot::HotScripts;
pub use port::Broadcast;
#[cfg(test)]
pub(crate) use port::no_scripts;
pub(crate) use port::{Chain, ChainDown, Covered, KnownScripts, LookRequest, Scripts, Sees, TxFacts, View, WatchList};
pub(crate) use proof::height_of_reward;
pub(crate) use recent::Recent;
pub(crate) use shown::quoted;
pub(crate) use tillgate_domain::chain::{Fact, Identity, KnownPosition, ScriptState, Tip, TxPosition};
