//! The checks of `tillgate doctor`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::harness::client::text;
use crate::harness::{Scene, Tillgate, wait_for};

#[tokio::test(flavor = "multi_thread")]
async fn doctor_names_a_server_that_accepts_no_notification() {
    let s = Scene::open().await;
    let program = s.gateway.program();
    let request = crate::harness::client::payment_request("10.00", "http://127.0.0.1:1/hook");
    let payment = s.post("/v2/payments/new", &request).await.ok();
    s.gateway.client.pay(&text(&payment["paymentId"])).await;
    let failed = async || {
        let found = program.json(&["deliveries", "list", "--failed"]);
        (!found["items"].as_array().unwrap().is_empty()).then_some(())
    };
    wait_for("a failed delivery", failed).await;
    let output = program.output(&["doctor", "--json"]);
    let doctor: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{doctor}");
    let checks = doctor["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == "notifications").unwrap();
    let message = text(&check["message"]);
    assert_eq!(check["ok"], false);
    assert!(
        message.contains("127.0.0.1:1 (1 waiting)") && message.contains("deliveries list --failed"),
        "{message}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_passes_a_sound_gateway_and_names_each_fault() {
    let mut gateway = Tillgate::start().await;
    let program = gateway.program();
    let doctor = program.json(&["doctor"]);
    let mut names: Vec<_> =
        doctor["checks"].as_array().unwrap().iter().map(|check| text(&check["name"])).collect();
    names.sort();
    assert_eq!(
        names,
        [
            "alarms",
            "backups",
            "chain",
            "clock",
            "database",
            "disk",
            "keyring",
            "notifications",
            "payouts",
            "permissions",
            "ports",
            "rates",
            "restore",
            "stuck"
        ]
    );
    assert_eq!(doctor["ok"], true, "{doctor}");
    fs::set_permissions(program.database(), fs::Permissions::from_mode(0o644)).unwrap();
    let output = program.output(&["doctor"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("chmod"), "the remedy is named");

    fs::set_permissions(program.database(), fs::Permissions::from_mode(0o600)).unwrap();
    let unit = program.data_dir().with_file_name(".config").join("tillgate");
    fs::create_dir_all(&unit).unwrap();
    for name in ["serve.env", "passphrase"] {
        let file = unit.join(name);
        fs::write(&file, "TILLGATE_PASSPHRASE=open to all").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        let output = program.output(&["doctor"]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.code() == Some(1) && said.contains(name), "{name}: {said}");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(program.output(&["doctor"]).status.code(), Some(0), "{name}");
    }

    assert!(gateway.stop().await.success());
    let database = Connection::open(gateway.program().database()).unwrap();
    database.pragma_update(None, "user_version", 9_999).unwrap();
    database.close().unwrap();
    let output = gateway.program().output(&["doctor", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let doctor: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&doctor["ok"], &doctor["checks"][0]["name"]), (&json!(false), &json!("database")));
}
