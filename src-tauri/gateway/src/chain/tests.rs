//! Every backend over the same kind of chain: later is allowed, other is not.

mod alike;
pub(crate) mod by_script;
mod core_node;
mod electrum_hostile;
mod electrum_server;
mod esplora_hostile;
mod esplora_server;
mod hostile;
mod payer;
mod rewards;
mod scripts;
mod stage;
mod turns;
