//! The end of the program: it is quick, and a program started meanwhile still serves.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::app::{DESKTOP, TILLGATE, terminate, until};
use crate::session::inside;

/// Time limit for the end. The gateway itself takes at most 5 s to stop.
const ENDS_WITHIN: Duration = Duration::from_secs(8);

fn desktop(data: &Path) -> Child {
    let mut command = Command::new(DESKTOP);
    command.args(["--listen", "127.0.0.1:0", "--data-dir"]).arg(data);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until the test environment is served. Returns the address of its API and the id of the
/// desktop process.
async fn served(data: &Path) -> (String, String) {
    until("the test environment is served", async || {
        let mut ask = Command::new(TILLGATE);
        ask.args(["status", "--json", "--environment", "test", "--data-dir"]).arg(data);
        let status: Value = serde_json::from_slice(&ask.output().unwrap().stdout).ok()?;
        Some((status["api"].as_str()?.to_owned(), process_of(data)?))
    })
    .await
}

/// The process id of the desktop program on this data directory.
fn process_of(data: &Path) -> Option<String> {
    let data = data.to_str().unwrap();
    let pids = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let line =
        |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    pids.into_iter().find(|pid| line(pid).starts_with(DESKTOP) && line(pid).contains(data))
}

#[test]
fn a_signal_ends_the_program_cleanly_within_seconds() {
    inside("quitting::a_signal_ends_the_program_cleanly_within_seconds", async || {
        let data = tempfile::tempdir().unwrap();
        let mut program = desktop(data.path());
        let log = BufReader::new(program.stderr.take().unwrap());
        let log = std::thread::spawn(move || log.lines().map_while(Result::ok).collect::<Vec<_>>());
        served(data.path()).await;
        let began = tokio::time::Instant::now();
        terminate(&mut program);
        assert!(began.elapsed() < ENDS_WITHIN, "{:?}", began.elapsed());
        assert_eq!(program.wait().unwrap().code(), Some(0));
        let log = log.join().unwrap().join("\n");
        assert!(!log.contains("in time") && !log.contains("cannot be changed"), "{log}");
    });
}

#[test]
fn a_program_started_while_another_ends_serves_after_it() {
    inside("quitting::a_program_started_while_another_ends_serves_after_it", async || {
        let data = tempfile::tempdir().unwrap();
        let mut program = desktop(data.path());
        let (api, before) = served(data.path()).await;
        // The gateway waits a limited time for the rest of a half-sent request, so the program does
        // not end at once.
        let address = api.trim_start_matches("http://").trim_end_matches("/v2").to_owned();
        let mut half = TcpStream::connect(&address).unwrap();
        half.write_all(b"POST /v2/payments/new HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
            .unwrap();
        let pid =
            i32::try_from(program.id()).ok().and_then(rustix::process::Pid::from_raw).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        until("the gateway takes no more requests", async || {
            TcpStream::connect(&address).is_err().then_some(())
        })
        .await;

        let mut again = desktop(data.path());
        until("the first program has ended", async || program.try_wait().unwrap()).await;
        let (_, now) = served(data.path()).await;
        assert_ne!(now, before);
        let stop = Command::new("kill").arg(&now).status().unwrap();
        assert!(stop.success());
        until("the second program has ended", async || {
            process_of(data.path()).is_none().then_some(())
        })
        .await;
        let _ = again.wait();
    });
}
