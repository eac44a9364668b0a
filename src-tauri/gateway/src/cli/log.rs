//! The log on stderr, human or JSON. What is logged is each module's own affair; secrets never are.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use super::args::LogFormat;

/// Starts the log. `TILLGATE_LOG` says what to log (`debug`, `tillgate_gateway=trace,warn`), else `default` does.
pub fn start(format: LogFormat, default: &str) {
    let filter = std::env::var("TILLGATE_LOG").ok().and_then(|wanted| EnvFilter::try_new(wanted).ok());
    let filter = filter.unwrap_or_else(|| EnvFilter::new(default));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // A second log in one process (a test) leaves the first in place.
    let _ = match format {
        LogFormat::Human => log.with_ansi(std::io::stderr().is_terminal()).with_target(false).try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
}
