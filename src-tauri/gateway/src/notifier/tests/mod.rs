//! The notifier against real servers on loopback.

mod keys;
mod limits;
mod servers;
mod support;
mod turns;
