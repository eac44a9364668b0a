//! Hosts that may receive the notifications of a key.

use std::fmt;
use std::str::FromStr;

use url::{Host, Url};

/// Most hosts of one key: a longer list is a mistake.
const HOSTS_MAX: usize = 20;

/// Hosts as in a URL, in lower case and without a port. An empty list allows every host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NotifyHosts(Vec<String>);

/// A text is not a host, or there are too many hosts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error(
    "must be at most {HOSTS_MAX} hosts like shop.example or 192.0.2.1, each without scheme, port and path"
)]
pub struct NotHosts;

impl NotifyHosts {
    /// Parses hosts as people write them.
    ///
    /// # Errors
    /// [`NotHosts`].
    pub fn parse(texts: &[String]) -> Result<Self, NotHosts> {
        let mut hosts = Vec::new();
        for text in texts {
            let host = host(text.trim()).ok_or(NotHosts)?;
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        if hosts.len() > HOSTS_MAX { Err(NotHosts) } else { Ok(Self(hosts)) }
    }

    /// Whether a notification may go to this URL.
    #[must_use]
    pub fn allow(&self, url: &str) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let url = Url::parse(url).ok();
        url.as_ref()
            .and_then(Url::host_str)
            .is_some_and(|host| self.0.iter().any(|allowed| allowed == host))
    }

    /// The hosts in their stored form.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for NotifyHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(","))
    }
}

impl FromStr for NotifyHosts {
    type Err = NotHosts;

    /// Parses the stored form, a comma-separated list.
    fn from_str(text: &str) -> Result<Self, NotHosts> {
        let texts: Vec<String> =
            text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        Self::parse(&texts)
    }
}

fn host(text: &str) -> Option<String> {
    match text.parse::<std::net::Ipv6Addr>() {
        Ok(address) => Some(format!("[{address}]")),
        Err(_) => host_name(text),
    }
}

/// A host name or address without a port, in lower case as in URLs and `Host` headers.
pub fn host_name(text: &str) -> Option<String> {
    let is_name_byte =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    match Host::parse(text).ok()? {
        Host::Domain(name) if name.bytes().all(is_name_byte) && name.len() <= 253 => Some(name),
        Host::Domain(_) => None,
        Host::Ipv4(address) => Some(address.to_string()),
        Host::Ipv6(address) => Some(format!("[{address}]")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(text: &str) -> NotifyHosts {
        text.parse().unwrap()
    }

    #[test]
    fn a_url_at_a_named_host_is_allowed_with_any_port_and_form() {
        let named = hosts("Shop.Example,192.0.2.1,::1,bücher.example");
        assert_eq!(named.to_string(), "shop.example,192.0.2.1,[::1],xn--bcher-kva.example");
        for url in [
            "https://shop.example/hook",
            "http://SHOP.example:8080/",
            "http://192.0.2.1/",
            "http://3221225985/",
            "http://[0:0::1]:1/",
            "https://bücher.example/",
        ] {
            assert!(named.allow(url), "{url}");
        }
        for url in [
            "https://evil.example/",
            "https://shop.example.evil.example/",
            "https://evil.example/?shop.example",
            "https://evil.example#@shop.example",
            "https://sub.shop.example/",
            "shop.example",
        ] {
            assert!(!named.allow(url), "{url}");
        }
        assert!(hosts("").allow("https://anything.example/"));
    }

    #[test]
    fn texts_that_are_not_hosts_are_refused() {
        for text in [
            "https://shop.example",
            "shop.example/hook",
            "shop.example:80",
            "a b",
            "*.example",
            "user@shop",
        ] {
            assert_eq!(NotifyHosts::parse(&[text.to_owned()]), Err(NotHosts), "{text}");
        }
        let many: Vec<String> = (0..21).map(|number| format!("shop{number}.example")).collect();
        assert_eq!(NotifyHosts::parse(&many), Err(NotHosts));
    }
}
