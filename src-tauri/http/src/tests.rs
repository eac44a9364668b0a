//! The interface over real HTTP, against a gateway on its sandbox. These tests check the wire
//! format; the rules of money are tested elsewhere.

mod answers;
mod description;
mod keys;
mod once;
mod pages;
mod payouts;
mod rates;
mod refusals;
mod room;
mod shop;
mod shops;
mod transport;
