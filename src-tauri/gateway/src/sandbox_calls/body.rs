//! Reading a call's body. Finds every fault of it, not just the first; unknown fields are ignored.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde_json::{Map, Value};
use tillgate_domain::money::{Currency, Rate, parse_btc};

use super::CallError;
use crate::faults::Fault;

/// The body's fields and what is wrong with them. A field that is at fault reads as something, and
/// [`Body::finish`] lets nobody use it.
pub(super) struct Body {
    fields: Map<String, Value>,
    faults: Vec<Fault>,
}

impl Body {
    /// A body that is missing has no fields.
    pub(super) fn read(body: Value) -> Result<Self, CallError> {
        match body {
            Value::Object(fields) => Ok(Self { fields, faults: Vec::new() }),
            Value::Null => Ok(Self { fields: Map::new(), faults: Vec::new() }),
            _ => Err(CallError::Invalid(vec![Fault::general("MALFORMED_JSON", "the body must be a JSON object")])),
        }
    }

    /// What was read, if nothing was wrong with it.
    pub(super) fn finish<T>(self, read: T) -> Result<T, CallError> {
        if self.faults.is_empty() { Ok(read) } else { Err(CallError::Invalid(self.faults)) }
    }

    /// Notes a fault; `what` goes on from the field's name.
    pub(super) fn fault(&mut self, field: &'static str, what: impl std::fmt::Display) {
        self.faults.push(Fault::invalid(field, what));
    }

    pub(super) fn text(&mut self, field: &'static str) -> Option<String> {
        match self.take(field) {
            Some(Value::String(text)) => Some(text),
            Some(_) => self.nothing(field, "must be a text"),
            None => {
                self.faults.push(Fault::missing(field));
                None
            }
        }
    }

    pub(super) fn flag(&mut self, field: &'static str, default: bool) -> bool {
        self.optional_flag(field).unwrap_or(default)
    }

    pub(super) fn optional_flag(&mut self, field: &'static str) -> Option<bool> {
        match self.take(field)? {
            Value::Bool(flag) => Some(flag),
            _ => self.nothing(field, "must be true or false"),
        }
    }

    /// A whole number; without a `default` it is required.
    pub(super) fn whole<T>(&mut self, field: &'static str, range: RangeInclusive<T>, default: Option<T>) -> T
    where
        T: TryFrom<u64> + PartialOrd + Copy + std::fmt::Display,
    {
        let fallback = default.unwrap_or(*range.start());
        if default.is_none() && matches!(self.fields.get(field), None | Some(Value::Null)) {
            self.faults.push(Fault::missing(field));
            return fallback;
        }
        self.optional_whole(field, range).unwrap_or(fallback)
    }

    pub(super) fn optional_whole<T>(&mut self, field: &'static str, range: RangeInclusive<T>) -> Option<T>
    where
        T: TryFrom<u64> + PartialOrd + Copy + std::fmt::Display,
    {
        let value = self.take(field)?;
        let number = number_text(&value).and_then(|text| text.parse::<u64>().ok()).and_then(|it| T::try_from(it).ok());
        match number.filter(|number| range.contains(number)) {
            Some(number) => Some(number),
            None => self.nothing(field, format!("must be a whole number from {} to {}", range.start(), range.end())),
        }
    }

    /// An amount of Bitcoin in satoshis.
    pub(super) fn btc(&mut self, field: &'static str, is_required: bool) -> Option<u64> {
        let Some(value) = self.take(field) else {
            if is_required {
                self.faults.push(Fault::missing(field));
            }
            return None;
        };
        let Some(text) = number_text(&value) else {
            return self.nothing(field, "must be a decimal number like 0.00100000");
        };
        match parse_btc(&text) {
            Ok(sats) => Some(sats),
            Err(error) => self.nothing(field, error),
        }
    }

    /// The whole body as rates by currency, `None` where one is withdrawn.
    pub(super) fn rates(&mut self) -> BTreeMap<String, Option<String>> {
        let mut rates = BTreeMap::new();
        for (code, value) in std::mem::take(&mut self.fields) {
            if Currency::from_code(&code).is_none() {
                self.faults.push(Fault::invalid(code, "is not the code of a currency that is known"));
                continue;
            }
            let rate = match &value {
                Value::Null => Ok(None),
                value => match number_text(value) {
                    Some(text) => Rate::parse(&text).map(|rate| Some(rate.format())).map_err(|error| error.to_string()),
                    None => Err("must be a decimal number like 65000.00, or null".to_owned()),
                },
            };
            match rate {
                Ok(rate) => {
                    rates.insert(code, rate);
                }
                Err(what) => self.faults.push(Fault::invalid(code, what)),
            }
        }
        rates
    }

    /// null counts as missing.
    fn take(&mut self, field: &str) -> Option<Value> {
        self.fields.remove(field).filter(|value| !value.is_null())
    }

    fn nothing<T>(&mut self, field: &'static str, what: impl std::fmt::Display) -> Option<T> {
        self.fault(field, what);
        None
    }
}

/// A number's digits as they were written, or a text that may hold some.
fn number_text(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
