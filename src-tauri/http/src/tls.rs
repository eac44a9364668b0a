//! Certificates for listening on other addresses than loopback: the merchant's own, or a
//! self-signed one.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tillgate_machine::private_file;
use tokio_rustls::TlsAcceptor;

/// Reason why TLS cannot be served.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum TlsError {
    /// A file cannot be read, or lacks the expected contents.
    #[error("{file} holds no {what} in PEM form: {reason}")]
    BadFile {
        file: PathBuf,
        /// The kind of contents that was expected.
        what: &'static str,
        /// Why it was refused.
        reason: String,
    },
    /// Certificate and key do not match.
    #[error("the certificate cannot be served: {0}")]
    Unusable(#[from] rustls::Error),
    /// No certificate could be made.
    #[error("no certificate could be made: {0}")]
    Making(#[from] rcgen::Error),
    /// The certificate that was made could not be written to its file.
    #[error("{file} cannot be written: {source}")]
    Writing {
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// TLS with a certificate chain and its key from PEM files.
///
/// # Errors
/// When a file cannot be read, or certificate and key do not match.
pub fn from_files(certificate: &Path, key: &Path) -> Result<TlsAcceptor, TlsError> {
    let bad = |file: &Path, what| {
        let file = file.to_owned();
        move |error: rustls::pki_types::pem::Error| TlsError::BadFile {
            file,
            what,
            reason: error.to_string(),
        }
    };
    let chain: Vec<_> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(bad(certificate, "certificate"))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(bad(key, "private key"))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, private)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// TLS with a self-signed certificate for `names`. It is made once and stored in `folder`, so that
/// clients that pin it keep trusting it.
///
/// # Errors
/// The certificate can neither be read nor made.
pub fn self_signed(folder: &Path, names: Vec<String>) -> Result<TlsAcceptor, TlsError> {
    let (certificate, key) = (folder.join("tls-certificate.pem"), folder.join("tls-key.pem"));
    // The certificate is written last. If it is missing, an earlier start was interrupted.
    if !certificate.exists() {
        let made = rcgen::generate_simple_self_signed(names)?;
        store(&key, &made.signing_key.serialize_pem())?;
        store(&certificate, &made.cert.pem())?;
    }
    from_files(&certificate, &key)
}

fn store(file: &Path, pem: &str) -> Result<(), TlsError> {
    private_file::replace(file, pem.as_bytes())
        .map_err(|source| TlsError::Writing { file: file.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_self_signed_certificate_is_made_once_with_a_private_key() {
        let folder = tempfile::tempdir().unwrap();
        // A file of an interrupted start may be readable by other users.
        let key = folder.path().join("tls-key.pem");
        fs::write(&key, "half a key").unwrap();
        #[cfg(unix)]
        fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        self_signed(folder.path(), vec!["localhost".to_owned()]).unwrap();
        let certificate = fs::read(folder.path().join("tls-certificate.pem")).unwrap();
        self_signed(folder.path(), vec!["other".to_owned()]).unwrap();
        assert_eq!(fs::read(folder.path().join("tls-certificate.pem")).unwrap(), certificate);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(&key).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn files_that_hold_no_certificate_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("nothing.pem");
        fs::write(&file, "nothing").unwrap();
        let refused = from_files(&file, &file).map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains("nothing.pem"), "{refused}");
    }
}
