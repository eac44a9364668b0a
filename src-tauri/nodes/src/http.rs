//! As much of HTTP/1.1 as a test's server needs: requests with a body of known length, and answers that are whole, late,
//! cut off or without an end.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::listener::Stop;

/// Bytes of a request's head at most.
const HEAD_MAX: usize = 16 * 1_024;

/// Bytes of a request's body at most.
const BODY_MAX: usize = 32 * 1_024 * 1_024;

/// What a client asks.
pub(crate) struct Request {
    /// The header `Authorization`, if there is one.
    pub authorization: Option<String>,
    pub body: Vec<u8>,
}

/// How an answer comes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Manner {
    /// Whole and at once.
    Whole,
    /// Whole, after a while.
    After(Duration),
    /// A byte at a time, with this between them.
    Dripping(Duration),
    /// Half of it, and then the connection is closed.
    CutOff,
    /// It goes on without an end, as far as the client takes it.
    Endless,
}

/// Reads one request; `None` where the client is gone or the server ends.
pub(crate) fn read(stream: &mut TcpStream, stop: &Stop) -> Option<Request> {
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
    Some(Request { authorization: header("authorization"), body })
}

fn read_some(stream: &mut TcpStream, stop: &Stop, into: &mut Vec<u8>) -> Option<()> {
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

/// Answers; an error means that the connection is of no more use.
pub(crate) fn write(stream: &mut TcpStream, stop: &Stop, status: &str, body: &[u8], manner: Manner) -> io::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n");
    match manner {
        Manner::Whole => stream.write_all(&[head.as_bytes(), body].concat()),
        Manner::After(wait) => {
            if stop.within(wait) {
                return Err(ErrorKind::ConnectionAborted.into());
            }
            stream.write_all(&[head.as_bytes(), body].concat())
        }
        Manner::Dripping(between) => {
            stream.write_all(head.as_bytes())?;
            for byte in body {
                stream.write_all(&[*byte])?;
                if stop.within(between) {
                    return Err(ErrorKind::ConnectionAborted.into());
                }
            }
            Ok(())
        }
        Manner::CutOff => {
            stream.write_all(head.as_bytes())?;
            stream.write_all(body.get(..length / 2).unwrap_or(body))?;
            Err(ErrorKind::ConnectionAborted.into())
        }
        Manner::Endless => {
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
            stream.write_all(head.as_bytes())?;
            let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
            while !stop.within(Duration::ZERO) {
                stream.write_all(chunk.as_bytes())?;
            }
            Err(ErrorKind::ConnectionAborted.into())
        }
    }
}
