//! What shows the chain, as people know it: a kind and the names of its servers, and nothing that opens a door there.

use serde::{Deserialize, Serialize};
use ts_rs::TS;
use url::Url;

use crate::console::states::BackendName;
use crate::gateway::Gateway;
use crate::settings::{BackendKind, Settings};

/// What shows the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct BackendItem {
    /// Of which kind it is.
    pub kind: BackendName,
    /// The host of each server and its port where one is named, the preferred first; none of the sandbox.
    pub servers: Vec<String>,
    /// The same of where the first node tells by itself, by ZMQ; absent where it is asked each second.
    pub zmq: Option<String>,
}

impl BackendItem {
    /// What the gateway asks; `None` where no server is chosen.
    pub(super) fn of(gateway: &Gateway) -> Option<Self> {
        if gateway.chosen.is_none() {
            return Some(Self { kind: BackendName::Sandbox, servers: Vec::new(), zmq: None });
        }
        gateway.has_backend().then(|| Self::chosen_by(&gateway.settings.snapshot()))
    }

    fn chosen_by(settings: &Settings) -> Self {
        let (kind, zmq) = match settings.backend {
            BackendKind::Core => (BackendName::Core, settings.backend_zmq.as_deref()),
            BackendKind::Electrum => (BackendName::Electrum, None),
        };
        let servers = settings.backend_urls.iter().map(|url| host_and_port(url)).collect();
        Self { kind, servers, zmq: zmq.map(host_and_port) }
    }
}

/// Of a URL what people know a server by: its path may be a key of theirs.
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
    use super::*;
    use crate::machine::environment::Environment;
    use crate::settings::Setting;

    fn chosen_by(settings: &[(&str, &str)]) -> BackendItem {
        let mut chosen = Settings::defaults(Environment::Production);
        for (name, value) in settings {
            Setting::named(name).unwrap().apply(&mut chosen, value).unwrap();
        }
        BackendItem::chosen_by(&chosen)
    }

    #[test]
    fn a_backend_is_named_by_its_kind_and_its_servers_and_where_it_tells_by_itself() {
        let node = [("backendUrl", "http://127.0.0.1:8332"), ("backendZmq", "tcp://127.0.0.1:28332")];
        let zmq = Some("127.0.0.1:28332".to_owned());
        let servers = vec!["127.0.0.1:8332".to_owned()];
        assert_eq!(chosen_by(&node), BackendItem { kind: BackendName::Core, servers, zmq });
        let electrum = [
            ("backend", "electrum"),
            ("backendUrl", "ssl://one.example:50002,tcp://[::1]:50001"),
            ("backendZmq", "tcp://127.0.0.1:28332"),
        ];
        let servers = vec!["one.example:50002".to_owned(), "[::1]:50001".to_owned()];
        let named = BackendItem { kind: BackendName::Electrum, servers, zmq: None };
        assert_eq!(chosen_by(&electrum), named, "nobody but a node tells by ZMQ");
    }

    #[test]
    fn nothing_of_a_backends_name_opens_a_door_there() {
        for url in ["https://me:secret@node.example/secret/api?secret#secret", "https://node.example/secret"] {
            assert_eq!(host_and_port(url), "node.example");
        }
        assert_eq!(host_and_port("secret"), "a server without a name");
    }
}
