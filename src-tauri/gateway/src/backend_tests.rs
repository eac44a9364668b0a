//! Tests of every backend over the same chain: a backend may report later than another, but must
//! report the same.

mod ahead;
mod alike;
mod ancestors;
mod core_node;
mod customers_choose;
mod denied;
mod electrum_made_up;
mod electrum_server;
mod hostile;
mod left_behind;
mod no_estimate;
mod notices;
mod reaching;
mod real;
mod replaced;
mod restarted;
mod rewards;
mod scripts;
mod steps;
mod stolen_port;
mod switched;
mod turns;
mod two_nodes;
