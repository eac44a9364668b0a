//! The pages in `docs/` agree with the program.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use rusqlite::Connection;

use crate::harness::{Program, Scene, Tillgate};

#[tokio::test(flavor = "multi_thread")]
async fn the_readmes_first_payment_and_payout_work_each_time() {
    let gateway = Tillgate::start().await;
    for _ in 0..2 {
        let (printed, complaint) = first_payment(&gateway);
        assert!(printed.contains("\"status\":\"CONFIRMED\""), "{printed}{complaint}");
        assert!(printed.contains("\"status\":\"SENT\""), "{printed}{complaint}");
    }
}

/// Runs the README's commands against this gateway; returns their stdout and stderr.
fn first_payment(gateway: &Tillgate) -> (String, String) {
    let readme =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let blocks = readme.split("```bash\n").skip(1).take(2);
    let lines: String = blocks.map(|block| block.split("```").next().unwrap()).collect();
    // The README assumes the default port and data directory; the test has its own.
    let script =
        lines.replace("127.0.0.1:7421", gateway.client.base().trim_start_matches("http://"));
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", &script]);
    gateway.program().isolate(&mut shell);
    let programs =
        Path::new(env!("CARGO_BIN_EXE_tillgate")).parent().unwrap().display().to_string();
    shell.env("PATH", format!("{programs}:{}", std::env::var("PATH").unwrap()));
    shell.env("TILLGATE_DATA_DIR", gateway.program().data_dir());
    let output = shell.output().unwrap();
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

#[test]
fn each_example_in_the_documents_names_its_environment() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut unnamed = Vec::new();
    for page in [
        "README.md",
        "docs/api.md",
        "docs/merchant/backup-and-restore.md",
        "docs/merchant/first-payment.md",
        "docs/merchant/paying-out.md",
        "docs/merchant/real-money.md",
        "docs/merchant/when-something-is-wrong.md",
        "docs/reference/files.md",
        "docs/reference/package.md",
        "docs/reference/ports.md",
    ] {
        let text = fs::read_to_string(root.join(page)).unwrap();
        let examples = text.split("```").skip(1).step_by(2).flat_map(str::lines);
        let changes = examples.filter(|line| {
            line.split_whitespace().any(|word| word == "tillgate") && !line.contains("--user ")
        });
        unnamed.extend(
            changes
                .filter(|line| !line.contains("--environment "))
                .map(|line| format!("{page}: {line}")),
        );
    }
    assert!(unnamed.is_empty(), "{unnamed:#?}");
}

/// Runs the sample of `docs/api.md` that verifies notifications, with a real notification.
#[tokio::test(flavor = "multi_thread")]
async fn the_verifying_sample_accepts_genuine_notifications_only() {
    let s = Scene::open().await;
    let key = s.gateway.program().json(&["hmac-key", "rotate"])["key"].as_str().unwrap().to_owned();
    let bill = s.bill("10.00").await;
    s.pay(&bill.id).await;
    s.expect_notified(&bill, &["UNCONFIRMED"]).await;
    let received = s.shop.received().remove(0);
    let headers: serde_json::Map<String, serde_json::Value> = received
        .headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), value.to_str().unwrap().into()))
        .collect();

    let folder = tempfile::tempdir().unwrap();
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/api.md")).unwrap();
    let sample = page.split("```js\n").nth(1).unwrap().split("```").next().unwrap();
    fs::write(folder.path().join("verify.mjs"), sample).unwrap();
    let program = r#"
import { isGenuine, isGenuineBpg } from "./verify.mjs";
const { key, headers, body } = JSON.parse(process.argv[2]);
const verified = (headers, body) => [isGenuine(key, headers, body), isGenuineBpg(key, headers, body)];
const bytes = Buffer.from(body);
const old = { ...headers, "webhook-timestamp": String(Number(headers["webhook-timestamp"]) - 3600) };
console.log(JSON.stringify([verified(headers, bytes), verified(headers, Buffer.from(body + " ")), verified({}, bytes), [isGenuine(key, old, bytes)]]));
"#;
    fs::write(folder.path().join("run.mjs"), program).unwrap();
    let body = std::str::from_utf8(&received.body).unwrap();
    let notification =
        serde_json::json!({ "key": key, "headers": headers, "body": body }).to_string();
    let output =
        Command::new("node").arg(folder.path().join("run.mjs")).arg(notification).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(printed.trim(), "[[true,true],[false,false],[false,false],[false]]", "{complaint}");
}

#[test]
fn the_architecture_page_names_exactly_the_databases_tables() {
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/architecture.md"))
            .unwrap();
    let section = page.split("## Data model").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    let named: Vec<String> = rows
        .flat_map(|names| names.split(", "))
        .map(|name| name.trim_matches('`').to_owned())
        .collect();
    let program = Program::new();
    program.create_data_dir();
    let database = Connection::open(program.database()).unwrap();
    let mut query = database
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
        .unwrap();
    let there: BTreeSet<String> =
        query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(named.len(), there.len(), "a table is named twice or missing: {named:?}");
    assert_eq!(named.into_iter().collect::<BTreeSet<_>>(), there);
}

#[test]
fn the_ports_page_lists_exactly_the_rpc_calls_to_a_node() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/reference/ports.md")).unwrap();
    let listed = page.split("rpcwhitelist=tillgate:").nth(1).unwrap().lines().next().unwrap();
    let mut called = BTreeSet::new();
    let chain = root.join("src-tauri/chain/src");
    let files = fs::read_dir(chain.join("core")).unwrap().map(|entry| entry.unwrap().path());
    for file in files.chain([chain.join("core.rs")]).filter(|path| path.is_file()) {
        let source = fs::read_to_string(file).unwrap();
        // The tests follow the code in each file, and their calls do not count.
        let code = source.split("mod tests {").next().unwrap();
        let calls = code.split("call(\"").skip(1).filter_map(|rest| rest.split('"').next());
        called.extend(calls.map(str::to_owned));
    }
    assert_eq!(listed.split(',').collect::<Vec<_>>(), called.iter().collect::<Vec<_>>());
}

#[test]
fn each_test_named_in_the_threat_model_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/threat-model.md")).unwrap();
    let mut search = Command::new("grep");
    search.args([
        "-rhE",
        r"^ *(pub )?(async )?fn |^ *(it|test)\(",
        "src-tauri",
        "tests",
        "ui/src",
        "ui/tests",
    ]);
    search.args(["--include=*.rs", "--include=*.ts"]).current_dir(root);
    let sources = String::from_utf8(search.output().unwrap().stdout).unwrap();
    let named =
        page.split('`').skip(1).step_by(2).filter(|name| name.matches(['_', ' ']).count() >= 4);
    let missing = named.filter(|name| {
        let begun = name.trim_end_matches('…');
        !sources.contains(&format!("fn {begun}")) && !sources.contains(&format!("\"{begun}"))
    });
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn the_systemd_unit_loads_a_credential_and_dumps_no_core() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/tillgate.service");
    let text = fs::read_to_string(&unit).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for line in [
        "LoadCredential=passphrase:%E/tillgate/passphrase",
        "SetCredential=passphrase:\\n",
        "LimitCORE=0",
    ] {
        assert!(lines.contains(&line), "the unit lacks {line}");
    }
}

#[test]
fn an_audit_without_network_says_so_and_succeeds() {
    let mut audit = Command::new("make");
    audit.arg("audit").current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = audit
        .env("HTTPS_PROXY", "http://127.0.0.1:1")
        .env("https_proxy", "http://127.0.0.1:1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("no crate was audited"), "{said}");
}
