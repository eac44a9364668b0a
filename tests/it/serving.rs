//! The files, the control socket, the signals and the log of `tillgate serve`.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::harness::client::text;
use crate::harness::{Program, Scene, Tillgate, wait_for};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_owner_may_read_the_files() {
    let s = Scene::open().await;
    s.confirmed_bill().await;
    let folder = s.gateway.program().env_dir();
    assert_eq!(mode(&folder), 0o700);
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        names.push(path.file_name().unwrap().to_string_lossy().into_owned());
    }
    assert!(
        ["control.sock", "lock", "tillgate.db", "sandbox.db"]
            .iter()
            .all(|name| names.contains(&(*name).to_owned()))
    );
}

/// Sends a line to the control socket and returns the response; `None` if the gateway closes the
/// connection.
fn through_socket(program: &Program, line: &[u8]) -> Option<Value> {
    let mut stream = UnixStream::connect(program.env_dir().join("control.sock")).unwrap();
    // The gateway may close the connection in the middle of a long line.
    let _ = stream.write_all(line).and_then(|()| stream.write_all(b"\n"));
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).ok()?;
    serde_json::from_str(&answer).ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_control_socket_answers_commands_and_refuses_all_else() {
    let gateway = Tillgate::start().await;
    let program = gateway.program();
    let status = through_socket(program, br#"{"command":"status"}"#).unwrap();
    assert_eq!(status["ok"]["serving"], true);
    for line in [&b"nonsense"[..], br#"{"command":"nothing"}"#, b"\xff", b"[]", b""] {
        let answer = through_socket(program, line).unwrap();
        assert_eq!(answer["error"]["errorType"], "VALIDATION_FAILED", "{answer}");
    }
    assert_eq!(through_socket(program, &vec![b'x'; 300 * 1024]), None);
    assert_eq!(program.json(&["status"])["serving"], true, "it still answers");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_control_socket_stops_no_command_and_no_start() {
    let mut gateway = Tillgate::start().await;
    gateway.kill();
    assert!(gateway.program().env_dir().join("control.sock").exists(), "the kill left the socket");
    assert_eq!(gateway.program().json(&["status"])["serving"], false);
    gateway.start_again();
    assert_eq!(gateway.program().json(&["status"])["serving"], true);
    assert_eq!(mode(&gateway.program().env_dir().join("control.sock")), 0o600);
}

#[tokio::test(flavor = "multi_thread")]
async fn serve_prints_a_ready_line_and_stops_on_sigterm_and_sigint() {
    for signal in [Signal::TERM, Signal::INT] {
        let program = Program::new();
        let mut command =
            program.command(&["serve", "--listen", "127.0.0.1:0", "--log-format", "json"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let api = text(&ready["api"]);
        let host = api.strip_suffix("/v2").unwrap();
        assert_eq!(
            line,
            format!(
                "{{\"event\":\"ready\",\"environment\":\"test\",\"api\":\"{api}\",\"pages\":\"{host}/pay\"}}\n"
            )
        );
        kill_process(Pid::from_child(&child), signal).unwrap();
        let status = wait_for("the end of the gateway", async || child.try_wait().unwrap()).await;
        assert!(status.success(), "{signal:?}: {status}");
        line.clear();
        assert_eq!(stdout.read_line(&mut line).unwrap(), 0, "there is only the ready line: {line}");
        assert!(!program.env_dir().join("control.sock").exists());
        for line in BufReader::new(child.stderr.take().unwrap()).lines() {
            let line = line.unwrap();
            assert!(serde_json::from_str::<Value>(&line).unwrap().is_object(), "{line}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_never_reach_the_log() {
    let program = Program::new();
    let log = program.data_dir().with_file_name("log");
    let key = program.create_key("shop", &["--permissions", "full"]);
    let mut command = program.command(&["serve", "--listen", "127.0.0.1:0"]);
    command
        .env("TILLGATE_LOG", "trace")
        .stdout(Stdio::piped())
        .stderr(fs::File::create(&log).unwrap());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    let api = text(&ready["api"]);
    let client = crate::harness::client::Client::new(api.strip_suffix("/v2").unwrap(), key.clone());
    let shop = crate::harness::Shop::open().await;
    let hmac_key = text(&program.json(&["hmac-key", "rotate"])["key"]);
    let second = program.create_key("second", &[]);
    let payment = client.new_payment("10.00", shop.url()).await;
    client.pay(&text(&payment["paymentId"])).await;
    shop.expect_states(&text(&payment["paymentId"]), &["UNCONFIRMED"]).await;
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    wait_for("the end of the gateway", async || child.try_wait().unwrap()).await;
    let log = fs::read_to_string(&log).unwrap();
    assert!(log.contains("TRACE"), "the log has the most verbose level");
    for secret in [&key.secret, &second.secret, &hmac_key, &key.basic()] {
        assert!(!log.contains(secret.as_str()), "a secret is in the log");
    }
    assert!(!log.contains("\"notificationType\""), "a notification's body is in the log");
}
