//! The part of HTTP/1.1 that a test's server needs. Requests have a body of known length; answers
//! are whole, late, cut off or endless.

use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

use crate::listener::Stop;

/// Limit of a request's head in bytes.
const HEAD_MAX: usize = 16 * 1_024;

/// Limit of a request's body in bytes.
const BODY_MAX: usize = 32 * 1_024 * 1_024;

/// A client's request.
pub(crate) struct Request {
    /// The header `Authorization`.
    pub authorization: Option<String>,
    pub body: Vec<u8>,
    /// Size of head and body.
    pub bytes: u64,
}

/// The manner of sending an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Manner {
    /// Whole and at once.
    Whole,
    /// Whole, after a while.
    After(Duration),
    /// A byte at a time, with this pause between bytes.
    Dripping(Duration),
    /// Half of it, before the connection is closed.
    CutOff,
    /// Endless, as long as the client reads.
    Endless,
    /// Endless `100 Continue` heads, never followed by the answer.
    Continues,
}

/// A server's answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// Status such as `200 OK`.
    pub status: &'static str,
    /// Headers, without the length.
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    /// JSON, with this status.
    pub(crate) fn json(status: &'static str, body: Vec<u8>) -> Self {
        Self { status, headers: vec![("Content-Type", "application/json".to_owned())], body }
    }
}

/// Reads one request; `None` if the client is gone or the server stops.
pub(crate) fn read_request(stream: &mut impl Read, stop: &Stop) -> Option<Request> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at.checked_add(4)?;
        }
        if bytes.len() > HEAD_MAX {
            return None;
        }
        read_some(stream, stop, &mut bytes)?;
    };
    let head = String::from_utf8(bytes.get(..head_end)?.to_vec()).ok()?;
    let header = |name: &str| {
        head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let length: usize = header("content-length").unwrap_or_default().parse().unwrap_or(0);
    if length > BODY_MAX {
        return None;
    }
    let mut body = bytes.split_off(head_end);
    while body.len() < length {
        read_some(stream, stop, &mut body)?;
    }
    let bytes = u64::try_from(head_end.saturating_add(body.len())).unwrap_or(0);
    Some(Request { authorization: header("authorization"), body, bytes })
}

fn read_some(stream: &mut impl Read, stop: &Stop, into: &mut Vec<u8>) -> Option<()> {
    let mut buffer = [0; 64 * 1_024];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return None,
            Ok(count) => {
                into.extend_from_slice(buffer.get(..count)?);
                return Some(());
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if stop.within(Duration::ZERO) {
                    return None;
                }
            }
            Err(_) => return None,
        }
    }
}

/// Sends an answer and returns its size in bytes. After an error the connection cannot be used
/// again.
pub(crate) fn write(
    stream: &mut impl Write,
    stop: &Stop,
    answer: &Answer,
    manner: Manner,
) -> io::Result<u64> {
    let Answer { status, headers, body } = answer;
    let headers: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n");
    let bytes = u64::try_from(head.len().saturating_add(length)).unwrap_or(0);
    match manner {
        Manner::Whole => all(stream, &[head.as_bytes(), body].concat())?,
        Manner::After(wait) => {
            if stop.within(wait) {
                return Err(ErrorKind::ConnectionAborted.into());
            }
            all(stream, &[head.as_bytes(), body].concat())?;
        }
        Manner::Dripping(between) => {
            all(stream, head.as_bytes())?;
            for byte in body {
                all(stream, &[*byte])?;
                if stop.within(between) {
                    return Err(ErrorKind::ConnectionAborted.into());
                }
            }
        }
        Manner::CutOff => {
            all(stream, head.as_bytes())?;
            all(stream, body.get(..length / 2).unwrap_or(body))?;
            return Err(ErrorKind::ConnectionAborted.into());
        }
        Manner::Endless => {
            all(
                stream,
                format!("HTTP/1.1 {status}\r\n{headers}Transfer-Encoding: chunked\r\n\r\n")
                    .as_bytes(),
            )?;
            let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
            while !stop.within(Duration::ZERO) {
                all(stream, chunk.as_bytes())?;
            }
            return Err(ErrorKind::ConnectionAborted.into());
        }
        Manner::Continues => {
            let head = format!("HTTP/1.1 100 Continue\r\nX-Filler: {}\r\n\r\n", "x".repeat(0xf000));
            while !stop.within(Duration::ZERO) {
                all(stream, head.as_bytes())?;
            }
            return Err(ErrorKind::ConnectionAborted.into());
        }
    }
    Ok(bytes)
}

/// Writes and flushes. Over TLS, written bytes are not sent before a flush.
fn all(stream: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes)?;
    stream.flush()
}
