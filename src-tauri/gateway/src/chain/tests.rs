//! Every backend over the same kind of chain: later is allowed, other is not.

mod alike;
mod core_node;
mod hostile;
mod stage;
