//! The commands of the panel and the command line, without any transport: a [`Command`] is the input, and a view is
//! the output. Each subject has its own file. This module holds no SQL, and no rule by which a payment changes. Its
//! only rules decide how facts are displayed, such as the reason why a payment is invalid.

mod actor;
pub(crate) mod alarms;
pub(crate) mod anomalies;
pub(crate) mod ask;
mod backend_defect;
pub(crate) mod backend_test;
pub(crate) mod backups;
pub(crate) mod btc;
pub(crate) mod certificates;
mod command;
pub(crate) mod control;
pub(crate) mod deliveries;
pub(crate) mod doctor;
mod error;
pub(crate) mod keys;
pub(crate) mod limits;
pub(crate) mod news;
pub(crate) mod page;
pub(crate) mod payments;
pub(crate) mod payouts;
pub(crate) mod receiver;
mod refusal;
pub(crate) mod sandbox;
#[cfg(test)]
mod sentences;
pub(crate) mod settings;
pub(crate) mod sheet;
pub(crate) mod statement;
pub(crate) mod statement_sheet;
pub(crate) mod status;
pub(crate) mod sums;
pub(crate) mod takings;
mod transaction_position;
pub(crate) mod wallet;

pub use actor::Actor;
pub use backups::ShowBackups;
pub use command::{Command, ask, dispatch};
pub use error::CommandError;
pub use news::{ListNews, NewsItem};
pub use refusal::Refusal;
pub use status::Status;
pub(crate) use status::StatusView;
