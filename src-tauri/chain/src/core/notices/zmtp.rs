//! The part of ZMTP 3.0, the protocol of ZeroMQ, for a subscriber to one topic: the mechanism NULL,
//! bounded frames, and messages of a few parts. This module does not interpret messages.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};

use crate::checks::sanitized::sanitized;

/// Bytes of a frame at most: a subscribed message has 41, a handshake some more.
const FRAME_MAX: u64 = 1_024;

/// Parts of a message at most.
const PARTS_MAX: usize = 4;

/// Commands before one message at most: Bitcoin Core sends none.
const COMMANDS_MAX: u32 = 200;

/// Bits of a frame's first byte.
const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;

const GREETING: usize = 64;

/// The position of the version in a greeting.
const MAJOR: usize = 10;

/// The position of the mechanism's name in a greeting.
const MECHANISM: std::ops::Range<usize> = 12..32;

#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum SubscriptionError {
    #[error("it hung up")]
    HungUp,
    #[error("the connection broke: {0}")]
    Broke(io::Error),
    #[error("the server does not speak ZMTP 3, the protocol of ZeroMQ")]
    NotZmtp,
    #[error("it requires the sign-in mechanism {0:?}, which Bitcoin Core does not use")]
    Mechanism(String),
    #[error("it is a socket of type {0:?}, not a publisher")]
    NoPublisher(String),
    #[error("it refuses: \"{0}\"")]
    Refused(String),
    #[error("it sent a frame of {0} bytes")]
    TooLong(u64),
    #[error("it sent a message of more than {PARTS_MAX} parts")]
    TooManyParts,
    #[error("it sent more than {COMMANDS_MAX} commands and no message")]
    TooManyCommands,
    #[error("it sent a frame that makes no sense")]
    Nonsense,
}

impl From<io::Error> for SubscriptionError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::HungUp,
            _ => Self::Broke(error),
        }
    }
}

/// A subscription to one topic of a publisher. It ends when it is dropped.
pub struct Subscription<S> {
    stream: BufReader<S>,
}

#[derive(Debug)]
pub struct Message {
    pub parts: Vec<Vec<u8>>,
    /// The number of commands before it.
    pub commands: u32,
}

struct Frame {
    is_command: bool,
    has_more: bool,
    body: Vec<u8>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Subscription<S> {
    /// Makes the handshake with the publisher at the other end of `stream`, and subscribes to
    /// `topic`, which has at most 200 bytes.
    pub async fn to(stream: S, topic: &[u8]) -> Result<Self, SubscriptionError> {
        let mut this = Self { stream: BufReader::new(stream) };
        this.stream.write_all(&greeting()).await?;
        this.stream.flush().await?;
        let mut theirs = [0; GREETING];
        this.stream.read_exact(&mut theirs).await?;
        check_greeting(&theirs)?;
        this.send(COMMAND, &[b"\x05READY\x0bSocket-Type\x00\x00\x00\x03SUB"]).await?;
        let ready = this.frame().await?;
        if !ready.is_command {
            return Err(SubscriptionError::Nonsense);
        }
        check_ready(&ready.body)?;
        this.send(0, &[&[1], topic]).await?;
        Ok(this)
    }

    /// Reads the next message. Do not cancel this future: the bytes already read would be lost.
    pub async fn next(&mut self) -> Result<Message, SubscriptionError> {
        let (mut parts, mut commands) = (Vec::new(), 0);
        loop {
            let frame = self.frame().await?;
            if frame.is_command {
                commands += 1;
                if commands > COMMANDS_MAX {
                    return Err(SubscriptionError::TooManyCommands);
                }
                // A refusal is the only command that matters to a subscriber.
                check_refusal(&frame.body)?;
                continue;
            }
            parts.push(frame.body);
            if !frame.has_more {
                return Ok(Message { parts, commands });
            }
            if parts.len() >= PARTS_MAX {
                return Err(SubscriptionError::TooManyParts);
            }
        }
    }

    async fn send(&mut self, flags: u8, body: &[&[u8]]) -> Result<(), SubscriptionError> {
        let body = body.concat();
        let length = u8::try_from(body.len()).map_err(|_| SubscriptionError::Nonsense)?;
        self.stream.write_all(&[&[flags, length], body.as_slice()].concat()).await?;
        Ok(self.stream.flush().await?)
    }

    async fn frame(&mut self) -> Result<Frame, SubscriptionError> {
        let flags = self.stream.read_u8().await?;
        let is_command = flags & COMMAND != 0;
        if flags & !(MORE | LONG | COMMAND) != 0 || (is_command && flags & MORE != 0) {
            return Err(SubscriptionError::Nonsense);
        }
        let length = if flags & LONG == 0 {
            u64::from(self.stream.read_u8().await?)
        } else {
            self.stream.read_u64().await?
        };
        let size = usize::try_from(length)
            .ok()
            .filter(|_| length <= FRAME_MAX)
            .ok_or(SubscriptionError::TooLong(length))?;
        let mut body = vec![0; size];
        self.stream.read_exact(&mut body).await?;
        Ok(Frame { is_command, has_more: flags & MORE != 0, body })
    }
}

/// Greets with version 3.0, which a newer publisher then uses too.
fn greeting() -> [u8; GREETING] {
    let mut greeting = [0; GREETING];
    let signature = [0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f];
    let said = signature.into_iter().chain([3, 0]).chain(*b"NULL");
    greeting.iter_mut().zip(said).for_each(|(byte, said)| *byte = said);
    greeting
}

fn check_greeting(theirs: &[u8; GREETING]) -> Result<(), SubscriptionError> {
    let is_signed =
        theirs.first() == Some(&0xff) && theirs.get(9).is_some_and(|byte| byte & 1 == 1);
    if !is_signed || theirs.get(MAJOR).is_none_or(|major| *major < 3) {
        return Err(SubscriptionError::NotZmtp);
    }
    let mechanism = theirs.get(MECHANISM).unwrap_or_default();
    let mechanism = mechanism.split(|byte| *byte == 0).next().unwrap_or_default();
    if mechanism == b"NULL" {
        Ok(())
    } else {
        Err(SubscriptionError::Mechanism(sanitized_bytes(mechanism)))
    }
}

/// A command has a name and a body. The body of READY lists properties, each a name and a value.
fn check_ready(command: &[u8]) -> Result<(), SubscriptionError> {
    check_refusal(command)?;
    let mut rest = command.strip_prefix(b"\x05READY").ok_or(SubscriptionError::Nonsense)?;
    while let Some((length, after)) = rest.split_first() {
        let (name, after) =
            after.split_at_checked(usize::from(*length)).ok_or(SubscriptionError::Nonsense)?;
        let (length, after) = after.split_first_chunk().ok_or(SubscriptionError::Nonsense)?;
        let length = usize::try_from(u32::from_be_bytes(*length))
            .map_err(|_| SubscriptionError::Nonsense)?;
        let (value, after) = after.split_at_checked(length).ok_or(SubscriptionError::Nonsense)?;
        if name.eq_ignore_ascii_case(b"Socket-Type") {
            return match value {
                b"PUB" | b"XPUB" => Ok(()),
                other => Err(SubscriptionError::NoPublisher(sanitized_bytes(other))),
            };
        }
        rest = after;
    }
    Err(SubscriptionError::Nonsense)
}

fn check_refusal(command: &[u8]) -> Result<(), SubscriptionError> {
    match command.strip_prefix(b"\x05ERROR") {
        Some(reason) => {
            Err(SubscriptionError::Refused(sanitized_bytes(reason.get(1..).unwrap_or_default())))
        }
        None => Ok(()),
    }
}

/// The publisher's words, which may not be valid UTF-8.
fn sanitized_bytes(words: &[u8]) -> String {
    sanitized(&String::from_utf8_lossy(words))
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;

    const READY: &[u8] = b"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03PUB";

    /// The outcome for a subscriber when a publisher sends `said` and hangs up, and the
    /// subscriber's own bytes.
    async fn heard(said: &[&[u8]]) -> (Result<Vec<Vec<u8>>, String>, Vec<u8>) {
        let (ours, mut theirs) = duplex(1 << 16);
        theirs.write_all(&said.concat()).await.unwrap();
        theirs.shutdown().await.unwrap();
        let heard = async {
            let mut subscription = Subscription::to(ours, b"sequence").await?;
            subscription.next().await.map(|message| message.parts)
        };
        let heard = heard.await.map_err(|unheard| unheard.to_string());
        let mut answered = Vec::new();
        theirs.read_to_end(&mut answered).await.unwrap();
        (heard, answered)
    }

    #[tokio::test]
    async fn a_message_in_several_parts_is_read_after_the_handshake() {
        let message = b"\x01\x03abc\x03\x00\x00\x00\x00\x00\x00\x00\x02de\x00\x00";
        let ping = b"\x04\x07\x04PING\x00\x0a";
        let (heard, answered) = heard(&[&greeting(), READY, ping, message]).await;
        assert_eq!(heard.unwrap(), [b"abc".to_vec(), b"de".to_vec(), Vec::new()]);
        let ready = b"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03SUB";
        assert_eq!(answered, [&greeting()[..], ready, b"\x00\x09\x01sequence"].concat());
    }

    #[tokio::test]
    async fn anything_but_a_zmtp_3_publisher_is_refused() {
        let curve = {
            let mut greeting = greeting();
            greeting[12..17].copy_from_slice(b"CURVE");
            greeting
        };
        let old = {
            let mut greeting = greeting();
            greeting[10] = 1;
            greeting
        };
        let huge = b"\x02\xff\xff\xff\xff\xff\xff\xff\xff";
        for (said, why) in [
            (&[&b"HTTP/1.1 400 Bad Request\r\n\r\n".repeat(4)[..]][..], "ZMTP 3"),
            (&[&old[..]], "ZMTP 3"),
            (&[&curve[..]], "CURVE"),
            (&[&greeting()[..20]], "hung up"),
            (&[&greeting()[..], b"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03REP"], "REP"),
            (&[&greeting()[..], b"\x04\x06\x05READY"], "makes no sense"),
            (
                &[&greeting()[..], b"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\xffPUB"],
                "makes no sense",
            ),
            (&[&greeting()[..], b"\x04\x0c\x05ERROR\x05go on"], "it refuses: \"go on\""),
            (&[&greeting()[..], READY, huge], "a frame of 18446744073709551615 bytes"),
            (&[&greeting()[..], b"\x06\x00\x00\x00\x00\x00\x01\x00\x00"], "a frame of 65536 bytes"),
            (&[&greeting()[..], READY, b"\x80\x00"], "makes no sense"),
            (&[&greeting()[..], READY, &b"\x01\x00".repeat(5)], "more than 4 parts"),
            (&[&greeting()[..], READY, &b"\x04\x00".repeat(201)], "more than 200 commands"),
            (&[&greeting()[..], READY, &b"\x04\x00".repeat(200)], "hung up"),
            (&[&greeting()[..], READY, b"\x00\x05abc"], "hung up"),
        ] {
            let (heard, _) = heard(said).await;
            let found = heard.expect_err(why);
            assert!(found.contains(why), "{found}");
        }
    }
}
