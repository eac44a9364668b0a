//! One text for bodies with the same JSON value. Names are sorted and blanks are left out. Strings are unescaped,
//! and zeros at the end of a fraction are left out. A string that holds a number stays a string. Numbers with an exponent
//! stay as they are, so `1e1` differs from `10`.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::value::RawValue;
use tillgate_machine::json::{JsonObject, read_string};

/// The canonical text of an object.
pub(crate) fn canonical(object: &JsonObject<'_>) -> String {
    let mut text = String::new();
    write_object(&mut text, object);
    text
}

fn write_object(text: &mut String, object: &JsonObject<'_>) {
    let mut members: Vec<(&str, &str)> = object.members().collect();
    members.sort_unstable_by_key(|(name, _)| *name);
    text.push('{');
    for (name, value) in members {
        write_text(text, name);
        text.push(':');
        write_value(text, value);
        text.push(',');
    }
    text.push('}');
}

fn write_value(text: &mut String, raw: &str) {
    // The body was checked, so each value can be read.
    if raw.starts_with('{')
        && let Ok(object) = serde_json::from_str::<JsonObject<'_>>(raw)
    {
        return write_object(text, &object);
    }
    if raw.starts_with('[')
        && let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(raw)
    {
        text.push('[');
        for item in items {
            write_value(text, item.get());
            text.push(',');
        }
        return text.push(']');
    }
    match read_string(raw) {
        Some(string) => write_text(text, &string),
        None => text.push_str(&without_last_zeros(raw)),
    }
}

/// Writes a string that no other string is written as.
fn write_text(text: &mut String, string: &str) {
    // Writing to a string cannot fail.
    let _ = write!(text, "{string:?}");
}

/// A number without zeros at the end of its fraction; any other text as it is.
fn without_last_zeros(raw: &str) -> Cow<'_, str> {
    let is_fraction = raw.contains('.') && raw.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'-'));
    if is_fraction { raw.trim_end_matches('0').trim_end_matches('.').into() } else { raw.into() }
}
