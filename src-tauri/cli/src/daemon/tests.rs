mod node;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use tillgate_console::keys::{CreateKey, RevokeKey};
use tillgate_console::settings::SetSetting;
use tillgate_console::{Actor, dispatch};
use tillgate_gateway::App;
use tillgate_gateway::gateway::Served;
use tillgate_gateway::open::{self, OpenError, Options, ensure_wallet};
use tillgate_machine::data_dir::IfMissing;
use tillgate_machine::environment::Environment;
use tillgate_machine::secrets::SecretsLocation;
use tokio_util::sync::CancellationToken;

use super::listen::ListenError;
use super::run::RunError;
use super::*;

fn options(folder: &Path, environment: Environment) -> Options {
    Options {
        environment,
        data_dir: Some(folder.to_owned()),
        if_missing: IfMissing::Make,
        overrides: std::collections::BTreeMap::new(),
        secrets: SecretsLocation::SandboxFile,
    }
}

async fn opened(folder: &Path) -> Arc<App> {
    open::open(options(folder, Environment::Test)).await.unwrap()
}

fn on_loopback() -> Listen {
    Listen {
        api: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        pages: None,
        tls: Tls::None,
        gateways: 1,
    }
}

/// Runs a gateway and stops it once it is ready.
async fn run_and_stop(app: Arc<App>, listen: Listen) -> Result<Served, RunError> {
    let shutdown = CancellationToken::new();
    let mut served = None;
    let ready = |at: &Served| {
        served = Some(at.clone());
        shutdown.cancel();
    };
    run(app, listen, ready, shutdown.clone()).await?;
    Ok(served.unwrap())
}

#[tokio::test]
async fn each_start_finds_the_installation_and_wallet_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let first = opened(folder.path()).await;
    let installation = first.gateway.installation;
    assert!(first.gateway.wallet.get().is_none(), "opening makes no wallet");
    run_and_stop(Arc::clone(&first), on_loopback()).await.unwrap();
    let address = first.gateway.wallet.get().unwrap().addresses.give().unwrap();
    drop(first);
    let second = opened(folder.path()).await;
    assert_eq!(second.gateway.installation, installation);
    assert_eq!(second.gateway.wallet.get().unwrap().addresses.give().unwrap(), address);
}

#[tokio::test]
async fn a_new_sandbox_file_does_not_turn_the_clock_back() {
    let folder = tempfile::tempdir().unwrap();
    let first = opened(folder.path()).await;
    let offset_ms =
        first.gateway.backend.sandbox.as_ref().unwrap().advance_clock(15 * 24 * 3_600).unwrap();
    first.gateway.time.offset_ms.store(offset_ms, std::sync::atomic::Ordering::SeqCst);
    first.watcher.look().await.unwrap();
    let looked_at = first.gateway.backend.last_look.watched().unwrap().looked_at;
    let file = first.gateway.machine.data_dir.sandbox();
    drop(first);
    std::fs::remove_file(file).unwrap();
    assert!(opened(folder.path()).await.gateway.time.now() >= looked_at);
}

#[tokio::test]
async fn an_open_gateway_keeps_others_away_until_it_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let first = opened(folder.path()).await;
    let refused =
        open::open(options(folder.path(), Environment::Test)).await.map(|_| ()).unwrap_err();
    assert!(
        matches!(
            refused,
            OpenError::DataDir(tillgate_machine::data_dir::DataDirError::InUse { .. })
        ),
        "{refused}"
    );
    drop(first);
    opened(folder.path()).await;
}

#[tokio::test]
async fn another_environments_database_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(opened(folder.path()).await);
    std::fs::rename(folder.path().join("test"), folder.path().join("production")).unwrap();
    let refused =
        open::open(options(folder.path(), Environment::Production)).await.map(|_| ()).unwrap_err();
    assert!(
        matches!(refused, OpenError::OtherEnvironment { found: Environment::Test, .. }),
        "{refused}"
    );
}

#[tokio::test]
async fn payment_pages_use_the_listen_address_then_public_url() {
    let folder = tempfile::tempdir().unwrap();
    let app = opened(folder.path()).await;
    assert_eq!(app.gateway.pages_base(), "http://127.0.0.1:7421/pay");
    let pages = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let served = run_and_stop(Arc::clone(&app), Listen { pages: Some(pages), ..on_loopback() })
        .await
        .unwrap();
    assert_eq!(app.gateway.pages_base(), served.pages);
    assert_ne!(served.pages.trim_end_matches("/pay"), served.api.trim_end_matches("/v2"));
    let act =
        |value: &str| SetSetting { name: "publicUrl".to_owned(), value: value.to_owned() }.into();
    dispatch(&app, act("https://pay.example/shop"), &Actor::panel()).await.unwrap();
    assert_eq!(app.gateway.pages_base(), "https://pay.example/shop/pay");
}

#[tokio::test]
async fn a_starting_gateway_can_be_stopped_despite_a_slow_backend() {
    let folder = tempfile::tempdir().unwrap();
    let app = opened(folder.path()).await;
    let slow = tillgate_sandbox::FaultsPatch { latency_ms: Some(60_000), ..Default::default() };
    app.gateway.backend.sandbox.as_ref().unwrap().set_faults(slow).unwrap();
    let shutdown = CancellationToken::new();
    shutdown.cancel();
    let run =
        run(app, on_loopback(), |_| panic!("a stopped gateway must not become ready"), shutdown);
    tokio::time::timeout(std::time::Duration::from_secs(5), run)
        .await
        .expect("the gateway stops in time")
        .unwrap();
}

#[tokio::test]
async fn a_gateway_ends_with_the_name_of_a_thread_that_ended() {
    let folder = tempfile::tempdir().unwrap();
    let app = opened(folder.path()).await;
    let (ready, is_ready) = tokio::sync::oneshot::channel();
    let ready = |_: &Served| ready.send(()).unwrap();
    let run = run(Arc::clone(&app), on_loopback(), ready, CancellationToken::new());
    let fail = async {
        is_ready.await.unwrap();
        app.gateway
            .store
            .write(|_| -> Result<(), tillgate_store::StoreError> {
                panic!("the test ends the writer")
            })
            .await
    };
    let (ended, written) = tokio::join!(run, fail);
    assert!(matches!(ended, Err(RunError::Ended("the database's writer"))), "{ended:?}");
    assert!(matches!(written, Err(tillgate_store::StoreError::Closed)), "{written:?}");
}

#[tokio::test]
async fn rates_are_asked_for_as_soon_as_the_machine_wakes_from_sleep() {
    use std::sync::atomic::Ordering;
    use tillgate_domain::money::Currency;

    let folder = tempfile::tempdir().unwrap();
    let app = opened(folder.path()).await;
    let gateway = Arc::clone(&app.gateway);
    let shows = async |rate: &str| {
        while gateway
            .market
            .rates
            .last_known(Currency::USD)
            .is_none_or(|known| known.rate.format() != rate)
        {
            tokio::task::yield_now().await;
        }
    };
    let set = |rate: &str| {
        let rates = std::collections::BTreeMap::from([("USD".to_owned(), Some(rate.to_owned()))]);
        gateway.backend.sandbox.as_ref().unwrap().set_rates(&rates).unwrap();
    };
    set("70000");
    let story = async {
        shows("70000.0000").await;
        set("80000");
        gateway.time.offset_ms.fetch_add(8 * 3_600_000, Ordering::SeqCst);
        shows("80000.0000").await;
    };
    let stop = CancellationToken::new();
    let refresh = super::run::refresh_rates(Arc::clone(&gateway), stop.clone());
    tokio::select! {
        biased;
        () = refresh => panic!("the refresh must run until it is stopped"),
        told = tokio::time::timeout(std::time::Duration::from_secs(30), story) => told.expect("rates after the sleep"),
    }
}

#[tokio::test]
async fn an_address_that_cannot_be_listened_on_is_named_with_the_flag() {
    let folder = tempfile::tempdir().unwrap();
    let app = opened(folder.path()).await;
    let taken = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = taken.local_addr().unwrap();
    let api = run_and_stop(Arc::clone(&app), Listen { api: address, ..on_loopback() }).await;
    let pages =
        run_and_stop(Arc::clone(&app), Listen { pages: Some(address), ..on_loopback() }).await;
    for (refused, flag) in [(api, "with --listen"), (pages, "with --pages-listen")] {
        let sentence = refused.unwrap_err().to_string();
        assert!(sentence.contains(&address.to_string()) && sentence.contains(flag), "{sentence}");
    }
    let everywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let open_to_all =
        run_and_stop(Arc::clone(&app), Listen { api: everywhere, ..on_loopback() }).await;
    assert!(matches!(open_to_all, Err(RunError::Listen(ListenError::Refused(_)))));
    let tls = Listen { api: everywhere, tls: Tls::SelfSigned, ..on_loopback() };
    assert!(run_and_stop(app, tls).await.unwrap().api.starts_with("https://0.0.0.0:"));
}

#[tokio::test]
async fn a_gateway_needs_its_port_on_both_loopback_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let app = opened(folder.path()).await;
    let (v4, v6) = ("127.0.0.1:0", "[::1]:0");
    for (ours, theirs) in [(v4, v6), (v6, v4)] {
        let taken = std::net::TcpListener::bind(theirs).unwrap();
        let taken_at = taken.local_addr().unwrap();
        let api = SocketAddr::new(ours.parse::<SocketAddr>().unwrap().ip(), taken_at.port());
        let refused = run_and_stop(Arc::clone(&app), Listen { api, ..on_loopback() }).await;
        let sentence = refused.map(|_| ()).unwrap_err().to_string();
        assert!(
            sentence.contains(&taken_at.to_string()) && sentence.contains("--listen"),
            "{sentence}"
        );
    }
    let shutdown = CancellationToken::new();
    let (tell, told) = tokio::sync::oneshot::channel();
    let ready = |at: &Served| tell.send(at.api.clone()).unwrap();
    let running = tokio::spawn(run(app, on_loopback(), ready, shutdown.clone()));
    let api = told.await.unwrap();
    let port = api.trim_start_matches("http://127.0.0.1:").trim_end_matches("/v2");
    tokio::net::TcpStream::connect(format!("[::1]:{port}"))
        .await
        .expect("the other loopback is served too");
    shutdown.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_gateway_on_all_addresses_needs_both_loopback_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let app = opened(folder.path()).await;
    let for_all = |port| SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    let listen = |api| Listen { api, tls: Tls::SelfSigned, ..on_loopback() };
    let taken = std::net::TcpListener::bind("[::1]:0").unwrap();
    let taken_at = taken.local_addr().unwrap();
    let refused = run_and_stop(Arc::clone(&app), listen(for_all(taken_at.port()))).await;
    let sentence = refused.map(|_| ()).unwrap_err().to_string();
    assert!(
        sentence.contains(&taken_at.to_string()) && sentence.contains("localhost"),
        "{sentence}"
    );
    for address in [for_all(0), "[::]:0".parse().unwrap()] {
        let listening =
            super::listen::Listening::open(&app.gateway, listen(address)).await.unwrap();
        let port = listening.listeners[0].0.local_addr().unwrap().port();
        for loopback in ["127.0.0.1", "[::1]"] {
            let other = std::net::TcpListener::bind(format!("{loopback}:{port}")).map(|_| ());
            assert_eq!(
                other.unwrap_err().kind(),
                std::io::ErrorKind::AddrInUse,
                "another program can listen on {loopback} beside {address}"
            );
        }
    }
}

#[tokio::test]
async fn production_without_a_keyring_is_refused_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let refused =
        open::open(options(folder.path(), Environment::Production)).await.map(|_| ()).unwrap_err();
    assert_eq!(refused.concerns(), "keyring", "{refused}");
    assert!(
        refused.to_string().contains("--"),
        "the refusal names no option as a remedy: {refused}"
    );
}

#[tokio::test]
async fn administrative_acts_are_in_the_audit_log() {
    let folder = tempfile::tempdir().unwrap();
    let app = opened(folder.path()).await;
    let create = CreateKey {
        name: "till".to_owned(),
        permissions: "shop".to_owned(),
        notification_url_optional: false,
        own: false,
        notify_hosts: Vec::new(),
    };
    dispatch(&app, create.into(), &Actor::panel()).await.unwrap();
    dispatch(&app, RevokeKey { name: "till".to_owned() }.into(), &Actor::command_line())
        .await
        .unwrap();
    let acts = app.gateway.store.read(|reader| reader.acts()).unwrap();
    let user = tillgate_machine::trust::own_name();
    let (cli, panel) = (format!("cli:{user}"), format!("panel:{user}"));
    assert_eq!(
        acts,
        [[cli.as_str(), "keys revoke", "till"], [panel.as_str(), "keys create", "till"]]
    );
    assert!(!user.is_empty(), "the user of the operating system is named");
}
