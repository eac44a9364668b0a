//! The commands of the panel and the command line, without any transport: a [`Command`] is the
//! input, and a view is the output. Each subject has its own file. This module holds no SQL, and no
//! rule by which a payment changes. Its only rules decide how facts are displayed, such as the
//! reason why a payment is invalid.

mod actor;
pub mod acts;
pub mod alarms;
pub mod anomalies;
pub mod ask;
mod backend_defect;
pub mod backend_test;
pub mod backups;
#[cfg(test)]
mod bindings;
pub mod books;
pub mod books_sheet;
pub mod btc;
pub mod certificates;
mod command;
pub mod control;
pub mod deliveries;
pub mod doctor;
mod error;
pub mod keys;
pub mod limits;
pub mod news;
pub mod page;
pub mod payments;
pub mod payouts;
pub mod receiver;
mod refusal;
mod sale;
pub mod sandbox;
#[cfg(test)]
mod sentences;
pub mod settings;
pub mod sheet;
mod small_sales;
pub mod statement;
pub mod statement_sheet;
pub mod statement_sums;
pub mod status;
pub mod sums;
pub mod takings;
#[cfg(test)]
mod tests;
pub mod till;
mod transaction_position;
pub mod wallet;

pub use actor::Actor;
pub use backups::ShowBackups;
pub use command::{Command, ask, dispatch};
pub use error::CommandError;
pub use news::{ListNews, NewsItem};
pub use refusal::Refusal;
pub use status::Status;
pub use status::StatusView;
