//! Making payments. What becomes of one afterwards is the watcher's; how it is shown is `shown`'s.

mod create;
mod draft;

pub use create::{Author, CreateError, Created, create};
pub use draft::{Draft, RedirectOutcome};
