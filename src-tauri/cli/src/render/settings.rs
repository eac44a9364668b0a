//! Settings, as text for people.

use tillgate_console::settings::{BACKEND_PASSWORD, SettingItem};
use tillgate_domain::plain::plain;

use crate::table::Align::Left;
use crate::table::Table;

/// The number of characters that are shown of an image's value, which would fill the screen.
const VALUE_MAX: usize = 48;

pub fn settings(items: &[SettingItem]) -> String {
    let mut table =
        Table::new(&[("setting", Left), ("value", Left), ("default", Left), ("about", Left)]);
    for item in items {
        // The allowed values are left out here: refusals and the JSON form have them.
        let about = item.about.split(" Must be ").next().unwrap_or_default();
        table.row([item.name.clone(), told(item), item.default.clone(), about.to_owned()]);
    }
    table.render("No settings.")
}

pub fn setting(item: &SettingItem) -> String {
    format!("{} = {}\n", item.name, plain(&told(item)))
}

/// The value of one setting alone.
pub fn value(item: &SettingItem) -> String {
    let value = if item.name == BACKEND_PASSWORD { told(item) } else { item.value.clone() };
    format!("{}\n", plain(&value))
}

/// The value, or for the password whether it is set. Its value is always empty, which would look
/// unset.
fn told(item: &SettingItem) -> String {
    if item.name != BACKEND_PASSWORD {
        return shortened(&item.value);
    }
    if item.is_set == Some(true) { "(set, not shown)" } else { "(not set)" }.to_owned()
}

/// The value; an image is cut to [`VALUE_MAX`] characters.
fn shortened(value: &str) -> String {
    if !value.starts_with("data:") {
        return value.to_owned();
    }
    let mut short: String = value.chars().take(VALUE_MAX).collect();
    if short != value {
        short.push('…');
    }
    short
}
