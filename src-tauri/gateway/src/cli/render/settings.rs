//! Settings.

use crate::cli::table::Align::Left;
use crate::cli::table::{Table, plain};
use crate::console::settings::{BACKEND_PASSWORD, SettingItem};

/// Characters of a value at most: a whole logo would fill the screen.
const VALUE_MAX: usize = 48;

pub(super) fn settings(items: &[SettingItem]) -> String {
    let mut table = Table::new(&[("setting", Left), ("value", Left), ("default", Left), ("about", Left)]);
    for item in items {
        // The allowed values are left out here: refusals and the JSON form have them.
        let about = item.about.split(" Must be ").next().unwrap_or_default();
        table.row([item.name.clone(), told(item), item.default.clone(), about.to_owned()]);
    }
    table.render("No settings.")
}

pub(super) fn setting(item: &SettingItem) -> String {
    format!("{} = {}\n", item.name, plain(&told(item)))
}

/// The value of one setting alone.
pub(super) fn value(item: &SettingItem) -> String {
    let value = if item.name == BACKEND_PASSWORD { told(item) } else { item.value.clone() };
    format!("{}\n", plain(&value))
}

/// The value, except for secrets: an empty value would look as if none were set.
fn told(item: &SettingItem) -> String {
    if item.name != BACKEND_PASSWORD {
        return shortened(&item.value);
    }
    match item.is_set {
        Some(true) => "(set, not shown)",
        Some(false) => "(not set)",
        None => "(not shown)",
    }
    .to_owned()
}

/// The value, except for an image: its text would fill the screen.
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
