//! The program as a process in a folder of its own. A test starts it, kills it and starts it again.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use super::client::{Client, Credentials};
use super::{TIMEOUT, wait_for};

/// Calls the program on one data directory, isolated from the machine's own settings and keyring.
pub struct Program {
    folder: TempDir,
    data_dir: PathBuf,
}

impl Program {
    /// A fresh folder.
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let data_dir = folder.path().join("data");
        Self { folder, data_dir }
    }

    /// The program's data directory.
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// The folder of the test environment.
    pub fn env_dir(&self) -> PathBuf {
        self.data_dir.join("test")
    }

    /// The database of the only environment in the data directory.
    pub fn database(&self) -> PathBuf {
        let mut folders = vec![self.data_dir.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.file_name() == Some(OsStr::new("tillgate.db")) {
                    return path;
                }
            }
        }
        panic!("no database below {}", self.data_dir.display());
    }

    /// A command of this program with its data directory. The command is not started yet.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tillgate"));
        command.args(args).arg("--data-dir").arg(&self.data_dir);
        self.isolate(&mut command);
        command
    }

    /// Gives a command a home of its own and no keyring, regardless of the machine.
    pub fn isolate(&self, command: &mut Command) {
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.folder.path()).env("XDG_RUNTIME_DIR", self.folder.path());
        command.env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent").env("LANG", "C.UTF-8");
        command.stdin(Stdio::null());
    }

    /// Runs a command to its end.
    pub fn output(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs a command to its end with this text as its standard input.
    pub fn output_with_stdin(&self, mut command: Command, typed: &str) -> Output {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // The command may end before it has read the text.
        let _ = child.stdin.take().unwrap().write_all(typed.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// Runs a command that must succeed, and reads its JSON document.
    pub fn json(&self, args: &[&str]) -> Value {
        let output = self.output(&[args, &["--json"]].concat());
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!(
                "{args:?} printed no JSON ({error}): {}",
                String::from_utf8_lossy(&output.stdout)
            )
        })
    }

    /// Runs a command that must fail with exit status 1, and returns its standard error.
    pub fn refusal(&self, args: &[&str]) -> String {
        let output = self.output(args);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {stderr}");
        stderr
    }

    /// Creates the data directory by changing a setting before the first start.
    pub fn create_data_dir(&self) {
        self.set("tolerancePerMille", "0");
    }

    /// Changes a setting.
    pub fn set(&self, name: &str, value: &str) {
        let output = self.output(&["settings", "set", name, value]);
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Creates an API key.
    pub fn create_key(&self, name: &str, more: &[&str]) -> Credentials {
        if !self.data_dir.exists() {
            self.create_data_dir();
        }
        let made = self.json(&[&["keys", "create", name], more].concat());
        assert_eq!(made["name"], name);
        Credentials { name: name.to_owned(), secret: made["secret"].as_str().unwrap().to_owned() }
    }
}

/// A running gateway, and a client with one of its API keys.
pub struct Tillgate {
    program: Program,
    child: Option<Child>,
    pub client: Client,
}

impl Tillgate {
    /// Starts on a fresh folder.
    pub async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// Starts on a fresh folder with these settings.
    pub async fn start_with(settings: &[(&str, &str)]) -> Self {
        let program = Program::new();
        for (name, value) in settings {
            program.set(name, value);
        }
        Self::start_on(program).await
    }

    /// Starts on an existing folder, with one more key.
    pub async fn start_on(program: Program) -> Self {
        let key = program.create_key("shop", &["--permissions", "full"]);
        Self::start_with_key(program, key)
    }

    /// Starts on an existing folder, with one of its keys.
    pub fn start_with_key(program: Program, key: Credentials) -> Self {
        let (child, api) = serve(program.command(&["serve", "--listen", "127.0.0.1:0"]));
        Self { program, child: Some(child), client: Client::new(&api, key) }
    }

    /// Starts on an existing folder, with one more key and a limit for open file descriptors.
    pub async fn start_with_fd_limit(program: Program, count: u32) -> Self {
        let key = program.create_key("shop", &["--permissions", "full"]);
        let serve_it = program.command(&["serve", "--listen", "127.0.0.1:0"]);
        let mut limited = Command::new("sh");
        limited.args(["-c", &format!(r#"ulimit -n {count} && exec "$@""#), "sh"]);
        limited.arg(serve_it.get_program()).args(serve_it.get_args());
        program.isolate(&mut limited);
        let (child, api) = serve(limited);
        Self { program, child: Some(child), client: Client::new(&api, key) }
    }

    /// The program, to run commands while the gateway runs.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The data directory of a gateway that was stopped.
    pub fn into_program(mut self) -> Program {
        assert!(self.child.is_none(), "the gateway runs");
        std::mem::replace(&mut self.program, Program::new())
    }

    /// The process's id.
    pub fn pid(&self) -> Pid {
        Pid::from_child(self.child.as_ref().expect("the gateway runs"))
    }

    /// Kills it with SIGKILL, so that no handler runs.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Stops it with SIGTERM, and returns its exit status.
    pub async fn stop(&mut self) -> ExitStatus {
        kill_process(self.pid(), Signal::TERM).unwrap();
        let mut child = self.child.take().expect("the gateway runs");
        wait_for("the end of the gateway after SIGTERM", async || child.try_wait().unwrap()).await
    }

    /// Starts it again on the same data, after a kill or a stop.
    pub fn start_again(&mut self) {
        assert!(self.child.is_none(), "the gateway runs");
        let (child, api) = serve(self.program.command(&["serve", "--listen", "127.0.0.1:0"]));
        self.child = Some(child);
        self.client.set_address(&api);
    }
}

impl Drop for Tillgate {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts `command` and waits for the line with the API's address.
pub fn serve(mut command: Command) -> (Child, String) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (lines, ready) = mpsc::channel();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || {
        stdout.lines().map_while(Result::ok).for_each(|line| drop(lines.send(line)))
    });
    // The log is drained, so that a full pipe does not stop the gateway; it is shown if a start
    // fails.
    let (log_lines, log) = mpsc::channel();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    std::thread::spawn(move || {
        stderr.lines().map_while(Result::ok).for_each(|line| drop(log_lines.send(line)))
    });
    match ready.recv_timeout(TIMEOUT) {
        Ok(line) => {
            let event: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(event["event"], "ready", "{line}");
            (child, event["api"].as_str().unwrap().trim_end_matches("/v2").to_owned())
        }
        Err(_) => {
            drop(child.kill());
            drop(child.wait());
            panic!(
                "the gateway did not become ready:\n{}",
                log.try_iter().collect::<Vec<_>>().join("\n")
            );
        }
    }
}
