//! Reasons why there is no secure connection, in plain words.

use std::error::Error as _;
use std::fmt;
use std::io;

use rustls::{AlertDescription, CertificateError as C, Error};

use super::verifier::SelfSigned;

/// The fault of a TLS handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TlsFault {
    /// The server's certificate is not accepted.
    Certificate(CertificateFault),
    /// The server's bytes are not TLS.
    NoTls,
    /// The server and this program have no version or cipher in common.
    NothingInCommon,
    /// Any other fault, in the library's words.
    Other(String),
}

/// The fault of a certificate. Its text is a predicate of the certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CertificateFault {
    SelfSigned,
    UnknownIssuer,
    OtherName,
    Expired,
    NotValidYet,
    Revoked,
    Unusable,
}

impl TlsFault {
    pub(crate) fn of(error: &Error) -> Self {
        match error {
            Error::InvalidCertificate(error) => Self::Certificate(CertificateFault::of(error)),
            Error::InvalidMessage(_) => Self::NoTls,
            Error::PeerIncompatible(_)
            | Error::AlertReceived(AlertDescription::HandshakeFailure | AlertDescription::ProtocolVersion) => {
                Self::NothingInCommon
            }
            other => Self::Other(other.to_string()),
        }
    }

    /// The TLS fault in `error`, if TLS caused it.
    pub(crate) fn behind(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().map(Self::of)
    }
}

impl CertificateFault {
    fn of(error: &C) -> Self {
        match error {
            C::Expired | C::ExpiredContext { .. } => Self::Expired,
            C::NotValidYet | C::NotValidYetContext { .. } => Self::NotValidYet,
            C::NotValidForName | C::NotValidForNameContext { .. } => Self::OtherName,
            C::Revoked => Self::Revoked,
            C::UnknownIssuer => Self::UnknownIssuer,
            C::Other(other) if other.source().is_some_and(|source| source.is::<SelfSigned>()) => Self::SelfSigned,
            _ => Self::Unusable,
        }
    }
}

impl fmt::Display for CertificateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SelfSigned => "is self-signed, and not by an authority that this machine trusts",
            Self::UnknownIssuer => {
                "was issued by an authority that this machine does not know, or the server leaves out the certificate in between"
            }
            Self::OtherName => "is for another name",
            Self::Expired => "has expired",
            Self::NotValidYet => "is not valid yet; check this machine's clock",
            Self::Revoked => "was revoked by its authority",
            Self::Unusable => "cannot be used for a server",
        })
    }
}

impl fmt::Display for TlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificate(fault) => write!(f, "its certificate {fault}"),
            Self::NoTls => f.write_str("it speaks no TLS at this port"),
            Self::NothingInCommon => f.write_str("it offers neither TLS 1.2 nor TLS 1.3 with a usable cipher"),
            Self::Other(words) => f.write_str(words),
        }
    }
}
