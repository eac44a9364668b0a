//! Failures of the machine: a full or read-only disk, a database that is locked, damaged or newer,
//! a port in use, a missing keyring. Each failure is reported clearly and loses no data. The
//! gateway recovers by itself if it can.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::Connection;
use rustix::process::getuid;
use serde_json::json;
use tempfile::TempDir;

use crate::harness::client::payment_request;
use crate::harness::program::serve;
use crate::harness::{Program, Scene, Tillgate, wait_for};

/// A used data directory with one key and one payment.
async fn used_program() -> Program {
    let mut gateway = Tillgate::start().await;
    gateway.client.new_payment("10.00", "http://127.0.0.1:1").await;
    assert!(gateway.stop().await.success());
    gateway.into_program()
}

/// Runs `serve`, which must fail to start; returns its standard error.
fn refusal_to_serve(program: &Program) -> String {
    let line = program.refusal(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(
        line.lines().filter(|line| !line.trim().is_empty()).count() <= 3,
        "more than three lines: {line}"
    );
    line
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_gateway_on_the_same_data_is_refused() {
    let s = Scene::open().await;
    let line = refusal_to_serve(s.gateway.program());
    assert!(line.contains("in use"), "{line}");
    s.bill("10.00").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taken_port_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let line = Program::new().refusal(&["serve", "--listen", &address]);
    assert!(line.contains(&address), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_a_newer_program_is_refused_and_left_alone() {
    let program = used_program().await;
    let database = Connection::open(program.database()).unwrap();
    database.pragma_update(None, "user_version", 9_999).unwrap();
    database.close().unwrap();
    let before = fs::read(program.database()).unwrap();
    let line = refusal_to_serve(&program);
    assert!(line.contains("newer"), "{line}");
    assert_eq!(fs::read(program.database()).unwrap(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_database_with_a_wal_is_refused_and_keeps_its_data() {
    let mut gateway = Tillgate::start().await;
    let paid = gateway.client.new_payment("10.00", "http://127.0.0.1:1").await;
    gateway.kill();
    let program = gateway.into_program();
    let set_version = |version: i64| {
        let database = Connection::open(program.database()).unwrap();
        database
            .set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
            .unwrap();
        let before: i64 =
            database.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        database.pragma_update(None, "user_version", version).unwrap();
        before
    };
    let known = set_version(9_999);
    assert!(
        fs::metadata(program.database().with_extension("db-wal")).unwrap().len() > 0,
        "the payment is in the WAL"
    );
    for args in
        [&["serve", "--listen", "127.0.0.1:0"][..], &["payments", "list"], &["settings", "list"]]
    {
        let line = program.refusal(args);
        assert!(
            line.contains("newer") && line.contains("install the newer Tillgate"),
            "{args:?}: {line}"
        );
    }
    assert_eq!(set_version(known), 9_999);
    let items = program.json(&["payments", "list"])["items"].clone();
    assert_eq!((items.as_array().unwrap().len(), &items[0]["paymentId"]), (1, &paid["paymentId"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clean_stop_leaves_the_database_in_one_file() {
    let program = used_program().await;
    let folder = program.database().with_file_name("");
    let names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(!names.iter().any(|name| name.ends_with("-wal")), "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_database_is_refused_and_left_alone() {
    let program = used_program().await;
    let mut bytes = fs::read(program.database()).unwrap();
    bytes[..100].fill(0x5a);
    fs::write(program.database(), &bytes).unwrap();
    let line = refusal_to_serve(&program);
    assert!(line.contains("tillgate.db") || line.contains("database"), "{line}");
    assert_eq!(fs::read(program.database()).unwrap(), bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_database_refuses_payments_until_it_is_released() {
    let s = Scene::open().await;
    let locker = Connection::open(s.gateway.program().database()).unwrap();
    locker.execute_batch("BEGIN IMMEDIATE").unwrap();
    let request = payment_request("10.00", s.shop.url());
    let field_errors = s.post("/v2/payments/new", &request).await.field_errors(503);
    assert_eq!(field_errors, [("STORAGE_UNAVAILABLE".to_owned(), None)]);
    assert_eq!(s.get("/v2/payments/10/0").await.ok()["items"], json!([]), "reads still work");
    locker.execute_batch("ROLLBACK").unwrap();
    s.bill("10.00").await;
}

/// `serve` in a mount namespace of its own, after `prepare` changed the mounts there. An ordinary
/// user first becomes root of a user namespace.
fn serve_in_namespace(program: &Program, prepare: &str, data_dir: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.arg("--mount");
    if !getuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    let script = format!("set -e; {prepare}; exec \"$@\"");
    command.args([
        "sh",
        "-c",
        &script,
        "sh",
        env!("CARGO_BIN_EXE_tillgate"),
        "serve",
        "--listen",
        "127.0.0.1:0",
    ]);
    command.arg("--data-dir").arg(data_dir);
    program.isolate(&mut command);
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_payments_and_loses_none() {
    let program = used_program().await;
    let key = program.create_key("disk", &["--permissions", "full"]);
    let small = TempDir::new().unwrap();
    let (data, disk) = (program.data_dir().display(), small.path().display());
    let prepare = format!(
        "mount -t tmpfs -o size=1200m tmpfs {disk}; cp -a {data} {disk}/data; exec 2>{disk}/log"
    );
    let (mut child, api) =
        serve(serve_in_namespace(&program, &prepare, &small.path().join("data")));
    let client = crate::harness::client::Client::new(&api, key);
    let before = client.get("/v2/payments/10/0").await.ok();

    // The path leads into the mount namespace of the gateway.
    let filler = PathBuf::from(format!("/proc/{}/root{disk}/filler", child.id()));
    let mut file = fs::File::create(&filler).unwrap();
    let mut full = Ok(());
    for size in [1 << 20, 1 << 12] {
        full = Ok(());
        while full.is_ok() {
            full = file.write_all(&vec![0; size]).and_then(|()| file.sync_all());
        }
    }
    full.unwrap_err();
    let request = payment_request("10.00", "http://127.0.0.1:1");
    let refused = async || {
        let answer = client.post("/v2/payments/new", &request).await;
        (answer.status != 200).then_some(answer)
    };
    let field_errors = wait_for("a refusal for lack of space", refused).await.field_errors(503);
    assert_eq!(field_errors, [("STORAGE_UNAVAILABLE".to_owned(), None)]);
    let items = client.get("/v2/payments/500/0").await.ok();
    assert!(
        items["paginationInfo"]["itemsCount"].as_u64()
            >= before["paginationInfo"]["itemsCount"].as_u64()
    );

    fs::remove_file(&filler).unwrap();
    drop(file);
    let taken =
        async || (client.post("/v2/payments/new", &request).await.status == 200).then_some(());
    wait_for("an accepted payment once there is space again", taken).await;
    let after = client.get("/v2/payments/500/0").await.ok();
    assert_eq!(
        after["paginationInfo"]["itemsCount"].as_u64().unwrap(),
        items["paginationInfo"]["itemsCount"].as_u64().unwrap() + 1,
        "only the accepted payment is stored"
    );
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unwritable_log_stops_no_payment() {
    let program = used_program().await;
    let key = program.create_key("log", &["--permissions", "full"]);
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$@\" 2>/dev/full", "sh", env!("CARGO_BIN_EXE_tillgate"), "serve"]);
    command.args(["--listen", "127.0.0.1:0", "--data-dir"]).arg(program.data_dir());
    program.isolate(&mut command);
    let (mut child, api) = serve(command);
    let client = crate::harness::client::Client::new(&api, key);
    // The writer logs each failed write to the database.
    let locker = Connection::open(program.database()).unwrap();
    locker.execute_batch("BEGIN IMMEDIATE").unwrap();
    let request = payment_request("10.00", "http://127.0.0.1:1");
    client.post("/v2/payments/new", &request).await.field_errors(503);
    locker.execute_batch("ROLLBACK").unwrap();
    let taken =
        async || (client.post("/v2/payments/new", &request).await.status == 200).then_some(());
    wait_for("an accepted payment once the database is unlocked", taken).await;
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_that_ends_stops_the_program_and_is_named() {
    let program = used_program().await;
    for (thread, name) in [
        ("store-writer", "the database's writer"),
        ("indexing", "the indexing of payments"),
        ("checkpoints", "the checkpointing of the WAL"),
        ("addresses", "the derivation of addresses"),
    ] {
        let mut serve = program.command(&["serve", "--listen", "127.0.0.1:0"]);
        let output = serve.env("TILLGATE_END_THREAD", thread).output().unwrap();
        let log = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{thread}: {log}");
        assert!(log.contains(&format!("tillgate: {name} ended unexpectedly")), "{thread}: {log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_disk_is_reported_at_the_start() {
    let program = used_program().await;
    let data = program.data_dir().display();
    let prepare = format!("mount --bind {data} {data}; mount -o remount,bind,ro {data}");
    let output = serve_in_namespace(&program, &prepare, program.data_dir()).output().unwrap();
    let line = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{line}");
    assert!(line.to_lowercase().contains("read-only") || line.contains("written"), "{line}");
    assert!(output.stdout.is_empty());
}
