//! The log on stderr, for people or as JSON. No module logs a secret.
//!
//! A log that cannot be written stops no work: its lines are dropped and counted. Once the log can
//! be written again, its first line is the number of dropped lines.

use std::fmt;
use std::io::{self, IsTerminal as _, Write};
use std::sync::Mutex;

use tillgate_machine::threads;
use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::{Format, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use super::args::LogFormat;

/// The log filter of a command: only the keyring's warnings, such as that it waits for a person.
/// The command's answer says the rest.
pub const OF_A_COMMAND: &str = "off,tillgate_machine::secrets::keyring=warn";

/// Starts the log. Its filter is `TILLGATE_LOG` (like `debug` or `tillgate=trace,warn`), or
/// else `default`.
pub fn start(format: LogFormat, default: &str) {
    let filter =
        std::env::var("TILLGATE_LOG").ok().and_then(|wanted| EnvFilter::try_new(wanted).ok());
    let filter = filter.unwrap_or_else(|| EnvFilter::new(default));
    // Without this, the library would panic when the log cannot be written.
    let log = tracing_subscriber::fmt().with_env_filter(filter).log_internal_errors(false);
    let log = log.with_writer(Mutex::new(Lossy::new(io::stderr(), format)));
    // A second log in one process (a test) leaves the first in place.
    let _ = match format {
        LogFormat::Human => {
            let lines = Named { format, lines: Format::default().with_target(false) };
            log.with_ansi(io::stderr().is_terminal()).event_format(lines).try_init()
        }
        LogFormat::Json => {
            let lines = Named { format, lines: Format::default().json().flatten_event(true) };
            log.json().event_format(lines).try_init()
        }
    };
}

/// Begins each line of a thread that serves one environment (`threads::current_environment`) with
/// the environment's name.
struct Named<F> {
    format: LogFormat,
    lines: F,
}

impl<S, N, F> FormatEvent<S, N> for Named<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut to: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let Some(environment) = threads::current_environment() else {
            return self.lines.format_event(context, to, event);
        };
        match self.format {
            LogFormat::Human => {
                write!(to, "[{environment}] ")?;
                self.lines.format_event(context, to, event)
            }
            LogFormat::Json => {
                let mut line = String::new();
                self.lines.format_event(context, Writer::new(&mut line), event)?;
                let rest = line.strip_prefix('{').unwrap_or(&line);
                write!(to, "{{\"gateway\":\"{environment}\",{rest}")
            }
        }
    }
}

/// Writes whole lines, or drops and counts them.
struct Lossy<W> {
    to: W,
    format: LogFormat,
    dropped: u64,
    /// Whether the last written line is incomplete.
    torn: bool,
}

impl<W: Write> Lossy<W> {
    const fn new(to: W, format: LogFormat) -> Self {
        Self { to, format, dropped: 0, torn: false }
    }

    /// Writes `line`; true if all of it was written.
    fn try_write(&mut self, mut line: &[u8]) -> bool {
        while !line.is_empty() {
            match self.to.write(line) {
                Ok(0) => return false,
                Ok(count) => {
                    line = line.get(count..).unwrap_or_default();
                    self.torn = !line.is_empty();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// Writes the number of dropped lines, if there are any; false if that failed.
    fn report_dropped(&mut self) -> bool {
        if self.torn && !self.try_write(b"\n") {
            return false;
        }
        if self.dropped > 0 {
            let (dropped, what) = (self.dropped, "lines of the log could not be written");
            let line = match self.format {
                LogFormat::Human => format!("WARN {dropped} {what}\n"),
                LogFormat::Json => {
                    format!("{{\"level\":\"WARN\",\"message\":\"{dropped} {what}\"}}\n")
                }
            };
            if !self.try_write(line.as_bytes()) {
                return false;
            }
            self.dropped = 0;
        }
        true
    }
}

impl<W: Write> Write for Lossy<W> {
    /// Never fails: a line that cannot be written counts as dropped.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if !(self.report_dropped() && self.try_write(line)) {
            self.dropped = self.dropped.saturating_add(1);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // There is no buffer to flush.
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with `room` free bytes.
    struct Disk {
        room: usize,
        content: Vec<u8>,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.room == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let count = bytes.len().min(self.room);
            self.room -= count;
            self.content.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_that_cannot_be_written_are_dropped_and_counted() {
        for (format, told) in [
            (LogFormat::Human, "WARN 3 lines of the log could not be written"),
            (
                LogFormat::Json,
                r#"{"level":"WARN","message":"3 lines of the log could not be written"}"#,
            ),
        ] {
            let mut log = Lossy::new(Disk { room: 10, content: Vec::new() }, format);
            for line in ["first\n", "second\n", "third\n", "fourth\n"] {
                log.write_all(line.as_bytes()).unwrap();
            }
            log.to.room = 1_000;
            log.write_all(b"fifth\n").unwrap();
            log.write_all(b"sixth\n").unwrap();
            let content = String::from_utf8(log.to.content).unwrap();
            assert_eq!(content, format!("first\nseco\n{told}\nfifth\nsixth\n"));
        }
    }

    #[test]
    fn a_command_logs_that_the_keyring_waits_for_a_person() {
        let keyring = tillgate_machine::secrets::KEYRING_LOG_TARGET;
        assert_eq!(OF_A_COMMAND, format!("off,{keyring}=warn"));
    }
}
