//! Making payments and showing them. What becomes of one in between is the watcher's.

mod create;
mod draft;
mod read;

pub(crate) use create::CreateError;
pub use create::{Author, Created, create};
pub use draft::Draft;
pub(crate) use draft::RedirectOutcome;
pub(crate) use read::{list, show};

#[cfg(test)]
mod tests;
