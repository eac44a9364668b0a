//! Tests of the public sources: reading their answers, and handling all kinds of servers.

mod proxies;
mod reading;
mod servers;
mod support;
