//! Runs a gateway for each environment beside the window, each on threads of its own, and passes the panel's commands
//! on. If a gateway cannot run, its part of the window says why. It never panics, and the other gateway goes on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tauri::{AppHandle, Emitter};
use tillgate_gateway::{Actor, App, Command, CommandError, Environment, Gateway, Hosted, NotServing, dispatch};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{alarm, standing};

/// Event for the panel, with the environment's name: something that it may show has changed.
const CHANGED: &str = "changed";

/// A burst of commits leads to one reading by the panel.
const CHANGED_AT_MOST_EVERY: Duration = Duration::from_millis(100);

/// Longest time for a stop; after it the program ends anyway. The gateway's own limit is 5 s.
const STOP_WITHIN: Duration = Duration::from_secs(10);

/// The gateways inside this process.
pub struct Gateways {
    hosted: Arc<Hosted>,
    tasks: Vec<GatewayTask>,
}

/// A gateway's life inside this process.
pub struct GatewayTask {
    hosted: Arc<Hosted>,
    environment: Environment,
    /// The actor for the audit log.
    actor: Actor,
    runtime: Runtime,
    phase: Arc<Mutex<Phase>>,
    /// Taken when the program stops.
    run: Mutex<Option<Run>>,
}

/// The state of the gateway.
enum Phase {
    Opening,
    Open(Arc<App>),
    /// Another process serves the same data; says what to do.
    Elsewhere(String),
    /// The reason why the gateway does not run, and what to do.
    Down(String),
}

struct Run {
    task: JoinHandle<()>,
    shutdown: CancellationToken,
}

impl Gateways {
    /// Prepares the threads, without opening a gateway.
    ///
    /// # Errors
    /// The system gives no threads.
    pub fn new(hosted: Hosted) -> std::io::Result<Self> {
        let hosted = Arc::new(hosted);
        let tasks = hosted.environments().into_iter().map(|environment| GatewayTask::new(&hosted, environment));
        let tasks = tasks.collect::<std::io::Result<Vec<_>>>()?;
        Ok(Self { hosted, tasks })
    }

    /// Opens and runs all of them.
    pub fn start(&self, app: &AppHandle) {
        for task in &self.tasks {
            task.start(app);
        }
    }

    /// The environments that run here, and the first one to show.
    pub fn told(&self) -> Value {
        let environments: Vec<&str> = self.tasks.iter().map(|task| task.environment.as_str()).collect();
        let folder = self.hosted.folder();
        json!({ "environments": environments, "first": self.hosted.first().as_str(), "folder": folder })
    }

    /// The gateway of the named environment. A command without an environment is refused.
    ///
    /// # Errors
    /// The name is missing, or this window does not run the environment.
    pub fn of(&self, environment: Option<&str>) -> Result<&GatewayTask, CommandError> {
        let named = self.tasks.iter().find(|task| Some(task.environment.as_str()) == environment);
        named.ok_or_else(|| {
            let which = environment.unwrap_or("none");
            error(
                "VALIDATION_FAILED",
                &format!("The command is for the environment {which}, which does not run in this window."),
            )
        })
    }

    /// Calls `act` when the system asks this program to end.
    pub fn on_signal(&self, act: impl FnOnce() + Send + 'static) {
        let Some(any) = self.tasks.first() else { return };
        any.runtime.spawn(async move {
            match Hosted::signalled().await {
                Ok(()) => act(),
                Err(error) => tracing::warn!(%error, "signals cannot be heard: quit from the window or the tray"),
            }
        });
    }

    /// Stops all of them, and waits until their last commits are on disk.
    pub fn stop(&self) {
        let stopping: Vec<_> = self.tasks.iter().filter_map(GatewayTask::shut_down).collect();
        let Some(any) = self.tasks.first() else { return };
        let all = async {
            for task in stopping {
                // A task that panicked has stopped.
                let _ = task.await;
            }
        };
        if any.runtime.block_on(async { tokio::time::timeout(STOP_WITHIN, all).await }).is_err() {
            // Data is not lost: answered calls are on disk, and the rest is found at the next start.
            tracing::warn!("a gateway did not stop in time; ending all the same");
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

    /// The environment of the gateway.
    pub fn environment(&self) -> Environment {
        self.environment
    }

    /// Opens the gateway and runs it, unless it is running.
    pub fn start(&self, app: &AppHandle) {
        let mut run = locked(&self.run);
        if run.as_ref().is_some_and(|run| !run.task.is_finished()) {
            return;
        }
        *locked(&self.phase) = Phase::Opening;
        let shutdown = CancellationToken::new();
        let (hosted, phase, environment) = (Arc::clone(&self.hosted), Arc::clone(&self.phase), self.environment);
        let (app, stop) = (app.clone(), shutdown.clone());
        let task = self.runtime.spawn(async move {
            let (shell, stopped, opening) = (app.clone(), stop.clone(), Arc::clone(&phase));
            let opened = move |opened: &Arc<App>| {
                *locked(&opening) = Phase::Open(Arc::clone(opened));
                tokio::spawn(tell_changes(shell.clone(), Arc::clone(&opened.gateway), stopped.clone()));
                tokio::spawn(alarm::follow(shell, Arc::downgrade(opened), stopped));
            };
            let served = stop.clone();
            // A task of its own: a panic in it is a reason why this gateway does not run.
            let serving = tokio::spawn(async move { hosted.serve(environment, opened, served).await });
            let ended = match serving.await {
                Ok(Ok(())) => Phase::Down("The gateway was stopped.".to_owned()),
                Ok(Err(NotServing::Elsewhere(elsewhere))) => {
                    tracing::warn!(elsewhere, "the gateway runs already, in another process");
                    Phase::Elsewhere(elsewhere)
                }
                Ok(Err(NotServing::Failed(why))) => {
                    tracing::error!(%why, "the gateway does not run");
                    Phase::Down(why)
                }
                Err(error) => {
                    tracing::error!(%error, "the gateway broke off");
                    Phase::Down("The gateway broke off. Its log on standard error says why.".to_owned())
                }
            };
            *locked(&phase) = ended;
            // A program that ends needs no message; its tray and its window end too.
            if !stop.is_cancelled() {
                // Stops the tasks that still follow the gateway, which ended by itself.
                stop.cancel();
                standing::waits(&app, environment, None);
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

    fn shut_down(&self) -> Option<JoinHandle<()>> {
        let Run { task, shutdown } = locked(&self.run).take()?;
        shutdown.cancel();
        Some(task)
    }
}

/// Tells the panel of changes while the gateway runs.
async fn tell_changes(app: AppHandle, gateway: Arc<Gateway>, stop: CancellationToken) {
    let (mut changes, environment) = (gateway.changes.subscribe(), gateway.environment);
    // This task must not keep the gateway, and its lock on the data, alive.
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

fn error(error_type: &str, message: &str) -> CommandError {
    CommandError::of(error_type, &message)
}

/// The data behind a poisoned lock is sound.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
