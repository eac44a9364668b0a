//! Every backend over the same kind of chain: later is allowed, other is not.

mod alike;
mod ancestors;
pub(crate) mod by_script;
mod core_node;
mod customers_choose;
mod denied;
mod electrum_hostile;
mod electrum_made_up;
mod electrum_server;
mod hostile;
mod left_behind;
mod misbehaving;
mod notices;
pub(crate) mod payer;
mod reaching;
mod real;
mod replaced;
mod restarted;
mod rewards;
mod scripts;
mod set_meanwhile;
pub(crate) mod stage;
mod steps;
mod stolen_port;
mod switched;
mod turns;
mod two_nodes;
