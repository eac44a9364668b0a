//! Reasons why there is no secure connection, in plain words.

use std::error::Error as _;
use std::io;

use rustls::{AlertDescription, CertificateError as C, Error};
use tillgate_told::Told;

use super::verifier::SelfSigned;

/// The fault of a TLS handshake.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Told)]
pub enum TlsFault {
    /// The server's certificate is not accepted.
    #[error("its certificate {0}")]
    Certificate(CertificateFault),
    /// The server's bytes are not TLS.
    #[error("it speaks no TLS at this port")]
    NoTls,
    /// The server and this program have no version or cipher in common.
    #[error("it offers neither TLS 1.2 nor TLS 1.3 with a usable cipher")]
    NothingInCommon,
    /// Any other fault, in the library's words.
    #[error("{0}")]
    Other(String),
}

/// The fault of a certificate. Its text is a predicate of the certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Told)]
pub enum CertificateFault {
    #[error("is self-signed, and not by an authority that this machine trusts")]
    SelfSigned,
    #[error(
        "was issued by an authority that this machine does not know, or the server leaves out the certificate in between"
    )]
    UnknownIssuer,
    #[error("is for another name")]
    OtherName,
    #[error("has expired")]
    Expired,
    #[error("is not valid yet; check this machine's clock")]
    NotValidYet,
    #[error("was revoked by its authority")]
    Revoked,
    #[error("cannot be used for a server")]
    Unusable,
}

impl TlsFault {
    pub fn from_error(error: &Error) -> Self {
        match error {
            Error::InvalidCertificate(error) => {
                Self::Certificate(CertificateFault::from_error(error))
            }
            Error::InvalidMessage(_) => Self::NoTls,
            Error::PeerIncompatible(_)
            | Error::AlertReceived(
                AlertDescription::HandshakeFailure | AlertDescription::ProtocolVersion,
            ) => Self::NothingInCommon,
            other => Self::Other(other.to_string()),
        }
    }

    /// The TLS fault in `error`, if TLS caused it.
    pub fn behind(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().map(Self::from_error)
    }
}

impl CertificateFault {
    fn from_error(error: &C) -> Self {
        match error {
            C::Expired | C::ExpiredContext { .. } => Self::Expired,
            C::NotValidYet | C::NotValidYetContext { .. } => Self::NotValidYet,
            C::NotValidForName | C::NotValidForNameContext { .. } => Self::OtherName,
            C::Revoked => Self::Revoked,
            C::UnknownIssuer => Self::UnknownIssuer,
            C::Other(other) if other.source().is_some_and(|source| source.is::<SelfSigned>()) => {
                Self::SelfSigned
            }
            _ => Self::Unusable,
        }
    }
}
