//! The key of backups: the rule for passphrases, and the derivation of a key by a memory-hard
//! function (Argon2id).

use std::fmt;

use argon2::{Algorithm, Argon2, Params, Version};
use serde::{Deserialize, Serialize};
use tillgate_machine::entropy::Entropy;
use tillgate_machine::environment::Environment;
use tillgate_machine::secrets::Secret;
use zeroize::{Zeroize as _, Zeroizing};

use super::error::BackupError;

pub const KEY_BYTES: usize = 32;

const SALT_BYTES: usize = 16;

/// Memory of the key derivation. It is twice that of the secrets file, because a stranger who has a
/// backup can guess for years. Unit tests derive many keys and use less.
const MEMORY_KIB: u32 = if cfg!(test) { 1_024 } else { 128 * 1_024 };
const PASSES: u32 = 3;
const LANES: u32 = 4;

/// Highest memory that a file may ask for. More would stall the machine.
const MEMORY_KIB_MAX: u32 = 1_024 * 1_024;
const PASSES_MAX: u32 = 20;
const LANES_MAX: u32 = 16;

const KDF: &str = "argon2id";

/// Least number of characters of a passphrase. The sandbox's coins are worthless, so its passphrase
/// may be shorter.
pub const fn shortest_passphrase(environment: Environment) -> usize {
    match environment {
        Environment::Test => 8,
        Environment::Production => 12,
    }
}

/// The public parameters for the derivation of a key from a passphrase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyRecipe {
    kdf: String,
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    /// In hexadecimal digits.
    salt: String,
}

/// The key of a passphrase, wiped when dropped and never printed.
pub struct BackupKey {
    recipe: KeyRecipe,
    key: Zeroizing<[u8; KEY_BYTES]>,
}

/// The key in the secret store, for backups without a typed passphrase.
#[derive(Serialize, Deserialize)]
struct StoredKey {
    #[serde(flatten)]
    recipe: KeyRecipe,
    /// In hexadecimal digits.
    key: String,
}

impl Drop for StoredKey {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

impl fmt::Debug for BackupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[REDACTED]")
    }
}

impl KeyRecipe {
    /// Whether this program knows the recipe's function.
    pub fn is_known(&self) -> bool {
        self.kdf == KDF
    }

    /// Derives the key from a passphrase. This takes about a second, and as much memory as the
    /// recipe says.
    pub fn key(&self, passphrase: &Secret) -> Result<BackupKey, BackupError> {
        if self.memory_kib > MEMORY_KIB_MAX || self.passes > PASSES_MAX || self.lanes > LANES_MAX {
            return Err(BackupError::Greedy);
        }
        let mut salt = [0; SALT_BYTES];
        hex::decode_to_slice(&self.salt, &mut salt).map_err(|_| BackupError::Damaged)?;
        let params = Params::new(self.memory_kib, self.passes, self.lanes, Some(KEY_BYTES))
            .map_err(|_| BackupError::Damaged)?;
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into(passphrase.reveal().as_bytes(), &salt, key.as_mut())
            .map_err(|error| BackupError::Key(error.to_string()))?;
        Ok(BackupKey { recipe: self.clone(), key })
    }
}

impl BackupKey {
    /// Derives a key for new backups from a passphrase, with a new salt.
    ///
    /// # Errors
    /// When the passphrase is too short, or there are no random bytes.
    pub fn new(
        passphrase: &Secret,
        environment: Environment,
        entropy: &dyn Entropy,
    ) -> Result<Self, BackupError> {
        let shortest = shortest_passphrase(environment);
        if passphrase.reveal().chars().count() < shortest {
            return Err(BackupError::ShortPassphrase(shortest));
        }
        let mut salt = [0; SALT_BYTES];
        entropy.fill(&mut salt)?;
        let recipe = KeyRecipe {
            kdf: KDF.to_owned(),
            memory_kib: MEMORY_KIB,
            passes: PASSES,
            lanes: LANES,
            salt: hex::encode(salt),
        };
        recipe.key(passphrase)
    }

    /// Parses a key from the secret store.
    pub fn from_stored(text: &Secret) -> Result<Self, BackupError> {
        let stored: StoredKey =
            serde_json::from_str(text.reveal()).map_err(|_| BackupError::BadStoredKey)?;
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        hex::decode_to_slice(stored.key.as_bytes(), key.as_mut())
            .map_err(|_| BackupError::BadStoredKey)?;
        Ok(Self { recipe: stored.recipe.clone(), key })
    }

    /// The key in its form for the secret store.
    pub fn to_stored(&self) -> Result<Secret, BackupError> {
        let stored = StoredKey { recipe: self.recipe.clone(), key: hex::encode(self.bytes()) };
        serde_json::to_string(&stored).map(Secret::new).map_err(|_| BackupError::BadStoredKey)
    }

    pub const fn recipe(&self) -> &KeyRecipe {
        &self.recipe
    }

    pub fn bytes(&self) -> &[u8] {
        self.key.as_ref()
    }

    /// A key that is derived with little memory and time, for tests.
    #[cfg(test)]
    pub fn cheap(passphrase: &str) -> Self {
        let recipe = KeyRecipe {
            kdf: KDF.to_owned(),
            memory_kib: 64,
            passes: 1,
            lanes: 1,
            salt: hex::encode([7; SALT_BYTES]),
        };
        recipe.key(&Secret::new(passphrase.to_owned())).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use tillgate_machine::entropy::SystemEntropy;

    use super::*;

    fn derive(passphrase: &str, environment: Environment) -> Result<BackupKey, BackupError> {
        BackupKey::new(&Secret::new(passphrase.to_owned()), environment, &SystemEntropy)
    }

    #[test]
    fn a_short_passphrase_is_refused_with_the_rule() {
        for (short, environment, rule) in
            [("seven77", Environment::Test, "8"), ("eleven11111", Environment::Production, "12")]
        {
            let why = derive(short, environment).unwrap_err().to_string();
            assert!(why.contains(&format!("at least {rule} characters")), "{why}");
            assert!(!why.contains(short), "{why}");
        }
        derive("eight888", Environment::Test).unwrap();
    }

    #[test]
    fn a_stored_key_parses_to_the_same_key_and_is_never_printed() {
        let key = derive("correct horse battery", Environment::Production).unwrap();
        let again = BackupKey::from_stored(&key.to_stored().unwrap()).unwrap();
        assert_eq!((again.recipe(), again.bytes()), (key.recipe(), key.bytes()));
        assert_eq!(format!("{key:?}"), "[REDACTED]");
        assert_ne!(
            derive("correct horse battery", Environment::Production).unwrap().bytes(),
            key.bytes(),
            "each key has its own salt"
        );
    }

    #[test]
    fn a_recipe_with_too_much_memory_or_time_is_refused() {
        let recipe = BackupKey::cheap("secret").recipe().clone();
        for greedy in [
            KeyRecipe { memory_kib: MEMORY_KIB_MAX + 1, ..recipe.clone() },
            KeyRecipe { passes: PASSES_MAX + 1, ..recipe.clone() },
            KeyRecipe { lanes: LANES_MAX + 1, ..recipe },
        ] {
            assert!(matches!(
                greedy.key(&Secret::new("secret".to_owned())),
                Err(BackupError::Greedy)
            ));
        }
    }
}
