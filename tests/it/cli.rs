//! The command line as a person or a script uses it, with and without a running gateway.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::client::text;
use crate::harness::{Program, Scene, Tillgate};

/// The text output of a command that must succeed.
fn shown(program: &Program, args: &[&str]) -> String {
    let output = program.output(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn wrong_usage_exits_with_status_2_and_help_with_0() {
    let program = Program::new();
    for args in [
        &["nonsense"][..],
        &["keys", "create"],
        &["payments", "list", "--limit", "0"],
        &["serve", "--listen", "x"],
    ] {
        let output = program.output(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{args:?}");
    }
    for args in [&["--help"][..], &["keys", "create", "--help"], &["serve", "--help"]] {
        assert!(!shown(&program, args).is_empty(), "{args:?}");
    }
    assert!(!program.data_dir().exists(), "no command created a data directory");
}

#[test]
fn the_command_line_speaks_english_in_every_locale() {
    let program = Program::new();
    program.create_data_dir();
    let german = |args: &[&str]| {
        let mut command = program.command(args);
        let output =
            command.env("TILLGATE_LANGUAGE", "de-AT").env("LANG", "de_AT.UTF-8").output().unwrap();
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap())
    };
    let [help, _] = german(&["payments", "--help"]);
    assert!(
        help.contains("Cancel a payment") && help.contains("Usage: tillgate payments"),
        "{help}"
    );
    let [keys, _] = german(&["keys", "list"]);
    assert_eq!(keys, "No keys: make one with `tillgate keys create NAME`.\n");
}

#[test]
fn a_failure_prints_one_line_and_exits_with_status_1() {
    let program = Program::new();
    program.create_data_dir();
    let id = "ab".repeat(20);
    for args in [
        &["payments", "show", "abc"][..],
        &["payments", "show", &id],
        &["payments", "accept", &id],
        &["anomalies", "show", &id],
        &["anomalies", "dismiss", &id, "--reason", "none"],
        &["keys", "revoke", "nobody"],
        &["keys", "create", "a b"],
        &["keys", "create", "shop", "--permissions", "everything"],
        &["settings", "get", "nothing"],
        &["settings", "set", "tolerancePerMille", "101", "--json"],
    ] {
        let output = program.output(args);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{args:?}");
        assert_eq!(stderr.lines().count(), 1, "{args:?}: {stderr}");
        assert!(stderr.starts_with("tillgate: "), "{args:?}: {stderr}");
    }
}

#[test]
fn a_missing_data_directory_is_named_and_not_created() {
    let program = Program::new();
    let id = "ab".repeat(20);
    for args in [
        &["status"][..],
        &["keys", "create", "shop"],
        &["keys", "list"],
        &["keys", "revoke", "shop"],
        &["hmac-key", "rotate"],
        &["settings", "list"],
        &["settings", "get", "merchantName"],
        &["settings", "unset", "merchantName"],
        &["payments", "list"],
        &["payments", "accept", &id],
        &["anomalies", "list"],
        &["deliveries", "list"],
        &["deliveries", "resend", &id],
    ] {
        let line = program.refusal(args);
        assert!(line.contains(&program.env_dir().display().to_string()), "{args:?}: {line}");
        assert!(!program.data_dir().exists(), "{args:?} created the data directory");
    }
    let doctor = program.output(&["doctor", "--json"]);
    assert_eq!(doctor.status.code(), Some(1));
    let found: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    assert_eq!((&found["ok"], &found["checks"][0]["name"]), (&json!(false), &json!("folder")));
    assert!(!program.data_dir().exists());

    // A setting may be changed before the first start; the command then names the folder that it
    // creates.
    let set = program.output(&["settings", "set", "merchantName", "Till", "--json"]);
    let said = String::from_utf8(set.stderr).unwrap();
    assert!(
        set.status.success() && said.contains(&program.env_dir().display().to_string()),
        "{said}"
    );
    assert_eq!(serde_json::from_slice::<Value>(&set.stdout).unwrap()["value"], "Till");
    assert_eq!(
        program.output(&["settings", "set", "merchantName", "Shop"]).stderr,
        b"",
        "the folder is named only at its creation"
    );
    assert_eq!(program.json(&["settings", "get", "merchantName"])["value"], "Shop");
}

#[cfg(unix)]
#[test]
fn a_command_ends_silently_when_its_output_pipe_closes() {
    let program = Program::new();
    program.create_data_dir();
    for args in
        [&["settings", "list"][..], &["statement", "--currency", "USD"], &["status", "--json"]]
    {
        let (nobody_reads, writes) = std::io::pipe().unwrap();
        drop(nobody_reads);
        let output = program.command(args).stdout(writes).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), said.as_ref()), (Some(141), ""), "{args:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_without_a_gateway_take_effect_at_its_start() {
    let program = Program::new();
    program.create_data_dir();
    let status = program.json(&["status"]);
    assert_eq!(
        (&status["serving"], &status["environment"], &status["sandbox"]),
        (&json!(false), &json!("test"), &json!(true))
    );
    program.set("merchantName", "Café Genève");
    program.create_key("till", &["--notification-url-optional"]);
    let mut gateway = Tillgate::start_on(program).await;
    let program = gateway.program();
    assert_eq!(program.json(&["status"])["serving"], true);
    assert_eq!(shown(program, &["settings", "get", "merchantName"]), "Café Genève\n");
    let keys = program.json(&["keys", "list"]);
    let names: Vec<_> =
        keys["items"].as_array().unwrap().iter().map(|key| text(&key["name"])).collect();
    assert!(names.contains(&"till".to_owned()) && names.contains(&"shop".to_owned()), "{names:?}");
    assert!(!keys.to_string().contains("secret"), "a secret is shown only at its creation");
    assert!(gateway.stop().await.success());
    assert_eq!(gateway.program().json(&["status"])["serving"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_works_at_once_and_is_refused_at_once_when_revoked() {
    let gateway = Tillgate::start().await;
    let key = gateway.program().create_key("second", &["--permissions", "payments.read"]);
    let client = gateway.client.with_key(key);
    assert_eq!(client.get("/v2/payments/1/0").await.status, 200);
    gateway.program().json(&["keys", "revoke", "second"]);
    assert_eq!(client.get("/v2/payments/1/0").await.status, 401);
}

#[test]
fn json_output_has_the_documented_fields() {
    let program = Program::new();
    program.create_data_dir();
    let key = program.json(&["keys", "create", "shop", "--permissions", "shop"]);
    let members: Vec<_> = key.as_object().unwrap().keys().collect();
    assert_eq!(members, ["name", "permissions", "secret"]);
    assert_eq!(key["permissions"], json!(["payments.read", "payments.create"]));
    let hmac = program.json(&["hmac-key", "rotate"]);
    assert!(text(&hmac["key"]).starts_with("whsec_"), "{hmac}");
    assert_eq!(hmac.as_object().unwrap().len(), 1);
    let settings = program.json(&["settings", "list"]);
    for setting in settings["items"].as_array().unwrap() {
        assert!(
            setting["name"].is_string()
                && setting["value"].is_string()
                && setting["default"].is_string()
        );
        let one = program.json(&["settings", "get", &text(&setting["name"])]);
        assert_eq!(&one, setting);
    }
    for list in [
        &["payments", "list"][..],
        &["anomalies", "list"],
        &["deliveries", "list", "--failed"],
        &["keys", "list"],
    ] {
        assert!(program.json(list)["items"].is_array(), "{list:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_apply_at_once_and_refusals_tell_the_bounds() {
    let s = Scene::open().await;
    let program = s.gateway.program();
    let line = program.refusal(&["settings", "set", "currencies", "USD,XXX"]);
    assert!(line.contains("currencies must be"), "{line}");
    program.set("currencies", "EUR");
    let refused = s
        .post("/v2/payments/new", &crate::harness::client::payment_request("10.00", s.shop.url()))
        .await;
    assert_eq!(refused.field_errors(400)[0].1.as_deref(), Some("currency"));
    assert_eq!(
        program.json(&["settings", "unset", "currencies"])["value"],
        "USD,EUR,GBP,AUD,JPY,CAD"
    );
    s.bill("10.00").await;
    let line = program.refusal(&["settings", "set", "addressType", "bip86"]);
    assert!(line.contains("fixed"), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_address_type_can_be_set_before_the_wallet_is_made() {
    let s = Scene::open_with(&[("addressType", "bip86")]).await;
    let bill = s.bill("10.00").await;
    assert!(bill.address.starts_with("bcrt1p"), "{}", bill.address);
}

#[test]
fn concurrent_commands_wait_for_each_other() {
    let program = Program::new();
    program.create_data_dir();
    let running: Vec<_> = (0..4)
        .map(|number| {
            let mut command = program.command(&["keys", "create", &format!("key_{number}")]);
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in running {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(program.json(&["keys", "list"])["items"].as_array().unwrap().len(), 4);
}

#[test]
fn environment_variables_override_settings() {
    let program = Program::new();
    program.create_data_dir();
    let mut command = program.command(&["settings", "get", "publicUrl"]);
    let output = command.env("TILLGATE_PUBLIC_URL", "https://pay.example/").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "https://pay.example\n");
    let mut command = program.command(&["settings", "set", "publicUrl", "https://other.example"]);
    let output = command.env("TILLGATE_PUBLIC_URL", "https://pay.example/").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("TILLGATE_PUBLIC_URL"));
    let mut command = program.command(&["status"]);
    let output = command.env("TILLGATE_TOLERANCE_PER_MILLE", "900").output().unwrap();
    let line = String::from_utf8_lossy(&output.stderr);
    assert!(
        line.contains("TILLGATE_TOLERANCE_PER_MILLE") && line.contains("from 0 to 100"),
        "{line}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_payments_list_aligns_amounts_searches_and_pages() {
    let s = Scene::open().await;
    let small = s.bill("1.00").await;
    let large = s.bill("1000.00").await;
    let program = s.gateway.program();
    let list = shown(program, &["payments", "list"]);
    let ends: Vec<_> = list.lines().filter_map(|line| Some(line.find("USD")? - 2)).collect();
    assert_eq!(ends.len(), 2, "{list}");
    assert_eq!(ends[0], ends[1], "{list}");
    assert!(list.contains(&small.id) && list.contains(&large.id));
    s.pay(&small.id).await;
    let one = shown(program, &["payments", "show", &small.id]);
    assert!(one.contains("UNCONFIRMED") && one.contains("mempool"), "{one}");
    let payment = program.json(&["payments", "show", &small.id]);
    let txid = payment["transactions"][0]["btcTxId"].as_str().unwrap();
    for search in [
        &small.id,
        &small.address,
        &small.id[7..20],
        &small.address[9..],
        txid,
        &txid[5..18],
        "1,00",
    ] {
        let found = program.json(&["payments", "list", "--search", search]);
        assert_eq!(found["items"][0]["paymentId"], json!(small.id), "{search}");
        assert_eq!(found["itemsCount"], 1);
    }
    assert_eq!(program.json(&["payments", "list", "--status", "UNCONFIRMED"])["itemsCount"], 1);
    assert_eq!(
        program.json(&["payments", "list", "--limit", "1", "--offset", "1"])["items"][0]["paymentId"],
        json!(small.id)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn payments_are_printed_for_a_spreadsheet() {
    let s = Scene::open().await;
    let small = s.bill("1.00").await;
    let large = s.bill("1000.00").await;
    s.pay(&small.id).await;
    let program = s.gateway.program();
    let table = shown(program, &["payments", "list", "--format", "csv"]);
    let lines: Vec<&str> = table.split_terminator("\r\n").collect();
    assert_eq!(lines.len(), 3, "{table}");
    assert!(lines[0].starts_with("creationTime,state,price,currency,btcAmount,"), "{table}");
    assert!(lines[1].contains(",NEW,1000.00,USD,") && lines[1].ends_with(&large.id), "{table}");
    assert!(
        lines[2].contains(",UNCONFIRMED,1.00,USD,") && lines[2].ends_with(&small.id),
        "{table}"
    );
    let txid =
        s.gateway.program().json(&["payments", "show", &small.id])["transactions"][0]["btcTxId"]
            .clone();
    assert!(
        lines[2].ends_with(&format!(",{},false,{}", txid.as_str().unwrap(), small.id)),
        "{table}"
    );
    let paid = shown(program, &["payments", "list", "--format", "csv", "--status", "UNCONFIRMED"]);
    assert_eq!(paid.split_terminator("\r\n").collect::<Vec<_>>(), [lines[0], lines[2]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_for_a_german_spreadsheet_have_its_marks() {
    let s = Scene::open().await;
    let bill = s.bill("1000.00").await;
    s.pay(&bill.id).await;
    s.mine(1).await;
    let german = |arguments: &[&str]| {
        let mut command = s.gateway.program().command(arguments);
        let output = command.env("LC_ALL", "de_DE.UTF-8").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let payments = german(&["payments", "list", "--format", "spreadsheet"]);
    assert!(
        payments.starts_with("\u{feff}creationTime;state;price;currency;btcAmount;"),
        "{payments}"
    );
    assert!(
        payments.contains(";1000,00;USD;")
            && payments.ends_with(&format!(";false;{}\r\n", bill.id)),
        "{payments}"
    );
    let statement = german(&["statement", "--currency", "USD", "--format", "spreadsheet"]);
    let row = statement.lines().nth(1).unwrap();
    assert!(
        statement.starts_with("\u{feff}time;kind;btcAmount;currency;fiatAmount;"),
        "{statement}"
    );
    assert!(row.contains(";PAYMENT;0,") && row.contains(";USD;1000,00;"), "{statement}");
}

#[test]
fn the_backends_password_is_read_from_stdin_and_never_shown() {
    let program = Program::new();
    program.create_data_dir();
    let mut command = program.command(&["settings", "set", "backendPassword", "-", "--json"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"correct horse\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let (told, complaint) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{complaint}");
    let kept = std::fs::read_to_string(program.env_dir().join("secrets.json")).unwrap();
    assert!(kept.contains("correct horse"), "without a keyring the password is in secrets.json");
    let listed = program.json(&["settings", "list"]).to_string();
    let database =
        String::from_utf8_lossy(&std::fs::read(program.database()).unwrap()).into_owned();
    for shown in [told.as_ref(), complaint.as_ref(), &listed, &database] {
        assert!(!shown.contains("correct horse"), "{shown}");
    }
    assert!(listed.contains("backendPassword"));
}

/// The content of the file that replaces the keyring.
fn stored_secrets(program: &Program) -> String {
    std::fs::read_to_string(program.env_dir().join("secrets.json")).unwrap_or_default()
}

#[test]
fn a_password_may_not_be_empty_too_long_or_an_argument() {
    let program = Program::new();
    program.create_data_dir();
    let set = |pair: &str, typed: &str| {
        program.output_with_stdin(program.command(&["settings", "set", pair]), typed)
    };
    assert!(set("backendPassword=-", "correct horse\n").status.success());
    for (typed, why) in
        [("", "settings unset"), ("\n", "settings unset"), (&"x".repeat(9_000), "at most")]
    {
        let refused = set("backendPassword=-", typed);
        let complaint = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{complaint}");
        assert!(complaint.contains(why), "{complaint}");
    }
    let in_the_line = set("backendPassword=battery", "");
    assert_eq!(in_the_line.status.code(), Some(2));
    assert!(stored_secrets(&program).contains("correct horse"));
    program.json(&["settings", "unset", "backendPassword"]);
    assert!(!stored_secrets(&program).contains("correct horse"));
}

#[test]
fn a_password_is_stored_only_together_with_its_settings() {
    let program = Program::new();
    program.create_data_dir();
    let set = || {
        let command = program.command(&["settings", "set", "batchSeconds=7", "backendPassword=-"]);
        program.output_with_stdin(command, "correct horse\n").status.success()
    };
    let refuse =
        "CREATE TRIGGER refuse BEFORE INSERT ON settings BEGIN SELECT RAISE(ABORT, 'no room'); END";
    let disk = rusqlite::Connection::open(program.database()).unwrap();
    disk.execute_batch(refuse).unwrap();
    assert!(!set() && !stored_secrets(&program).contains("correct horse"));
    disk.execute_batch("DROP TRIGGER refuse").unwrap();
    assert!(set() && stored_secrets(&program).contains("correct horse"));
}

#[test]
fn a_refused_setting_creates_no_data_directory() {
    let program = Program::new();
    for pairs in [&["network=nonsense"][..], &["batchSeconds=7", "network=nonsense"]] {
        let refused = program.refusal(&[&["settings", "set"], pairs].concat());
        assert!(refused.contains("network"), "{refused}");
        assert!(!program.data_dir().exists(), "{refused}");
    }
    program.set("batchSeconds", "7");
    program.refusal(&["settings", "set", "network=nonsense"]);
    assert!(program.database().exists(), "an existing database stays");
}
