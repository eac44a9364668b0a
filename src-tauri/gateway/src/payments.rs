//! Creates payments and reads their records. Only the watcher changes a payment.

mod checks;
mod create;
mod read;
mod request;

pub use checks::{FieldErrors, TEXT_MAX};
pub use create::CreateError;
pub use create::{Author, Created, create};
pub use read::FEW_TRANSACTIONS;
pub use read::{Lookup, find, list, record};
pub use request::PaymentRequest;
pub use request::RedirectKind;

#[cfg(test)]
mod tests;
