//! Every backend over the same kind of chain: later is allowed, other is not.

mod alike;
pub(crate) mod by_script;
mod core_node;
mod electrum_hostile;
mod electrum_server;
mod esplora_hostile;
mod esplora_server;
mod hostile;
mod misbehaving;
mod notices;
mod payer;
mod reaching;
mod real;
mod rewards;
mod scripts;
pub(crate) mod stage;
mod steps;
mod switched;
mod turns;
