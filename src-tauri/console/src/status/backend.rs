//! The chain backend for people: its kind and the hosts of its servers, without credentials.

use serde::{Deserialize, Serialize};
use tillgate_chain::BackendKind;
use tillgate_gateway::gateway::Gateway;
use tillgate_gateway::settings::Settings;
use ts_rs::TS;
use url::Url;

/// The chain backend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct BackendItem {
    pub kind: BackendKind,
    /// The host of each server, with its port if the URL names one. The preferred server is first.
    /// Empty for the sandbox.
    pub servers: Vec<String>,
    /// The host and port of the first node's ZMQ address; absent if the node is polled each second
    /// instead.
    pub zmq: Option<String>,
}

impl BackendItem {
    /// The gateway's backend; `None` if no server is chosen.
    pub fn from_gateway(gateway: &Gateway) -> Option<Self> {
        if gateway.backend.configured.is_none() {
            return Some(Self { kind: BackendKind::Sandbox, servers: Vec::new(), zmq: None });
        }
        gateway.has_backend().then(|| Self::chosen_by(&gateway.settings.snapshot()))
    }

    fn chosen_by(settings: &Settings) -> Self {
        let kind = settings.backend;
        let zmq = settings.backend_zmq.as_deref().filter(|_| kind.has_notices());
        let servers = settings.backend_urls.iter().map(|url| host_and_port(url)).collect();
        Self { kind, servers, zmq: zmq.map(host_and_port) }
    }
}

/// The host and port of a URL. Its path is left out, because the path may be an access key.
fn host_and_port(url: &str) -> String {
    let parsed = Url::parse(url).ok();
    let named = parsed.as_ref().and_then(|url| url.host_str().map(|host| (host, url.port())));
    match named {
        Some((host, Some(port))) => format!("{host}:{port}"),
        Some((host, None)) => host.to_owned(),
        None => "a server without a name".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use tillgate_machine::environment::Environment;

    use super::*;
    use tillgate_gateway::settings::Setting;

    fn chosen_by(settings: &[(&str, &str)]) -> BackendItem {
        let mut chosen = Settings::defaults(Environment::Production);
        for (name, value) in settings {
            Setting::named(name).unwrap().apply(&mut chosen, value).unwrap();
        }
        BackendItem::chosen_by(&chosen)
    }

    #[test]
    fn a_backend_is_named_by_kind_servers_and_zmq_address() {
        let node =
            [("backendUrl", "http://127.0.0.1:8332"), ("backendZmq", "tcp://127.0.0.1:28332")];
        let zmq = Some("127.0.0.1:28332".to_owned());
        let servers = vec!["127.0.0.1:8332".to_owned()];
        assert_eq!(chosen_by(&node), BackendItem { kind: BackendKind::Core, servers, zmq });
        let electrum = [
            ("backend", "electrum"),
            ("backendUrl", "ssl://one.example:50002,tcp://[::1]:50001"),
            ("backendZmq", "tcp://127.0.0.1:28332"),
        ];
        let servers = vec!["one.example:50002".to_owned(), "[::1]:50001".to_owned()];
        let named = BackendItem { kind: BackendKind::Electrum, servers, zmq: None };
        assert_eq!(chosen_by(&electrum), named, "only a Bitcoin Core node has a ZMQ address");
    }

    #[test]
    fn a_backends_name_holds_no_credentials() {
        for url in [
            "https://me:secret@node.example/secret/api?secret#secret",
            "https://node.example/secret",
        ] {
            assert_eq!(host_and_port(url), "node.example");
        }
        assert_eq!(host_and_port("secret"), "a server without a name");
    }
}
