//! Verifies certificates by the authorities that the system trusts, and tells self-signed ones
//! apart. The systems' verifiers call such a certificate one of an unknown authority, or one that
//! no server may have.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};

/// The fault of a refused certificate whose subject issued it.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
#[error("the certificate is self-signed")]
pub(super) struct SelfSigned;

/// A verifier whose refusals tell self-signed certificates apart.
#[derive(Debug)]
pub struct Verifier<V>(V);

/// A verifier by the authorities that the system trusts.
///
/// # Errors
/// When the system's certificates cannot be read.
pub fn by_system(
    provider: Arc<CryptoProvider>,
) -> Result<Verifier<rustls_platform_verifier::Verifier>, Error> {
    rustls_platform_verifier::Verifier::new(provider).map(Verifier)
}

impl<V: ServerCertVerifier> ServerCertVerifier for Verifier<V> {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verdict =
            self.0.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verdict {
            Err(Error::InvalidCertificate(
                CertificateError::UnknownIssuer | CertificateError::Other(_),
            )) if is_self_issued(end_entity) == Some(true) => Err(Error::InvalidCertificate(
                CertificateError::Other(OtherError(Arc::new(SelfSigned))),
            )),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// Whether a certificate names one party as issuer and subject (RFC 5280, 4.1); `None` if it cannot
/// be parsed.
fn is_self_issued(certificate: &[u8]) -> Option<bool> {
    const VERSION: u8 = 0xa0;
    let (_, certificate, _) = element(certificate)?;
    let (_, mut rest, _) = element(certificate)?;
    if rest.first() == Some(&VERSION) {
        rest = element(rest)?.2;
    }
    // The serial number and the algorithm stand before the issuer, the validity between issuer and
    // subject.
    let (_, _, rest) = element(rest)?;
    let (_, _, rest) = element(rest)?;
    let (_, issuer, rest) = element(rest)?;
    let (_, _, rest) = element(rest)?;
    let (_, subject, _) = element(rest)?;
    Some(issuer == subject)
}

/// Splits DER after its first element: that element's tag and content, and the rest.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = der.split_first()?;
    let (length, rest) = rest.split_first()?;
    let (length, rest) = match length {
        0..=0x7f => (usize::from(*length), rest),
        0x81..=0x83 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(length & 0x7f))?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

#[cfg(test)]
mod tests;
