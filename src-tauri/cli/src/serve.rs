//! `tillgate serve`: runs the gateway until SIGTERM or Ctrl-C.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tillgate_gateway::App;
use tillgate_gateway::gateway::Served;
use tillgate_gateway::open::{self, OpenError, Options};
use tillgate_gateway::settings::Override;
use tillgate_machine::data_dir::{self, DataDirError};
use tokio_util::sync::CancellationToken;

use super::args::{Common, ServeArgs};
use super::call;
use super::failure::Failure;
use super::options::options;
use super::output::print;
use crate::daemon::{self, Listen, Tls};

/// Time to wait for a command that holds the data directory for a moment.
const WAIT_FOR_COMMAND: Duration = Duration::from_secs(3);

/// Time between two tries.
const TRY_EVERY: Duration = Duration::from_millis(50);

/// The line that says that the program serves; the parent process waits for it.
#[derive(Serialize)]
struct Ready<'a> {
    event: &'a str,
    environment: &'a str,
    api: &'a str,
    pages: &'a str,
}

/// The program `tillgate serve`: says when it is ready, ends by SIGTERM or Ctrl-C.
pub async fn run(common: Common, serve: ServeArgs) -> Result<(), Failure> {
    // The handlers are installed first, so that no signal ends the program while it opens the
    // gateway.
    let shutdown = on_signal()?;
    let options = options(&common)?;
    // `common` holds a passphrase, which only the start needs.
    drop(common);
    until_stopped(options, serve, 1, print_ready, shutdown).await
}

/// Prints the line that says that this gateway serves.
pub fn print_ready(app: &Arc<App>, served: &Served) {
    let environment = app.gateway.environment.as_str();
    let ready = Ready { event: "ready", environment, api: &served.api, pages: &served.pages };
    let printed = serde_json::to_string(&ready).map_err(std::io::Error::from);
    if let Err(error) = printed.and_then(|line| print(&format!("{line}\n"))) {
        tracing::warn!(%error, "the ready line cannot be printed");
    }
}

/// Opens the gateway, one of `gateways` in this process, and serves until `shutdown`.
pub async fn until_stopped(
    mut options: Options,
    serve: ServeArgs,
    gateways: usize,
    ready: impl FnOnce(&Arc<App>, &Served),
    shutdown: CancellationToken,
) -> Result<(), Failure> {
    if let Some(value) = serve.public_url.clone() {
        options
            .overrides
            .insert("publicUrl".to_owned(), Override { value, by: "--public-url".to_owned() });
    }
    let environment = options.environment;
    let Some(app) = until(&shutdown, open(options)).await else { return Ok(()) };
    let app = app?;
    let listen = Listen {
        api: serve
            .listen
            .unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, environment.default_port()))),
        pages: serve.pages_listen,
        tls: match (serve.tls_cert, serve.tls_key) {
            (Some(certificate), Some(key)) => Tls::Files { certificate, key },
            (None, None) | (Some(_), None) | (None, Some(_)) if serve.tls_self_signed => {
                Tls::SelfSigned
            }
            (None, None) | (Some(_), None) | (None, Some(_)) => Tls::None,
        },
        gateways: u64::try_from(gateways).unwrap_or(1),
    };
    let opened = Arc::clone(&app);
    daemon::run(app, listen, move |served| ready(&opened, served), shutdown).await?;
    tracing::info!("stopped");
    Ok(())
}

/// Opens the gateway, and waits for a command that holds the lock for a moment. A running gateway
/// is an error at once: it answers on the socket.
async fn open(options: Options) -> Result<Arc<App>, OpenError> {
    let base = data_dir::base(options.data_dir.as_deref())?;
    let socket = data_dir::socket(&data_dir::env_dir(&base, options.environment));
    let mut waited = Duration::ZERO;
    loop {
        match open::open(options.clone()).await {
            Err(OpenError::DataDir(in_use @ DataDirError::InUse { .. })) => {
                if waited >= WAIT_FOR_COMMAND || call::is_running(&socket).await {
                    return Err(in_use.into());
                }
                tokio::time::sleep(TRY_EVERY).await;
                waited += TRY_EVERY;
            }
            opened => return opened,
        }
    }
}

async fn until<T>(shutdown: &CancellationToken, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        () = shutdown.cancelled() => None,
        done = work => Some(done),
    }
}

/// A token that SIGTERM or Ctrl-C cancels.
pub fn on_signal() -> std::io::Result<CancellationToken> {
    let token = CancellationToken::new();
    let cancel = token.clone();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        super::ending::leave_to_others();
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            tracing::info!("stopping");
            cancel.cancel();
        });
    }
    #[cfg(not(unix))]
    tokio::spawn(async move {
        // If Ctrl-C cannot be caught, the system ends the program, which is safe at any moment.
        if tokio::signal::ctrl_c().await.is_ok() {
            tracing::info!("stopping");
            cancel.cancel();
        }
    });
    Ok(token)
}
