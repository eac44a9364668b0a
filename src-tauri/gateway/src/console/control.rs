//! The control socket, by which the command line talks to a running gateway: one JSON object a line each way,
//! a [`Command`] in, `{"ok": view}` or `{"error": CommandError}` out. The socket's file is its owner's alone;
//! nobody else can speak through it.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};

use super::Command;
use super::views::CommandError;

/// A request's line; the longest is a logo being set.
const REQUEST_MAX: u64 = 256 * 1_024;

/// An answer's line; the longest is a page of 500 deliveries.
const ANSWER_MAX: u64 = 64 * 1_024 * 1_024;

/// A request that is not whole by then is given up.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Ok(Value),
    Error(CommandError),
}

/// Asks a running gateway over its socket; `None` when none listens.
///
/// # Errors
/// What the gateway answered, or that it broke off.
#[cfg(unix)]
pub async fn ask(socket: &Path, command: &Command) -> Option<Result<Value, CommandError>> {
    let stream = tokio::net::UnixStream::connect(socket).await.ok()?;
    Some(match exchange(stream, command).await {
        Ok(Answer::Ok(view)) => Ok(view),
        Ok(Answer::Error(error)) => Err(error),
        Err(error) => Err(CommandError {
            error_type: "GATEWAY_BROKE_OFF".to_owned(),
            message: format!("the running gateway did not answer: {error}"),
            field: None,
        }),
    })
}

async fn exchange(stream: impl AsyncRead + AsyncWrite + Unpin, command: &Command) -> io::Result<Answer> {
    let mut stream = BufReader::new(stream);
    write_line(&mut stream, command).await?;
    let line = read_line(&mut stream, ANSWER_MAX).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
    // By way of a value: numbers of arbitrary precision are lost on serde's shorter way (see `Command`).
    let answer: Value = serde_json::from_slice(&line)?;
    Ok(serde_json::from_value(answer)?)
}

/// The listening side.
#[cfg(unix)]
pub use listener::ControlSocket;

#[cfg(unix)]
mod listener {
    use std::path::PathBuf;
    use std::sync::Arc;

    use tokio::net::{UnixListener, UnixStream};
    use tokio::sync::Semaphore;
    use tokio_util::sync::CancellationToken;
    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::console::dispatch;
    use crate::gateway::Gateway;

    /// Callers at the same time; more wait for their turn.
    const CALLERS_MAX: usize = 32;

    /// A bound socket; its file goes with it.
    #[derive(Debug)]
    pub struct ControlSocket {
        listener: UnixListener,
        file: PathBuf,
    }

    impl ControlSocket {
        /// Binds the socket, in place of one that a crash left behind. The caller holds the data directory's lock,
        /// so nobody listens on that one.
        ///
        /// # Errors
        /// When the file cannot be made, for example because its path is longer than a socket's may be.
        pub fn bind(file: PathBuf) -> io::Result<Self> {
            match std::fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
            let listener = UnixListener::bind(&file)?;
            // The folder is 0700, so nobody could have connected before this.
            std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
            Ok(Self { listener, file })
        }

        /// Answers until `shutdown`, and finishes what was asked before it.
        pub async fn serve(self, gateway: Arc<Gateway>, shutdown: CancellationToken) {
            let turns = Arc::new(Semaphore::new(CALLERS_MAX));
            let callers = TaskTracker::new();
            loop {
                let Ok(turn) = Arc::clone(&turns).acquire_owned().await else { break };
                let stream = tokio::select! {
                    () = shutdown.cancelled() => break,
                    accepted = self.listener.accept() => accepted,
                };
                let stream = match stream {
                    Ok((stream, _)) => stream,
                    Err(error) => {
                        tracing::error!(%error, "the control socket cannot take a caller");
                        // Out of file descriptors, most likely: it must not spin.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        continue;
                    }
                };
                let (gateway, shutdown) = (Arc::clone(&gateway), shutdown.clone());
                callers.spawn(async move {
                    if let Err(error) = answer_all(stream, &gateway, &shutdown).await {
                        tracing::debug!(%error, "a caller of the control socket went away");
                    }
                    drop(turn);
                });
            }
            callers.close();
            callers.wait().await;
        }
    }

    impl Drop for ControlSocket {
        fn drop(&mut self) {
            // One that stays is removed at the next start.
            let _ = std::fs::remove_file(&self.file);
        }
    }

    async fn answer_all(stream: UnixStream, gateway: &Arc<Gateway>, shutdown: &CancellationToken) -> io::Result<()> {
        let mut stream = BufReader::new(stream);
        loop {
            let line = tokio::select! {
                () = shutdown.cancelled() => return Ok(()),
                line = tokio::time::timeout(REQUEST_TIMEOUT, read_line(&mut stream, REQUEST_MAX)) => line??,
            };
            let Some(line) = line else { return Ok(()) };
            let answer = match serde_json::from_slice::<Value>(&line).and_then(serde_json::from_value::<Command>) {
                Ok(command) => match dispatch(gateway, command, "cli").await {
                    Ok(view) => Answer::Ok(view),
                    Err(error) => Answer::Error(error),
                },
                Err(error) => Answer::Error(CommandError {
                    error_type: "VALIDATION_FAILED".to_owned(),
                    message: format!("this is no command: {error}"),
                    field: None,
                }),
            };
            write_line(&mut stream, &answer).await?;
        }
    }
}

/// One line without its end, `None` at the end of the stream.
async fn read_line(stream: &mut (impl AsyncBufRead + Unpin), longest: u64) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    stream.take(longest).read_until(b'\n', &mut line).await?;
    match line.pop() {
        Some(b'\n') => Ok(Some(line)),
        None => Ok(None),
        Some(_) if u64::try_from(line.len()).is_ok_and(|length| length + 1 < longest) => {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
        Some(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "the line is too long")),
    }
}

async fn write_line(stream: &mut (impl AsyncWrite + Unpin), line: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    stream.write_all(&bytes).await?;
    stream.flush().await
}
