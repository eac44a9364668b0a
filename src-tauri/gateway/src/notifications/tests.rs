//! Tests of the notifier with real servers on loopback.

mod broken_log;
mod keys;
mod limits;
mod resends;
mod servers;
mod support;
mod turns;
