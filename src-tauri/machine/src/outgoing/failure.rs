//! Sentences about failed requests, for people.

use std::error::Error;
use std::io::{self, ErrorKind};

use hyper_util::client::legacy;

use super::counted::{SpeaksTls, TooMuch};
use super::proxy::ProxyError;
use super::resolve::Unresolved;
use super::tls_fault::TlsFault;

/// Why a request has no answer.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum Failure {
    /// The proxy or the name of the server.
    #[error("{0}")]
    NoWay(String),
    #[error("no secure connection to {host}: {fault}")]
    Insecure { host: String, fault: TlsFault },
    #[error("the server at {0} speaks TLS at this port: write https:// in its address")]
    SpeaksTls(String),
    #[error("the server refuses connections")]
    Refused,
    #[error("the server closed the connection without an answer")]
    Closed,
    #[error("the server cannot be reached from here")]
    Unreachable,
    #[error("the server did not answer")]
    Silent,
    #[error("{0} without coming to an answer")]
    TooMuch(TooMuch),
    #[error("{0}")]
    Other(String),
}

/// The failure of a request to `url`. Its sentence tells nothing of the URL's path or query, which
/// may hold a secret.
pub fn failure(error: &legacy::Error, url: &str) -> Failure {
    let host = url::Url::parse(url)
        .ok()
        .and_then(|url| url.host_str().map(str::to_owned))
        .unwrap_or_default();
    let mut cause = error.source();
    let mut deepest = None;
    while let Some(error) = cause {
        if let Some(known) = known(error, &host) {
            return known;
        }
        deepest = Some(error.to_string());
        cause = error.source();
    }
    match deepest {
        Some(detail) if error.is_connect() => {
            Failure::Other(format!("no connection to {host}: {detail}"))
        }
        Some(detail) => Failure::Other(format!("the server's answer makes no sense: {detail}")),
        None => Failure::Other("the request could not be sent".to_owned()),
    }
}

/// The failure that this one of the causes stands for.
fn known(error: &(dyn Error + 'static), host: &str) -> Option<Failure> {
    let insecure = |error: &rustls::Error| Failure::Insecure {
        host: host.to_owned(),
        fault: TlsFault::from_error(error),
    };
    if let Some(proxy) = error.downcast_ref::<ProxyError>() {
        return Some(Failure::NoWay(proxy.to_string()));
    }
    if let Some(name) = error.downcast_ref::<Unresolved>() {
        return Some(Failure::NoWay(name.to_string()));
    }
    if let Some(tls) = error.downcast_ref() {
        return Some(insecure(tls));
    }
    let mut io = error.downcast_ref::<io::Error>();
    while let Some(error) = io {
        if let Some(failure) = of_kind(error.kind()) {
            return Some(failure);
        }
        // The `source` of an IO error skips the error that it wraps.
        let inner = error.get_ref();
        if let Some(tls) = inner.and_then(|inner| inner.downcast_ref()) {
            return Some(insecure(tls));
        }
        if inner.is_some_and(|inner| inner.is::<SpeaksTls>()) {
            return Some(Failure::SpeaksTls(host.to_owned()));
        }
        if let Some(too_much) = inner.and_then(|inner| inner.downcast_ref::<TooMuch>()) {
            return Some(Failure::TooMuch(*too_much));
        }
        io = inner.and_then(|inner| inner.downcast_ref());
    }
    let is_incomplete =
        error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_incomplete_message);
    is_incomplete.then_some(Failure::Closed)
}

const fn of_kind(kind: ErrorKind) -> Option<Failure> {
    match kind {
        ErrorKind::ConnectionRefused => Some(Failure::Refused),
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof => Some(Failure::Closed),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => Some(Failure::Unreachable),
        ErrorKind::TimedOut => Some(Failure::Silent),
        _ => None,
    }
}
