//! Creates payments and reads their records. Only the watcher changes a payment.

mod checks;
mod create;
mod draft;
mod read;

pub(crate) use checks::{FieldErrors, TEXT_MAX};
pub(crate) use create::CreateError;
pub use create::{Author, Created, create};
pub use draft::Draft;
pub(crate) use draft::RedirectKind;
#[cfg(test)]
pub(crate) use read::FEW_TRANSACTIONS;
pub(crate) use read::{Lookup, find, list, record};

#[cfg(test)]
mod tests;
