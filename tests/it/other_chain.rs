//! Another chain under the same data directory: the sandbox's file is gone or replaced by an older
//! copy. New payments are seen, earlier payments are kept, and the merchant is warned.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::harness::{Program, Scene};

fn chain_file(program: &Program) -> PathBuf {
    program.database().with_file_name("sandbox.db")
}

/// The result of `doctor`'s check of the chain: whether it passed, and its message.
fn chain_check(program: &Program) -> (bool, String) {
    let output = program.output(&["doctor", "--json"]);
    let doctor: Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = doctor["checks"].as_array().unwrap();
    let chain = checks.iter().find(|check| check["name"] == "chain").unwrap();
    (chain["ok"] == true, chain["message"].as_str().unwrap().to_owned())
}

/// A new payment is seen, the earlier one stays, and `status` and `doctor` report another chain.
async fn expect_served_with_warning(s: &Scene, before: &crate::harness::scene::Bill) {
    let program = s.gateway.program();
    let bill = s.confirmed_bill().await;
    s.expect_notified(&bill, &["CONFIRMED"]).await;
    s.expect(before, "CONFIRMED").await;
    let status = program.json(&["status"]);
    assert!(status["warnings"].to_string().contains("another chain"), "{status}");
    let (ok, message) = chain_check(program);
    assert!(!ok && message.contains("another chain"), "{message}");
    s.advance_clock(24 * 3_600).await;
    assert!(chain_check(program).0, "the warning ends after a day");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_chain_is_reported_and_watched_from_its_first_block() {
    let mut s = Scene::open().await;
    let before = s.confirmed_bill().await;
    s.mine(50).await;
    assert!(chain_check(s.gateway.program()).0);
    assert!(s.gateway.stop().await.success());
    fs::remove_file(chain_file(s.gateway.program())).unwrap();
    let (ok, message) = chain_check(s.gateway.program());
    assert!(!ok && message.contains("another chain"), "{message}");
    s.gateway.start_again();
    expect_served_with_warning(&s, &before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_chain_is_reported_and_watched_from_its_first_block() {
    let mut s = Scene::open().await;
    assert!(s.gateway.stop().await.success());
    let file = chain_file(s.gateway.program());
    let copy = file.with_file_name("older.db");
    fs::copy(&file, &copy).unwrap();
    s.gateway.start_again();
    let before = s.confirmed_bill().await;
    s.mine(50).await;
    assert!(s.gateway.stop().await.success());
    fs::rename(&copy, &file).unwrap();
    let (ok, message) = chain_check(s.gateway.program());
    assert!(!ok && message.contains("older copy"), "{message}");
    s.gateway.start_again();
    expect_served_with_warning(&s, &before).await;
}
