//! The commands that the panel and the command line can ask of the gateway, without any transport: a [`Command`] goes
//! in, a view comes out. One file for each subject. Holds no SQL and no rule by which payments change. Its only rules
//! are those of showing, such as why a payment is invalid, or what accepting would mean.

mod actor;
pub(crate) mod alarms;
pub(crate) mod anomalies;
pub(crate) mod ask;
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
pub(crate) mod page;
pub(crate) mod payments;
pub(crate) mod payouts;
pub(crate) mod sandbox;
pub(crate) mod settings;
pub(crate) mod statement;
pub(crate) mod status;
pub(crate) mod sums;
mod transaction_position;
pub(crate) mod wallet;

pub use actor::Actor;
pub use backups::ShowBackups;
pub use command::{Command, ask, dispatch};
pub use error::CommandError;
pub use payouts::{ListPayouts, PayoutItem};
pub use status::Status;
pub(crate) use status::StatusView;
