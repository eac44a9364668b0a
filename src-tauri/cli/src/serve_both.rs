//! `tillgate serve` of both environments in one process, strictly apart. Each has threads of its
//! own, so that the end of one leaves the other running. A failed environment is tried again; when
//! none serves, the program ends.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tillgate_gateway::App;
use tillgate_gateway::gateway::Served;
use tillgate_machine::environment::Environment;
use tillgate_machine::threads;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::args::{Common, CommonArgs, ServeArgs};
use super::failure::Failure;
use super::options::options;
use super::{runtime, serve};

/// The wait before a failed environment is tried again; each further failure doubles it, up to
/// [`AGAIN_AT_MOST`].
const AGAIN: Duration = Duration::from_secs(2);

const AGAIN_AT_MOST: Duration = Duration::from_secs(60);

/// A report on one environment.
enum Report {
    Serves,
    /// Why it does not serve.
    Failed(String),
}

/// Serves these environments until SIGTERM or Ctrl-C, or until none of them can be served.
pub fn run(
    common: &CommonArgs,
    args: &ServeArgs,
    environments: &[Environment],
) -> Result<(), Failure> {
    let signals = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let shutdown = signals.block_on(async { serve::on_signal() })?;
    let (reports, reported) = unbounded_channel();
    let mut running = Vec::new();
    for &environment in environments {
        let (common, args, stop) =
            (common.in_environment(environment), args.clone(), shutdown.clone());
        let reports = reports.clone();
        let gateways = environments.len();
        let run = move || {
            threads::works_for(Some(environment));
            match runtime::of_environment(environment) {
                Ok(threads) => {
                    runtime::finish(threads, keep_serving(common, args, gateways, &reports, &stop))
                }
                Err(error) => {
                    let why = format!("the system gives no threads: {error}");
                    // The report has no receiver once the program ends.
                    let _ = reports.send((environment, Report::Failed(why)));
                }
            }
        };
        running.push(thread::Builder::new().name(environment.as_str().to_owned()).spawn(run)?);
    }
    drop(reports);
    let ended = signals.block_on(until_none_serves(environments, reported, &shutdown));
    shutdown.cancel();
    for one in running {
        if one.join().is_err() {
            tracing::error!("the thread of an environment panicked");
        }
    }
    ended
}

/// Serves until `stop`, and begins again after each failure.
async fn keep_serving(
    common: Common,
    args: ServeArgs,
    gateways: usize,
    reports: &UnboundedSender<(Environment, Report)>,
    stop: &CancellationToken,
) {
    let (environment, common) = (common.environment, Arc::new(common));
    let mut again = AGAIN;
    loop {
        let (common, args, stopped) = (Arc::clone(&common), args.clone(), stop.clone());
        let serves = reports.clone();
        let ready = move |app: &Arc<App>, served: &Served| {
            serve::print_ready(app, served);
            let _ = serves.send((environment, Report::Serves));
        };
        // The work has its own task, so that a panic counts as a failure of this environment.
        let work = async move {
            serve::until_stopped(options(&common)?, args, gateways, ready, stopped).await
        };
        let began = tokio::time::Instant::now();
        let why = match tokio::spawn(work).await {
            Ok(Ok(())) => return,
            Ok(Err(Failure(why))) => why,
            Err(error) => format!("the gateway's task failed: {error}"),
        };
        if stop.is_cancelled() {
            return;
        }
        if began.elapsed() > AGAIN_AT_MOST {
            again = AGAIN;
        }
        tracing::error!(%why, again_in_seconds = again.as_secs(), "not served");
        let _ = reports.send((environment, Report::Failed(why)));
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(again) => {}
        }
        again = AGAIN_AT_MOST.min(again * 2);
    }
}

/// Waits for the signal, or until the last environment failed.
async fn until_none_serves(
    environments: &[Environment],
    mut reports: UnboundedReceiver<(Environment, Report)>,
    shutdown: &CancellationToken,
) -> Result<(), Failure> {
    let mut failed = BTreeMap::new();
    loop {
        let report = tokio::select! {
            () = shutdown.cancelled() => return Ok(()),
            report = reports.recv() => report,
        };
        match report {
            Some((environment, Report::Serves)) => drop(failed.remove(environment.as_str())),
            Some((environment, Report::Failed(why))) => {
                drop(failed.insert(environment.as_str(), why))
            }
            None => return Err(Failure("nothing is served any more: the log says why".to_owned())),
        }
        if failed.len() == environments.len() {
            let all: Vec<String> =
                failed.iter().map(|(environment, why)| format!("{environment}: {why}")).collect();
            return Err(Failure(format!("nothing is served. {}", all.join("; "))));
        }
    }
}
