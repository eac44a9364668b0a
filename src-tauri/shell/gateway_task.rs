//! Runs a gateway for each environment in the window's process, each on its own threads, and passes
//! the panel's commands to it. If a gateway cannot run, the window shows the reason, and the other
//! gateway keeps running.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tauri::{AppHandle, Emitter};
use tillgate_cli::{Hosted, NotServing};
use tillgate_console::{Actor, Command, CommandError, Refusal, dispatch};
use tillgate_gateway::{App, Gateway};
use tillgate_machine::environment::Environment;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::waiting::Waiting;
use crate::{alarm, standing};

/// Event for the panel, with the environment's name: data that the panel may show has changed.
const CHANGED: &str = "changed";

/// Shortest time between two such events, so that a burst of commits makes the panel read only a
/// few times.
const CHANGED_AT_MOST_EVERY: Duration = Duration::from_millis(100);

/// Longest time for stopping the gateways. After it the program ends anyway. A gateway's own limit
/// is 5 s.
const STOP_WITHIN: Duration = Duration::from_secs(10);

/// The gateways inside this process.
pub struct Gateways {
    hosted: Arc<Hosted>,
    tasks: Vec<GatewayTask>,
}

/// The gateway of one environment, running or not.
pub struct GatewayTask {
    hosted: Arc<Hosted>,
    environment: Environment,
    /// The actor for the audit log.
    actor: Actor,
    runtime: Runtime,
    phase: Arc<Mutex<Phase>>,
    /// The running task; absent before the first start and after the stop of the program.
    run: Mutex<Option<Run>>,
}

/// The state of the gateway.
enum Phase {
    Opening,
    Open(Arc<App>),
    /// Another process serves the same data. Holds a sentence with the remedy.
    Elsewhere(Refusal),
    /// The gateway does not run. Holds a sentence with the reason and the remedy.
    Down(Refusal),
}

struct Run {
    task: JoinHandle<()>,
    shutdown: CancellationToken,
}

impl Gateways {
    /// Creates the threads, without opening a gateway.
    ///
    /// # Errors
    /// The system cannot create threads.
    pub fn new(hosted: Hosted) -> std::io::Result<Self> {
        let hosted = Arc::new(hosted);
        let tasks = hosted
            .environments()
            .into_iter()
            .map(|environment| GatewayTask::new(&hosted, environment));
        let tasks = tasks.collect::<std::io::Result<Vec<_>>>()?;
        Ok(Self { hosted, tasks })
    }

    /// Opens and runs all gateways.
    pub fn start(&self, app: &AppHandle) {
        for task in &self.tasks {
            task.start(app);
        }
    }

    /// The environments of this window, the environment to show first, and the data folder, as JSON
    /// for the panel.
    pub fn told(&self) -> Value {
        let environments: Vec<&str> =
            self.tasks.iter().map(|task| task.environment.as_str()).collect();
        let folder = self.hosted.folder();
        json!({ "environments": environments, "first": self.hosted.first().as_str(), "folder": folder })
    }

    /// The gateway of the named environment.
    ///
    /// # Errors
    /// The name is missing, or this window does not run that environment.
    pub fn by_name(&self, environment: Option<&str>) -> Result<&GatewayTask, CommandError> {
        let named = self.tasks.iter().find(|task| Some(task.environment.as_str()) == environment);
        named.ok_or_else(|| {
            let which = environment.unwrap_or("none").to_owned();
            CommandError::told("VALIDATION_FAILED", &Refusal::OtherEnvironment(which))
        })
    }

    /// Calls `act` when the system asks this program to end.
    pub fn on_signal(&self, act: impl FnOnce() + Send + 'static) {
        let Some(any) = self.tasks.first() else { return };
        any.runtime.spawn(async move {
            match Hosted::signalled().await {
                Ok(()) => act(),
                Err(error) => tracing::warn!(%error, "signals cannot be received: quit from the window or the tray"),
            }
        });
    }

    /// Stops all gateways, and waits until their last commits are on disk, or for [`STOP_WITHIN`].
    pub fn stop(&self) {
        let stopping: Vec<_> = self.tasks.iter().filter_map(GatewayTask::shut_down).collect();
        let Some(any) = self.tasks.first() else { return };
        let all = async {
            for task in stopping {
                // A task that panicked has stopped as well.
                let _ = task.await;
            }
        };
        if any.runtime.block_on(async { tokio::time::timeout(STOP_WITHIN, all).await }).is_err() {
            // No data is lost: answered calls are on disk, and the first look after the next start
            // finds the rest.
            tracing::warn!("a gateway did not stop in time: the program ends anyway");
        }
    }
}

impl GatewayTask {
    fn new(hosted: &Arc<Hosted>, environment: Environment) -> std::io::Result<Self> {
        Ok(Self {
            hosted: Arc::clone(hosted),
            environment,
            actor: Actor::panel(),
            runtime: Hosted::threads(environment)?,
            phase: Arc::new(Mutex::new(Phase::Opening)),
            run: Mutex::new(None),
        })
    }

    pub fn environment(&self) -> Environment {
        self.environment
    }

    /// Opens and runs the gateway, unless it runs already.
    pub fn start(&self, app: &AppHandle) {
        let mut run = locked(&self.run);
        if run.as_ref().is_some_and(|run| !run.task.is_finished()) {
            return;
        }
        *locked(&self.phase) = Phase::Opening;
        let shutdown = CancellationToken::new();
        let (hosted, phase, environment) =
            (Arc::clone(&self.hosted), Arc::clone(&self.phase), self.environment);
        let (app, stop) = (app.clone(), shutdown.clone());
        let task = self.runtime.spawn(async move {
            let (shell, stopped, opening) = (app.clone(), stop.clone(), Arc::clone(&phase));
            let opened = move |opened: &Arc<App>| {
                *locked(&opening) = Phase::Open(Arc::clone(opened));
                tokio::spawn(tell_changes(
                    shell.clone(),
                    Arc::clone(&opened.gateway),
                    stopped.clone(),
                ));
                tokio::spawn(alarm::follow(shell, Arc::downgrade(opened), stopped));
            };
            let served = stop.clone();
            // The gateway has its own task, so that a panic in it ends only this gateway.
            let serving =
                tokio::spawn(async move { hosted.serve(environment, opened, served).await });
            let ended = match serving.await {
                Ok(Ok(())) => Phase::Down(Refusal::GatewayStopped),
                Ok(Err(NotServing::Elsewhere(elsewhere))) => {
                    tracing::warn!(%elsewhere, "the gateway runs already, in another process");
                    Phase::Elsewhere(elsewhere)
                }
                Ok(Err(NotServing::Failed(why))) => {
                    tracing::error!(%why, "the gateway does not run");
                    Phase::Down(why)
                }
                Err(error) => {
                    tracing::error!(%error, "the gateway panicked");
                    Phase::Down(Refusal::GatewayFailed)
                }
            };
            *locked(&phase) = ended;
            // While the program quits, the tray and the window are not updated.
            if !stop.is_cancelled() {
                // The gateway ended by itself, so the tasks that follow it are stopped here.
                stop.cancel();
                standing::waits(&app, environment, Waiting::default());
                tell(&app, environment);
            }
        });
        *run = Some(Run { task, shutdown });
    }

    /// Passes a command of the panel to the gateway.
    ///
    /// # Errors
    /// The gateway's own error, or the reason why no gateway runs.
    pub async fn ask(&self, command: Value) -> Result<Value, CommandError> {
        let app = match &*locked(&self.phase) {
            Phase::Opening => {
                return Err(CommandError::told("GATEWAY_OPENING", &Refusal::GatewayOpening));
            }
            Phase::Elsewhere(elsewhere) => {
                return Err(CommandError::told("GATEWAY_ELSEWHERE", elsewhere));
            }
            Phase::Down(why) => return Err(CommandError::told("GATEWAY_DOWN", why)),
            Phase::Open(app) => Arc::clone(app),
        };
        let command: Command = serde_json::from_value(command)
            .map_err(|wrong| CommandError::new("VALIDATION_FAILED", &wrong))?;
        let actor = self.actor.clone();
        let answer = self.runtime.spawn(async move { dispatch(&app, command, &actor).await });
        answer.await.unwrap_or_else(|cause| {
            tracing::error!(error = %cause, "a command of the panel panicked");
            Err(CommandError::told("INTERNAL", &Refusal::CommandFailed))
        })
    }

    fn shut_down(&self) -> Option<JoinHandle<()>> {
        let Run { task, shutdown } = locked(&self.run).take()?;
        shutdown.cancel();
        Some(task)
    }
}

/// Sends the event [`CHANGED`] to the panel after each change while the gateway runs.
async fn tell_changes(app: AppHandle, gateway: Arc<Gateway>, stop: CancellationToken) {
    let (mut changes, environment) = (gateway.signals.changes.subscribe(), gateway.environment);
    // This task must not keep the gateway alive, because the gateway holds the lock of the data
    // directory.
    drop(gateway);
    loop {
        tell(&app, environment);
        tokio::select! {
            () = stop.cancelled() => return,
            changed = changes.changed() => if changed.is_err() { return },
        }
        tokio::time::sleep(CHANGED_AT_MOST_EVERY).await;
        changes.mark_unchanged();
    }
}

fn tell(app: &AppHandle, environment: Environment) {
    if let Err(error) = app.emit(CHANGED, environment.as_str()) {
        tracing::warn!(%error, "the panel cannot be told of a change");
    }
}

/// The data behind a poisoned lock is still valid.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
