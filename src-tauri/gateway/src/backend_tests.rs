//! Tests of every backend over the same chain: a backend may report later than another, but must
//! report the same.

mod ahead;
mod alike;
mod ancestors;
pub mod by_script;
mod core_node;
mod customers_choose;
mod denied;
mod electrum_hostile;
mod electrum_made_up;
mod electrum_server;
mod hostile;
mod left_behind;
mod misbehaving;
mod no_estimate;
mod notices;
pub mod payer;
mod reaching;
mod real;
mod replaced;
mod restarted;
mod rewards;
mod scripts;
mod set_meanwhile;
pub mod stage;
mod steps;
mod still;
mod stolen_port;
mod switched;
mod turns;
mod two_nodes;
