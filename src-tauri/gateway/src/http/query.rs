//! Query parameters: each read into what it must be, all faults together. Unknown ones are ignored.

use std::str::FromStr;

use axum::http::Uri;
use tillgate_domain::time::Timestamp;
use url::form_urlencoded;

use super::error::Failure;
use crate::faults::Fault;

/// The parameters of one request, and what is wrong with them.
pub(super) struct Query {
    pairs: Vec<(String, String)>,
    faults: Vec<Fault>,
}

impl Query {
    pub(super) fn of(uri: &Uri) -> Self {
        let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned().collect();
        Self { pairs, faults: Vec::new() }
    }

    /// A parameter that may be given once.
    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        let mut values = self.pairs.iter().filter(|(given, _)| given == name).map(|(_, value)| value);
        let value = values.next().cloned();
        if values.next().is_some() {
            self.fault(name, "may be given once");
            return None;
        }
        value
    }

    /// A parameter that may be given once, in a form of its own; `what` follows its name in a fault.
    pub(super) fn parsed<T: FromStr>(&mut self, name: &'static str, what: &str) -> Option<T> {
        let text = self.text(name)?;
        self.parse(name, &text, what)
    }

    /// A parameter that may be given many times.
    pub(super) fn all<T: FromStr>(&mut self, name: &'static str, what: &str) -> Vec<T> {
        let texts: Vec<_> =
            self.pairs.iter().filter(|(given, _)| given == name).map(|(_, value)| value.clone()).collect();
        texts.iter().filter_map(|text| self.parse(name, text, what)).collect()
    }

    /// A moment in ISO 8601.
    pub(super) fn time(&mut self, name: &'static str) -> Option<Timestamp> {
        let text = self.text(name)?;
        // "+" of an offset that was not encoded arrives as a space.
        let time = Timestamp::parse_iso(&text).or_else(|_| Timestamp::parse_iso(&text.replace(' ', "+")));
        if time.is_err() {
            self.fault(name, "must be a time like 2026-01-12T12:06:20Z");
        }
        time.ok()
    }

    /// A page's limit, here or in the path.
    pub(super) fn limit(&mut self, text: &str, max: u32) -> u32 {
        let limit = text.parse().ok().filter(|limit| (1..=max).contains(limit) && is_digits(text));
        if limit.is_none() {
            self.fault("limit", &format!("must be a whole number from 1 to {max}"));
        }
        limit.unwrap_or(1)
    }

    /// A page's offset, here or in the path.
    pub(super) fn offset(&mut self, text: &str) -> u64 {
        let offset = text.parse().ok().filter(|offset| i64::try_from(*offset).is_ok() && is_digits(text));
        if offset.is_none() {
            self.fault("offset", "must be a whole number from 0");
        }
        offset.unwrap_or(0)
    }

    /// Ends the reading: every fault, or none.
    pub(super) fn finish(self) -> Result<(), Failure> {
        if self.faults.is_empty() { Ok(()) } else { Err(Failure::invalid(self.faults)) }
    }

    fn parse<T: FromStr>(&mut self, name: &'static str, text: &str, what: &str) -> Option<T> {
        let parsed = text.parse().ok();
        if parsed.is_none() {
            self.fault(name, what);
        }
        parsed
    }

    fn fault(&mut self, name: &'static str, what: &str) {
        self.faults.push(Fault::invalid(name, what));
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}
