//! Reads a sealed file: checks all of it, unpacks it, and examines its content before it is used.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use bitcoin::Network;
use tillgate_chain::backend::BackendError;
use tillgate_machine::clock::machine_now;
use tillgate_machine::data_dir::{DATABASE, SANDBOX};
use tillgate_machine::environment::Environment;
use tillgate_machine::secrets::{Purpose, Secret};
use tillgate_sandbox::Sandbox;
use tillgate_store::copy::{damage_of_copy, migrate_copy, read_copy};
use tillgate_store::keychains::Keychain;
use tillgate_store::{Reader, StoreError};

use super::contents::{self, Manifest, Secrets};
use super::error::BackupError;
use super::key::{BackupKey, KeyRecipe};
use super::sealed::{Closed, FileId};
use crate::notifications::holds_key;
use crate::wallet::{Descriptors, PublicKeychains};

/// Called between two pieces of work. `false` stops the work.
pub type GoesOn<'a> = &'a dyn Fn() -> bool;

/// A sealed file with its key.
pub struct SealedFile<'a> {
    path: &'a Path,
    key: BackupKey,
    pub file_id: FileId,
}

impl<'a> SealedFile<'a> {
    /// Reads the first line of a file and passes its recipe to `key`. A wrong key is noticed only
    /// when the content is read.
    pub fn with_key(
        path: &'a Path,
        key: impl FnOnce(&KeyRecipe) -> Result<BackupKey, BackupError>,
    ) -> Result<Self, BackupError> {
        let closed = closed(path)?;
        Ok(Self { path, key: key(&closed.recipe)?, file_id: closed.file_id })
    }

    /// Reads the whole file and returns its manifest.
    pub fn read_through(&self, goes_on: GoesOn<'_>) -> Result<Manifest, BackupError> {
        let mut content = closed(self.path)?.open(&self.key);
        let (manifest, _secrets) = contents::read_head(&mut content)?;
        manifest.files.iter().try_for_each(|part| contents::skip(&mut content, part, goes_on))?;
        contents::ends(&mut content)?;
        Ok(manifest)
    }

    /// Unpacks the databases into `folder`.
    pub fn unpack(
        &self,
        folder: &Path,
        goes_on: GoesOn<'_>,
    ) -> Result<(Manifest, Secrets), BackupError> {
        let mut content = closed(self.path)?.open(&self.key);
        let (manifest, secrets) = contents::read_head(&mut content)?;
        manifest
            .files
            .iter()
            .try_for_each(|part| contents::unpack(&mut content, part, folder, goes_on))?;
        contents::ends(&mut content)?;
        Ok((manifest, secrets))
    }
}

/// The id of the backup in `path`. It is readable without a key.
pub fn file_id(path: &Path) -> Result<FileId, BackupError> {
    Ok(closed(path)?.file_id)
}

fn closed(path: &Path) -> Result<Closed<BufReader<File>>, BackupError> {
    // The kind is checked first: opening a pipe would wait for a writer.
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => BackupError::NoSuchFile(path.to_owned()),
        _ => BackupError::at("opening", path)(error),
    })?;
    if !metadata.is_file() {
        return Err(BackupError::NotABackup);
    }
    Closed::read(BufReader::new(File::open(path).map_err(BackupError::at("opening", path))?))
}

/// Checks that the manifest names the environment `wanted`.
pub fn check_environment(manifest: &Manifest, wanted: Environment) -> Result<(), BackupError> {
    let found: Environment = manifest.environment.parse().map_err(|_| BackupError::NewerForm)?;
    if found == wanted { Ok(()) } else { Err(BackupError::OtherEnvironment { found, wanted }) }
}

/// Examines the files that were unpacked into `folder`. The databases must be undamaged, of this
/// environment and of no newer schema, and the secrets must belong to them. An older schema is
/// migrated. Returns the wallet's descriptors.
pub fn examine(
    folder: &Path,
    manifest: &Manifest,
    secrets: &Secrets,
    wanted: Environment,
) -> Result<Option<Descriptors>, BackupError> {
    check_environment(manifest, wanted)?;
    for part in &manifest.files {
        let damage = damage_of_copy(&folder.join(&part.name))?;
        if !damage.is_empty() {
            return Err(BackupError::DamagedDatabase(damage.join("; ")));
        }
    }
    let database = folder.join(DATABASE);
    migrate_copy(&database)?;
    let found = read_copy(&database, |reader| reader.installation())?;
    match found.map(|installation| installation.environment) {
        Some(found) if found == wanted => {}
        Some(found) => return Err(BackupError::OtherEnvironment { found, wanted }),
        None => return Err(BackupError::DamagedDatabase("it names no installation".to_owned())),
    }
    if manifest.files.iter().any(|part| part.name == SANDBOX) {
        Sandbox::open(&folder.join(SANDBOX), machine_now().ms()).map_err(BackendError::from)?;
    }
    fitting_wallet(&database, secrets, wanted)
}

/// The wallet's descriptors in a copied database; `None` without a wallet. Refuses secrets that do
/// not belong to the database.
pub fn fitting_wallet(
    database: &Path,
    secrets: &Secrets,
    environment: Environment,
) -> Result<Option<Descriptors>, BackupError> {
    let (descriptors, hmac_key_id) = read_copy(database, |reader| {
        Ok::<_, StoreError>((descriptors(reader)?, reader.hmac_key_id()?))
    })?;
    if let Some(id) = hmac_key_id
        && !secrets.get(Purpose::HmacKeys).is_some_and(|keys| holds_key(&keys, &id))
    {
        return Err(BackupError::NoHmacKey);
    }
    let Some(descriptors) = descriptors else { return Ok(None) };
    let words = secrets.get(Purpose::WalletMnemonic).ok_or(BackupError::NoWords)?;
    if are_words_of(&words, &descriptors, environment)? {
        Ok(Some(descriptors))
    } else {
        Err(BackupError::OtherWords)
    }
}

fn descriptors(reader: &Reader<'_>) -> Result<Option<Descriptors>, StoreError> {
    let pair = (reader.keychain(Keychain::External)?, reader.keychain(Keychain::Internal)?);
    let (Some((external, _)), Some((internal, _))) = pair else { return Ok(None) };
    Ok(Some(Descriptors { external, internal }))
}

fn are_words_of(
    words: &Secret,
    wallet: &Descriptors,
    environment: Environment,
) -> Result<bool, BackupError> {
    // The descriptors are the same on all test networks.
    let network = match environment {
        Environment::Test => Network::Regtest,
        Environment::Production => Network::Bitcoin,
    };
    let address_type = PublicKeychains::parse(wallet.clone(), network)?.address_type();
    Ok(Descriptors::derive(words, network, address_type)? == *wallet)
}
