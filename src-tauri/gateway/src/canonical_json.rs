//! One text for bodies with the same JSON value. Names are sorted, blanks are left out, strings are
//! unescaped, and numbers have one form: `10`, `10.0` and `1e1` are alike. A string that holds a
//! number stays a string.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::value::RawValue;
use tillgate_machine::json::{JsonObject, read_string};

/// The canonical text of an object.
pub fn canonical(object: &JsonObject<'_>) -> String {
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
        None => text.push_str(&number(raw)),
    }
}

/// Writes a string that no other string is written as.
fn write_text(text: &mut String, string: &str) {
    // Writing to a string cannot fail.
    let _ = write!(text, "{string:?}");
}

/// A number as its digits without zeros at either end, and the exponent; `true`, `false` and `null`
/// as they are.
fn number(raw: &str) -> Cow<'_, str> {
    by_exponent(raw).map_or(raw.into(), Cow::Owned)
}

fn by_exponent(raw: &str) -> Option<String> {
    let (sign, size) = raw.strip_prefix('-').map_or(("", raw), |size| ("-", size));
    let (mantissa, power) = size.split_once(['e', 'E']).unwrap_or((size, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let significant = digits.trim_end_matches('0');
    let zeros = i64::try_from(digits.len() - significant.len()).ok()?;
    let decimals = i64::try_from(fraction.len()).ok()?;
    let exponent = power.parse::<i64>().ok()?.checked_add(zeros)?.checked_sub(decimals)?;
    let significant = significant.trim_start_matches('0');
    Some(if significant.is_empty() {
        "0".to_owned()
    } else {
        format!("{sign}{significant}e{exponent}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical_number(number: &str) -> String {
        canonical(&JsonObject::parse(format!("{{\"amount\":{number}}}").as_bytes()).unwrap())
    }

    #[test]
    fn numbers_of_one_value_have_one_text() {
        for same in [
            &["10", "10.0", "1e1", "1E+1", "100e-1", "0.1e2"][..],
            &["0.5", "5e-1", "0.50"],
            &["0", "-0", "0.00", "0e7"],
            &["-1.50", "-15e-1"],
        ] {
            assert!(
                same.iter().all(|one| canonical_number(one) == canonical_number(same[0])),
                "{same:?}"
            );
        }
    }

    #[test]
    fn other_values_have_other_texts() {
        let all = [
            "10", "1", "100", "0.1", "-10", "\"10\"", "\"1e1\"", "0", "null", "true", "false",
            "[10]", "{}",
        ];
        let texts: std::collections::BTreeSet<String> =
            all.iter().map(|one| canonical_number(one)).collect();
        assert_eq!(texts.len(), all.len(), "{texts:?}");
        assert_ne!(
            canonical_number("1e99999999999999999999"),
            canonical_number("1e99999999999999999998"),
            "the exponent is beyond all bounds"
        );
    }
}
