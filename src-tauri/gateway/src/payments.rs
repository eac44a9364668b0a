//! Creates payments and reads their records. Only the watcher changes a payment.

mod checks;
mod create;
mod draft;
mod read;

pub use checks::{FieldErrors, TEXT_MAX};
pub use create::CreateError;
pub use create::{Author, Created, create};
pub use draft::Draft;
pub use draft::RedirectKind;
pub use read::FEW_TRANSACTIONS;
pub use read::{Lookup, find, list, record};

#[cfg(test)]
mod tests;
