//! Huge responses of a hostile backend, or of another program at its port, do not fill the memory.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

use crate::harness::{Program, program, wait_for};

/// Limit for the program's peak memory, in kilobytes: a response of 48 MiB that is being read, and
/// a debug build.
const PEAK_MAX_KB: u64 = 350_000;

/// A JSON list of small objects with this size in bytes. Parsed objects would take eighty times as
/// much memory.
fn objects(bytes: usize) -> Vec<u8> {
    let unit = br#"{"":0},"#;
    let mut list = vec![b'['];
    list.extend(unit.repeat(bytes / unit.len()));
    list.extend(br#"{"":0}]"#);
    list
}

/// Serves every connection with `answer`; returns the port and the number of responses so far.
fn listen(
    answer: impl Fn(&mut BufReader<TcpStream>) -> Option<Vec<u8>> + Send + Sync + 'static,
) -> (u16, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (answer, answered) = (Arc::new(answer), Arc::new(AtomicU32::new(0)));
    let counted = Arc::clone(&answered);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (answer, counted) = (Arc::clone(&answer), Arc::clone(&counted));
            std::thread::spawn(move || {
                let mut stream = BufReader::new(stream);
                while let Some(bytes) = answer(&mut stream) {
                    // A response that the gateway cut off counts, too.
                    let written = stream.get_mut().write_all(&bytes);
                    counted.fetch_add(1, Ordering::SeqCst);
                    if written.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (port, answered)
}

/// Reads a JSON-RPC batch, and answers its first call with a list of 47 MiB.
fn answer_as_node(stream: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    let calls: Vec<Value> = serde_json::from_slice(&body).ok()?;
    let replies = calls.iter().enumerate().map(|(number, call)| {
        let result = if number == 0 { objects(47 * 1_024 * 1_024) } else { b"null".to_vec() };
        [format!(r#"{{"id":{},"error":null,"result":"#, call["id"]).as_bytes(), &result, b"}"]
            .concat()
    });
    let body = [b"[".as_slice(), &replies.collect::<Vec<_>>().join(&b','), b"]"].concat();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    Some([head.as_bytes(), &body].concat())
}

/// Answers each call with an error that is a list of 8 MiB in one line.
fn answer_as_electrum(stream: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut line = String::new();
    if stream.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let call: Value = serde_json::from_str(&line).ok()?;
    let error = objects(8 * 1_024 * 1_024);
    Some([format!(r#"{{"id":{},"error":"#, call["id"]).as_bytes(), &error, b"}\n"].concat())
}

/// A gateway on regtest that uses this backend.
struct RegtestGateway {
    child: Child,
    _program: Program,
}

impl RegtestGateway {
    fn start(backend: &str, url: &str) -> Self {
        let program = Program::new();
        let secrets = program.data_dir().with_file_name("secrets");
        let command = |args: &[&str]| -> Command {
            let mut command = program.command(args);
            command.args(["--environment", "test"]);
            command
                .env("TILLGATE_SECRETS_FILE", &secrets)
                .env("TILLGATE_PASSPHRASE", "a passphrase of the test");
            command
        };
        let cookie = program.data_dir().with_file_name("cookie");
        std::fs::write(&cookie, "__cookie__:secret").unwrap();
        let (backend, url) = (format!("backend={backend}"), format!("backendUrl={url}"));
        let cookie = format!("backendCookieFile={}", cookie.display());
        let mut set = command(&["settings", "set", "network=regtest", &backend, &url, &cookie]);
        let set = set.output().unwrap();
        assert!(set.status.success(), "{}", String::from_utf8_lossy(&set.stderr));
        let (child, _) = program::serve(command(&["serve", "--listen", "127.0.0.1:0"]));
        Self { child, _program: program }
    }

    /// The program's peak memory, in kilobytes.
    fn peak_kb(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches("kB").trim().parse().unwrap()
    }
}

impl Drop for RegtestGateway {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_huge_answer_of_a_node_takes_little_memory() {
    let (port, answered) = listen(answer_as_node);
    let gateway = RegtestGateway::start("core", &format!("http://127.0.0.1:{port}"));
    wait_for("two responses", async || (answered.load(Ordering::SeqCst) > 1).then_some(())).await;
    assert!(gateway.peak_kb() < PEAK_MAX_KB, "{} kB", gateway.peak_kb());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_huge_error_of_an_electrum_server_takes_little_memory() {
    let (port, answered) = listen(answer_as_electrum);
    let gateway = RegtestGateway::start("electrum", &format!("tcp://127.0.0.1:{port}"));
    wait_for("a response", async || (answered.load(Ordering::SeqCst) > 0).then_some(())).await;
    assert!(gateway.peak_kb() < PEAK_MAX_KB / 2, "{} kB", gateway.peak_kb());
}
