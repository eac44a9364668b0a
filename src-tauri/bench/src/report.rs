//! The table of measured figures.

use std::fmt::Write as _;

/// Figures with the limits that bound them.
#[derive(Default)]
pub struct Report {
    rows: Vec<[String; 4]>,
}

impl Report {
    /// Adds a figure. `limit` is a requirement, or a limit of the machine from the same run.
    /// `ratio` is the measured speed divided by the speed of the limit.
    pub fn add(&mut self, what: &str, figure: String, limit: &str, ratio: Option<f64>) {
        let ratio = ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"));
        println!("{what:<62} {figure:>34}  {limit:<44} {ratio:>6}");
        self.rows.push([what.to_owned(), figure, limit.to_owned(), ratio]);
    }

    /// The table as a page of the documentation.
    pub fn page(&self, machine: &str) -> String {
        let mut page = format!(
            "# Benchmarks\n\nMade by `make bench`; each limit was measured in the same run, with the load driver on \
             the same cores.\n\n{machine}\n\n| Figure | Measured | Limit of this machine | Ratio |\n|---|--:|---|--:|\n"
        );
        for [what, figure, limit, ratio] in &self.rows {
            let _ = writeln!(page, "| {what} | {figure} | {limit} | {ratio} |");
        }
        page
    }
}

/// The machine on which the figures were measured.
pub fn machine() -> String {
    let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
    let field = |text: &str, name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name))
            .map_or("?".to_owned(), |rest| rest.trim_start_matches([' ', '\t', ':']).to_owned())
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = read("/proc/loadavg").split(' ').next().unwrap_or("?").to_owned();
    format!(
        "{cores} cores ({}), memory {}, Linux {}; load average {load} before the run.",
        field(&read("/proc/cpuinfo"), "model name"),
        field(&read("/proc/meminfo"), "MemTotal"),
        read("/proc/sys/kernel/osrelease").trim(),
    )
}

/// A time in milliseconds, for the table.
pub fn millis(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
