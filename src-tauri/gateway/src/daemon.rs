//! The life of a gateway: it opens its files, listens, runs its loops, and stops.

mod listen;
mod open;
mod run;
#[cfg(test)]
mod tests;

pub use listen::{Listen, Tls};
pub use open::OpenError;
pub use open::{Options, ensure_wallet, open};
#[cfg(test)]
pub use run::correct_future_times;
pub use run::run;
