//! The control socket, by which the command line talks to a running gateway. Each message is one JSON object on a
//! line: a [`Command`] in, `{"ok": view}` or `{"error": CommandError}` out. Only the owner can open the socket's file.
//! Both sides ask the kernel for the user at the other end, and accept only the user that runs this program.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};

use super::command::Command;
use super::error::CommandError;
#[cfg(unix)]
use crate::machine::trust;

/// Bytes of a request's line; setting a logo takes the longest.
const REQUEST_MAX: u64 = 256 * 1_024;

/// Bytes of an answer's line; a page of 500 deliveries is the longest.
const ANSWER_MAX: u64 = 64 * 1_024 * 1_024;

/// Time for a request to arrive in full.
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
/// The gateway's own error; a connection that broke off; another user who listens there.
#[cfg(unix)]
pub(crate) async fn ask(socket: &Path, command: &Command) -> Option<Result<Value, CommandError>> {
    ask_of(trust::own_uid(), socket, command).await
}

/// Asks over the socket if this user listens at its other end.
#[cfg(unix)]
async fn ask_of(user: u32, socket: &Path, command: &Command) -> Option<Result<Value, CommandError>> {
    let stream = tokio::net::UnixStream::connect(socket).await.ok()?;
    match stream.peer_cred() {
        Ok(peer) if peer.uid() == user => {}
        Ok(peer) => return Some(Err(foreign(socket, &format!("user {}", peer.uid())))),
        Err(error) => return Some(Err(foreign(socket, &format!("an unknown user ({error})")))),
    }
    Some(match exchange(stream, command).await {
        Ok(Answer::Ok(view)) => Ok(view),
        Ok(Answer::Error(error)) => Err(error),
        Err(error) => {
            Err(CommandError::of("GATEWAY_BROKE_OFF", &format_args!("the running gateway did not answer: {error}")))
        }
    })
}

#[cfg(unix)]
fn foreign(socket: &Path, who: &str) -> CommandError {
    let what = format!(
        "at {} listens a program of {who}, not yours: nothing was asked of it; name a --data-dir of your own",
        socket.display()
    );
    CommandError::of("GATEWAY_UNTRUSTED", &what)
}

async fn exchange(stream: impl AsyncRead + AsyncWrite + Unpin, command: &Command) -> io::Result<Answer> {
    let mut stream = BufReader::new(stream);
    write_line(&mut stream, command).await?;
    let line = read_line(&mut stream, ANSWER_MAX).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
    // Parsed by way of a value: serde's direct way loses numbers of arbitrary precision (see `Command`).
    let answer: Value = serde_json::from_slice(&line)?;
    Ok(serde_json::from_value(answer)?)
}

/// The listening side.
#[cfg(unix)]
pub(crate) use listener::ControlSocket;

#[cfg(unix)]
mod listener {
    use std::path::PathBuf;
    use std::sync::Arc;

    use tokio::net::{UnixListener, UnixStream};
    use tokio::sync::Semaphore;
    use tokio_util::sync::CancellationToken;
    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::app::App;
    use crate::console::actor::Actor;
    use crate::console::command::dispatch;
    use crate::field_errors::VALIDATION_FAILED;

    /// Callers served at the same time; more wait for their turn.
    const CALLERS_MAX: usize = 32;

    /// A bound socket; its file goes with it.
    #[derive(Debug)]
    pub(crate) struct ControlSocket {
        listener: UnixListener,
        file: PathBuf,
        /// The user whose requests are accepted.
        pub(super) user: u32,
        /// The actor, for the audit.
        actor: Actor,
    }

    impl ControlSocket {
        /// Binds the socket, in place of one that a crash left behind. The caller holds the data directory's lock,
        /// so nobody listens on that one.
        ///
        /// # Errors
        /// When the file cannot be made, for example because its path is longer than a socket's may be.
        pub(crate) fn bind(file: PathBuf) -> io::Result<Self> {
            match std::fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
            let listener = UnixListener::bind(&file)?;
            // The folder is 0700, so nobody could have connected before this.
            std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
            Ok(Self { listener, file, user: trust::own_uid(), actor: Actor::command_line() })
        }

        /// Answers until `shutdown`, and finishes the requests that came before it.
        pub(crate) async fn serve(self, app: Arc<App>, shutdown: CancellationToken) {
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
                        // Probably out of file descriptors: the loop must not spin.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        continue;
                    }
                };
                if !is_of(&stream, self.user) {
                    tracing::warn!("another user called the control socket, and was not heard");
                    continue;
                }
                let (app, shutdown, actor) = (Arc::clone(&app), shutdown.clone(), self.actor.clone());
                callers.spawn(async move {
                    if let Err(error) = answer_all(stream, &app, &actor, &shutdown).await {
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
            // A file that stays is removed at the next start.
            let _ = std::fs::remove_file(&self.file);
        }
    }

    /// Whether the caller is this user.
    fn is_of(stream: &UnixStream, user: u32) -> bool {
        stream.peer_cred().is_ok_and(|peer| peer.uid() == user)
    }

    async fn answer_all(
        stream: UnixStream,
        app: &Arc<App>,
        actor: &Actor,
        shutdown: &CancellationToken,
    ) -> io::Result<()> {
        let mut stream = BufReader::new(stream);
        loop {
            let line = tokio::select! {
                () = shutdown.cancelled() => return Ok(()),
                line = tokio::time::timeout(REQUEST_TIMEOUT, read_line(&mut stream, REQUEST_MAX)) => line??,
            };
            let Some(line) = line else { return Ok(()) };
            let answer = match serde_json::from_slice::<Value>(&line).and_then(serde_json::from_value::<Command>) {
                Ok(command) => match dispatch(app, command, actor).await {
                    Ok(view) => Answer::Ok(view),
                    Err(error) => Answer::Error(error),
                },
                Err(error) => {
                    Answer::Error(CommandError::of(VALIDATION_FAILED, &format_args!("this is no command: {error}")))
                }
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

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::console::keys::ListKeys;
    use crate::testing::World;

    /// A user who does not run these tests.
    fn somebody_else() -> u32 {
        trust::own_uid() + 1
    }

    /// Asks a gateway that accepts only the user `heard`, and believes only the user `believed`.
    async fn asked(heard: u32, believed: u32) -> Result<Value, CommandError> {
        let world = World::new().await;
        let file = world.gateway.data_dir.socket();
        let mut socket = ControlSocket::bind(file.clone()).unwrap();
        socket.user = heard;
        let stop = CancellationToken::new();
        let served = tokio::spawn(socket.serve(std::sync::Arc::clone(&world.app), stop.clone()));
        let answer = ask_of(believed, &file, &ListKeys {}.into()).await.expect("it listens");
        stop.cancel();
        served.await.unwrap();
        answer
    }

    #[tokio::test]
    async fn a_command_of_another_user_is_not_heard() {
        let us = trust::own_uid();
        assert!(asked(us, us).await.is_ok());
        assert_eq!(asked(somebody_else(), us).await.unwrap_err().error_type, "GATEWAY_BROKE_OFF");
    }

    #[tokio::test]
    async fn an_answer_of_another_user_is_not_believed() {
        let refused = asked(trust::own_uid(), somebody_else()).await.unwrap_err();
        assert_eq!(refused.error_type, "GATEWAY_UNTRUSTED");
        assert!(refused.message.contains("--data-dir"), "{refused}");
    }
}
