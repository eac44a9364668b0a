//! The cost of an idle `tillgate serve`.

use std::thread;
use std::time::Duration;

use crate::fallible::Fallible;
use crate::process::{self, Served};
use crate::report::Report;

/// Length of the measurement.
const SPAN: Duration = Duration::from_secs(30);

/// Time after which the work of a start is done.
const SETTLED_AFTER: Duration = Duration::from_secs(5);

/// Measures, and adds the figures to `report`.
pub fn measure(report: &mut Report) -> Fallible<()> {
    let folder = process::data_dir()?;
    let served = Served::start(folder.path())?;
    thread::sleep(SETTLED_AFTER);
    let before = served.cpu_ms()?;
    thread::sleep(SPAN);
    let used_ms = served.cpu_ms()? - before;
    report.add(
        "idle: resident memory",
        format!("{:.0} MB", served.resident_mb()?),
        "required below 60 MB",
        None,
    );
    report.add(
        "idle: processor time in 30 s",
        format!("{used_ms} ms"),
        "required not measurable",
        None,
    );
    Ok(())
}
