//! Refuses requests from pages of other sites, because a browser adds stored credentials to them.

use std::net::SocketAddr;

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderName, HeaderValue, Request};
use tillgate_gateway::settings::Settings;

use super::host::{is_allowed, is_listened_at};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// A resend by GET, which existing clients use: it changes state although it is a GET.
const RESEND: &str = "/v2/payments/notify/";

/// Whether a call changes state and comes from another site's page, by the browser's headers
/// `Sec-Fetch-Site` and `Origin`. Other programs send neither; older browsers send only `Origin`.
pub fn is_forged<B>(request: &Request<B>, listen: SocketAddr, settings: &Settings) -> bool {
    let changes = !request.method().is_safe() || request.uri().path().starts_with(RESEND);
    let all = |name: &HeaderName| request.headers().get_all(name).iter();
    // Pages of other programs on this machine have the same host names, but other ports.
    let is_asked = |authority: &str| all(&HOST).any(|host| host == authority);
    let public_origin = settings.public_url().map(|url| url.origin().ascii_serialization());
    let is_own_origin = |origin: &HeaderValue| {
        let Ok(origin) = origin.to_str() else { return false };
        let Some((_, authority)) = origin.split_once("://") else { return false };
        public_origin.as_deref() == Some(origin)
            || is_allowed(authority, settings)
            || (is_listened_at(authority, listen) && is_asked(authority))
    };
    changes
        && (all(&SEC_FETCH_SITE).any(|site| site != "same-origin" && site != "none")
            || all(&ORIGIN).any(|origin| !is_own_origin(origin)))
}

#[cfg(test)]
mod tests {
    use tillgate_machine::environment::Environment;

    use super::*;

    #[test]
    fn a_request_from_another_sites_page_is_refused() {
        let settings = Settings {
            allowed_hosts: vec!["till.example".to_owned()],
            public_url: Some("https://pay.example:444/till".to_owned()),
            ..Settings::defaults(Environment::Test)
        };
        for (method, path, name, value, forged) in [
            ("POST", "/v2/payments/new", "sec-fetch-site", "cross-site", true),
            ("POST", "/v2/payments/new", "sec-fetch-site", "same-site", true),
            ("POST", "/v2/payments/new", "sec-fetch-site", "anything", true),
            ("POST", "/v2/payments/new", "sec-fetch-site", "same-origin", false),
            ("POST", "/v2/payments/new", "accept", "*/*", false),
            ("POST", "/v2/payments/new", "origin", "https://evil.example", true),
            ("POST", "/v2/payments/new", "origin", "null", true),
            ("POST", "/v2/payments/new", "origin", "http://localhost:7421", false),
            ("POST", "/v2/payments/new", "origin", "http://localhost:7422", true),
            ("POST", "/v2/payments/new", "origin", "http://127.0.0.1:7421", true),
            ("POST", "/v2/payments/new", "origin", "https://till.example", false),
            ("POST", "/v2/payments/new", "origin", "https://pay.example:444", false),
            ("POST", "/v2/payments/new", "origin", "https://pay.example", true),
            ("POST", "/v2/payments/new", "origin", "http://pay.example:444", true),
            ("POST", "/v2/payments/new", "origin", "http://pay.example", true),
            ("GET", "/v2/payments/notify/1", "sec-fetch-site", "same-site", true),
            ("GET", "/v2/payments/notify/1", "sec-fetch-site", "none", false),
            ("GET", "/v2/payments/10/0", "sec-fetch-site", "cross-site", false),
            ("GET", "/pay/1/events", "origin", "https://evil.example", false),
        ] {
            let request =
                Request::builder().method(method).uri(path).header(HOST, "localhost:7421");
            let request = request.header(name, value).body(()).unwrap();
            let listen = "127.0.0.1:7421".parse().unwrap();
            assert_eq!(
                is_forged(&request, listen, &settings),
                forged,
                "{method} {path} {name}: {value}"
            );
        }
    }
}
