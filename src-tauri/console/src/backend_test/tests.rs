//! Tests of `TestBackend`: the result for a backend's settings in a form that is not saved yet.

use std::net::TcpListener;

use serde_json::{Value, json};
use tillgate_gateway::testing::World;
use tillgate_nodes::{CoreFault, CoreNode, ElectrumNode};

use super::*;
use crate::{Actor, Command, dispatch};

/// A gateway whose network is regtest and which has no server.
async fn on_regtest() -> World {
    let world = World::opened(tempfile::tempdir().unwrap()).await;
    let network = json!({"command": "setSetting", "name": "network", "value": "regtest"});
    asked(&world, network).await.unwrap();
    world
}

async fn asked(world: &World, command: Value) -> Result<Value, CommandError> {
    let command: Command = serde_json::from_value(command).unwrap();
    dispatch(&world.app, command, &Actor::panel()).await
}

async fn tested(world: &World, form: Value) -> Result<Value, CommandError> {
    let mut command = json!({"command": "testBackend", "backend": "core"});
    command.as_object_mut().unwrap().extend(form.as_object().unwrap().clone());
    asked(world, command).await
}

fn node(world: &World) -> CoreNode {
    let sandbox = Arc::clone(world.gateway.backend.sandbox.as_ref().unwrap());
    CoreNode::start(sandbox, world.folder.path(), Box::new(|| 1_800_000_000_000)).unwrap()
}

fn of_node(node: &CoreNode) -> Value {
    json!({"backendUrl": node.url(), "backendCookieFile": node.cookie_file()})
}

fn settings(world: &World) -> Vec<String> {
    world.gateway.settings.list().into_iter().map(|setting| setting.value).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_reports_the_nodes_chain_and_saves_nothing() {
    let world = on_regtest().await;
    world.mine(3).await;
    let node = node(&world);
    node.misbehave(CoreFault::Pruned(2));
    let before = settings(&world);
    let told = tested(&world, of_node(&node)).await.unwrap();
    assert_eq!(told["ok"], true, "{told}");
    let server = &told["servers"][0];
    let height = world.gateway.backend.chain.tip().unwrap().height;
    assert_eq!(server["height"], height);
    assert_eq!(server["network"], "regtest");
    assert_eq!(server["prunedFrom"], 2);
    assert_eq!(server["software"], "/Tillgate's sandbox:0.1.0/");
    assert_eq!(
        server["message"]["message"],
        format!("the backend answers, its best block is {height}")
    );
    assert!(server["tipTime"].as_str().unwrap().ends_with('Z'));
    assert_eq!(settings(&world), before);
    for call in ["getrawmempool", "getblock"] {
        assert_eq!(node.asked(call), 0, "the test must not call {call}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_with_a_silent_zmq_address_fails_the_test() {
    let world = on_regtest().await;
    let node = node(&world);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (zmq, ok) in [(node.zmq_url(), true), (format!("tcp://{closed}"), false)] {
        let mut form = of_node(&node);
        form["backendZmq"] = json!(zmq);
        let told = tested(&world, form).await.unwrap();
        assert_eq!(told["ok"], ok, "{told}");
        assert_eq!(
            told["servers"][0]["message"]["message"].as_str().unwrap().contains("nothing is heard"),
            !ok,
            "{told}"
        );
    }
    let mut form = of_node(&node);
    form["backendZmq"] = json!("127.0.0.1:28332");
    assert_eq!(tested(&world, form).await.unwrap_err().field.as_deref(), Some("backendZmq"));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_several_servers_has_its_own_result_and_remedy() {
    let world = on_regtest().await;
    let node = node(&world);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut form = of_node(&node);
    form["backendUrl"] = json!(format!("{},http://{closed}", node.url()));
    let told = tested(&world, form).await.unwrap();
    assert_eq!(told["ok"], false);
    assert_eq!(told["servers"][0]["ok"], true, "{told}");
    let server = &told["servers"][1];
    assert_eq!((&server["ok"], &server["height"]), (&json!(false), &Value::Null));
    let message = server["message"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("the Bitcoin backend cannot be asked: ") && message.contains("start"),
        "{message}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn another_network_and_a_refused_password_are_named() {
    let world = on_regtest().await;
    let node = node(&world);
    node.misbehave(CoreFault::OtherNetwork(bitcoin::Network::Signet));
    let told = tested(&world, of_node(&node)).await.unwrap();
    assert!(
        told["servers"][0]["message"]["message"].as_str().unwrap().contains("signet"),
        "{told}"
    );
    node.misbehave(None);
    let form =
        json!({"backendUrl": node.url(), "backendUser": "ada", "backendPassword": "wrong one"});
    let told = tested(&world, form).await.unwrap();
    let message = told["servers"][0]["message"]["message"].as_str().unwrap();
    assert!(message.contains("backendUser") && !message.contains("wrong one"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_certificate_is_shown_and_accepted_once_pinned() {
    let world = on_regtest().await;
    let sandbox = Arc::clone(world.gateway.backend.sandbox.as_ref().unwrap());
    let server = ElectrumNode::start_tls(sandbox, Box::new(|| 1_800_000_000_000)).unwrap();
    let mut form = json!({"backend": "electrum", "backendUrl": server.url()});
    let told = tested(&world, form.clone()).await.unwrap();
    assert_eq!(told["ok"], false);
    let fingerprint = told["servers"][0]["fingerprint"].as_str().unwrap().to_owned();
    let pairs: Vec<&str> = fingerprint.split(':').collect();
    assert_eq!(
        pairs.len(),
        32,
        "the fingerprint has 32 pairs, as openssl prints it: {fingerprint}"
    );
    assert!(
        pairs.iter().all(|pair| pair.len() == 2 && *pair == pair.to_uppercase()),
        "{fingerprint}"
    );
    form["backendCertificate"] = json!("ab".repeat(32));
    let told = tested(&world, form.clone()).await.unwrap();
    assert_eq!(
        told["servers"][0]["fingerprint"],
        Value::Null,
        "a changed certificate is not offered for pinning: {told}"
    );
    assert!(
        told["servers"][0]["message"]["message"].as_str().unwrap().contains("listening in"),
        "{told}"
    );
    form["backendCertificate"] = json!(fingerprint);
    let told = tested(&world, form).await.unwrap();
    assert_eq!(told["ok"], true, "{told}");
    assert_eq!(told["servers"][0]["fingerprint"], Value::Null);
    assert!(told["servers"][0]["software"].is_string(), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_impossible_setting_is_an_error_of_its_field() {
    let world = on_regtest().await;
    for (form, field) in [
        (json!({"backendUrl": ""}), "backendUrl"),
        (json!({"backendUrl": "tcp://127.0.0.1:50001"}), "backendUrl"),
        (json!({"backendUrl": "nonsense"}), "backendUrl"),
        (
            json!({"backendUrl": "http://127.0.0.1:1", "backendCookieFile": "relative"}),
            "backendCookieFile",
        ),
        (json!({"backendUrl": "http://127.0.0.1:1", "proxy": "ftp://x"}), "proxy"),
        (
            json!({"backend": "electrum", "backendUrl": "ssl://a.example:1", "backendCertificate": "ab"}),
            "backendCertificate",
        ),
    ] {
        let refused = tested(&world, form.clone()).await.unwrap_err();
        assert_eq!(refused.field.as_deref(), Some(field), "{form}: {refused}");
    }
    let refused = tested(&world, json!({"backendUrl": "http://127.0.0.1:1"})).await.unwrap_err();
    assert!(refused.message.contains("backendCookieFile"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_cannot_be_tested_in_the_sandbox() {
    let world = World::opened(tempfile::tempdir().unwrap()).await;
    let refused = tested(
        &world,
        json!({"backendUrl": "http://127.0.0.1:1", "backendUser": "ada", "backendPassword": "x"}),
    );
    assert!(refused.await.unwrap_err().message.contains("settings set network"));
}

#[test]
fn a_password_is_not_printed() {
    let command: Command = serde_json::from_value(
        json!({"command": "testBackend", "backend": "core", "backendUrl": "x", "backendPassword": "s3cret"}),
    )
    .unwrap();
    assert!(!format!("{command:?}").contains("s3cret"));
}
