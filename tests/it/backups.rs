//! Backups and restores as a merchant uses them: with the real program, its files, and a copy that
//! continues.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::harness::client::text;
use crate::harness::sandbox::btc;
use crate::harness::scene::Bill;
use crate::harness::signature::webhook_signature_is_by;
use crate::harness::{Program, Scene, Tillgate, wait_for};

const PASSPHRASE: &str = "correct horse battery";

/// An address outside this wallet.
const RENT: &str = "bcrt1qqyqszqgpqyqszqgpqyqszqgpqyqszqgpvxat9t";

/// Runs a command with a passphrase in its environment.
fn with_passphrase(program: &Program, passphrase: &str, args: &[&str]) -> Output {
    program.command(args).env("TILLGATE_PASSPHRASE", passphrase).output().unwrap()
}

/// Runs a command that must succeed with the passphrase, and returns its JSON.
fn json_with_passphrase(program: &Program, args: &[&str]) -> Value {
    let output = with_passphrase(program, PASSPHRASE, &[args, &["--json"]].concat());
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs a command that must fail with this passphrase, and returns its only line of standard error.
fn refusal_with_passphrase(program: &Program, passphrase: &str, args: &[&str]) -> String {
    let output = with_passphrase(program, passphrase, &[args, &["--json"]].concat());
    let line = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), line.lines().count()), (Some(1), 1), "{args:?}: {line}");
    line
}

fn backup(program: &Program, file: &Path) {
    let made = json_with_passphrase(program, &["backup", file.to_str().unwrap()]);
    assert_eq!(made["file"], file.to_str().unwrap());
    assert_eq!(made["sizeBytes"].as_u64().unwrap(), fs::metadata(file).unwrap().len());
}

/// A file beside the data directory of a program.
fn beside(program: &Program, name: &str) -> PathBuf {
    program.data_dir().with_file_name(name)
}

fn balance(program: &Program) -> Value {
    program.json(&["wallet", "info"])["balanceBtc"].clone()
}

async fn approved_payout(scene: &Scene, sats: u64) -> String {
    let request = json!({"btcAmount": btc(sats), "currency": "EUR", "address": RENT});
    let payout = scene.post("/v2/payouts?autoApprove=true", &request).await.ok();
    assert_eq!(payout["status"], "QUEUED", "{payout}");
    text(&payout["payoutId"])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_of_a_running_gateway_restores_on_another_machine() {
    let mut scene = Scene::open_with(&[("merchantName", "Café"), ("restoreSkip", "20")]).await;
    let hmac_key = text(&scene.gateway.program().json(&["hmac-key", "rotate"])["key"]);
    let bill = scene.confirmed_bill().await;
    let open = scene.bill("20.00").await;
    let file = beside(scene.gateway.program(), "till.backup");
    backup(scene.gateway.program(), &file);
    let (payments, funds) =
        (scene.gateway.program().json(&["payments", "list"]), balance(scene.gateway.program()));
    scene.gateway.kill();

    let bare = Program::new();
    let restored = json_with_passphrase(&bare, &["restore", file.to_str().unwrap()]);
    assert_eq!((&restored["environment"], &restored["wallet"]), (&json!("test"), &json!(true)));
    assert_eq!(bare.json(&["payments", "list"]), payments);
    assert_eq!(balance(&bare), funds);
    assert_eq!(bare.json(&["settings", "get", "merchantName"])["value"], "Café");
    let not_ready = bare.json(&["status"]);
    assert!(not_ready.to_string().contains("restored"), "{not_ready}");

    // The shop's key opens the restored gateway.
    let mut gateway = Tillgate::start_with_key(bare, scene.key().clone());
    let client = &gateway.client;
    assert_eq!(client.payment(&bill.id).await["status"], "CONFIRMED");
    // The open payment is paid at the restored gateway, and its notification is signed with the
    // same HMAC key.
    client.pay_with(&open.id, json!({"confirmations": 3})).await;
    assert_eq!(client.payment(&open.id).await["status"], "CONFIRMED");
    let told = wait_for("a notification of the restored gateway", async || {
        let heard = scene.shop.received();
        heard.into_iter().rev().find(|one| {
            one.json()["paymentId"] == open.id.as_str() && one.json()["status"] == "CONFIRMED"
        })
    });
    assert!(webhook_signature_is_by(&told.await, &hmac_key));
    let proof = json_with_passphrase(
        gateway.program(),
        &["wallet", "verify-backup", file.to_str().unwrap()],
    );
    assert_eq!(proof["ok"], true);
    assert!(gateway.stop().await.success());
}

/// Standard error of a command that must succeed, with these environment variables.
fn stderr_of(program: &Program, variables: &[(&str, &str)], args: &[&str]) -> String {
    let output = program.command(args).envs(variables.iter().copied()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{args:?}: {said}");
    said
}

#[test]
fn a_passphrase_shared_by_secrets_and_backups_is_reported() {
    let (program, bare, other) = (Program::new(), Program::new(), Program::new());
    let secrets = beside(&program, "secrets");
    let (file, shared) = (beside(&program, "own.backup"), beside(&program, "shared.backup"));
    let (file, shared) = (file.to_str().unwrap(), shared.to_str().unwrap());
    let of_file = ("TILLGATE_PASSPHRASE", "of the secrets file");
    let of_backup = ("TILLGATE_BACKUP_PASSPHRASE", "of the backup");
    let at = |secrets: &Path| ("TILLGATE_SECRETS_FILE", secrets.to_str().unwrap().to_owned());
    let run = |program: &Program, secrets: &Path, variables: &[(&str, &str)], args: &[&str]| {
        let (name, value) = at(secrets);
        stderr_of(program, &[variables, &[(name, &value)]].concat(), args)
    };
    run(&program, &secrets, &[of_file], &["wallet", "create", "--json"]);
    assert_eq!(run(&program, &secrets, &[of_file, of_backup], &["backup", file, "--json"]), "");
    let notice = run(&program, &secrets, &[of_file], &["backup", shared, "--json"]);
    assert!(
        notice.contains("opens with the secrets file's passphrase") && notice.contains(of_backup.0),
        "{notice}"
    );

    // The backup opens only with its own passphrase, and the new secrets file only with the
    // passphrase given for it.
    let wrong = refusal_with_passphrase(&bare, of_file.1, &["restore", file]);
    assert!(wrong.contains("passphrase is wrong"), "{wrong}");
    let (new, anew) =
        (beside(&bare, "secrets"), ("TILLGATE_PASSPHRASE", "of the new secrets file"));
    assert_eq!(run(&bare, &new, &[anew, of_backup], &["restore", file, "--json"]), "");
    run(&bare, &new, &[anew], &["wallet", "info"]);
    let notice =
        run(&other, &beside(&other, "secrets"), &[of_file], &["restore", shared, "--json"]);
    assert!(notice.contains("the new secrets file opens with the backup's passphrase"), "{notice}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_backup_repeats_no_payout_and_reuses_no_address() {
    const SKIP: &str = "25";
    let mut scene = Scene::open_with(&[("restoreSkip", SKIP), ("batchSeconds", "0")]).await;
    for _ in 0..3 {
        let bill = scene.bill("10.00").await;
        scene.pay_sats(&bill.id, 1_000_000).await;
    }
    scene.mine(2).await;
    // The payout waits, because the keys are locked.
    scene.set_faults(json!({"keysLocked": true})).await;
    let payout = approved_payout(&scene, 300_000).await;
    let file = beside(scene.gateway.program(), "old.backup");
    backup(scene.gateway.program(), &file);

    // The first installation continues: it sends the payout and serves more customers, one of whom
    // pays.
    scene.set_faults(json!({"keysLocked": false})).await;
    scene.gateway.program().output(&["payouts", "retry"]);
    scene.mine(1).await;
    let sent = scene.get(&format!("/v2/payouts/{payout}")).await.ok();
    let txid = text(&sent["btcTxId"]);
    let mut given: Vec<Bill> = Vec::new();
    for _ in 0..10 {
        given.push(scene.bill("10.00").await);
    }
    scene.pay_sats(&given[7].id, 700_000).await;
    scene.mine(6).await;
    let funds_of_copy = balance(scene.gateway.program());
    assert!(scene.gateway.stop().await.success());

    // The backup is restored on the chain that the first installation left.
    let bare = Program::new();
    json_with_passphrase(&bare, &["restore", file.to_str().unwrap()]);
    fs::copy(
        scene.gateway.program().env_dir().join("sandbox.db"),
        bare.env_dir().join("sandbox.db"),
    )
    .unwrap();
    let gateway = Tillgate::start_with_key(bare, scene.key().clone());
    let client = &gateway.client;
    client.advance_clock(60).await;
    client.mine(1).await;

    let record = client.get(&format!("/v2/payouts/{payout}")).await.ok();
    assert_eq!(
        (&record["status"], text(&record["btcTxId"])),
        (&json!("SENT"), txid),
        "the first installation's transaction: {record}"
    );
    assert_eq!(client.outputs_to(RENT).await.len(), 1, "the payout is not sent twice");
    assert_eq!(
        gateway.program().json(&["wallet", "info"])["balanceBtc"],
        funds_of_copy,
        "both have the same balance"
    );
    let statement = gateway.program().json(&["statement", "--currency", "USD"]);
    let kinds: Vec<&str> = statement["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|item| item["kind"].as_str())
        .collect();
    assert!(kinds.iter().any(|kind| kind.contains("PAYOUT")), "{statement}");
    // Another copy made a transaction after the backup, so the sender is on hold until staff
    // release it.
    let status = gateway.program().json(&["status"]);
    assert!(status["senderHold"].as_str().is_some_and(|why| !why.is_empty()), "{status}");
    let request = json!({"btcAmount": btc(100_000), "currency": "EUR", "address": RENT});
    let refused = client.post("/v2/payouts?autoApprove=true", &request).await;
    assert_eq!(
        refused.status,
        StatusCode::CONFLICT,
        "the copy paid this address: {}",
        refused.text()
    );
    let later = client.post("/v2/payouts?autoApprove=true&again=true", &request).await.ok();
    assert_eq!(later["status"], "QUEUED", "{later}");
    client.mine(1).await;
    assert_eq!(client.outputs_to(RENT).await.len(), 1, "the sender is on hold");

    // Addresses that the first installation gave are not given again, paid or not.
    let shop = scene.shop.url();
    for _ in 0..3 {
        let address = text(&client.new_payment("10.00", shop).await["address"]);
        assert!(given.iter().all(|bill| bill.address != address), "{address} was given twice");
    }
    gateway.program().json(&["payouts", "release"]);
    client.advance_clock(60).await;
    client.mine(1).await;
    assert_eq!(client.outputs_to(RENT).await.len(), 2, "the released sender sends");
}

#[test]
fn backups_and_restores_never_prompt_a_script() {
    let program = Program::new();
    let file = beside(&program, "till.backup");
    let name = file.to_str().unwrap();
    let missing = refusal_with_passphrase(&program, PASSPHRASE, &["backup", name]);
    assert!(
        missing.contains(&program.env_dir().display().to_string()) && !program.data_dir().exists(),
        "{missing}"
    );
    program.create_data_dir();
    for args in [&["backup", name][..], &["backup", "--set-passphrase"], &["restore", name]] {
        let line = program.refusal(&[args, &["--json"]].concat());
        assert!(
            line.contains("TILLGATE_PASSPHRASE") || line.contains("holds this environment"),
            "{args:?}: {line}"
        );
    }
    let short = refusal_with_passphrase(&program, "short", &["backup", name]);
    assert!(short.contains("at least 8 characters"), "{short}");
    assert!(!file.exists());
    assert!(refusal_with_passphrase(&program, PASSPHRASE, &["backup"]).contains("backupFolder"));
    let nowhere = beside(&program, "nowhere").join("till.backup");
    let nowhere =
        refusal_with_passphrase(&program, PASSPHRASE, &["backup", nowhere.to_str().unwrap()]);
    assert!(nowhere.contains("there is no folder") && nowhere.contains("make it"), "{nowhere}");
    // A relative path is resolved in the caller's folder, and the passphrase may come from a file
    // descriptor.
    let folder = program.data_dir().parent().unwrap();
    fs::write(folder.join("passphrase"), format!("{PASSPHRASE}\n")).unwrap();
    let mut by_descriptor = std::process::Command::new("sh");
    let backup = program.command(&["backup", "here.backup", "--passphrase-fd", "3"]);
    by_descriptor
        .args(["-c", r#"exec "$@" 3<passphrase"#, "sh"])
        .arg(backup.get_program())
        .args(backup.get_args());
    program.isolate(&mut by_descriptor);
    let output = by_descriptor.current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let bare = Program::new();
    let here = folder.join("here.backup");
    let wrong =
        refusal_with_passphrase(&bare, "another passphrase", &["restore", here.to_str().unwrap()]);
    assert!(wrong.contains("passphrase is wrong") && !bare.data_dir().exists(), "{wrong}");
    json_with_passphrase(&bare, &["restore", here.to_str().unwrap()]);
    let twice = refusal_with_passphrase(&bare, PASSPHRASE, &["restore", here.to_str().unwrap()]);
    assert!(twice.contains("holds this environment already"), "{twice}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_restore_is_completed_by_the_same_command() {
    let scene = Scene::open().await;
    scene.confirmed_bill().await;
    let file = beside(scene.gateway.program(), "till.backup");
    backup(scene.gateway.program(), &file);
    let funds = balance(scene.gateway.program());
    let mut killed = 0;
    for point in [
        "restore.before:1",
        "restore.after:1",
        "restore.before:2",
        "restore.after:2",
        "restore.before:3",
        "restore.after:3",
    ] {
        let bare = Program::new();
        let mut command = bare.command(&["restore", file.to_str().unwrap(), "--json"]);
        command.env("TILLGATE_PASSPHRASE", PASSPHRASE).env("TILLGATE_FAIL_POINT", point);
        assert_eq!(command.output().unwrap().status.code(), None, "{point} was not passed");
        if !bare.env_dir().exists() {
            killed += 1;
            assert!(bare.refusal(&["status"]).contains("there is no data directory"), "{point}");
            json_with_passphrase(&bare, &["restore", file.to_str().unwrap()]);
        }
        assert_eq!(balance(&bare), funds, "{point}");
        assert_eq!(
            fs::read_dir(bare.data_dir()).unwrap().count(),
            1,
            "{point} left a second entry"
        );
    }
    assert_eq!(killed, 5, "each point but the last leaves no environment");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_backup_leaves_a_complete_file_or_none() {
    for (point, is_there) in [("backup.before:1", false), ("backup.after:1", true)] {
        let program = Program::new();
        program.create_data_dir();
        let file = beside(&program, "till.backup");
        let mut command = program.command(&["backup", file.to_str().unwrap()]);
        command.env("TILLGATE_PASSPHRASE", PASSPHRASE).env("TILLGATE_FAIL_POINT", point);
        assert_eq!(command.output().unwrap().status.code(), None, "{point} was not passed");
        assert_eq!(file.exists(), is_there, "{point}");
        backup(&program, &beside(&program, "next.backup"));
        let hidden = fs::read_dir(file.parent().unwrap()).unwrap().filter(|entry| {
            entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".part")
        });
        assert_eq!(hidden.count(), 0, "{point}");
        assert!(!fs::read_dir(program.env_dir()).unwrap().any(|entry| {
            entry.unwrap().file_name().to_string_lossy().starts_with("backing-up")
        }));
        if is_there {
            json_with_passphrase(&Program::new(), &["restore", file.to_str().unwrap()]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_gateway_makes_and_reports_nightly_backups() {
    let scene = Scene::open().await;
    let program = scene.gateway.program();
    let folder = beside(program, "backups");
    fs::create_dir(&folder).unwrap();
    program.set("backupFolder", folder.to_str().unwrap());
    let warned = program.json(&["status"])["warnings"].to_string();
    assert!(warned.contains("--set-passphrase"), "{warned}");
    let state = json_with_passphrase(program, &["backup", "--set-passphrase"]);
    assert!(state["passphraseSetAt"].is_string(), "{state}");
    let file = wait_for("the first nightly backup", async || {
        program.json(&["backup", "--show"])["last"]["file"].as_str().map(PathBuf::from)
    });
    let file = file.await;
    assert!(
        file.starts_with(&folder) && file.to_string_lossy().contains("tillgate-test-"),
        "{}",
        file.display()
    );
    // The stored key verifies the backup without a passphrase; another machine needs the
    // passphrase.
    assert_eq!(program.json(&["wallet", "verify-backup", file.to_str().unwrap()])["ok"], true);
    json_with_passphrase(&Program::new(), &["restore", file.to_str().unwrap()]);
    let other = Scene::open().await;
    let why = refusal_with_passphrase(
        other.gateway.program(),
        PASSPHRASE,
        &["wallet", "verify-backup", file.to_str().unwrap()],
    );
    assert!(why.contains("another wallet"), "{why}");
}

#[test]
fn an_empty_or_unreadable_backup_passphrase_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;

    let program = Program::new();
    program.create_data_dir();
    let file = beside(&program, "till.backup");
    let asked = || {
        let mut command = program.command(&["backup", file.to_str().unwrap()]);
        command.env("TILLGATE_PASSPHRASE", PASSPHRASE);
        command
    };
    let mut empty = asked();
    empty.env("TILLGATE_BACKUP_PASSPHRASE", "");
    let mut no_text = asked();
    no_text.env("TILLGATE_BACKUP_PASSPHRASE", std::ffi::OsStr::from_bytes(b"correct \xff horse"));
    let mut nothing = asked();
    // A test's standard input is empty.
    nothing.args(["--backup-passphrase-fd", "0"]);
    for (mut command, why) in [(empty, "is empty"), (no_text, "UTF-8"), (nothing, "is empty")] {
        let refused = command.output().unwrap();
        let complaint = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{complaint}");
        assert!(complaint.contains(why) && !file.exists(), "{complaint}");
    }
}

#[test]
fn an_error_names_the_passphrase_variable_that_was_tried() {
    let (program, bare) = (Program::new(), Program::new());
    let secrets = beside(&program, "secrets");
    let (of_file, of_backup) = ("TILLGATE_PASSPHRASE", "TILLGATE_BACKUP_PASSPHRASE");
    let run = |program: &Program, backups: bool, args: &[&str]| {
        let mut command = program.command(args);
        command.env(of_file, "of the secrets file").env("TILLGATE_SECRETS_FILE", &secrets);
        if backups {
            command.env(of_backup, PASSPHRASE);
        }
        let output = command.output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    let (typed, stored) = (beside(&program, "typed.backup"), beside(&program, "stored"));
    let typed = typed.to_str().unwrap();
    fs::create_dir(&stored).unwrap();
    assert!(run(&program, false, &["wallet", "create", "--json"]).0);
    assert!(run(&program, true, &["backup", typed, "--json"]).0);
    let (opened, said) = run(&program, false, &["wallet", "verify-backup", typed]);
    assert!(!opened && said.contains("passphrase is wrong"), "{said}");
    let tried = said.split("passphrase is wrong").nth(1).unwrap();
    assert!(
        tried.contains("in TILLGATE_PASSPHRASE was tried") && tried.contains(of_backup),
        "{said}"
    );
    let mut restoring = bare.command(&["restore", typed]);
    restoring.env(of_file, "of the secrets file");
    let said = String::from_utf8(restoring.output().unwrap().stderr).unwrap();
    assert!(said.contains("in TILLGATE_PASSPHRASE was tried"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");

    // A backup made with the stored key is verified with that key, whatever passphrase is exported
    // for the secrets file.
    assert!(run(&program, false, &["settings", "set", "backupFolder", stored.to_str().unwrap()]).0);
    assert!(run(&program, true, &["backup", "--set-passphrase"]).0);
    assert!(run(&program, false, &["backup"]).0);
    let is_backup = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "backup");
    let nightly =
        fs::read_dir(&stored).unwrap().map(|entry| entry.unwrap().path()).find(is_backup).unwrap();
    let (opened, said) =
        run(&program, false, &["wallet", "verify-backup", nightly.to_str().unwrap()]);
    assert!(opened && said.contains("in TILLGATE_PASSPHRASE"), "{said}");
}

#[test]
fn a_missing_backup_is_reported_before_its_passphrase_is_asked() {
    let program = Program::new();
    program.create_data_dir();
    for args in [&["wallet", "verify-backup", "none.backup"][..], &["restore", "none.backup"]] {
        let bare = Program::new();
        let asked = if args.len() == 2 { &bare } else { &program };
        let why = asked.refusal(args);
        assert!(why.contains("there is no file") && why.contains("none.backup"), "{why}");
        assert!(!why.contains("os error"), "{why}");
    }
}
