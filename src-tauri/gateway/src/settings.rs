//! The merchant's settings. One table gives each setting its name, form, bounds, default and
//! description; values that differ from the default are in the database. This module never acts on
//! a setting: its users take a [`LiveSettings::snapshot`].

mod address_type;
mod chain_network;
mod changing;
mod defaults;
mod error;
mod forms;
mod live;
mod password_entry;
mod setting;
mod table;
#[cfg(test)]
mod tests;
mod values;

pub use address_type::AddressType;
pub use chain_network::ChainNetwork;
pub use changing::{Act, Beside};
pub use defaults::RESTORE_SKIP_DEFAULT;
pub use error::SettingError;
pub use forms::color;
pub use live::Override;
pub use live::{LiveSettings, SettingNow};
pub use password_entry::{NewPassword, PasswordEntry};
pub use setting::Setting;
pub use table::SETTINGS;
pub use values::Settings;
