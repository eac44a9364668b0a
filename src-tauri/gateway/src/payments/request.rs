//! A payment request and its checks. The checks report all field errors at once.

use std::borrow::Cow;

use tillgate_domain::money::Currency;
use tillgate_domain::sale::Basket;
use tillgate_machine::field_errors::{Fault, FieldError};
use tillgate_store::notify_hosts::NotifyHosts;

use super::checks::{FieldErrors, TEXT_MAX, TEXTS_MAX};

/// Limit of characters of `merchantTransactionId`.
const REFERENCE_MAX: usize = 255;

/// A payment request as received: texts that are not validated. `None` means missing.
#[derive(Debug, Clone, Default)]
pub struct PaymentRequest<'a> {
    /// The price, a decimal number.
    pub amount: Option<Cow<'a, str>>,
    /// ISO 4217 code.
    pub currency: Option<Cow<'a, str>>,
    /// The URL to which each change is POSTed.
    pub notification_url: Option<Cow<'a, str>>,
    /// The URL to which anomalies are POSTed.
    pub anomaly_notification_url: Option<Cow<'a, str>>,
    /// The message for the customer on the payment page.
    pub message: Option<Cow<'a, str>>,
    /// The shop's own reference.
    pub merchant_transaction_id: Option<Cow<'a, str>>,
    /// The URLs to which the payment page redirects the customer.
    pub redirect_urls: Vec<(RedirectKind, Cow<'a, str>)>,
    /// The content of a sale at the till. The caller computes `amount` from it.
    pub basket: Option<Basket>,
    /// Errors found while the request was parsed. A field with such an error does not count as
    /// missing.
    pub field_errors: Vec<FieldError>,
}

/// A key of `redirectUrls`: one for each state in which the payment page redirects the customer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectKind {
    /// No coins were received in time.
    Expired,
    /// The payment is paid.
    Confirmed,
    /// Too few coins were received, or the network took them back.
    Invalid,
    /// Enough coins were received, and confirmations are missing.
    Unconfirmed,
}

impl RedirectKind {
    /// All keys, in the order of their field errors.
    pub const ALL: [Self; 4] = [Self::Expired, Self::Confirmed, Self::Invalid, Self::Unconfirmed];

    /// Its key in `redirectUrls`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Confirmed => "confirmed",
            Self::Invalid => "invalid",
            Self::Unconfirmed => "unconfirmed",
        }
    }

    /// Its field's name in a field error.
    #[must_use]
    pub const fn field(self) -> &'static str {
        match self {
            Self::Expired => "redirectUrls.expired",
            Self::Confirmed => "redirectUrls.confirmed",
            Self::Invalid => "redirectUrls.invalid",
            Self::Unconfirmed => "redirectUrls.unconfirmed",
        }
    }
}

/// A validated request. The price may still be too small or too large at the exchange rate.
#[derive(Debug)]
pub struct Validated {
    /// In the currency's minor units; `None` if the price or the currency has a field error.
    pub price: Option<(i64, Currency)>,
    pub notification_url: Option<String>,
    pub anomaly_notification_url: Option<String>,
    pub message: String,
    pub merchant_transaction_id: String,
    /// The record's JSON object; `None` if no URL was given.
    pub redirect_urls: Option<String>,
    pub field_errors: Vec<FieldError>,
}

/// Finds every field error of a request. The merchant accepts `currencies`; `hosts` may be
/// notified.
pub fn validate(
    request: PaymentRequest<'_>,
    currencies: &[Currency],
    notification_url_optional: bool,
    hosts: &NotifyHosts,
) -> Validated {
    let too_long = texts_too_long(&request);
    let mut field_errors = FieldErrors(request.field_errors);
    let currency = field_errors.currency("currency", request.currency, currencies);
    let amount = field_errors.required("amount", request.amount);
    let price =
        amount.and_then(|amount| field_errors.fiat("amount", &amount, currency)).zip(currency);
    let notification_url = if notification_url_optional {
        request.notification_url
    } else {
        field_errors.required("notificationUrl", request.notification_url)
    };
    let message = field_errors
        .required("message", request.message)
        .and_then(|it| field_errors.text("message", it, TEXT_MAX));
    let reference = field_errors.required("merchantTransactionId", request.merchant_transaction_id);
    let reference =
        reference.and_then(|it| field_errors.text("merchantTransactionId", it, REFERENCE_MAX));
    let notification_url =
        notification_url.and_then(|it| field_errors.notified_url("notificationUrl", it, hosts));
    let anomaly_notification_url = request
        .anomaly_notification_url
        .and_then(|it| field_errors.notified_url("anomalyNotificationUrl", it, hosts));
    let redirect_urls = redirect_urls(request.redirect_urls, &mut field_errors);
    // A field that is too long by itself gets no second error.
    let is_told = |one: &FieldError| field_errors.0.iter().any(|told| told.field == one.field);
    if let Some(too_long) = too_long.filter(|one| !is_told(one)) {
        field_errors.0.push(too_long);
    }
    Validated {
        price,
        notification_url,
        anomaly_notification_url,
        message: message.unwrap_or_default(),
        merchant_transaction_id: reference.unwrap_or_default(),
        redirect_urls,
        field_errors: field_errors.0,
    }
}

/// An error at the longest text, if the texts and URLs of a request are too long together.
fn texts_too_long(request: &PaymentRequest<'_>) -> Option<FieldError> {
    let named = [
        ("message", &request.message),
        ("merchantTransactionId", &request.merchant_transaction_id),
        ("notificationUrl", &request.notification_url),
        ("anomalyNotificationUrl", &request.anomaly_notification_url),
    ];
    let named = named.into_iter().filter_map(|(field, text)| Some((field, text.as_ref()?.len())));
    let redirects = request.redirect_urls.iter().map(|(kind, text)| (kind.field(), text.len()));
    let lengths: Vec<(&'static str, usize)> = named.chain(redirects).collect();
    let in_all: usize = lengths.iter().map(|(_, length)| length).sum();
    let (longest, _) = lengths.into_iter().max_by_key(|(_, length)| *length)?;
    let what = Fault::TextsTooLong { most: TEXTS_MAX, in_all };
    (in_all > TEXTS_MAX).then(|| FieldError::told(longest, &what))
}

fn redirect_urls(
    given: Vec<(RedirectKind, Cow<'_, str>)>,
    field_errors: &mut FieldErrors,
) -> Option<String> {
    let mut urls = serde_json::Map::new();
    for (kind, text) in given {
        if let Some(url) = field_errors.url(kind.field(), text) {
            urls.insert(kind.as_str().to_owned(), url.into());
        }
    }
    if urls.is_empty() { None } else { Some(serde_json::Value::Object(urls).to_string()) }
}

#[cfg(test)]
mod tests {
    use super::super::checks::URL_MAX;
    use super::*;

    fn good() -> PaymentRequest<'static> {
        PaymentRequest {
            amount: Some("10.00".into()),
            currency: Some("USD".into()),
            notification_url: Some("https://shop.example/hook".into()),
            message: Some("".into()),
            merchant_transaction_id: Some("".into()),
            ..PaymentRequest::default()
        }
    }

    fn currencies() -> Vec<Currency> {
        ["USD", "JPY"].iter().filter_map(|code| Currency::from_code(code)).collect()
    }

    fn fields(request: PaymentRequest<'_>) -> Vec<String> {
        let field_errors =
            validate(request, &currencies(), false, &NotifyHosts::default()).field_errors;
        field_errors
            .into_iter()
            .map(|field_error| field_error.field.unwrap_or_default().into_owned())
            .collect()
    }

    #[test]
    fn empty_texts_pass_and_all_missing_fields_are_named() {
        assert_eq!(fields(good()), Vec::<String>::new());
        let named = ["currency", "amount", "notificationUrl", "message", "merchantTransactionId"];
        assert_eq!(fields(PaymentRequest::default()), named);
    }

    #[test]
    fn texts_and_urls_have_8192_bytes_together_at_most() {
        let url =
            |length: usize| Cow::from(format!("https://shop.example/{}", "u".repeat(length - 21)));
        let of = |last: usize| PaymentRequest {
            notification_url: Some(url(2_048)),
            anomaly_notification_url: Some(url(2_000)),
            message: Some("é".repeat(512).into()),
            redirect_urls: vec![
                (RedirectKind::Expired, url(2_000)),
                (RedirectKind::Confirmed, url(last)),
            ],
            ..good()
        };
        let left = 8_192 - 2_048 - 2_000 - 1_024 - 2_000;
        assert_eq!(fields(of(left)), Vec::<String>::new());
        assert_eq!(fields(of(left + 1)), ["notificationUrl"]);
        let refusal = validate(of(left + 1), &currencies(), false, &NotifyHosts::default())
            .field_errors
            .remove(0);
        let told = "notificationUrl must be shorter: all texts and URLs of a payment may have 8192 bytes together, and these have 8193";
        assert_eq!(refusal.message, told);
    }

    #[test]
    fn a_field_with_a_parse_error_is_not_also_called_missing() {
        let field_errors = vec![FieldError::invalid("message", "must be a string")];
        assert_eq!(fields(PaymentRequest { message: None, field_errors, ..good() }), ["message"]);
    }

    #[test]
    fn texts_that_are_not_amounts_are_refused() {
        let digits = "9".repeat(30);
        for amount in ["0", "-1", "1e400", "NaN", "0.001", digits.as_str(), "", "1,5", " 1"] {
            assert_eq!(
                fields(PaymentRequest { amount: Some(amount.into()), ..good() }),
                ["amount"],
                "{amount}"
            );
        }
        let yen = |amount: &'static str| PaymentRequest {
            currency: Some("JPY".into()),
            amount: Some(amount.into()),
            ..good()
        };
        assert_eq!(fields(yen("1.5")), ["amount"]);
        assert_eq!(
            validate(yen("1500.00"), &currencies(), false, &NotifyHosts::default())
                .price
                .map(|(minor, _)| minor),
            Some(1_500)
        );
    }

    #[test]
    fn a_bad_amount_is_reported_along_with_a_bad_currency() {
        for currency in ["XXX", "usd", "GBP", ""] {
            let request = PaymentRequest {
                currency: Some(currency.into()),
                amount: Some("NaN".into()),
                ..good()
            };
            assert_eq!(fields(request), ["currency", "amount"], "{currency}");
        }
    }

    #[test]
    fn malformed_urls_are_refused() {
        let long = format!("https://shop.example/{}", "a".repeat(URL_MAX));
        for url in [
            "",
            "shop.example",
            "ftp://shop.example",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "https://",
            "https://user@shop.example",
            "https://user:secret@shop.example/",
            "https:shop.example/x",
            "http:\\\\shop.example",
            "https://{paymentId}.shop.example/",
            "https://@shop.example/",
            "https:\\\\u@shop.example",
            "https://shop.example/\n",
            "https://shop.\u{7f}example/",
            " https://shop.example",
            long.as_str(),
        ] {
            assert_eq!(
                fields(PaymentRequest { notification_url: Some(url.into()), ..good() }),
                ["notificationUrl"],
                "{url}"
            );
        }
        let bytes = format!("https://shop.example/{}", "é".repeat(URL_MAX / 2));
        assert_eq!(
            fields(PaymentRequest { notification_url: Some(bytes.into()), ..good() }),
            ["notificationUrl"]
        );
        for url in ["http://127.0.0.1:8080/a?b=c@d#e", "HTTPS://Shop.Example", "https://[::1]/@me"]
        {
            assert_eq!(
                fields(PaymentRequest { notification_url: Some(url.into()), ..good() }),
                Vec::<String>::new(),
                "{url}"
            );
        }
    }

    #[test]
    fn texts_are_bounded_in_characters_not_bytes() {
        let message = |text: String| PaymentRequest { message: Some(text.into()), ..good() };
        assert_eq!(fields(message("é".repeat(512))), Vec::<String>::new());
        assert_eq!(fields(message("é".repeat(513))), ["message"]);
        assert_eq!(fields(message("a".repeat(10_000))), ["message"]);
        assert_eq!(fields(message("tab\tline\r\nbreak".to_owned())), Vec::<String>::new());
        assert_eq!(fields(message("\u{0}".to_owned())), ["message"]);
        assert_eq!(fields(message("\u{9b}".to_owned())), ["message"]);
    }

    #[test]
    fn redirect_urls_are_validated_one_by_one_and_become_an_object() {
        let mut request = good();
        request.redirect_urls = vec![
            (RedirectKind::Expired, "https://shop.example/e".into()),
            (RedirectKind::Confirmed, "ftp://shop.example".into()),
        ];
        let validated = validate(request, &currencies(), false, &NotifyHosts::default());
        assert_eq!(validated.field_errors[0].field.as_deref(), Some("redirectUrls.confirmed"));
        assert_eq!(
            validated.redirect_urls.as_deref(),
            Some(r#"{"expired":"https://shop.example/e"}"#)
        );
    }

    #[test]
    fn a_key_may_make_the_notification_url_optional() {
        let validated = validate(
            PaymentRequest { notification_url: None, ..good() },
            &currencies(),
            true,
            &NotifyHosts::default(),
        );
        assert_eq!((validated.field_errors, validated.notification_url), (vec![], None));
    }
}
