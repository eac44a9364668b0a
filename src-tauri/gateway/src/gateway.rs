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
pub(crate) mod standstill;
pub(crate) use standstill::StandsStill;
#[cfg(test)]
pub(crate) use standstill::Unreported;
mod failure_reason;
mod to_sign;
mod wait;
mod wallet_slot;

pub(crate) use announcement::Announcement;
pub(crate) use backend::TypedBackend;
pub(crate) use backups::Backups;
pub(crate) use failure_reason::FailureReason;
pub(crate) use fee_rate_estimate::SOON_BLOCKS;
pub(crate) use fee_rates::{FeeRates, KnownFeeRates};
#[cfg(test)]
pub(crate) use last_look::LookWarning;
pub(crate) use last_look::{CatchingUp, FailedLook, LastLook, NotWatched, WatchStatus};
pub use resources::Gateway;
pub(crate) use resources::Served;
pub(crate) use sending::{KeysRefused, Sending};
pub(crate) use staff_warning::StaffWarning;
pub(crate) use to_sign::ToSign;
pub(crate) use wait::{Wait, WaitCause, Waits};
pub(crate) use wallet_slot::WalletSlot;
