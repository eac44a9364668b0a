//! Checks of currencies, sums, texts and URLs, for payments and payouts.

use std::borrow::Cow;

use tillgate_domain::money::AmountError::{NotANumber, NotPositive, TooLarge};
use tillgate_domain::money::Currency;
use tillgate_machine::field_errors::{Fault, FieldError};
use tillgate_store::notify_hosts::NotifyHosts;
use tillgate_told::Told;
use url::Url;

/// Limit of characters of `message` and `comment` (interface, section 1).
pub const TEXT_MAX: usize = 512;

/// Limit of a URL in bytes, because each notification stores a copy of it.
pub const URL_MAX: usize = 2_048;

/// Limit of bytes of all texts and URLs of one record (interface, section 1). The two texts of a
/// payout never reach it.
pub const TEXTS_MAX: usize = 8_192;

/// The field errors of a request found so far.
pub struct FieldErrors(pub(crate) Vec<FieldError>);

impl FieldErrors {
    /// Adds a field error; returns `None` in place of the value.
    pub fn told<T>(&mut self, field: &'static str, what: &impl Told) -> Option<T> {
        self.0.push(FieldError::told(field, what));
        None
    }

    /// Adds a field error for a missing field, unless the field was already reported.
    pub fn required<'a>(
        &mut self,
        field: &'static str,
        value: Option<Cow<'a, str>>,
    ) -> Option<Cow<'a, str>> {
        let known = self.0.iter().any(|field_error| field_error.field.as_deref() == Some(field));
        if value.is_none() && !known {
            self.0.push(FieldError::missing(field));
        }
        value
    }

    /// The currency of a code, if the merchant accepts it.
    pub fn currency(
        &mut self,
        field: &'static str,
        code: Option<Cow<'_, str>>,
        currencies: &[Currency],
    ) -> Option<Currency> {
        let code = self.required(field, code)?;
        let currency = currencies.iter().find(|currency| currency.code() == code);
        if currency.is_none() {
            let taken: Vec<&str> = currencies.iter().map(Currency::code).collect();
            self.told::<()>(field, &Fault::NotOneOf(taken.join(", ")));
        }
        currency.copied()
    }

    /// A sum in minor units of its currency. The number of decimals is checked only if the currency
    /// is known.
    pub fn fiat(
        &mut self,
        field: &'static str,
        amount: &str,
        currency: Option<Currency>,
    ) -> Option<i64> {
        let Some(currency) = currency else {
            let widest = Currency::ALL.iter().max_by_key(|currency| currency.minor_units());
            if let Some(Err(error @ (NotANumber | NotPositive | TooLarge))) =
                widest.map(|currency| currency.parse_minor(amount))
            {
                self.told::<()>(field, &error);
            }
            return None;
        };
        currency.parse_minor(amount).map_or_else(|error| self.told(field, &error), Some)
    }

    /// A text of at most `max` characters, without control characters other than tabs and line
    /// breaks.
    pub fn text(&mut self, field: &'static str, text: Cow<'_, str>, max: usize) -> Option<String> {
        if text.len() > max && text.chars().count() > max {
            return self.told(field, &Fault::TooManyCharacters { most: max });
        }
        if text.chars().any(|it| it.is_control() && !matches!(it, '\t' | '\n' | '\r')) {
            return self.told(field, &Fault::ControlCharacters);
        }
        Some(text.into_owned())
    }

    /// A URL for notifications.
    pub fn notified_url(
        &mut self,
        field: &'static str,
        text: Cow<'_, str>,
        hosts: &NotifyHosts,
    ) -> Option<String> {
        let url = self.url(field, text)?;
        if hosts.allow(&url) {
            return Some(url);
        }
        let named = hosts.names().join(" or ");
        self.told(field, &Fault::OtherHost(named))
    }

    pub fn url(&mut self, field: &'static str, text: Cow<'_, str>) -> Option<String> {
        match url_error(&text) {
            Some(what) => self.told(field, &what),
            None => Some(text.into_owned()),
        }
    }
}

/// The error of a URL for notifications or redirects.
fn url_error(text: &str) -> Option<Fault> {
    if text.len() > URL_MAX {
        return Some(Fault::LongUrl);
    }
    // The parser strips these silently. The called URL would then differ from the URL in the
    // record.
    if text.chars().any(char::is_control) || text.trim() != text {
        return Some(Fault::BlankUrl);
    }
    let Ok(url) = Url::parse(text) else { return Some(Fault::NoUrl) };
    if !matches!(url.scheme(), "http" | "https") {
        return Some(Fault::OtherScheme);
    }
    // A browser may read a URL without its two slashes as a path, where the parser reads a host.
    let Some((_, after_scheme)) = text.split_once("://") else { return Some(Fault::NoUrl) };
    let authority = after_scheme.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Some(Fault::Login);
    }
    // The page fills in `{paymentId}`, which is secret, and a host is told to name servers.
    if authority.is_empty() || authority.contains('{') {
        return Some(Fault::NoUrl);
    }
    None
}
