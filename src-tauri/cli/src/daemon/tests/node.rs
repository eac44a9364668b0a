//! A gateway with the merchant's own node or server, and production before its setup.

use std::collections::BTreeMap;

use tillgate_console::doctor::Doctor;
use tillgate_console::settings::{GetSetting, UnsetSetting};
use tillgate_console::status::Status;
use tillgate_gateway::payments::CreateError;
use tillgate_gateway::settings::Override;
use tillgate_gateway::testing::ask_for_payment;
use tillgate_machine::clock::machine_now;
use tillgate_machine::secrets::Secret;
use tillgate_nodes::{CoreNode, ElectrumFault, ElectrumNode, core as node};
use tillgate_sandbox::Sandbox;

use super::*;

fn on_regtest(folder: &Path) -> Options {
    let network = Override { value: "regtest".to_owned(), by: "TILLGATE_NETWORK".to_owned() };
    Options {
        overrides: BTreeMap::from([("network".to_owned(), network)]),
        ..options(folder, Environment::Test)
    }
}

/// A test node over a new sandbox's chain.
fn start_node(folder: &Path) -> (Arc<Sandbox>, CoreNode) {
    let sandbox = Arc::new(Sandbox::open(&folder.join("chain.db"), machine_now().ms()).unwrap());
    let node =
        CoreNode::start(Arc::clone(&sandbox), folder, Box::new(|| machine_now().ms())).unwrap();
    (sandbox, node)
}

async fn set(app: &Arc<App>, name: &str, value: &str) -> Result<serde_json::Value, String> {
    let set = SetSetting { name: name.to_owned(), value: value.to_owned() };
    dispatch(app, set.into(), &Actor::command_line()).await.map_err(|error| error.to_string())
}

/// The doctor's finding about the chain.
async fn chain_check(app: &Arc<App>) -> (bool, String) {
    let found = dispatch(app, Doctor {}.into(), &Actor::command_line()).await.unwrap();
    let check =
        found["checks"].as_array().unwrap().iter().find(|check| check["name"] == "chain").unwrap();
    (check["ok"] == true, check["message"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_node_that_the_settings_name_is_asked_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (sandbox, node) = start_node(folder.path());
    let app = open::open(on_regtest(folder.path())).await.unwrap();
    assert!(app.gateway.backend.sandbox.is_none());
    let (ok, why) = chain_check(&app).await;
    assert!(!ok && why.contains("no Bitcoin backend is set"), "{why}");
    let logged = app.gateway.backend.chain.tip().unwrap_err().to_string();
    assert!(
        !logged.contains("tillgate settings"),
        "the log must name no command, because the command would lack the environment: {logged}"
    );

    set(&app, "backendUrl", &node.url()).await.unwrap();
    let (ok, why) = chain_check(&app).await;
    assert!(!ok && why.contains("backendCookieFile"), "{why}");
    set(&app, "backendCookieFile", node.cookie_file().to_str().unwrap()).await.unwrap();
    app.watcher.look().await.unwrap();
    let height = sandbox.tip().unwrap().height;
    assert_eq!(app.gateway.backend.last_look.status().tip.unwrap().height, height);
    assert_eq!(
        chain_check(&app).await,
        (true, format!("the backend answers, its best block is {height}"))
    );

    // The gateway also signs in by user and password. The password appears in no answer.
    set(&app, "backendUser", node::USER).await.unwrap();
    assert!(chain_check(&app).await.1.contains("backendPassword -"));
    let answer = set(&app, "backendPassword", node::PASSWORD).await.unwrap();
    let get = GetSetting { name: "backendPassword".to_owned() };
    let shown = dispatch(&app, get.into(), &Actor::command_line()).await.unwrap();
    for told in [answer, shown] {
        assert!(told["value"] == "" && !told.to_string().contains(node::PASSWORD), "{told}");
    }
    app.watcher.look().await.unwrap();
    assert!(chain_check(&app).await.0);
    let unset = UnsetSetting { name: "backendPassword".to_owned() };
    dispatch(&app, unset.into(), &Actor::command_line()).await.unwrap();
    assert!(!chain_check(&app).await.0);
    for kept in std::fs::read_dir(app.gateway.machine.data_dir.path()).unwrap() {
        let kept = std::fs::read(kept.unwrap().path()).unwrap_or_default();
        let words = node::PASSWORD.as_bytes();
        assert!(
            !kept.windows(words.len()).any(|window| window == words),
            "the password is in a file of the data directory"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_whose_zmq_address_is_silent_is_named_and_polled() {
    let folder = tempfile::tempdir().unwrap();
    let (sandbox, node) = start_node(folder.path());
    let app = open::open(on_regtest(folder.path())).await.unwrap();
    set(&app, "backendCookieFile", node.cookie_file().to_str().unwrap()).await.unwrap();
    set(&app, "backendUrl", &node.url()).await.unwrap();
    assert!(
        set(&app, "backendZmq", "ipc:///tmp/zmq")
            .await
            .unwrap_err()
            .contains("like tcp://127.0.0.1:28332")
    );
    set(&app, "backendZmq", &node.zmq_url()).await.unwrap();
    assert!(chain_check(&app).await.0);
    // No program listens at port 1.
    set(&app, "backendZmq", "tcp://127.0.0.1:1").await.unwrap();
    let (ok, why) = chain_check(&app).await;
    assert!(!ok && why.contains("nothing is heard of the node at tcp://127.0.0.1:1"), "{why}");
    let status = dispatch(&app, Status {}.into(), &Actor::command_line()).await.unwrap();
    assert!(status["warnings"].to_string().contains("-zmqpubsequence"), "{status}");
    app.watcher.look().await.unwrap();
    assert_eq!(
        app.gateway.backend.last_look.status().tip.unwrap().height,
        sandbox.tip().unwrap().height
    );
}

#[tokio::test]
async fn a_doctor_names_a_node_that_lags_or_pruned_needed_blocks() {
    use tillgate_nodes::CoreFault;

    let folder = tempfile::tempdir().unwrap();
    let (sandbox, node) = start_node(folder.path());
    let app = open::open(on_regtest(folder.path())).await.unwrap();
    set(&app, "backendUrl", &node.url()).await.unwrap();
    set(&app, "backendCookieFile", node.cookie_file().to_str().unwrap()).await.unwrap();
    ensure_wallet(&app.gateway).await.unwrap();
    app.gateway.store.write(|tx| tx.set_birth_height(30)).await.unwrap();
    for (fault, words) in [
        (CoreFault::OtherNetwork(bitcoin::Network::Bitcoin), "the setting network says regtest"),
        (CoreFault::InitialBlockDownload, "is downloading the chain"),
        (CoreFault::HeadersAhead(3), "is catching up"),
        (CoreFault::MempoolLoading, "loading its mempool"),
        (CoreFault::Pruned(32), "the wallet began at block 30"),
    ] {
        node.misbehave(fault.clone());
        let (ok, why) = chain_check(&app).await;
        assert!(!ok && why.contains(words), "{fault:?}: {why}");
    }
    // The block of the wallet's birth holds no coin of the wallet, so a node may have pruned that
    // block.
    node.misbehave(CoreFault::Pruned(31));
    assert!(chain_check(&app).await.0);
    drop(sandbox);
}

#[tokio::test]
async fn doctor_and_status_report_a_failed_look_in_the_same_words() {
    use tillgate_nodes::CoreFault;

    let folder = tempfile::tempdir().unwrap();
    let (sandbox, node) = start_node(folder.path());
    sandbox.mine(30, false, machine_now().ms()).unwrap();
    let app = open::open(on_regtest(folder.path())).await.unwrap();
    set(&app, "backendUrl", &node.url()).await.unwrap();
    set(&app, "backendCookieFile", node.cookie_file().to_str().unwrap()).await.unwrap();
    app.watcher.look().await.unwrap();
    node.misbehave(CoreFault::Pruned(sandbox.tip().unwrap().height));
    // A new backend forgets the last look, so that some blocks are read again.
    set(&app, "backendUrl", &node.url()).await.unwrap();
    app.watcher.look().await.unwrap_err();
    let status = dispatch(&app, Status {}.into(), &Actor::command_line()).await.unwrap();
    let error = status["chainError"]["message"].as_str().unwrap().to_owned();
    assert!(error.contains("has pruned block"), "{error}");
    assert_eq!(chain_check(&app).await, (false, error));
    node.misbehave(None);
    app.watcher.look().await.unwrap();
    assert!(chain_check(&app).await.0, "the error must be gone after a successful look");
}

#[tokio::test]
async fn a_wallet_stays_on_the_chain_that_it_was_made_for() {
    let folder = tempfile::tempdir().unwrap();
    let (_sandbox, node) = start_node(folder.path());
    let app = open::open(options(folder.path(), Environment::Test)).await.unwrap();
    set(&app, "network", "regtest").await.unwrap();
    for (network, why) in [("bitcoin", "must be bitcoin in production"), ("mainnet", "must be")] {
        let refused = set(&app, "network", network).await.unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
    set(&app, "backendUrl", &node.url()).await.unwrap();
    set(&app, "backendCookieFile", node.cookie_file().to_str().unwrap()).await.unwrap();
    drop(app);
    let app = open::open(options(folder.path(), Environment::Test)).await.unwrap();
    run_and_stop(Arc::clone(&app), on_loopback()).await.unwrap();
    assert!(app.gateway.backend.sandbox.is_none() && app.gateway.wallet.get().is_some());
    let birth = app.gateway.store.read(|reader| reader.birth_height()).unwrap();
    assert_eq!(
        birth,
        app.gateway.backend.last_look.status().tip.map(|tip| tip.height),
        "the wallet is born at the tip, because no address was given before"
    );
    let refused = set(&app, "network", "sandbox").await.unwrap_err();
    assert!(refused.contains("network is fixed since the wallet was made"), "{refused}");
    drop(app);

    let mut back = on_regtest(folder.path());
    back.overrides.get_mut("network").unwrap().value = "sandbox".to_owned();
    let refused = open::open(back).await.map(|_| ()).unwrap_err();
    assert!(matches!(refused, OpenError::OtherChain { chosen: "sandbox", .. }), "{refused}");
    assert_eq!(refused.concerns(), "chain");
}

#[tokio::test]
async fn backend_and_its_urls_must_have_the_same_protocol() {
    let folder = tempfile::tempdir().unwrap();
    let app = open::open(on_regtest(folder.path())).await.unwrap();
    assert!(set(&app, "backend", "bitcoind").await.unwrap_err().contains("core or electrum"));
    let refused = set(&app, "backendUrl", "ssl://electrum.example:50002").await.unwrap_err();
    assert!(refused.contains("backend is core"), "{refused}");
    set(&app, "backend", "electrum").await.unwrap();
    let shown = set(&app, "backendUrl", "ssl://Electrum.example:50002, tcp://127.0.0.1:50001")
        .await
        .unwrap();
    assert_eq!(shown["value"], "ssl://electrum.example:50002,tcp://127.0.0.1:50001");
    let refused = set(&app, "backend", "core").await.unwrap_err();
    assert!(refused.contains("set both at once, like backend=core backendUrl="), "{refused}");
    for wrong in [
        "ssl://electrum.example",
        "ssl://user@electrum.example:1",
        "ssl://electrum.example:50002/x",
        "ftp://x:1",
    ] {
        assert!(set(&app, "backendUrl", wrong).await.is_err(), "{wrong}");
    }
    let fingerprint = "AB:".repeat(31) + "AB";
    for typed in [fingerprint.clone(), "ab".repeat(32), "ab:".repeat(31) + "ab"] {
        let shown = set(&app, "backendCertificate", &typed).await.unwrap();
        assert_eq!(shown["value"], fingerprint, "a fingerprint is shown as openssl prints it");
    }
    assert!(set(&app, "backendCertificate", "ab").await.is_err());
}

#[tokio::test]
async fn a_doctor_names_what_is_wrong_with_an_electrum_server() {
    let other = bitcoin::Network::Signet;
    let folder = tempfile::tempdir().unwrap();
    let (sandbox, _node) = start_node(folder.path());
    let clock = || Box::new(|| machine_now().ms());
    let electrum = ElectrumNode::start(Arc::clone(&sandbox), clock()).unwrap();
    let url = electrum.url();
    let folder = tempfile::tempdir().unwrap();
    let app = open::open(on_regtest(folder.path())).await.unwrap();
    set(&app, "backend", "electrum").await.unwrap();
    let (ok, why) = chain_check(&app).await;
    assert!(!ok && why.contains("no Bitcoin backend is set"), "{why}");
    electrum.misbehave(ElectrumFault::OtherNetwork(other));
    set(&app, "backendUrl", &url).await.unwrap();
    let (ok, why) = chain_check(&app).await;
    assert!(!ok && why.contains("is on signet, and the setting network says regtest"), "{why}");
    electrum.misbehave(None);
    app.watcher.look().await.unwrap();
    let height = sandbox.tip().unwrap().height;
    assert_eq!(
        chain_check(&app).await,
        (true, format!("the backend answers, its best block is {height}"))
    );
    electrum.misbehave(ElectrumFault::OlderTip(height - 1));
    // A new connection learns the present tip.
    set(&app, "backendUrl", &url).await.unwrap();
    let (ok, why) = chain_check(&app).await;
    let words = format!(
        "the chain ends with block {}, and was watched up to block {height}: the backend is behind",
        height - 1
    );
    assert!(!ok && why.contains(&words), "{why}");
    electrum.misbehave(None);
}

#[tokio::test]
async fn with_an_unknown_backend_stored_a_gateway_starts_and_names_the_choices() {
    let folder = tempfile::tempdir().unwrap();
    let app = open::open(on_regtest(folder.path())).await.unwrap();
    app.gateway.store.write(|tx| tx.put_setting("backend", "other")).await.unwrap();
    app.gateway
        .store
        .write(|tx| tx.put_setting("backendUrl", "https://node.example"))
        .await
        .unwrap();
    drop(app);
    let app = open::open(on_regtest(folder.path())).await.unwrap();
    let (ok, why) = chain_check(&app).await;
    assert!(!ok && why.contains("backend must be core or electrum"), "{why}");
    let why = app.watcher.look().await.unwrap_err().to_string();
    assert!(why.contains("backend must be core or electrum"), "{why}");
    assert!(!app.gateway.has_backend(), "the setup guide must ask for a backend");

    let (sandbox, _node) = start_node(folder.path());
    let electrum = ElectrumNode::start(sandbox, Box::new(|| machine_now().ms())).unwrap();
    set(&app, "backendUrl", "").await.unwrap();
    set(&app, "backend", "electrum").await.unwrap();
    set(&app, "backendUrl", &electrum.url()).await.unwrap();
    app.watcher.look().await.unwrap();
    assert!(chain_check(&app).await.0);
}

#[tokio::test]
async fn if_one_node_is_silent_the_next_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let (sandbox, node) = start_node(folder.path());
    let app = open::open(on_regtest(folder.path())).await.unwrap();
    // No program listens at port 1.
    set(&app, "backendUrl", &format!("http://127.0.0.1:1,{}", node.url())).await.unwrap();
    set(&app, "backendCookieFile", node.cookie_file().to_str().unwrap()).await.unwrap();
    app.watcher.look().await.unwrap();
    assert_eq!(
        app.gateway.backend.last_look.status().tip.unwrap().height,
        sandbox.tip().unwrap().height
    );
    assert!(chain_check(&app).await.0);
}

#[tokio::test]
async fn a_gateway_is_ready_while_its_first_look_waits_for_the_node() {
    let folder = tempfile::tempdir().unwrap();
    let (_sandbox, node) = start_node(folder.path());
    let app = open::open(on_regtest(folder.path())).await.unwrap();
    set(&app, "fixedRates", "USD:50000.00").await.unwrap();
    set(&app, "backendUrl", &node.url()).await.unwrap();
    set(&app, "backendCookieFile", node.cookie_file().to_str().unwrap()).await.unwrap();
    node.misbehave(tillgate_nodes::CoreFault::Silent);
    let (shutdown, mut when_ready) = (CancellationToken::new(), None);
    let ready = |_: &Served| {
        when_ready = Some(app.gateway.backend.last_look.status());
        shutdown.cancel();
    };
    run(Arc::clone(&app), on_loopback(), ready, shutdown.clone()).await.unwrap();
    let when_ready = when_ready.expect("the gateway became ready");
    assert_eq!(
        (when_ready.error, when_ready.looked_at),
        (None, None),
        "the gateway must be ready before the look ends"
    );
    let permit = app.watcher.hold();
    tokio::time::timeout(std::time::Duration::from_secs(5), permit)
        .await
        .expect("a stop cancels the look");
}

#[tokio::test]
async fn production_without_wallet_and_backend_takes_no_payment() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secrets");
    let secrets =
        SecretsLocation::File { file, passphrase: Secret::new("a passphrase".to_owned()) };
    let production = Options { secrets, ..options(folder.path(), Environment::Production) };
    let app = open::open(production).await.unwrap();
    let served = run_and_stop(Arc::clone(&app), on_loopback()).await.unwrap();
    assert!(served.api.ends_with("/v2"));
    assert!(app.gateway.wallet.get().is_none(), "a start makes no production wallet");
    let why = app.gateway.backend.last_look.status().error.unwrap();
    assert!(why.message.contains("no Bitcoin backend is set"), "{why}");
    let refused = ask_for_payment(&app.gateway).await.unwrap_err();
    assert!(matches!(refused, CreateError::WalletNotReady(_)), "{refused}");
}
