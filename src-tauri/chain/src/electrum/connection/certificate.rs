//! Accepts a server's certificate from a public authority, or one that the merchant pinned. Most
//! Electrum servers use a self-signed certificate, so only a pinned certificate identifies them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use parking_lot::Mutex;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use sha2::{Digest as _, Sha256};
use tillgate_machine::outgoing::{Verifier, by_system};

/// The SHA-256 of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

/// A text that is not a SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error("64 hexadecimal digits, with colons between pairs or without")]
pub struct NotAFingerprint;

/// The certificate that was last refused.
#[derive(Debug, Clone, Default)]
pub struct LastRefused(Arc<Mutex<Option<Fingerprint>>>);

/// Accepts the pinned certificates, and those of authorities that the system trusts.
#[derive(Debug)]
struct PinningVerifier {
    pinned: Vec<Fingerprint>,
    provider: Arc<CryptoProvider>,
    public: Verifier<rustls_platform_verifier::Verifier>,
    last_refused: LastRefused,
}

/// TLS that accepts the pinned certificates and those that the system trusts. `last_refused`
/// receives a refused certificate.
///
/// # Errors
/// When the system's certificates cannot be read.
pub fn tls(pinned: &[Fingerprint], last_refused: &LastRefused) -> Result<ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = PinningVerifier {
        pinned: pinned.to_vec(),
        public: by_system(Arc::clone(&provider))?,
        provider: Arc::clone(&provider),
        last_refused: last_refused.clone(),
    };
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

impl LastRefused {
    /// Returns and clears the refused certificate.
    pub fn take(&self) -> Option<Fingerprint> {
        self.0.lock().take()
    }
}

impl Fingerprint {
    fn of(certificate: &CertificateDer<'_>) -> Self {
        Self(Sha256::digest(certificate.as_ref()).into())
    }
}

impl FromStr for Fingerprint {
    type Err = NotAFingerprint;

    /// 64 hexadecimal digits, with colons between pairs as `openssl` prints them, or without.
    fn from_str(text: &str) -> Result<Self, NotAFingerprint> {
        let pairs: Vec<&str> = text.split(':').collect();
        let digits = if pairs.len() == 1 || pairs.iter().all(|pair| pair.len() == 2) {
            pairs.concat()
        } else {
            return Err(NotAFingerprint);
        };
        let mut bytes = [0; 32];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| NotAFingerprint)?;
        Ok(Self(bytes))
    }
}

impl fmt::Display for Fingerprint {
    /// The form of `openssl`, for easy comparison.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, byte) in self.0.iter().enumerate() {
            let colon = if number == 0 { "" } else { ":" };
            write!(f, "{colon}{byte:02X}")?;
        }
        Ok(())
    }
}

impl ServerCertVerifier for PinningVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let found = Fingerprint::of(end_entity);
        if self.pinned.contains(&found) {
            return Ok(ServerCertVerified::assertion());
        }
        let verdict = self.public.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        if verdict.is_err() {
            *self.last_refused.0.lock() = Some(found);
        }
        verdict
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
