//! The path of a request behind a web server that keeps the path of `publicUrl`.

use axum::http::{Request, Uri};
use tillgate_gateway::settings::Settings;

/// The beginnings of all served paths.
const SERVED: [&str; 4] = ["/pay/", "/v2/", "/favicon.ico", "/sandbox"];

/// The request without the path of `publicUrl` in front. A path that is served as it stands is
/// kept.
pub fn without_prefix<B>(mut request: Request<B>, settings: &Settings) -> Request<B> {
    if let Some(url) = settings.public_url()
        && let Some(uri) = stripped(request.uri(), url.path())
    {
        *request.uri_mut() = uri;
    }
    request
}

fn stripped(uri: &Uri, prefix: &str) -> Option<Uri> {
    let rest = uri.path_and_query()?.as_str().strip_prefix(prefix.trim_end_matches('/'))?;
    if !SERVED.iter().any(|served| rest.starts_with(served)) {
        return None;
    }
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(rest.parse().ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(uri: &str, prefix: &str) -> String {
        let uri: Uri = uri.parse().unwrap();
        stripped(&uri, prefix).unwrap_or(uri).to_string()
    }

    #[test]
    fn only_a_kept_prefix_is_removed() {
        for (uri, prefix, wanted) in [
            ("/till/pay/x?lang=de", "/till", "/pay/x?lang=de"),
            ("/till/pay/x/events", "/till/", "/pay/x/events"),
            ("/till/v2/rates", "/till", "/v2/rates"),
            ("/till/favicon.ico", "/till", "/favicon.ico"),
            ("/pay/x", "/till", "/pay/x"),
            // The web server may remove a prefix that looks like a served path.
            ("/pay/x", "/pay", "/pay/x"),
            ("/pay/pay/x", "/pay", "/pay/x"),
            ("/pay/x", "/", "/pay/x"),
            ("/tillpay/x", "/till", "/tillpay/x"),
            ("/till/till/pay/x", "/till", "/till/till/pay/x"),
            ("http://till.example/till/pay/x", "/till", "http://till.example/pay/x"),
        ] {
            assert_eq!(served(uri, prefix), wanted, "{uri} behind {prefix}");
        }
    }
}
