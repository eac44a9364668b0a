//! Reads a call's body. All field errors are collected, not only the first. Unknown fields are
//! ignored.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use rust_decimal::Decimal;
use tillgate_domain::money::{Currency, Rate, parse_btc};
use tillgate_machine::field_errors::{Fault, FieldError};
use tillgate_machine::json::{JsonObject, read_number};
use tillgate_told::Told;

use super::error::{BodyFault, CallError};

/// The body's fields and their errors. An invalid field gives a substitute value, and
/// [`Body::finish`] then refuses the body, so that the substitute is never used.
pub struct Body<'a> {
    fields: JsonObject<'a>,
    field_errors: Vec<FieldError>,
}

impl<'a> Body<'a> {
    /// Parses a body. An empty body has no fields.
    pub fn parse(body: &'a [u8]) -> Result<Self, CallError> {
        let fields =
            if body.is_empty() { Ok(JsonObject::empty()) } else { JsonObject::parse(body) };
        match fields {
            Ok(fields) => Ok(Self { fields, field_errors: Vec::new() }),
            Err(malformed) => Err(CallError::Invalid(vec![malformed.field_error()])),
        }
    }

    /// Returns `read` if no field was invalid, otherwise all field errors.
    pub fn finish<T>(self, read: T) -> Result<T, CallError> {
        if self.field_errors.is_empty() {
            Ok(read)
        } else {
            Err(CallError::Invalid(self.field_errors))
        }
    }

    /// Records a field error. `what` continues the field's name ("must be …").
    pub fn field_error(&mut self, field: &'static str, what: &impl Told) {
        self.field_errors.push(FieldError::told(field, what));
    }

    pub fn text(&mut self, field: &'static str) -> Option<Cow<'a, str>> {
        if self.fields.get(field).is_none() {
            self.field_errors.push(FieldError::missing(field));
        }
        self.fields.string(field, &mut self.field_errors)
    }

    pub fn flag(&mut self, field: &'static str, default: bool) -> bool {
        self.optional_flag(field).unwrap_or(default)
    }

    pub fn optional_flag(&mut self, field: &'static str) -> Option<bool> {
        match self.fields.get(field)? {
            "true" => Some(true),
            "false" => Some(false),
            _ => self.nothing(field, &BodyFault::Flag),
        }
    }

    /// A whole number; without a `default` it is required.
    pub fn whole<T>(
        &mut self,
        field: &'static str,
        range: RangeInclusive<T>,
        default: Option<T>,
    ) -> T
    where
        T: TryFrom<u64> + PartialOrd + Copy + std::fmt::Display,
    {
        let fallback = default.unwrap_or(*range.start());
        if default.is_none() && self.fields.get(field).is_none() {
            self.field_errors.push(FieldError::missing(field));
            return fallback;
        }
        self.optional_whole(field, range).unwrap_or(fallback)
    }

    pub fn optional_whole<T>(&mut self, field: &'static str, range: RangeInclusive<T>) -> Option<T>
    where
        T: TryFrom<u64> + PartialOrd + Copy + std::fmt::Display,
    {
        let text = read_number(self.fields.get(field)?);
        let number =
            text.and_then(|text| text.parse::<u64>().ok()).and_then(|it| T::try_from(it).ok());
        match number.filter(|number| range.contains(number)) {
            Some(number) => Some(number),
            None => {
                let (least, most) = (range.start().to_string(), range.end().to_string());
                self.nothing(field, &BodyFault::Whole { least, most })
            }
        }
    }

    /// Like [`Self::optional_whole`], but `null` is a value: `Some(None)`.
    pub fn whole_or_null(
        &mut self,
        field: &'static str,
        range: RangeInclusive<u64>,
    ) -> Option<Option<u64>> {
        if self.fields.members().any(|(name, raw)| name == field && raw == "null") {
            return Some(None);
        }
        self.optional_whole(field, range).map(Some)
    }

    /// A number from 0 to `max` with at most 3 decimals, in thousandths.
    pub fn optional_thousandths(&mut self, field: &'static str, max: u64) -> Option<u64> {
        let text = read_number(self.fields.get(field)?);
        let is_plain =
            |text: &Cow<'_, str>| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let number = text.filter(is_plain).and_then(|text| text.parse::<Decimal>().ok());
        let thousandths =
            number.filter(|it| (Decimal::ZERO..=Decimal::from(max)).contains(it)).map(|it| {
                let thousandths = it.saturating_mul(Decimal::ONE_THOUSAND);
                (thousandths.fract().is_zero()).then(|| u64::try_from(thousandths).ok()).flatten()
            });
        match thousandths.flatten() {
            Some(thousandths) => Some(thousandths),
            None => self.nothing(field, &BodyFault::Thousandths { most: max }),
        }
    }

    /// One of these words.
    pub fn optional_word<T>(
        &mut self,
        field: &'static str,
        words: &[&str],
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.fields.string(field, &mut self.field_errors)?;
        match read(&text) {
            Some(word) => Some(word),
            None => self.nothing(field, &Fault::NotOneOf(words.join(", "))),
        }
    }

    /// An amount of Bitcoin in satoshis.
    pub fn btc(&mut self, field: &'static str, is_required: bool) -> Option<u64> {
        let Some(raw) = self.fields.get(field) else {
            if is_required {
                self.field_errors.push(FieldError::missing(field));
            }
            return None;
        };
        let Some(text) = read_number(raw) else {
            return self.nothing(field, &BodyFault::Btc);
        };
        match parse_btc(&text) {
            Ok(sats) => Some(sats),
            Err(error) => self.nothing(field, &error),
        }
    }

    /// The whole body as rates by currency; `None` for a withdrawn rate.
    pub fn rates(&mut self) -> BTreeMap<String, Option<String>> {
        let mut rates = BTreeMap::new();
        for (code, raw) in self.fields.members() {
            let code = code.to_owned();
            if Currency::from_code(&code).is_none() {
                self.field_errors.push(FieldError::told(code, &BodyFault::Currency));
                continue;
            }
            let rate = match (raw, read_number(raw)) {
                ("null", _) => Ok(None),
                (_, Some(text)) => Rate::parse(&text)
                    .map(|rate| Some(rate.format()))
                    .map_err(|error| FieldError::told(code.clone(), &error)),
                (_, None) => Err(FieldError::told(code.clone(), &BodyFault::Rate)),
            };
            match rate {
                Ok(rate) => {
                    rates.insert(code, rate);
                }
                Err(error) => self.field_errors.push(error),
            }
        }
        rates
    }

    fn nothing<T>(&mut self, field: &'static str, what: &impl Told) -> Option<T> {
        self.field_error(field, what);
        None
    }
}
