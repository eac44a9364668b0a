//! Runs the gateway beside the window, on a runtime of its own, and puts the panel's commands to it.
//! Whatever keeps it from running is told in the window, never a panic.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tauri::{AppHandle, Emitter};
use tillgate_gateway::{Actor, App, Command, CommandError, Gateway, Hosted, NotServing, dispatch};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::alarm;

/// Told to the panel when something that it may show has changed.
const CHANGED: &str = "changed";

/// A burst of commits is one reading for the panel.
const CHANGED_AT_MOST_EVERY: Duration = Duration::from_millis(100);

/// How long a stop may take before the program ends all the same; the gateway's own limit is 5 s.
const STOP_WITHIN: Duration = Duration::from_secs(10);

/// The gateway's life inside this process.
pub struct GatewayTask {
    hosted: Arc<Hosted>,
    /// Who acts, for the audit.
    actor: Actor,
    runtime: Runtime,
    phase: Arc<Mutex<Phase>>,
    /// Taken when the program stops.
    run: Mutex<Option<Run>>,
}

/// What there is to ask.
enum Phase {
    Opening,
    Open(Arc<App>),
    /// Another process serves the same data, and what to do.
    Elsewhere(String),
    /// Why nothing runs, and what to do.
    Down(String),
}

struct Run {
    task: JoinHandle<()>,
    shutdown: CancellationToken,
}

impl GatewayTask {
    /// Prepares threads; opens nothing yet.
    ///
    /// # Errors
    /// When the system gives no threads.
    pub fn new(hosted: Hosted) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().thread_name("gateway").enable_all().build()?;
        Ok(Self {
            hosted: Arc::new(hosted),
            actor: Actor::panel(),
            runtime,
            phase: Arc::new(Mutex::new(Phase::Opening)),
            run: Mutex::new(None),
        })
    }

    /// Opens the gateway and runs it, unless it is running.
    pub fn start(&self, app: &AppHandle) {
        let mut run = locked(&self.run);
        if run.as_ref().is_some_and(|run| !run.task.is_finished()) {
            return;
        }
        *locked(&self.phase) = Phase::Opening;
        let shutdown = CancellationToken::new();
        let (hosted, phase) = (Arc::clone(&self.hosted), Arc::clone(&self.phase));
        let (app, stop) = (app.clone(), shutdown.clone());
        let task = self.runtime.spawn(async move {
            let opened = |opened: &Arc<App>| {
                *locked(&phase) = Phase::Open(Arc::clone(opened));
                tokio::spawn(tell_changes(app.clone(), Arc::clone(&opened.gateway), stop.clone()));
                tokio::spawn(alarm::follow(app.clone(), Arc::downgrade(opened), stop.clone()));
            };
            let ended = match hosted.serve(opened, stop.clone()).await {
                Ok(()) => Phase::Down("The gateway was stopped.".to_owned()),
                Err(NotServing::Elsewhere(elsewhere)) => {
                    tracing::warn!(elsewhere, "the gateway runs already, in another process");
                    Phase::Elsewhere(elsewhere)
                }
                Err(NotServing::Failed(why)) => {
                    tracing::error!(%why, "the gateway does not run");
                    Phase::Down(why)
                }
            };
            *locked(&phase) = ended;
            // Ends what still follows the gateway, when it ended by itself.
            stop.cancel();
            tell(&app);
        });
        *run = Some(Run { task, shutdown });
    }

    /// Puts a command of the panel to the gateway.
    ///
    /// # Errors
    /// What the gateway answered, or why there is none.
    pub async fn ask(&self, command: Value) -> Result<Value, CommandError> {
        let app = match &*locked(&self.phase) {
            Phase::Opening => return Err(error("GATEWAY_OPENING", "The gateway opens its database.")),
            Phase::Elsewhere(elsewhere) => return Err(error("GATEWAY_ELSEWHERE", elsewhere)),
            Phase::Down(why) => return Err(error("GATEWAY_DOWN", why)),
            Phase::Open(app) => Arc::clone(app),
        };
        let command: Command =
            serde_json::from_value(command).map_err(|wrong| error("VALIDATION_FAILED", &wrong.to_string()))?;
        let actor = self.actor.clone();
        let answer = self.runtime.spawn(async move { dispatch(&app, command, &actor).await });
        answer.await.unwrap_or_else(|cause| {
            tracing::error!(error = %cause, "a command of the panel broke off");
            Err(error("INTERNAL", "The gateway broke off. Its log on standard error says why."))
        })
    }

    /// Calls `act` when the system asks this program to end.
    pub fn on_signal(&self, act: impl FnOnce() + Send + 'static) {
        self.runtime.spawn(async move {
            match Hosted::signalled().await {
                Ok(()) => act(),
                Err(error) => tracing::warn!(%error, "signals cannot be heard: quit from the window or the tray"),
            }
        });
    }

    /// Stops the gateway and waits until its last commit is down.
    pub fn stop(&self) {
        let Some(Run { task, shutdown }) = locked(&self.run).take() else { return };
        shutdown.cancel();
        let stopped = self.runtime.block_on(async { tokio::time::timeout(STOP_WITHIN, task).await });
        if stopped.is_err() {
            // Nothing is lost: what was answered is on disk, and the rest is found at the next start.
            tracing::warn!("the gateway did not stop in time; ending all the same");
        }
    }
}

/// Tells the panel of changes as long as the gateway runs.
async fn tell_changes(app: AppHandle, gateway: Arc<Gateway>, stop: CancellationToken) {
    let mut changes = gateway.changes.subscribe();
    // The follower must not keep the gateway, and with it the lock on its data, alive.
    drop(gateway);
    loop {
        tell(&app);
        tokio::select! {
            () = stop.cancelled() => return,
            changed = changes.changed() => if changed.is_err() { return },
        }
        tokio::time::sleep(CHANGED_AT_MOST_EVERY).await;
        changes.mark_unchanged();
    }
}

fn tell(app: &AppHandle) {
    if let Err(error) = app.emit(CHANGED, ()) {
        tracing::warn!(%error, "the panel cannot be told of a change");
    }
}

fn error(error_type: &str, message: &str) -> CommandError {
    CommandError::of(error_type, &message)
}

/// No holder of these locks leaves anything half done.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
