//! The threads on which commands and gateways run.

use std::io;
use std::time::Duration;

use tillgate_machine::environment::Environment;
use tillgate_machine::threads;
use tokio::runtime::{self, Runtime};

use super::failure::Failure;

/// Time that unfinished blocking work gets after all other work has ended.
const LEFTOVERS_WITHIN: Duration = Duration::from_millis(500);

/// Runs the work on a runtime of its own.
pub fn run<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = runtime::Builder::new_multi_thread().enable_all().build()?;
    finish(runtime, work)
}

/// Runs the work to its end, then waits at most [`LEFTOVERS_WITHIN`] for blocking work.
pub fn finish<T>(runtime: Runtime, work: impl Future<Output = T>) -> T {
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(LEFTOVERS_WITHIN);
    done
}

/// Threads for one environment alone, so that hanging work in one does not delay the other.
///
/// # Errors
/// The system gives no threads.
pub fn of_environment(environment: Environment) -> io::Result<Runtime> {
    let mark = move || threads::works_for(Some(environment));
    runtime::Builder::new_multi_thread()
        .thread_name(environment.as_str())
        .on_thread_start(mark)
        .enable_all()
        .build()
}
