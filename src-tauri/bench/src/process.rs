//! The program under measurement, as a process of its own.

use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::Value;
use tillgate_machine::clock::machine_now;

/// A running `tillgate serve`. Drop kills the process.
pub struct Served {
    child: Child,
    /// The port of its API.
    pub port: u16,
    /// The process id.
    pub pid: u32,
    /// Time from the start of the process to its ready line.
    pub ready_after: Duration,
}

/// The `tillgate` beside this program, from the same release build.
pub fn program() -> io::Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name("tillgate"))
}

/// A command that starts the program with these settings, by name.
pub fn command(settings: &[(&str, String)]) -> io::Result<Command> {
    let mut command = Command::new(program()?);
    command.envs(settings.iter().map(|(name, value)| (variable(name), value)));
    Ok(command)
}

/// The environment variable of a setting: `TILLGATE_BACKEND_URL` for `backendUrl`.
fn variable(name: &str) -> String {
    let mut variable = "TILLGATE_".to_owned();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            variable.push('_');
        }
        variable.push(letter.to_ascii_uppercase());
    }
    variable
}

/// A memory figure of a process from the kernel, in megabytes. `line` is its name in
/// `/proc/PID/status`, with the colon.
pub fn memory_mb(pid: u32, line: &str) -> io::Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kb = status
        .lines()
        .find_map(|found| found.strip_prefix(line)?.split_whitespace().next()?.parse().ok());
    kb.map(|kb: f64| kb / 1024.0)
        .ok_or_else(|| io::Error::other(format!("no {line} of process {pid}")))
}

/// A temporary data directory on the disk of the programs. Durable figures depend on the disk, and
/// the system's folder for temporary files is memory on many machines.
pub fn data_dir() -> io::Result<tempfile::TempDir> {
    let program = program()?;
    let folder = program.parent().ok_or_else(|| io::Error::other("the program is in no folder"))?;
    tempfile::Builder::new().prefix("bench-").tempdir_in(folder)
}

impl Served {
    /// Starts the program on `data_dir` and a free port, and waits until it is ready.
    pub fn start(data_dir: &Path) -> io::Result<Self> {
        Self::start_under(data_dir, &[])
    }

    /// As [`Self::start`], with these settings, by name.
    pub fn start_under(data_dir: &Path, settings: &[(&str, String)]) -> io::Result<Self> {
        let started = Instant::now();
        let mut child = command(settings)?
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(data_dir)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let stdout = child.stdout.take().ok_or_else(|| io::Error::other("no stdout"))?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let ready: Value = serde_json::from_str(&line)?;
        let api = ready["api"].as_str().unwrap_or_default();
        let port = api
            .rsplit(':')
            .next()
            .and_then(|rest| rest.split('/').next())
            .and_then(|port| port.parse().ok());
        let port =
            port.ok_or_else(|| io::Error::other(format!("no port in the ready line: {line}")))?;
        Ok(Self { pid: child.id(), child, port, ready_after: started.elapsed() })
    }

    /// Resident memory of the process, from the kernel.
    pub fn resident_mb(&self) -> io::Result<f64> {
        memory_mb(self.pid, "VmRSS:")
    }

    /// The peak of resident memory since the start, or since [`Self::forget_peak`].
    pub fn peak_mb(&self) -> io::Result<f64> {
        memory_mb(self.pid, "VmHWM:")
    }

    /// Restarts the measurement of the peak.
    pub fn forget_peak(&self) -> io::Result<()> {
        std::fs::write(format!("/proc/{}/clear_refs", self.pid), "5")
    }

    /// Processor time used so far, in milliseconds; the kernel gives it in hundredths of a second.
    pub fn cpu_ms(&self) -> io::Result<u64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid))?;
        let fields: Vec<_> =
            stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks =
            |index: usize| fields.get(index).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        let (user, system) = (ticks(11), ticks(12));
        Ok((user + system) * 10)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // A kill is enough: the data directory is temporary, or `seed` can write it again.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes an API key and returns the `Authorization` header for its requests.
pub fn authorization(data_dir: &Path) -> io::Result<String> {
    // The name is unique, because another measurement may have made a key in this data directory.
    let name = format!("bench_{}", machine_now().ms());
    let output = command(&[])?
        .args(["keys", "create", &name, "--permissions", "full", "--json", "--data-dir"])
        .arg(data_dir)
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let key: Value = serde_json::from_slice(&output.stdout)?;
    let pair = format!(
        "{}:{}",
        key["name"].as_str().unwrap_or_default(),
        key["secret"].as_str().unwrap_or_default()
    );
    Ok(format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair)))
}
