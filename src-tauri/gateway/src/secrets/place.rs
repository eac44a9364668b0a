//! Which place for secrets an environment has.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tillgate_domain::id::Id;

use super::plain_file::PlainFile;
use super::{Secret, SecretError, SecretStore};
use crate::environment::Environment;

/// Where the people who run the gateway want its secrets.
#[derive(Debug, Clone)]
pub enum SecretsPlace {
    /// In the OS keyring.
    Keyring,
    /// In a file, encrypted with a passphrase.
    File {
        /// The file.
        file: PathBuf,
        /// The passphrase.
        passphrase: Secret,
    },
}

/// Opens the place for the secrets of one installation and environment; `folder` is the environment's. The sandbox falls
/// back to a file there.
///
/// # Errors
/// When there is none fit for the environment, with the remedy.
pub fn open(
    _place: &SecretsPlace,
    environment: Environment,
    _installation: &Id,
    folder: &Path,
) -> Result<Arc<dyn SecretStore>, SecretError> {
    match environment {
        Environment::Test => Ok(Arc::new(PlainFile::new(folder.join("secrets.json")))),
        Environment::Production => Err(SecretError(
            "production keeps its secrets in the OS keyring, and none can be reached: start one, or keep them in an encrypted file with --secrets-file"
                .to_owned(),
        )),
    }
}
