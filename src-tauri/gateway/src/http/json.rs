//! Reading a JSON object member by member, strictly: UTF-8, bounded depth, no name twice in one
//! object. Numbers stay the text that they came as; nothing passes through a float.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::error::Failure;
use crate::faults::Fault;

/// Nesting beyond this is no request of ours, and costs more to check than it says.
const DEPTH_MAX: usize = 32;

/// Up to so many members names are compared pairwise, which beats hashing.
const FEW: usize = 16;

/// The members of a JSON object, each name once.
#[derive(Debug)]
pub(crate) struct JsonObject<'a> {
    members: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> JsonObject<'a> {
    /// Reads a whole body.
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self, Failure> {
        let text = std::str::from_utf8(body).map_err(|_| Failure::malformed("The body is not UTF-8"))?;
        let object: Self = serde_json::from_str(text)
            .map_err(|error| Failure::malformed(format!("The body is not a JSON object: {error}")))?;
        object.check(1)?;
        Ok(object)
    }

    /// A string member; `None` when it is missing or null.
    pub(crate) fn string(&self, name: &'static str, faults: &mut Vec<Fault>) -> Option<Cow<'a, str>> {
        self.string_named(name, name, faults)
    }

    /// The same, with the name that a fault of it is told under.
    pub(crate) fn string_named(
        &self,
        name: &str,
        field: &'static str,
        faults: &mut Vec<Fault>,
    ) -> Option<Cow<'a, str>> {
        let text = read_string(self.get(name)?);
        if text.is_none() {
            faults.push(Fault::invalid(field, "must be a string"));
        }
        text
    }

    /// A number, as a JSON number or a string that holds one: its text.
    pub(crate) fn number(&self, name: &'static str, faults: &mut Vec<Fault>) -> Option<Cow<'a, str>> {
        let raw = self.get(name)?;
        if raw.starts_with(|first: char| first.is_ascii_digit() || first == '-') {
            return Some(Cow::Borrowed(raw));
        }
        let text = read_string(raw);
        if text.is_none() {
            faults.push(Fault::invalid(name, "must be a number, or a string that holds one"));
        }
        text
    }

    /// An object member; `None` when it is missing or null.
    pub(crate) fn object(&self, name: &'static str, faults: &mut Vec<Fault>) -> Option<JsonObject<'a>> {
        let object = serde_json::from_str(self.get(name)?).ok();
        if object.is_none() {
            faults.push(Fault::invalid(name, "must be an object"));
        }
        object
    }

    /// A member's JSON text; null counts as missing.
    fn get(&self, name: &str) -> Option<&'a str> {
        let (_, value) = self.members.iter().find(|(member, _)| member == name)?;
        Some(value.get()).filter(|text| *text != "null")
    }

    fn check(&self, depth: usize) -> Result<(), Failure> {
        if let Some(name) = self.name_twice() {
            return Err(Failure::malformed(format!("The name {name:?} stands twice in one object")));
        }
        self.members.iter().try_for_each(|(_, value)| check_value(value, depth + 1))
    }

    fn name_twice(&self) -> Option<&str> {
        let names = || self.members.iter().map(|(name, _)| name.as_ref());
        if self.members.len() <= FEW {
            return names().enumerate().find(|(index, name)| names().take(*index).any(|it| it == *name)).map(|it| it.1);
        }
        let mut seen = HashSet::with_capacity(self.members.len());
        names().find(|name| !seen.insert(*name))
    }
}

/// Checks what stands below a value, also where we ignore it.
fn check_value(value: &RawValue, depth: usize) -> Result<(), Failure> {
    let text = value.get();
    if !text.starts_with(['{', '[']) {
        return Ok(());
    }
    if depth > DEPTH_MAX {
        return Err(Failure::malformed(format!("The body is nested deeper than {DEPTH_MAX} levels")));
    }
    let broken = |error| Failure::malformed(format!("The body is not JSON: {error}"));
    if text.starts_with('{') {
        return serde_json::from_str::<JsonObject<'_>>(text).map_err(broken)?.check(depth);
    }
    let items: Vec<&RawValue> = serde_json::from_str(text).map_err(broken)?;
    items.into_iter().try_for_each(|item| check_value(item, depth + 1))
}

fn read_string(raw: &str) -> Option<Cow<'_, str>> {
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

    fn parse(body: &str) -> Result<JsonObject<'_>, Failure> {
        JsonObject::parse(body.as_bytes())
    }

    #[test]
    fn numbers_stay_the_text_that_they_came_as() {
        let object = parse(r#"{"a": 10.00, "b": "10.00", "c": 1e400, "d": -0.10, "e": true, "f": null}"#).unwrap();
        let mut faults = Vec::new();
        for (name, text) in [("a", "10.00"), ("b", "10.00"), ("c", "1e400"), ("d", "-0.10")] {
            assert_eq!(object.number(name, &mut faults).as_deref(), Some(text));
        }
        assert_eq!((object.number("f", &mut faults), object.number("g", &mut faults), faults.len()), (None, None, 0));
        assert_eq!(object.number("e", &mut faults), None);
        assert_eq!(faults[0].field.as_deref(), Some("e"));
    }

    #[test]
    fn strings_are_unescaped_and_of_one_kind() {
        let object = parse(r#"{"me\u0073sage": "a\n\u00e9", "n": 5}"#).unwrap();
        let mut faults = Vec::new();
        assert_eq!(object.string("message", &mut faults).as_deref(), Some("a\né"));
        assert_eq!(object.string("n", &mut faults), None);
        assert_eq!(faults[0].message, "n must be a string");
    }

    #[test]
    fn a_name_twice_is_refused_at_any_depth_and_however_it_is_written() {
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
    fn what_is_no_json_object_in_utf_8_is_refused() {
        for body in
            ["", "[]", "null", "1", "{", "{}x", r#"{"a":NaN}"#, r#"{"a":01}"#, "{'a':1}", r#"{"a":1,}"#, "\u{feff}{}"]
        {
            assert!(parse(body).is_err(), "{body}");
        }
        assert!(JsonObject::parse(b"{\"a\":\"\xff\"}").is_err());
        assert!(parse(" {} ").is_ok());
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
