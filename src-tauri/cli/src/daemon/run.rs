//! Runs a gateway: its listeners and its loops.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tillgate_console::control::ControlSocket;
use tillgate_gateway::App;
use tillgate_gateway::backup;
use tillgate_gateway::gateway::{Gateway, Served};
use tillgate_gateway::open::{OpenError, correct_future_times, ensure_wallet};
use tillgate_http::{self as http, Http, Limits};
use tillgate_machine::environment::Environment;
use tillgate_machine::{ballast, clock, descriptors};
use tokio::task::{self, JoinSet};
use tokio_util::sync::CancellationToken;

use super::listen::{Listen, ListenError, Listening};

/// Time for the loops to end. It is well below the five seconds for the whole program, because
/// closing the databases comes after.
const STOP_WITHIN: Duration = Duration::from_secs(3);

/// Longest wait for the first look before the gateway reports that it is ready. A look after a
/// month of absence takes longer, and questions about payments need not wait for it.
const FIRST_LOOK_WITHIN: Duration = Duration::from_secs(1);

/// Interval between checks for a wallet, in case no change was announced.
const LOOK_FOR_WALLET_EVERY: Duration = Duration::from_secs(5);

/// Interval at which a missing ballast is made again if the disk has room.
const BALLAST_EVERY: Duration = Duration::from_secs(5);

/// Reason why a gateway does not run, or stopped running.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum RunError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(
        "the control socket {file} cannot be created: {source}; a shorter path in --data-dir may help"
    )]
    ControlSocket {
        /// The socket's file.
        file: std::path::PathBuf,
        source: io::Error,
    },
    #[error("{0} ended unexpectedly: the log says more; start Tillgate again")]
    Ended(&'static str),
}

/// Serves and runs every loop until `shutdown`. Once all listeners are open, `ready` is called with
/// the addresses.
///
/// # Errors
/// When the gateway cannot listen, or one of its tasks or threads ends.
pub async fn run(
    app: Arc<App>,
    listen: Listen,
    ready: impl FnOnce(&Served),
    shutdown: CancellationToken,
) -> Result<(), RunError> {
    let gateway = &app.gateway;
    let (descriptors, share) = (descriptors::raise_limit(), listen.gateways.max(1));
    let Listening { listeners, tls, served } = Listening::open(gateway, listen).await?;
    ensure_wallet(gateway).await?;
    let served = gateway.served.get_or_init(|| served).clone();
    let socket = gateway.machine.data_dir.socket();
    let control = ControlSocket::bind(socket.clone())
        .map_err(|source| RunError::ControlSocket { file: socket, source })?;
    tokio::select! {
        biased;
        // A slow backend must not delay a stop.
        () = shutdown.cancelled() => return Ok(()),
        () = first_rates(gateway) => {}
    }
    correct_future_times(gateway).await;
    // With a child token, a part that fails stops the other parts, but not the caller's other work.
    let stop = shutdown.child_token();
    let mut parts = Parts::default();
    parts.start("the watcher", watch(Arc::clone(&app), stop.clone()));
    tokio::select! {
        biased;
        () = shutdown.cancelled() => {
            parts.end(&stop).await;
            return Ok(());
        }
        part = parts.next_to_end() => return Err(RunError::Ended(part.unwrap_or("the watcher"))),
        () = first_look(gateway) => {}
    }
    parts.start("the sender of payouts", send(Arc::clone(&app), stop.clone()));
    parts.start("the rates' refresh", refresh_rates(Arc::clone(gateway), stop.clone()));
    parts.start("the ballast", keep_ballast(Arc::clone(gateway), stop.clone()));
    parts.start("the nightly backups", backup::run(Arc::clone(gateway), stop.clone()));
    parts.start("the notifier", Arc::clone(&app.notifier).run(stop.clone()));
    let http = Http::new(Arc::clone(&app), Limits::with_descriptors(descriptors / share));
    for (listener, surface) in listeners {
        let server = http::serve(Arc::clone(&http), listener, surface, tls.clone(), stop.clone());
        parts.start("the HTTP server", async {
            if let Err(error) = server.await {
                tracing::error!(%error, "the HTTP server failed");
            }
        });
    }
    parts.start("the control socket", control.serve(Arc::clone(&app), stop.clone()));
    ready(&served);
    tracing::info!(environment = %gateway.environment, api = served.api, pages = served.pages, "ready");

    let ended = tokio::select! {
        () = shutdown.cancelled() => None,
        part = parts.next_to_end() => part,
        thread = end_of_a_thread(gateway) => Some(thread),
    };
    parts.end(&stop).await;
    match ended {
        Some(part) if !shutdown.is_cancelled() => Err(RunError::Ended(part)),
        Some(_) | None => Ok(()),
    }
}

/// The tasks of a running gateway.
#[derive(Default)]
struct Parts {
    running: JoinSet<()>,
    names: HashMap<task::Id, &'static str>,
}

impl Parts {
    fn start(&mut self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        self.names.insert(self.running.spawn(work).id(), name);
    }

    /// Waits until a task ends, and returns its name; `None` if no task is left.
    async fn next_to_end(&mut self) -> Option<&'static str> {
        let id = match self.running.join_next_with_id().await? {
            Ok((id, ())) => id,
            Err(error) => {
                tracing::error!(%error, "a part of the gateway failed");
                error.id()
            }
        };
        Some(self.names.get(&id).copied().unwrap_or("a part of the gateway"))
    }

    /// Stops all tasks, and waits for their end for a limited time.
    async fn end(&mut self, stop: &CancellationToken) {
        stop.cancel();
        if tokio::time::timeout(STOP_WITHIN, async { while self.next_to_end().await.is_some() {} })
            .await
            .is_err()
        {
            tracing::warn!(
                "some work did not end in time and is cancelled; the next start resumes it"
            );
            self.running.shutdown().await;
        }
    }
}

/// Loads rates, so that a ready gateway can take payments.
async fn first_rates(gateway: &Gateway) {
    if takes_payments(gateway) {
        gateway.refresh_rates_soon().await;
    }
}

/// Waits for the first look, so that a ready gateway can take payments. The wait for a server is
/// limited to [`FIRST_LOOK_WITHIN`]; the wait for the sandbox is not.
async fn first_look(gateway: &Gateway) {
    let ended = gateway.backend.last_look.ended_once();
    if gateway.backend.sandbox.is_some() {
        ended.await;
    } else if tokio::time::timeout(FIRST_LOOK_WITHIN, ended).await.is_err() {
        tracing::info!("ready before the first look at the chain has ended");
    }
}

async fn watch(app: Arc<App>, shutdown: CancellationToken) {
    app.watcher.run(shutdown).await;
}

async fn send(app: Arc<App>, shutdown: CancellationToken) {
    app.sender.run(&app.watcher, shutdown).await;
}

/// Whether payments can be made. Until then no source of rates is asked, so that an unused desktop
/// program stays unknown to the sources.
fn takes_payments(gateway: &Gateway) -> bool {
    gateway.environment == Environment::Test || gateway.wallet.get().is_some()
}

/// Keeps the rates fresh until `shutdown`.
pub async fn refresh_rates(gateway: Arc<Gateway>, shutdown: CancellationToken) {
    let mut changes = gateway.signals.changes.subscribe();
    while !takes_payments(&gateway) {
        tokio::select! {
            () = shutdown.cancelled() => return,
            _ = changes.changed() => {}
            () = tokio::time::sleep(LOOK_FOR_WALLET_EVERY) => {}
        }
    }
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            refreshed = gateway.refresh_rates() => {
                if let Err(error) = refreshed {
                    tracing::error!(%error, "the last known exchange rates could not be stored");
                }
            }
        }
        // The wait is counted from the time at which each source was asked, because the machine may
        // have slept since.
        let next_at = gateway.market.rates.next_round_at(gateway.time.now());
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = gateway.market.rates.rules_changed() => {}
            () = clock::sleep_until(gateway.time.clock.as_ref(), next_at) => {}
        }
    }
}

/// Keeps the ballast on the disk until `shutdown`.
async fn keep_ballast(gateway: Arc<Gateway>, shutdown: CancellationToken) {
    loop {
        let keeping = Arc::clone(&gateway);
        if let Err(error) = task::spawn_blocking(move || ballast::keep(&keeping.machine.disk)).await
        {
            tracing::error!(%error, "the task that keeps the ballast failed");
        }
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = tokio::time::sleep(BALLAST_EVERY) => {}
        }
    }
}

/// Waits until a thread of the database or the wallet ends, and returns its name.
async fn end_of_a_thread(gateway: &Gateway) -> &'static str {
    let derivation = async {
        // The wallet may be made, restored or replaced while the gateway runs.
        let mut changes = gateway.signals.changes.subscribe();
        loop {
            let wallet = gateway.wallet.get();
            let ended = async {
                match &wallet {
                    Some(wallet) => wallet.addresses.ended().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                name = ended => return name,
                // The gateway holds the sender, so the channel stays open.
                _ = changes.changed() => {}
            }
        }
    };
    tokio::select! {
        name = gateway.store.ended() => name,
        name = derivation => name,
    }
}
