//! Sentences about failed requests, for people.

use std::error::Error;
use std::io::ErrorKind;

use hyper_util::client::legacy;

use super::counted::{NoSuchName, TooMuch};
use super::proxy::ProxyError;

/// The failure, for people. It tells nothing of the URL's path or query, which may hold a secret.
pub(crate) fn sentence(error: &legacy::Error, url: &str) -> String {
    let host = url::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    let mut cause = error.source();
    let mut deepest = None;
    while let Some(error) = cause {
        if let Some(proxy) = error.downcast_ref::<ProxyError>() {
            return proxy.to_string();
        }
        if error.is::<NoSuchName>() {
            return format!("the name {host} cannot be found");
        }
        if let Some(tls) = error.downcast_ref::<rustls::Error>() {
            return format!("no secure connection to {host}: {tls}");
        }
        let mut io = error.downcast_ref::<std::io::Error>();
        while let Some(error) = io {
            if let Some(sentence) = io_sentence(error.kind()) {
                return sentence.to_owned();
            }
            // The `source` of an IO error skips the error that it wraps.
            let inner = error.get_ref();
            if let Some(tls) = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                return format!("no secure connection to {host}: {tls}");
            }
            if let Some(too_much) = inner.and_then(|inner| inner.downcast_ref::<TooMuch>()) {
                return format!("{too_much} without coming to an answer");
            }
            io = inner.and_then(|inner| inner.downcast_ref());
        }
        if error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_incomplete_message) {
            return "the server closed the connection without an answer".to_owned();
        }
        deepest = Some(error.to_string());
        cause = error.source();
    }
    match deepest {
        Some(detail) if error.is_connect() => format!("no connection to {host}: {detail}"),
        Some(detail) => format!("the server's answer makes no sense: {detail}"),
        None => "the request could not be sent".to_owned(),
    }
}

const fn io_sentence(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::ConnectionRefused => Some("the server refuses connections"),
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof => Some("the server closed the connection without an answer"),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => Some("the server cannot be reached from here"),
        ErrorKind::TimedOut => Some("the server did not answer"),
        _ => None,
    }
}
