//! The control socket, through which the command line sends commands to a running gateway. A
//! connection carries one request and one answer, each a line of JSON. The request is a
//! [`Command`]; the answer is `{"ok": view}` or `{"error": CommandError}`. The buffers of both are
//! wiped, because a line may hold the words of a wallet.
//!
//! The socket's file has mode 0600. Both sides also ask the kernel for the user at the other end.
//! They accept only the user who runs this program.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite,
    AsyncWriteExt as _, BufReader,
};
use zeroize::Zeroizing;

use super::command::Command;
use super::error::CommandError;
#[cfg(unix)]
use tillgate_machine::trust;

/// The most bytes of a request's line. The longest request sets a logo.
const REQUEST_MAX: u64 = 256 * 1_024;

/// The most bytes of an answer's line. The longest answer is a page of 500 deliveries.
const ANSWER_MAX: u64 = 64 * 1_024 * 1_024;

/// Time for a request to arrive in full.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Ok(Value),
    Error(CommandError),
}

/// Sends a command to a running gateway; `None` if no gateway listens on the socket.
///
/// # Errors
/// The gateway returned an error, the connection broke, or another user's program listens on the
/// socket.
#[cfg(unix)]
pub async fn ask(socket: &Path, command: &Command) -> Option<Result<Value, CommandError>> {
    ask_of(trust::own_uid(), socket, command).await
}

/// Sends a command if a program of this user listens on the socket.
#[cfg(unix)]
async fn ask_of(
    user: u32,
    socket: &Path,
    command: &Command,
) -> Option<Result<Value, CommandError>> {
    let stream = tokio::net::UnixStream::connect(socket).await.ok()?;
    match stream.peer_cred() {
        Ok(peer) if peer.uid() == user => {}
        Ok(peer) => return Some(Err(foreign(socket, &format!("user {}", peer.uid())))),
        Err(error) => return Some(Err(foreign(socket, &format!("an unknown user ({error})")))),
    }
    Some(match exchange(stream, command).await {
        Ok(Answer::Ok(view)) => Ok(view),
        Ok(Answer::Error(error)) => Err(error),
        Err(error) => Err(CommandError::new(
            "GATEWAY_BROKE_OFF",
            &format_args!("the running gateway did not answer: {error}"),
        )),
    })
}

#[cfg(unix)]
fn foreign(socket: &Path, who: &str) -> CommandError {
    let what = format!(
        "a program of {who} listens at {}, not one of yours: the command was not sent; name a --data-dir of your own",
        socket.display()
    );
    CommandError::new("GATEWAY_UNTRUSTED", &what)
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    command: &Command,
) -> io::Result<Answer> {
    let mut stream = BufReader::new(stream);
    write_line(&mut stream, command).await?;
    let line = read_line(&mut stream, ANSWER_MAX).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
    // Parsed from a value, because numbers of arbitrary precision do not survive serde's buffer for
    // tagged enums.
    let answer: Value = serde_json::from_slice(&line)?;
    Ok(serde_json::from_value(answer)?)
}

#[cfg(unix)]
pub use listener::ControlSocket;

#[cfg(unix)]
mod listener {
    use std::path::PathBuf;
    use std::sync::Arc;

    use tillgate_machine::field_errors::VALIDATION_FAILED;
    use tokio::net::{UnixListener, UnixStream};
    use tokio::sync::Semaphore;
    use tokio_util::sync::CancellationToken;
    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::actor::Actor;
    use crate::command::dispatch;
    use tillgate_gateway::App;

    /// The most callers served at the same time. Further callers wait.
    const CALLERS_MAX: usize = 32;

    /// A bound socket. Dropping it removes its file.
    #[derive(Debug)]
    pub struct ControlSocket {
        listener: UnixListener,
        file: PathBuf,
        /// The user whose requests are accepted.
        pub user: u32,
        /// The actor, for the audit.
        actor: Actor,
    }

    impl ControlSocket {
        /// Binds the socket, and removes the file that a crash left behind. The caller holds the
        /// data directory's lock, so no other process listens on that file.
        ///
        /// # Errors
        /// The file cannot be created, for example because its path is too long for a socket.
        pub fn bind(file: PathBuf) -> io::Result<Self> {
            match std::fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
            let listener = UnixListener::bind(&file)?;
            // The folder has mode 0700, so no other user could connect before this line.
            std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
            Ok(Self { listener, file, user: trust::own_uid(), actor: Actor::command_line() })
        }

        /// Answers requests until `shutdown`, and completes those that have arrived in full.
        pub async fn serve(self, app: Arc<App>, shutdown: CancellationToken) {
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
                        tracing::error!(%error, "the control socket cannot accept a connection");
                        // The cause is probably a lack of file descriptors, so the loop waits
                        // before the next try.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        continue;
                    }
                };
                if !is_of(&stream, self.user) {
                    tracing::warn!(
                        "a connection of another user to the control socket was refused"
                    );
                    continue;
                }
                let (app, shutdown, actor) =
                    (Arc::clone(&app), shutdown.clone(), self.actor.clone());
                callers.spawn(async move {
                    if let Err(error) = answer_one(stream, &app, &actor, &shutdown).await {
                        tracing::debug!(%error, "the connection to a caller of the control socket failed");
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
            // If this fails, the next start removes the file.
            let _ = std::fs::remove_file(&self.file);
        }
    }

    /// Whether a program of this user is at the other end.
    fn is_of(stream: &UnixStream, user: u32) -> bool {
        stream.peer_cred().is_ok_and(|peer| peer.uid() == user)
    }

    async fn answer_one(
        stream: UnixStream,
        app: &Arc<App>,
        actor: &Actor,
        shutdown: &CancellationToken,
    ) -> io::Result<()> {
        let mut stream = BufReader::new(stream);
        let line = tokio::select! {
            () = shutdown.cancelled() => return Ok(()),
            line = tokio::time::timeout(REQUEST_TIMEOUT, read_line(&mut stream, REQUEST_MAX)) => line??,
        };
        let Some(line) = line else { return Ok(()) };
        let command =
            serde_json::from_slice::<Value>(&line).and_then(serde_json::from_value::<Command>);
        drop(line);
        let answer = match command {
            Ok(command) => match dispatch(app, command, actor).await {
                Ok(view) => Answer::Ok(view),
                Err(error) => Answer::Error(error),
            },
            Err(error) => Answer::Error(CommandError::new(
                VALIDATION_FAILED,
                &format_args!("the request is not a known command: {error}"),
            )),
        };
        write_line(&mut stream, &answer).await
    }
}

/// Reads one line, without its line feed; `None` at the end of the stream.
async fn read_line(
    stream: &mut (impl AsyncBufRead + Unpin),
    longest: u64,
) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    let mut line = Zeroizing::new(Vec::new());
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

async fn write_line(
    stream: &mut (impl AsyncWrite + Unpin),
    line: &impl Serialize,
) -> io::Result<()> {
    let mut bytes = Zeroizing::new(serde_json::to_vec(line)?);
    bytes.push(b'\n');
    stream.write_all(&bytes).await?;
    stream.flush().await
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::keys::ListKeys;
    use tillgate_gateway::testing::World;

    /// The id of a user other than the one who runs these tests.
    fn somebody_else() -> u32 {
        trust::own_uid() + 1
    }

    /// Asks a gateway that accepts only the user `heard`. The client accepts only the user
    /// `believed`.
    async fn asked(heard: u32, believed: u32) -> Result<Value, CommandError> {
        let world = World::new().await;
        let file = world.gateway.machine.data_dir.socket();
        let mut socket = ControlSocket::bind(file.clone()).unwrap();
        socket.user = heard;
        let stop = CancellationToken::new();
        let served = tokio::spawn(socket.serve(std::sync::Arc::clone(&world.app), stop.clone()));
        let answer =
            ask_of(believed, &file, &ListKeys {}.into()).await.expect("the gateway listens");
        stop.cancel();
        served.await.unwrap();
        answer
    }

    #[tokio::test]
    async fn a_command_of_another_user_is_refused() {
        let us = trust::own_uid();
        assert!(asked(us, us).await.is_ok());
        assert_eq!(asked(somebody_else(), us).await.unwrap_err().error_type, "GATEWAY_BROKE_OFF");
    }

    #[tokio::test]
    async fn an_answer_of_another_user_is_refused() {
        let refused = asked(trust::own_uid(), somebody_else()).await.unwrap_err();
        assert_eq!(refused.error_type, "GATEWAY_UNTRUSTED");
        assert!(refused.message.contains("--data-dir"), "{refused}");
    }
}
