//! Query parameters. Each is parsed, and all field errors are collected. An unknown parameter is an
//! error: a filter that is misspelled must not list everything.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::Uri;
use axum::http::request::Parts;
use tillgate_domain::time::Timestamp;
use tillgate_machine::field_errors::FieldError;
use url::form_urlencoded;

use super::error::Failure;

/// Limit of values of a repeatable parameter. No such parameter has more distinct values.
const VALUES_MAX: usize = 16;

/// The parameters of one request, and their field errors.
pub struct Query<'a> {
    /// The query of the URI. It is searched for each name, so that unused parameters take no
    /// memory.
    text: &'a str,
    /// The names that were read.
    known: Vec<&'static str>,
    field_errors: Vec<FieldError>,
}

/// The query of a call that takes none.
pub struct NoQuery;

impl<S: Send + Sync> FromRequestParts<S> for NoQuery {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        Query::from_uri(&parts.uri).finish().map(|()| Self)
    }
}

impl<'a> Query<'a> {
    pub fn from_uri(uri: &'a Uri) -> Self {
        Self { text: uri.query().unwrap_or_default(), known: Vec::new(), field_errors: Vec::new() }
    }

    /// A parameter that may be given once.
    pub fn text(&mut self, name: &'static str) -> Option<String> {
        let mut values = self.values(name);
        let value = values.next();
        if values.next().is_some() {
            self.field_error(name, "may be given once");
            return None;
        }
        value
    }

    fn values(&mut self, name: &'static str) -> impl Iterator<Item = String> + use<'a> {
        if !self.known.contains(&name) {
            self.known.push(name);
        }
        let pairs = form_urlencoded::parse(self.text.as_bytes());
        pairs.filter(move |(given, _)| given == name).map(|(_, value)| value.into_owned())
    }

    /// A parameter that may be given once, parsed as `T`; `what` follows its name in a field error.
    pub fn parsed<T: FromStr>(&mut self, name: &'static str, what: &str) -> Option<T> {
        let text = self.text(name)?;
        self.parse(name, &text, what)
    }

    /// A parameter that may be given once. `parse` reads it, or gives the text of the field error.
    pub fn parse_with<T, E: Display>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let text = self.text(name)?;
        parse(&text).map_err(|error| self.field_error(name, &error.to_string())).ok()
    }

    /// Whether a parameter was given.
    pub fn has(&mut self, name: &'static str) -> bool {
        self.values(name).next().is_some()
    }

    /// A parameter that may be given several times.
    pub fn all<T: FromStr>(&mut self, name: &'static str, what: &str) -> Vec<T> {
        let texts: Vec<_> = self.values(name).take(VALUES_MAX + 1).collect();
        if texts.len() > VALUES_MAX {
            self.field_error(name, &format!("may be given {VALUES_MAX} times at most"));
            return Vec::new();
        }
        texts.iter().filter_map(|text| self.parse(name, text, what)).collect()
    }

    /// A time in ISO 8601.
    pub fn time(&mut self, name: &'static str) -> Option<Timestamp> {
        let text = self.text(name)?;
        // The "+" of an offset arrives as a space if it was not encoded.
        let time =
            Timestamp::parse_iso(&text).or_else(|_| Timestamp::parse_iso(&text.replace(' ', "+")));
        if time.is_err() {
            self.field_error(name, "must be a time like 2026-01-12T12:06:20Z");
        }
        time.ok()
    }

    /// A page's limit, from the query or the path.
    pub fn limit(&mut self, text: &str, max: u32) -> u32 {
        let limit = text.parse().ok().filter(|limit| (1..=max).contains(limit) && is_digits(text));
        if limit.is_none() {
            self.field_error("limit", &format!("must be a whole number from 1 to {max}"));
        }
        limit.unwrap_or(1)
    }

    /// A page's offset, from the query or the path.
    pub fn offset(&mut self, text: &str) -> u64 {
        let offset =
            text.parse().ok().filter(|offset| i64::try_from(*offset).is_ok() && is_digits(text));
        if offset.is_none() {
            self.field_error("offset", "must be a whole number from 0");
        }
        offset.unwrap_or(0)
    }

    /// Returns every field error, for a use case that adds its own. All parameters of the call must
    /// have been read.
    pub fn into_field_errors(mut self) -> Vec<FieldError> {
        self.name_unknown();
        self.field_errors
    }

    /// Refuses the request if there are field errors. All parameters of the call must have been
    /// read.
    pub fn finish(self) -> Result<(), Failure> {
        let field_errors = self.into_field_errors();
        if field_errors.is_empty() { Ok(()) } else { Err(Failure::invalid(field_errors)) }
    }

    /// Adds a field error for each name that was never read.
    fn name_unknown(&mut self) {
        let names = form_urlencoded::parse(self.text.as_bytes()).map(|(name, _)| name);
        let unknown: BTreeSet<_> =
            names.filter(|name| !self.known.contains(&name.as_ref())).collect();
        let taken = match self.known.as_slice() {
            [] => "no parameters".to_owned(),
            known => known.join(", "),
        };
        let what = format!("is not known here: this call takes {taken}");
        self.field_errors
            .extend(unknown.into_iter().map(|name| FieldError::invalid(name.into_owned(), &what)));
    }

    fn parse<T: FromStr>(&mut self, name: &'static str, text: &str, what: &str) -> Option<T> {
        let parsed = text.parse().ok();
        if parsed.is_none() {
            self.field_error(name, what);
        }
        parsed
    }

    /// Adds a parameter's field error.
    pub fn field_error(&mut self, name: &'static str, what: &str) {
        self.field_errors.push(FieldError::invalid(name, what));
    }
}

/// The end of a field error's text, for a parameter with a fixed set of values.
pub fn one_of(names: &[&str]) -> String {
    match names {
        [all_but_last @ .., last] if !all_but_last.is_empty() => {
            format!("must be {} or {last}", all_but_last.join(", "))
        }
        _ => format!("must be {}", names.concat()),
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_error_names_every_allowed_value() {
        assert_eq!(one_of(&["NEW", "PAID", "EXPIRED"]), "must be NEW, PAID or EXPIRED");
        assert_eq!(one_of(&["NEW", "PAID"]), "must be NEW or PAID");
        assert_eq!(one_of(&["NEW"]), "must be NEW");
    }
}
