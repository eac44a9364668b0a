//! The strict reader of JSON objects in requests. The text must be UTF-8, nesting is bounded, and a
//! name may not occur twice in one object. A number is returned as its text, and never converted to
//! a float. All request bodies are read here.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::field_errors::{Fault, FieldError};

/// The deepest nesting. Every valid request needs less; the limit bounds the cost of the check.
const DEPTH_MAX: usize = 32;

/// The most members whose names are compared pairwise, which is faster than hashing.
const PAIRWISE_MAX: usize = 16;

/// The error code of a body that this reader refuses.
pub const MALFORMED_JSON: &str = "MALFORMED_JSON";

/// The reason why this reader refuses a body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error("{0}")]
pub struct Malformed(String);

impl Malformed {
    /// The reason as an error of the whole request.
    pub fn field_error(self) -> FieldError {
        FieldError::general(MALFORMED_JSON, self.0)
    }
}

/// The members of a JSON object, each name once.
#[derive(Debug)]
pub struct JsonObject<'a> {
    members: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> JsonObject<'a> {
    /// An object without members, for a missing body.
    pub const fn empty() -> Self {
        Self { members: Vec::new() }
    }

    /// Reads a whole body.
    pub fn parse(body: &'a [u8]) -> Result<Self, Malformed> {
        let text =
            std::str::from_utf8(body).map_err(|_| Malformed("The body is not UTF-8".to_owned()))?;
        // Some editors and libraries write a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let object: Self = serde_json::from_str(text).map_err(|error| {
            Malformed(format!("The body is not a JSON object: {}", in_words(&error)))
        })?;
        object.check(1)?;
        Ok(object)
    }

    /// A string member; `None` when it is missing or null.
    pub fn string(
        &self,
        name: &'static str,
        field_errors: &mut Vec<FieldError>,
    ) -> Option<Cow<'a, str>> {
        self.string_named(name, name, field_errors)
    }

    /// Like [`Self::string`], but a field error names `field` instead of `name`.
    pub fn string_named(
        &self,
        name: &str,
        field: &'static str,
        field_errors: &mut Vec<FieldError>,
    ) -> Option<Cow<'a, str>> {
        let raw = self.get(name)?;
        let text = read_string(raw);
        if text.is_none() {
            // The text is JSON, so only half a character makes a string unreadable.
            let fault = if raw.starts_with('"') { Fault::HalfCharacter } else { Fault::NoString };
            field_errors.push(FieldError::told(field, &fault));
        }
        text
    }

    /// Like [`Self::string_named`] for a URL. An empty string, object or array counts as missing:
    /// PHP sends an empty object as `[]`.
    pub fn url(
        &self,
        name: &str,
        field: &'static str,
        field_errors: &mut Vec<FieldError>,
    ) -> Option<Cow<'a, str>> {
        self.get(name)
            .filter(|raw| !is_nothing(raw))
            .and_then(|_| self.string_named(name, field, field_errors))
    }

    /// The text of a number, which may be a JSON number or a string that holds one; `None` when it
    /// is missing or null.
    pub fn number(
        &self,
        name: &'static str,
        field_errors: &mut Vec<FieldError>,
    ) -> Option<Cow<'a, str>> {
        let text = read_number(self.get(name)?);
        if text.is_none() {
            field_errors.push(FieldError::told(name, &Fault::NoNumber));
        }
        text
    }

    /// An object member; `None` when it is missing, null or empty as in [`Self::url`].
    pub fn object(
        &self,
        name: &'static str,
        field_errors: &mut Vec<FieldError>,
    ) -> Option<JsonObject<'a>> {
        let object = serde_json::from_str(self.get(name).filter(|raw| !is_nothing(raw))?).ok();
        if object.is_none() {
            field_errors.push(FieldError::told(name, &Fault::NoObject));
        }
        object
    }

    /// The name and the JSON text of every member.
    pub fn members(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.members.iter().map(|(name, value)| (name.as_ref(), value.get()))
    }

    /// A member's JSON text; null counts as missing.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        let (_, value) = self.members.iter().find(|(member, _)| member == name)?;
        Some(value.get()).filter(|text| *text != "null")
    }

    fn check(&self, depth: usize) -> Result<(), Malformed> {
        if let Some(name) = self.name_twice() {
            return Err(Malformed(format!("The name {name:?} occurs twice in one object")));
        }
        self.members.iter().try_for_each(|(_, value)| check_value(value, depth + 1))
    }

    fn name_twice(&self) -> Option<&str> {
        let names = || self.members.iter().map(|(name, _)| name.as_ref());
        if self.members.len() <= PAIRWISE_MAX {
            return names()
                .enumerate()
                .find(|(index, name)| names().take(*index).any(|it| it == *name))
                .map(|it| it.1);
        }
        let mut before = HashSet::with_capacity(self.members.len());
        names().find(|name| !before.insert(*name))
    }
}

/// Checks all values inside a value, also in members that no request uses.
fn check_value(value: &RawValue, depth: usize) -> Result<(), Malformed> {
    let text = value.get();
    if !text.starts_with(['{', '[']) {
        return Ok(());
    }
    if depth > DEPTH_MAX {
        return Err(Malformed(format!("The body is nested deeper than {DEPTH_MAX} levels")));
    }
    let broken = |error| Malformed(format!("The body is not JSON: {}", in_words(&error)));
    if text.starts_with('{') {
        return serde_json::from_str::<JsonObject<'_>>(text).map_err(broken)?.check(depth);
    }
    let items: Vec<&RawValue> = serde_json::from_str(text).map_err(broken)?;
    items.into_iter().try_for_each(|item| check_value(item, depth + 1))
}

/// A parser's error. An escape for half of a UTF-16 pair is told in words.
fn in_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let is_half = text.contains("surrogate") || text.contains("hex escape");
    if is_half { format!("a name {} ({text})", Fault::HalfCharacter) } else { text }
}

/// Whether a value is empty.
fn is_nothing(raw: &str) -> bool {
    let mut text = raw.chars().filter(|it| !it.is_ascii_whitespace());
    let begin = (text.next(), text.next(), text.next());
    raw == r#""""# || matches!(begin, (Some('{'), Some('}'), None) | (Some('['), Some(']'), None))
}

/// The text of a number, or of a string that may hold one; `None` for any other value.
pub fn read_number(raw: &str) -> Option<Cow<'_, str>> {
    if raw.starts_with(|first: char| first.is_ascii_digit() || first == '-') {
        return Some(Cow::Borrowed(raw));
    }
    read_string(raw)
}

pub fn read_string(raw: &str) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Text<'_>>(raw).ok().map(|text| text.0)
}

impl<'de> Deserialize<'de> for JsonObject<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = JsonObject<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(8);
                while let Some((name, value)) = map.next_entry::<Text<'de>, &'de RawValue>()? {
                    members.push((name.0, value));
                }
                Ok(JsonObject { members })
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// A string that is borrowed from the body unless it holds escapes.
struct Text<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowing;
        impl<'de> Visitor<'de> for Borrowing {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Borrowing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(body: &str) -> Result<JsonObject<'_>, Malformed> {
        JsonObject::parse(body.as_bytes())
    }

    #[test]
    fn a_number_is_returned_as_its_text() {
        let object =
            parse(r#"{"a": 10.00, "b": "10.00", "c": 1e400, "d": -0.10, "e": true, "f": null}"#)
                .unwrap();
        let mut field_errors = Vec::new();
        for (name, text) in [("a", "10.00"), ("b", "10.00"), ("c", "1e400"), ("d", "-0.10")] {
            assert_eq!(object.number(name, &mut field_errors).as_deref(), Some(text));
        }
        assert_eq!(
            (
                object.number("f", &mut field_errors),
                object.number("g", &mut field_errors),
                field_errors.len()
            ),
            (None, None, 0)
        );
        assert_eq!(object.number("e", &mut field_errors), None);
        assert_eq!(field_errors[0].field.as_deref(), Some("e"));
    }

    #[test]
    fn strings_are_unescaped_and_numbers_are_no_strings() {
        let object = parse(r#"{"me\u0073sage": "a\n\u00e9", "n": 5}"#).unwrap();
        let mut field_errors = Vec::new();
        assert_eq!(object.string("message", &mut field_errors).as_deref(), Some("a\né"));
        assert_eq!(object.string("n", &mut field_errors), None);
        assert_eq!(field_errors[0].message, "n must be a string");
    }

    #[test]
    fn a_repeated_name_is_refused_at_any_depth_and_with_escapes() {
        let many: String = (0..40).map(|n| format!(r#""k{n}":1,"#)).collect();
        for body in [
            r#"{"a":1,"a":2}"#.to_owned(),
            r#"{"a":1,"\u0061":2}"#.to_owned(),
            r#"{"ignored":[{"x":{"a":1,"a":1}}]}"#.to_owned(),
            format!(r#"{{{many}"k7":2}}"#),
        ] {
            assert!(parse(&body).is_err(), "{body}");
        }
        assert!(parse(&format!(r#"{{{many}"other":{{"k7":1}}}}"#)).is_ok());
    }

    #[test]
    fn only_a_json_object_in_utf_8_is_accepted() {
        for body in [
            "",
            "[]",
            "null",
            "1",
            "{",
            "{}x",
            r#"{"a":NaN}"#,
            r#"{"a":01}"#,
            "{'a':1}",
            r#"{"a":1,}"#,
            "\u{feff}\u{feff}{}",
        ] {
            assert!(parse(body).is_err(), "{body}");
        }
        assert!(JsonObject::parse(b"{\"a\":\"\xff\"}").is_err());
        assert!(parse(" {} ").is_ok());
    }

    #[test]
    fn private_names_of_serde_json_are_ordinary_names() {
        let body = r#"{"a": {"$serde_json::private::RawValue": "[1"}, "$serde_json::private::Number": "x"}"#;
        let object = parse(body).unwrap();
        assert_eq!(object.get("a"), Some(r#"{"$serde_json::private::RawValue": "[1"}"#));
        let mut field_errors = Vec::new();
        let inner = object.object("a", &mut field_errors).unwrap();
        assert_eq!(inner.get("$serde_json::private::RawValue"), Some(r#""[1""#));
        assert_eq!(
            object.number("$serde_json::private::Number", &mut field_errors).as_deref(),
            Some("x")
        );
    }

    #[test]
    fn deep_json_is_refused_without_a_deep_stack() {
        for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
            let deep = format!(r#"{{"a":{}1{}}}"#, open.repeat(10_000), close.repeat(10_000));
            assert!(parse(&deep).is_err());
            assert!(parse(&format!(r#"{{"a":{}1{}}}"#, open.repeat(20), close.repeat(20))).is_ok());
        }
        assert!(parse(&format!(r#"{{"a":{}"#, "[".repeat(60_000))).is_err());
    }
}
