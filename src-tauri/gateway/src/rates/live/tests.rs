//! Public sources: what is read of their answers, and how servers of every kind are met.

mod proxies;
mod reading;
mod servers;
mod support;
