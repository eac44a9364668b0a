//! The interface over real HTTP, against a gateway on its sandbox. What money does is proved elsewhere;
//! here it is what stands on the wire.

mod answers;
mod description;
mod keys;
mod once;
mod pages;
mod payouts;
mod rates;
mod refusals;
mod shop;
mod transport;
