//! The command line with two environments: commands that name no environment, and commands that
//! must name one.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::harness::{Program, wait_for};

/// Writes the mark that tells commands that production has a wallet. Returns production's folder.
fn mark_production_wallet(program: &Program) -> PathBuf {
    let folder = program.data_dir().join("production");
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).unwrap();
    fs::write(folder.join("wallet.made"), "").unwrap();
    folder
}

/// Creates production's folder. Commands without the secrets file cannot open it, because there is
/// no keyring.
fn make_production(program: &Program) {
    let mut command =
        program.command(&["settings", "set", "batchSeconds", "9", "--environment", "production"]);
    command.env("TILLGATE_SECRETS_FILE", program.data_dir().with_file_name("secrets"));
    assert!(
        command
            .env("TILLGATE_PASSPHRASE", "a passphrase of the test")
            .output()
            .unwrap()
            .status
            .success()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_production_start_is_logged_and_test_is_served() {
    let program = Program::new();
    mark_production_wallet(&program);
    let mut command = program.command(&["serve", "--listen", "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&ready).unwrap()["environment"], "test", "{ready}");
    // The start of production is retried while test is served.
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut failures = log.by_ref().map(Result::unwrap).filter(|line| line.contains("not served"));
    for _ in 0..2 {
        let line = failures.next().unwrap();
        assert!(line.starts_with("[production]") && line.contains("keyring"), "{line}");
    }
    std::thread::spawn(move || log.for_each(drop));
    assert_eq!(program.json(&["status", "--environment", "test"])["serving"], true);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let status = wait_for("the end of the gateway", async || child.try_wait().unwrap()).await;
    assert!(status.success(), "{status}");
}

#[test]
fn if_no_environment_can_be_served_both_reasons_are_printed() {
    let program = Program::new();
    program.create_data_dir();
    mark_production_wallet(&program);
    fs::write(
        program.env_dir().join("tillgate.db"),
        "no database at all, but long enough to be looked at",
    )
    .unwrap();
    let line = program.refusal(&["serve", "--listen", "127.0.0.1:0"]);
    let last = line.lines().last().unwrap();
    assert!(
        last.starts_with("tillgate: nothing is served. production: ") && last.contains("; test: "),
        "{line}"
    );
}

#[test]
fn options_for_one_gateway_are_wrong_usage_with_two() {
    let program = Program::new();
    mark_production_wallet(&program);
    let output = program.output(&["serve", "--listen", "127.0.0.1:7499"]);
    let line = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{line}");
    assert!(line.contains("--environment"), "{line}");
    let mut command = program.command(&["serve", "--listen", "127.0.0.1:0"]);
    let output = command.env("TILLGATE_DAILY_LIMIT_BTC", "5").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("TILLGATE_DAILY_LIMIT_BTC"));
}

#[test]
fn with_two_environments_the_chosen_default_is_printed() {
    let program = Program::new();
    program.create_data_dir();
    assert_eq!(program.output(&["keys", "list"]).stderr, b"", "there is only one environment");
    make_production(&program);
    let told = program.output(&["keys", "list", "--json"]);
    assert!(told.status.success() && serde_json::from_slice::<Value>(&told.stdout).is_ok());
    assert_eq!(
        told.stderr,
        b"tillgate: this was environment test (--environment chooses another)\n"
    );
    assert_eq!(
        program.output(&["keys", "list", "--environment", "test"]).stderr,
        b"",
        "the command names it"
    );

    // Production has a wallet from now on, so it is the default, and remedies name it.
    mark_production_wallet(&program);
    let refusal = program.refusal(&["keys", "list"]);
    assert!(
        refusal.contains("keyring") && refusal.contains("(this was environment production"),
        "{refusal}"
    );
    assert_eq!(refusal.lines().count(), 1, "{refusal}");
    let told = program.output(&["doctor"]);
    let checks = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(
        !checks.contains("`tillgate doctor") && !checks.contains("`tillgate serve`"),
        "{checks}"
    );
    assert!(String::from_utf8_lossy(&told.stderr).contains("this was environment production"));
}

#[test]
fn with_two_environments_a_changing_command_must_name_one() {
    let program = Program::new();
    program.create_data_dir();
    make_production(&program);
    assert_eq!(
        program.json(&["keys", "create", "early"])["name"],
        "early",
        "production has no wallet yet"
    );
    mark_production_wallet(&program);
    let id = "ab".repeat(20);
    for line in [
        &["keys", "create", "shop"][..],
        &["keys", "revoke", "early"],
        &["hmac-key", "rotate"],
        &["settings", "set", "batchSeconds", "3"],
        &["limits", "set", "--daily", "0.5"],
        &[
            "payouts",
            "request",
            "--address",
            "a",
            "--btc",
            "0.0001",
            "--currency",
            "USD",
            "--approve",
        ],
        &["payouts", "approve", &id],
        &["anomalies", "dismiss", &id, "--reason", "none"],
        &["wallet", "create"],
        &["backup", "till.backup"],
        &["restore", "till.backup"],
    ] {
        let refusal = program.refusal(line);
        assert!(
            refusal.contains("--environment test") && refusal.contains("--environment production"),
            "{line:?}: {refusal}"
        );
        assert_eq!(refusal.lines().count(), 1, "{refusal}");
    }
    let keys = program.json(&["keys", "list", "--environment", "test"]);
    assert_eq!(keys["items"].as_array().map(Vec::len), Some(1), "{keys}");
    assert_eq!(program.json(&["keys", "create", "till", "--environment", "test"])["name"], "till");
    let mut named = program.command(&["keys", "create", "other"]);
    assert!(named.env("TILLGATE_ENVIRONMENT", "test").output().unwrap().status.success());
}
