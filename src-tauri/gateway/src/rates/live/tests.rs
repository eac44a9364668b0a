//! Public sources: reading their answers, and handling servers of every kind.

mod proxies;
mod reading;
mod servers;
mod support;
