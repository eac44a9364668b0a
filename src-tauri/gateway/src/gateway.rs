//! The resources that one environment's use cases and loops share. Nothing here runs by itself.

mod announcement;
mod backend;
mod backups;
mod fee_rate_estimate;
mod fee_rates;
mod last_look;
mod resources;
mod room;
mod sending;
mod set_clock;
mod staff_warning;
pub mod standstill;
pub use standstill::StandsStill;
pub use standstill::Unreported;
mod failure_reason;
mod to_sign;
mod wait;
mod wallet_slot;

pub use announcement::Announcement;
pub use backend::TypedBackend;
pub use backups::Backups;
pub use failure_reason::FailureReason;
pub use fee_rate_estimate::SOON_BLOCKS;
pub use fee_rates::{FeeRates, KnownFeeRates};
pub use last_look::LookWarning;
pub use last_look::{CatchingUp, FailedLook, LastLook, NotWatched, WatchStatus};
pub use resources::{Access, Backend, Gateway, Machine, Market, Served, Signals, Time};
pub use sending::{KeysRefused, Sending};
pub use staff_warning::StaffWarning;
pub use wait::{Wait, WaitCause, Waits};
pub use wallet_slot::WalletSlot;
