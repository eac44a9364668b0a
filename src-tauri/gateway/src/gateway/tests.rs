use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use super::*;
use crate::console::Command;
use crate::console::dispatch;
use crate::secrets::SecretsPlace;
use tokio_util::sync::CancellationToken;

fn options(folder: &Path, environment: Environment) -> Options {
    Options {
        environment,
        data_dir: Some(folder.to_owned()),
        overrides: std::collections::BTreeMap::new(),
        secrets: SecretsPlace::SandboxFile,
    }
}

async fn open(folder: &Path) -> Arc<Gateway> {
    Gateway::open(options(folder, Environment::Test)).await.unwrap()
}

fn on_loopback() -> Listen {
    Listen { api: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), pages: None, tls: Tls::None }
}

/// Runs a gateway, and stops it when it is ready.
async fn run_and_stop(gateway: Arc<Gateway>, listen: Listen) -> Result<Served, RunError> {
    let shutdown = CancellationToken::new();
    let mut served = None;
    gateway
        .run(
            listen,
            |at| {
                served = Some(at.clone());
                shutdown.cancel();
            },
            shutdown.clone(),
        )
        .await?;
    Ok(served.unwrap())
}

#[tokio::test]
async fn each_start_finds_the_installation_and_wallet_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(folder.path()).await;
    let installation = first.installation;
    assert!(first.wallet.get().is_none(), "opening makes no wallet");
    run_and_stop(Arc::clone(&first), on_loopback()).await.unwrap();
    let address = first.wallet.get().unwrap().addresses.give().unwrap();
    drop(first);
    let second = open(folder.path()).await;
    assert_eq!(second.installation, installation);
    assert_eq!(second.wallet.get().unwrap().addresses.give().unwrap(), address);
}

#[tokio::test]
async fn an_open_gateway_keeps_others_away_until_it_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(folder.path()).await;
    let refused = Gateway::open(options(folder.path(), Environment::Test)).await.map(|_| ()).unwrap_err();
    assert!(matches!(refused, OpenError::DataDir(crate::data_dir::DataDirError::InUse { .. })), "{refused}");
    drop(first);
    open(folder.path()).await;
}

#[tokio::test]
async fn another_environments_database_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()).await);
    std::fs::rename(folder.path().join("test"), folder.path().join("production")).unwrap();
    let refused = Gateway::open(options(folder.path(), Environment::Production)).await.map(|_| ()).unwrap_err();
    assert!(matches!(refused, OpenError::OtherEnvironment { found: Environment::Test, .. }), "{refused}");
}

#[tokio::test]
async fn a_gateway_that_runs_says_where_and_its_pages_follow() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = open(folder.path()).await;
    assert_eq!(gateway.pages_base(), "http://127.0.0.1:7421/pay");
    let pages = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let served = run_and_stop(Arc::clone(&gateway), Listen { pages: Some(pages), ..on_loopback() }).await.unwrap();
    assert_eq!(gateway.pages_base(), served.pages);
    assert_ne!(served.pages.trim_end_matches("/pay"), served.api.trim_end_matches("/v2"));
    let act = |value: &str| Command::SetSetting { name: "publicUrl".to_owned(), value: value.to_owned() };
    dispatch(&gateway, act("https://pay.example/shop"), "panel").await.unwrap();
    assert_eq!(gateway.pages_base(), "https://pay.example/shop/pay");
}

#[tokio::test]
async fn a_backend_that_takes_its_time_keeps_no_gateway_from_stopping_while_it_starts() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = open(folder.path()).await;
    let slow = tillgate_sandbox::FaultsPatch { latency_ms: Some(60_000), ..Default::default() };
    gateway.sandbox.as_ref().unwrap().set_faults(slow).unwrap();
    let shutdown = CancellationToken::new();
    shutdown.cancel();
    let run = gateway.run(on_loopback(), |_| panic!("it is not ready"), shutdown);
    tokio::time::timeout(std::time::Duration::from_secs(5), run).await.expect("it stops").unwrap();
}

#[tokio::test]
async fn an_address_that_cannot_be_listened_on_is_named_with_the_flag() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = open(folder.path()).await;
    let taken = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = taken.local_addr().unwrap();
    let api = run_and_stop(Arc::clone(&gateway), Listen { api: address, ..on_loopback() }).await;
    let pages = run_and_stop(Arc::clone(&gateway), Listen { pages: Some(address), ..on_loopback() }).await;
    for (refused, flag) in [(api, "with --listen"), (pages, "with --pages-listen")] {
        let sentence = refused.unwrap_err().to_string();
        assert!(sentence.contains(&address.to_string()) && sentence.contains(flag), "{sentence}");
    }
    let everywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let open_to_all = run_and_stop(Arc::clone(&gateway), Listen { api: everywhere, ..on_loopback() }).await;
    assert!(matches!(open_to_all, Err(RunError::Listen(ListenError::Refused(_)))));
    let tls = Listen { api: everywhere, tls: Tls::SelfSigned, pages: None };
    assert!(run_and_stop(gateway, tls).await.unwrap().api.starts_with("https://0.0.0.0:"));
}

#[tokio::test]
async fn production_names_what_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    let refused = Gateway::open(options(folder.path(), Environment::Production)).await.map(|_| ()).unwrap_err();
    assert_eq!(refused.concerns(), "keyring", "{refused}");
    assert!(refused.to_string().contains("--"), "a remedy: {refused}");
}

#[tokio::test]
async fn administrative_acts_leave_their_trace() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = open(folder.path()).await;
    let create = Command::CreateKey {
        name: "till".to_owned(),
        permissions: "shop".to_owned(),
        notification_url_optional: false,
    };
    dispatch(&gateway, create, "panel").await.unwrap();
    dispatch(&gateway, Command::RevokeKey { name: "till".to_owned() }, "cli").await.unwrap();
    let acts = gateway.store.read(|reader| reader.newest_acts(10)).unwrap();
    let told: Vec<_> = acts.iter().map(|act| (act.actor.as_str(), act.act.as_str(), act.subject.as_str())).collect();
    assert_eq!(told, [("cli", "keys revoke", "till"), ("panel", "keys create", "till")]);
}
