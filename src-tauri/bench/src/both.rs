//! `tillgate serve` of both environments, with 100,000 payments in each. Production's secrets are
//! in a temporary keyring.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::fallible::Fallible;
use crate::process;
use crate::report::Report;
use crate::seed::{self, Plan};

/// Payments in each environment.
const PAYMENTS: u32 = 100_000;

/// Time after which the work of a start is done.
const SETTLED_AFTER: Duration = Duration::from_secs(5);

/// A shell script that creates production's wallet, prints its own process id, and after a line on
/// stdin becomes the server.
const SESSION: &str = r#"set -euo pipefail
printf 'session\n' | gnome-keyring-daemon --unlock --components=secrets >/dev/null
"$1" wallet create --environment production --json --data-dir "$2" >/dev/null
printf '%s\n' $$
read -r _
exec "$1" serve --listen 127.0.0.1:0 --data-dir "$2""#;

/// Attaches the test environment's database.
const COPY: &str = "ATTACH DATABASE ?1 AS test";
/// Copies the test environment's payments to production's database. A closed payment costs the same
/// in both.
const COPIES: &str = "PRAGMA foreign_keys = OFF; BEGIN; \
    INSERT INTO rates SELECT * FROM test.rates; INSERT INTO payments SELECT * FROM test.payments; \
    UPDATE keychains SET next_index = (SELECT next_index FROM test.keychains AS of WHERE of.keychain = keychains.keychain); \
    COMMIT;";

/// Measures, and adds the figures to `report`. Without a keyring, nothing is measured.
pub fn measure(report: &mut Report) -> Fallible<()> {
    let what = "serve of both environments, 100,000 payments in each";
    if ["dbus-run-session", "gnome-keyring-daemon"].iter().any(|tool| !is_installed(tool)) {
        report.add(what, "not measured: no keyring here".to_owned(), "", None);
        return Ok(());
    }
    let (folder, home) = (process::data_dir()?, process::data_dir()?);
    let (paid, unspent, open) = (PAYMENTS / 10, 1_000, 1_000);
    seed::run(&Plan {
        data_dir: folder.path().to_owned(),
        payments: PAYMENTS,
        paid,
        unspent,
        open,
    })?;
    let mut session = Session::begin(folder.path(), home.path())?;
    copy_payments(folder.path())?;
    let ready = session.serve()?;
    let first = process::memory_mb(session.serving, "VmRSS:")?;
    thread::sleep(SETTLED_AFTER);
    let settled = process::memory_mb(session.serving, "VmRSS:")?;
    let figure = format!(
        "{:.0} ms, {first:.0} MB, after {} s {settled:.0} MB",
        ready.as_secs_f64() * 1_000.0,
        SETTLED_AFTER.as_secs()
    );
    report.add(
        &format!("{what}: start to both ready, memory"),
        figure,
        "required below 2,000 ms, 150 MB",
        None,
    );
    Ok(())
}

fn is_installed(tool: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(tool).exists()))
}

fn copy_payments(data_dir: &Path) -> Fallible<()> {
    let production = rusqlite::Connection::open(data_dir.join("production/tillgate.db"))?;
    production.execute(COPY, [data_dir.join("test/tillgate.db").display().to_string()])?;
    Ok(production.execute_batch(COPIES)?)
}

/// A session with a keyring and the gateway in it. Drop ends the session.
struct Session {
    child: Child,
    /// The id of the process that serves, or will serve.
    serving: u32,
    stdout: BufReader<std::process::ChildStdout>,
}

impl Session {
    /// Starts the session, which creates production's wallet.
    fn begin(data_dir: &Path, home: &Path) -> Fallible<Self> {
        let mut child = Command::new("dbus-run-session")
            .args(["--", "bash", "-c", SESSION, "session"])
            .args([process::program()?.as_os_str(), data_dir.as_os_str()])
            .env("HOME", home)
            .env_remove("XDG_DATA_HOME")
            .env_remove("DBUS_SESSION_BUS_ADDRESS")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut stdout = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        match line.trim().parse() {
            Ok(serving) => Ok(Self { child, serving, stdout }),
            Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                Err("production's wallet could not be made in the keyring's session".into())
            }
        }
    }

    /// Starts serving, and waits until both environments are ready.
    fn serve(&mut self) -> Fallible<Duration> {
        let began = Instant::now();
        self.child.stdin.as_mut().ok_or("no stdin")?.write_all(b"\n")?;
        for _ in 0..2 {
            let mut line = String::new();
            self.stdout.read_line(&mut line)?;
            if !line.contains("ready") {
                return Err("one of the two environments did not start".into());
            }
        }
        Ok(began.elapsed())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The session ends together with the program in it.
        let _ = Command::new("kill").arg(self.serving.to_string()).status();
        let _ = self.child.wait();
    }
}
