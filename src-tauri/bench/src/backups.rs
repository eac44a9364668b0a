//! A backup of a large database while payments are made, and its restore.

use std::io;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::fallible::Fallible;
use crate::load::{self, Run, Until};
use crate::process::{self, Served};
use crate::report::Report;
use crate::spine;

/// Pause between two requests of the shops, as on a busy day.
const PAUSE: Duration = Duration::from_millis(10);

/// Length of the measurement without a backup.
const ALONE: Duration = Duration::from_secs(10);

/// Interval between readings of memory.
const READ_EVERY: Duration = Duration::from_millis(20);

/// Passphrase of this benchmark's files only.
const PASSPHRASE: &str = "correct horse battery";

/// Measures the backup of an existing database and its restore, and adds the figures to `report`.
pub fn measure(report: &mut Report, data_dir: &Path) -> Fallible<()> {
    let served = Served::start(data_dir)?;
    let authorization = process::authorization(data_dir)?;
    let size = std::fs::metadata(data_dir.join("test/tillgate.db"))?.len() >> 20;
    let alone = Shops::begin(&served, &authorization);
    thread::sleep(ALONE);
    let alone = alone.end()?;

    let folder = process::data_dir()?;
    let file = folder.path().join("till.backup");
    served.forget_peak()?;
    let resident = served.resident_mb()?;
    let (shops, began) = (Shops::begin(&served, &authorization), Instant::now());
    let backup = run(&["backup"], &file, data_dir)?.wait_with_output()?;
    let took = began.elapsed();
    let beside = shops.end()?;
    ended(backup.status.success(), &backup.stderr)?;
    let sealed = std::fs::metadata(&file)?.len() >> 20;
    let peak = served.peak_mb()?;
    let figure = format!(
        "{:.1} s, a file of {sealed} MB; memory {resident:.0} to {peak:.0} MB",
        took.as_secs_f64()
    );
    let copy = copy_time(&file, &folder.path().join("copy"))?.as_secs_f64();
    let copied = format!("that file copied and synced: {copy:.1} s");
    let what =
        format!("backup of a database of {size} MB, checked and read back, while payments go on");
    report.add(&what, figure, &copied, Some(copy / took.as_secs_f64()));
    let figure =
        format!("p50 {:.1} ms, p99 {:.1} ms", beside.quantile_ms(500), beside.quantile_ms(990));
    let lone = format!(
        "without a backup p50 {:.1} ms, p99 {:.1} ms",
        alone.quantile_ms(500),
        alone.quantile_ms(990)
    );
    report.add("POST /v2/payments/new during that backup, 1 connection", figure, &lone, None);
    drop(served);

    let began = Instant::now();
    let restoring = run(&["restore"], &file, &folder.path().join("restored"))?;
    let (output, peak) = with_peak(restoring)?;
    ended(output.status.success(), &output.stderr)?;
    let figure = format!("{:.1} s, at most {peak:.0} MB of memory", began.elapsed().as_secs_f64());
    report.add(&format!("restore of that backup, {sealed} MB"), figure, &copied, None);
    Ok(())
}

/// The time to copy a file and to sync the copy to the disk.
fn copy_time(from: &Path, to: &Path) -> io::Result<Duration> {
    let began = Instant::now();
    std::fs::copy(from, to)?;
    std::fs::File::open(to)?.sync_all()?;
    let took = began.elapsed();
    std::fs::remove_file(to)?;
    Ok(took)
}

fn run(command: &[&str], file: &Path, data_dir: &Path) -> io::Result<Child> {
    process::command(&[])?
        .args(command)
        .arg(file)
        .args(["--json", "--environment", "test", "--data-dir"])
        .arg(data_dir)
        .env("TILLGATE_PASSPHRASE", PASSPHRASE)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

fn ended(success: bool, stderr: &[u8]) -> Fallible<()> {
    if success { Ok(()) } else { Err(String::from_utf8_lossy(stderr).into_owned().into()) }
}

/// Waits for the end of a program, and returns its output and its peak of memory.
fn with_peak(mut child: Child) -> io::Result<(std::process::Output, f64)> {
    let mut peak: f64 = 0.0;
    while child.try_wait()?.is_none() {
        // A zombie process has no such line in its status.
        peak = peak.max(process::memory_mb(child.id(), "VmHWM:").unwrap_or(0.0));
        thread::sleep(READ_EVERY);
    }
    Ok((child.wait_with_output()?, peak))
}

/// A thread that requests payments one after another until [`Shops::end`].
struct Shops {
    is_over: Arc<AtomicBool>,
    asking: thread::JoinHandle<io::Result<Run>>,
}

impl Shops {
    fn begin(served: &Served, authorization: &str) -> Self {
        let (port, authorization) = (served.port, authorization.to_owned());
        let is_over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&is_over);
        let asking = thread::spawn(move || {
            let mut runs = Vec::new();
            while !until.load(Ordering::SeqCst) {
                let header = authorization.clone();
                let request = move |number| {
                    load::request("POST", "/v2/payments/new", &header, &spine::order(number))
                };
                runs.push(load::drive(port, 1, Until::Requests(1), request)?);
                thread::sleep(PAUSE);
            }
            Ok(Run::sum(runs))
        });
        Self { is_over, asking }
    }

    fn end(self) -> Fallible<Run> {
        self.is_over.store(true, Ordering::SeqCst);
        let run =
            self.asking.join().map_err(|_| "the thread that requests payments panicked")??;
        if run.refused > 0 {
            Err(format!("{} payments were refused", run.refused).into())
        } else {
            Ok(run)
        }
    }
}
