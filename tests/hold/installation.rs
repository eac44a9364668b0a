//! An installation: a gateway that a test may kill at any moment, its data directory, and the shop
//! that it notifies.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use rustix::process::Pid;
use serde_json::Value;

use crate::harness::client::{Client, Credentials};
use crate::harness::{Program, Shop, TIMEOUT};

/// Lines of the log that are kept, to be printed on a failure.
const LOG_LINES_MAX: usize = 60;

/// Interval between two checks of a condition.
const POLL: Duration = Duration::from_millis(10);

pub struct Installation {
    pub program: Program,
    pub shop: Shop,
    /// Has a key with all permissions, and calls the gateway's latest address.
    pub client: Client,
    process: Option<Process>,
}

struct Process {
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
}

/// The gateway ended before it was ready.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub log: String,
}

impl Installation {
    /// A new data directory with an API key and an HMAC key for notifications; the gateway does not
    /// run yet.
    pub async fn prepare() -> Self {
        let program = Program::new();
        let key = program.create_key("shop", &["--permissions", "full"]);
        program.json(&["hmac-key", "rotate"]);
        Self::with(program, key).await
    }

    /// A copy of this installation, whose gateway must not run.
    pub async fn copy(&self) -> Self {
        assert!(self.process.is_none(), "a folder in use cannot be copied");
        let program = Program::new();
        let copied = Command::new("cp")
            .arg("-a")
            .arg(self.program.data_dir())
            .arg(program.data_dir())
            .status()
            .unwrap();
        assert!(copied.success());
        Self::with(program, self.client.key().clone()).await
    }

    pub async fn with(program: Program, key: Credentials) -> Self {
        Self {
            program,
            shop: Shop::open().await,
            client: Client::new("http://127.0.0.1:1", key),
            process: None,
        }
    }

    /// Starts the gateway, which must become ready.
    pub fn start(&mut self) {
        self.start_with(|_| {})
            .unwrap_or_else(|ended| panic!("the gateway ended ({}):\n{}", ended.status, ended.log));
    }

    /// Starts the gateway after `prepare` changed the command.
    pub fn start_with(&mut self, prepare: impl FnOnce(&mut Command)) -> Result<(), Ended> {
        let mut command = self.program.command(&["serve", "--listen", "127.0.0.1:0"]);
        // The tests make few payments, so checkpoints and indexing start earlier than usual.
        command.env("TILLGATE_CHECKPOINT_PAGES", "64").env("TILLGATE_INDEX_AFTER", "4");
        prepare(&mut command);
        self.launch(command)
    }

    /// Starts the gateway by a command that may wrap it, for example `strace`.
    pub fn launch(&mut self, mut command: Command) -> Result<(), Ended> {
        assert!(self.process.is_none(), "the gateway runs");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (lines, ready) = mpsc::channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            stdout.lines().map_while(Result::ok).for_each(|line| drop(lines.send(line)))
        });
        let log = Arc::new(Mutex::new(Vec::new()));
        let (stderr, last_lines) = (BufReader::new(child.stderr.take().unwrap()), Arc::clone(&log));
        let reading = std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let mut last_lines = last_lines.lock().unwrap();
                if last_lines.len() == LOG_LINES_MAX {
                    last_lines.remove(0);
                }
                last_lines.push(line);
            }
        });
        // Other tasks of this runtime must not wait for this blocking call.
        match tokio::task::block_in_place(|| ready.recv_timeout(TIMEOUT)) {
            Ok(line) => {
                let event: Value = serde_json::from_str(&line).unwrap();
                self.client.set_address(event["api"].as_str().unwrap().trim_end_matches("/v2"));
                self.process = Some(Process { child, log });
                Ok(())
            }
            Err(error) => {
                if error == mpsc::RecvTimeoutError::Timeout {
                    child.kill().unwrap();
                }
                let status = child.wait().unwrap();
                drop(reading.join());
                Err(Ended { status, log: log.lock().unwrap().join("\n") })
            }
        }
    }

    /// Starts the gateway and kills it after this time, ready or not.
    pub async fn kill_while_starting(&self, after: Duration) {
        let mut command = self.program.command(&["serve", "--listen", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        tokio::time::sleep(after).await;
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Kills the gateway with SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.child.kill().unwrap();
            process.child.wait().unwrap();
        }
    }

    /// Waits until the gateway ends.
    pub async fn ended(&mut self) -> ExitStatus {
        let mut process = self.process.take().expect("the gateway runs");
        for _ in 0..TIMEOUT.as_millis() / POLL.as_millis() {
            if let Some(status) = process.child.try_wait().unwrap() {
                return status;
            }
            tokio::time::sleep(POLL).await;
        }
        panic!("the gateway does not end:\n{}", process.log.lock().unwrap().join("\n"));
    }

    /// Whether the gateway ended by itself.
    pub fn has_ended(&mut self) -> bool {
        let process = self.process.as_mut().expect("the gateway was started");
        process.child.try_wait().unwrap().is_some()
    }

    /// The id of the started process, which may be the gateway's wrapper.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.process.as_ref().expect("the gateway runs").child)
    }

    /// The state of a payment now.
    pub async fn state_of(&self, payment_id: &str) -> String {
        self.client.payment(payment_id).await["status"].as_str().unwrap().to_owned()
    }

    /// The newest lines of the gateway's log.
    pub fn log(&self) -> String {
        self.process
            .as_ref()
            .map(|process| process.log.lock().unwrap().join("\n"))
            .unwrap_or_default()
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        self.kill();
    }
}
