//! Servers behind a proxy.

use std::sync::Arc;

use bitcoin::Network;
use tillgate_chain::core::{CoreChain, CoreOptions, Credentials};
use tillgate_chain::{Chain, ChainDown};
use tillgate_machine::outgoing::Proxy;
use tokio::runtime::Handle;

use super::electrum_server::asking;
use crate::testing::socks;
use crate::testing::stage::{AT_LEISURE, Backend, Stage};

/// A backend that reaches its server by an onion name through `proxy`.
fn through(stage: &Stage, kind: Backend, proxy: Option<Proxy>) -> Arc<dyn Chain> {
    let (runtime, network) = (Handle::current(), Network::Regtest);
    match kind {
        Backend::Core => {
            let url = "http://node.onion:8332".to_owned();
            let credentials = Credentials::CookieFile(stage.node().cookie_file().to_owned());
            let options = CoreOptions {
                url,
                credentials,
                network,
                answered_within: AT_LEISURE,
                proxy,
                notices: None,
            };
            Arc::new(CoreChain::new(&options, runtime).unwrap())
        }
        _ => Arc::new(asking("tcp://node.onion:8332", proxy, Vec::new()).unwrap()),
    }
}

async fn height(chain: Arc<dyn Chain>) -> Result<u32, ChainDown> {
    let asked = tokio::task::spawn_blocking(move || chain.identity().and_then(|_| chain.tip()));
    asked.await.unwrap().map(|tip| tip.height)
}

#[tokio::test]
async fn a_proxy_resolves_a_servers_name_and_is_never_bypassed() {
    let stage = Stage::unlooked(Backend::Switched).await;
    let tip = stage.world().sandbox().tip().unwrap().height;
    for (kind, url) in
        [(Backend::Core, stage.node().url()), (Backend::Electrum, stage.electrum().url())]
    {
        let (proxy, names) = socks::leading_to(url.split_once("://").unwrap().1).await;
        assert_eq!(height(through(&stage, kind, Some(proxy))).await, Ok(tip), "{kind:?}");
        let names = names.lock().unwrap().clone();
        assert!(
            !names.is_empty() && names.iter().all(|name| name == "node.onion:8332"),
            "{kind:?}: {names:?}"
        );
        let sentence =
            height(through(&stage, kind, Some(socks::gone()))).await.unwrap_err().to_string();
        assert!(sentence.contains("the proxy socks5h://127.0.0.1:"), "{kind:?}: {sentence}");
    }
}

#[tokio::test]
async fn an_onion_server_without_a_proxy_is_told_by_its_name() {
    let stage = Stage::unlooked(Backend::Switched).await;
    for kind in [Backend::Core, Backend::Electrum] {
        let sentence = height(through(&stage, kind, None)).await.unwrap_err().to_string();
        assert!(
            sentence.contains("node.onion can be reached through Tor alone: set proxy"),
            "{kind:?}: {sentence}"
        );
    }
}
