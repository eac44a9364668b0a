//! The life of a gateway: it opens its files, listens, runs its loops, and stops.

mod listen;
mod open;
mod run;
#[cfg(test)]
mod tests;

pub(crate) use listen::{Listen, Tls};
pub(crate) use open::OpenError;
pub use open::{Options, ensure_wallet, open};
#[cfg(test)]
pub(crate) use run::correct_future_times;
pub(crate) use run::run;
