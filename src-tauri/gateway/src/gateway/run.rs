//! Running a gateway: what listens, and the loops. Each loop's pace is its own module's.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::listen::Listening;
use super::{Gateway, Listen, ListenError, OpenError, Served};
use crate::console::control::ControlSocket;
use crate::{http, notifier, rates, watcher};

/// How long the loops may take to end. Well below the five seconds in which the program must stop: what a slow
/// machine takes to close the databases comes on top.
const STOP_WITHIN: Duration = Duration::from_secs(3);

/// Why a gateway does not run (any more).
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// What the first start makes could not be made.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It cannot listen.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The command line could not reach it.
    #[error("the control socket {file} cannot be made: {source}; a shorter --data-dir may help")]
    ControlSocket {
        /// The socket's file.
        file: std::path::PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A part of it ended although nobody asked it to.
    #[error("{0} ended unexpectedly: the log says more; start Tillgate again")]
    Ended(&'static str),
}

impl Gateway {
    /// Serves and runs every loop until `shutdown`. `ready` is called once everything listens, with the addresses.
    ///
    /// # Errors
    /// When it cannot listen, or a part of it fails for good.
    pub async fn run(
        self: Arc<Self>,
        listen: Listen,
        ready: impl FnOnce(&Served),
        shutdown: CancellationToken,
    ) -> Result<(), RunError> {
        let Listening { listeners, tls, served } = Listening::open(&self, listen).await?;
        self.ensure_wallet().await?;
        let served = self.served.get_or_init(|| served).clone();
        let socket = self.data_dir.socket();
        let control =
            ControlSocket::bind(socket.clone()).map_err(|source| RunError::ControlSocket { file: socket, source })?;
        tokio::select! {
            biased;
            // A backend that takes its time keeps nobody from stopping; nothing was promised yet.
            () = shutdown.cancelled() => return Ok(()),
            () = self.start_up() => {}
        }

        // A child: a part that ends by itself stops the others, not what the caller runs beside the gateway.
        let stop = shutdown.child_token();
        let mut parts = JoinSet::new();
        parts.spawn(named("the watcher", watcher::run(Arc::clone(&self), stop.clone())));
        parts.spawn(named("the rates' refresh", rates::run(Arc::clone(&self), stop.clone())));
        parts.spawn(named("the notifier", notifier::run(Arc::clone(&self), stop.clone())));
        for (listener, surface) in listeners {
            let server = http::serve(Arc::clone(&self), listener, surface, tls.clone(), stop.clone());
            parts.spawn(named("the HTTP server", async {
                if let Err(error) = server.await {
                    tracing::error!(%error, "the HTTP server failed");
                }
            }));
        }
        parts.spawn(named("the control socket", control.serve(Arc::clone(&self), stop.clone())));
        ready(&served);
        tracing::info!(environment = %self.environment, api = served.api, pages = served.pages, "ready");

        let ended = tokio::select! {
            () = shutdown.cancelled() => None,
            ended = parts.join_next() => ended,
        };
        stop.cancel();
        if tokio::time::timeout(STOP_WITHIN, async { while parts.join_next().await.is_some() {} }).await.is_err() {
            tracing::warn!("some work did not end in time and is broken off; the next start takes it up again");
            parts.shutdown().await;
        }
        match ended {
            None => Ok(()),
            Some(Ok(part)) if shutdown.is_cancelled() => {
                tracing::debug!(part, "ended");
                Ok(())
            }
            Some(Ok(part)) => Err(RunError::Ended(part)),
            Some(Err(error)) => {
                tracing::error!(%error, "a part of the gateway failed");
                Err(RunError::Ended("a part of the gateway"))
            }
        }
    }

    /// Rates and one look, so that a gateway that says it is ready can take payments.
    async fn start_up(self: &Arc<Self>) {
        if let Err(error) = self.rates.refresh_once(&self.store, self.clock.now()).await {
            tracing::error!(%error, "the exchange rates could not be stored");
        }
        // The status keeps the reason of a failure, logs it once, and the loop looks again.
        let _ = watcher::watch_once(self).await;
    }
}

async fn named(part: &'static str, work: impl Future<Output = ()>) -> &'static str {
    work.await;
    part
}
