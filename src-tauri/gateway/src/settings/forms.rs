//! Reading and writing the values of settings. A parser returns `None` for a text that does not
//! have the setting's form; the table describes the form.

use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::Path;
use std::str::FromStr;

use ipnet::IpNet;
use rust_decimal::Decimal;
use tillgate_domain::money::{Currency, format_btc, parse_btc};
use tillgate_domain::rates::parse_price;
use url::Url;

use crate::rates::live_sources;

/// Most items of a list. A longer list is taken for a mistake.
pub const LIST_MAX: usize = 50;

/// Most bytes of a URL, as in a request for a payment.
pub const URL_MAX: usize = 2_048;

/// Most bytes of a logo, which is sent with each payment page.
pub const LOGO_MAX: usize = 48 * 1_024;

/// Most bytes of a file's path, as on Linux.
const PATH_MAX: usize = 4_096;

/// Most servers of the Bitcoin backend.
pub const SERVERS_MAX: usize = 10;

/// Most characters of a user name at the Bitcoin backend.
pub const USER_MAX: usize = 128;

/// Most characters of the merchant's name.
pub const NAME_MAX: usize = 64;

/// Most lines and characters of the shop's address.
pub const ADDRESS_LINES_MAX: usize = 5;
pub const ADDRESS_MAX: usize = 200;

/// An IP address, or a block of them (`10.0.0.0/8`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network(IpNet);

impl Network {
    /// Whether an address belongs to it. An IPv4 address that came in through an IPv6 socket counts
    /// as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

/// A text that is neither an IP address nor a block of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error("an IP address, or a block of them like 10.0.0.0/8")]
pub struct NotANetwork;

impl FromStr for Network {
    type Err = NotANetwork;

    fn from_str(text: &str) -> Result<Self, NotANetwork> {
        let address = || text.parse::<IpAddr>().map(IpNet::from);
        text.parse().or_else(|_| address()).map(Self).map_err(|_| NotANetwork)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A single address is written without a prefix length.
        if self.0.prefix_len() == self.0.max_prefix_len() {
            self.0.addr().fmt(f)
        } else {
            self.0.fmt(f)
        }
    }
}

/// A whole number within bounds, both included.
pub fn whole<T: FromStr + PartialOrd>(text: &str, bounds: &RangeInclusive<T>) -> Option<T> {
    // `parse` accepts a plus sign, which our numbers do not have.
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| plain && bounds.contains(number))
}

/// A sum in Bitcoin within bounds in satoshis, both included. Unlike an amount it may be 0.
pub fn btc(text: &str, bounds: &RangeInclusive<u64>) -> Option<u64> {
    let is_zero = text.starts_with('0') && text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let sats = if is_zero { Some(0) } else { parse_btc(text).ok() };
    sats.filter(|sats| bounds.contains(sats))
}

/// A sum in the form that [`btc`] reads, without needless zeros.
pub fn btc_text(sats: u64) -> String {
    format_btc(sats).trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A comma-separated list without repetitions; an empty text is an empty list.
pub fn list<T: PartialEq>(text: &str, item: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let mut items = Vec::new();
    if text.trim().is_empty() {
        return Some(items);
    }
    for part in text.split(',') {
        let read = item(part.trim())?;
        if !items.contains(&read) {
            items.push(read);
        }
    }
    (items.len() <= LIST_MAX).then_some(items)
}

/// A list in the form that [`list`] reads.
pub fn joined<T: fmt::Display>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Words in a row, with `last` before the last one: "a, b and c".
pub fn in_words(words: &[&str], last: &str) -> String {
    match words {
        [rest @ .., end] if !rest.is_empty() => format!("{} {last} {end}", rest.join(", ")),
        _ => words.concat(),
    }
}

/// The codes of known currencies, at least one.
pub fn currencies(text: &str) -> Option<Vec<Currency>> {
    list(text, Currency::from_code).filter(|currencies| !currencies.is_empty())
}

/// The names of public rate sources, at least one.
pub fn rate_sources(text: &str) -> Option<Vec<&'static str>> {
    let known = |part: &str| live_sources().into_iter().find(|name| *name == part);
    list(text, known).filter(|sources| !sources.is_empty())
}

/// Currencies and their rates, each currency once.
pub fn fixed_rates(text: &str) -> Option<Vec<(Currency, Decimal)>> {
    let rate = |part: &str| {
        let (code, price) = part.split_once(':')?;
        Some((Currency::from_code(code)?, parse_price(price).ok()?))
    };
    let rates = list(text, rate)?;
    let once =
        |index: usize, currency| !rates.iter().take(index).any(|(other, _)| *other == currency);
    rates.iter().enumerate().all(|(index, (currency, _))| once(index, *currency)).then_some(rates)
}

/// Rates in the form that [`fixed_rates`] reads.
pub fn fixed_rates_text(rates: &[(Currency, Decimal)]) -> String {
    rates
        .iter()
        .map(|(currency, price)| format!("{}:{price}", currency.code()))
        .collect::<Vec<_>>()
        .join(",")
}

/// An `http` or `https` URL without user, query or fragment; a slash at its end is removed.
pub fn public_url(text: &str) -> Option<String> {
    let url = Url::parse(text).ok().filter(|_| text.len() <= URL_MAX)?;
    let plain = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    plain.then(|| url.as_str().trim_end_matches('/').to_owned())
}

/// The URLs of a Bitcoin backend's servers; the list may be empty. `Settings::agree` checks whether
/// they suit the backend.
pub fn backend_urls(text: &str) -> Option<Vec<String>> {
    list(text, backend_url).filter(|urls| urls.len() <= SERVERS_MAX)
}

/// The URL of one server: a public URL, `tcp://host:port` or `ssl://host:port`.
fn backend_url(text: &str) -> Option<String> {
    let url = Url::parse(text).ok().filter(|_| text.len() <= URL_MAX)?;
    match url.scheme() {
        "tcp" | "ssl" => socket_url(&url),
        _ => public_url(text),
    }
}

/// The address of a node's publisher, as in its option `-zmqpubsequence`, but without the star for
/// all addresses.
pub fn zmq_address(text: &str) -> Option<String> {
    let url = Url::parse(text).ok().filter(|url| text.len() <= URL_MAX && url.scheme() == "tcp")?;
    socket_url(&url).filter(|address| !address.contains('*'))
}

/// A URL with a scheme, host and port only.
fn socket_url(url: &Url) -> Option<String> {
    let plain = url.username().is_empty()
        && url.password().is_none()
        && matches!(url.path(), "" | "/")
        && url.query().is_none()
        && url.fragment().is_none();
    let host = url.host_str().filter(|host| plain && !host.is_empty() && !host.contains('%'))?;
    let port = url.port().filter(|port| *port != 0)?;
    Some(format!("{}://{}:{port}", url.scheme(), host.to_ascii_lowercase()))
}

/// The absolute path of a file, which need not exist.
pub fn file(text: &str) -> Option<String> {
    let sound = text.len() <= PATH_MAX
        && !text.chars().any(char::is_control)
        && Path::new(text).is_absolute();
    sound.then(|| text.to_owned())
}

/// A node's user name that HTTP's Basic authentication can carry.
pub fn backend_user(text: &str) -> Option<String> {
    let sound = (1..=USER_MAX).contains(&text.chars().count())
        && !text.chars().any(|c| c.is_control() || c == ':');
    sound.then(|| text.to_owned())
}

/// 1 to 64 characters without control characters; blanks at both ends are removed.
pub fn name(text: &str) -> Option<String> {
    let text = text.trim();
    let long = text.chars().count();
    ((1..=NAME_MAX).contains(&long) && !text.chars().any(char::is_control)).then(|| text.to_owned())
}

/// An address of few lines; empty lines and blanks at the ends of each line are removed.
pub fn address(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let is_short = lines.len() <= ADDRESS_LINES_MAX && text.chars().count() <= ADDRESS_MAX;
    let is_plain = lines.iter().all(|line| !line.chars().any(char::is_control));
    (is_short && is_plain && !lines.is_empty()).then(|| lines.join("\n"))
}

/// `#rrggbb`, in lower case.
pub fn color(text: &str) -> Option<String> {
    let digits = text.strip_prefix('#')?;
    (digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
        .then(|| text.to_ascii_lowercase())
}

/// An image in a `data:` URL, because the payment page loads no content from third parties.
pub fn logo(text: &str) -> Option<String> {
    use base64::Engine as _;
    let (kind, content) = text.strip_prefix("data:image/")?.split_once(";base64,")?;
    let known = matches!(kind, "png" | "jpeg" | "webp" | "svg+xml");
    let decodes = base64::engine::general_purpose::STANDARD
        .decode(content)
        .is_ok_and(|image| !image.is_empty());
    (known && decodes && text.len() <= LOGO_MAX).then(|| text.to_owned())
}

/// `Some(None)` for an empty text, else the result of `parse`.
pub fn optional<T>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    if text.is_empty() { Some(None) } else { parse(text).map(Some) }
}
