//! The merchant's settings. One table gives each setting its name, form, bounds, default and description; values that
//! differ from the default are in the database. This module never acts on a setting: its users take a
//! [`LiveSettings::snapshot`].

mod address_type;
mod chain_network;
mod changing;
mod defaults;
mod error;
mod forms;
mod live;
mod password_entry;
mod table;
#[cfg(test)]
mod tests;
mod values;

pub(crate) use address_type::AddressType;
pub(crate) use chain_network::ChainNetwork;
pub(crate) use changing::{Act, Beside};
pub(crate) use defaults::RESTORE_SKIP_DEFAULT;
pub(crate) use error::SettingError;
pub use live::Override;
pub(crate) use live::{LiveSettings, SettingNow};
pub(crate) use password_entry::{NewPassword, PasswordEntry};
pub(crate) use table::SETTINGS;
#[cfg(test)]
pub(crate) use table::Setting;
pub(crate) use values::Settings;
