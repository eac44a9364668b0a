//! The life of a serving gateway: it listens, runs its loops, and stops.

mod listen;
mod run;
#[cfg(test)]
mod tests;

pub use listen::{Listen, Tls};
pub use run::run;
