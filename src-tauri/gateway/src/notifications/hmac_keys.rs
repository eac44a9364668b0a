//! The HMAC keys that sign notifications. They are kept in the secret store; the database names the
//! signing key.
//!
//! A new key is first written to the secret store, and signs once the database names it. After a
//! crash between these two steps the old key still signs. Nobody was shown the new key then, and
//! the next rotation drops it. If the key that the database names cannot be read, no notification
//! is sent.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use tillgate_domain::id::Id;
use tillgate_domain::time::Timestamp;
use tillgate_machine::entropy::NoEntropy;
use tillgate_machine::secrets::{Purpose, Secret, SecretError, SecretStore};
use tillgate_store::StoreError;
use tillgate_told::{Telling, Time, Told};
use zeroize::{Zeroize as _, Zeroizing};

use super::receiver::SignatureCheck;
use super::signature::{HmacKey, KEY_BYTES, SigningKeys};
use crate::gateway::Gateway;

/// The most keys that sign at once. So many keys fit into every system's secret store, and their
/// signatures into a header.
const KEYS_MAX: usize = 8;

/// Time before an unreadable key is read again. Each try takes some 15 ms at the keyring, and may
/// show a prompt.
pub const RETRY_MS: i64 = 5_000;

/// The reason why no new key was made.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum RotateError {
    /// The secret store cannot be read or written.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The database cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No random bytes.
    #[error(transparent)]
    NoEntropy(#[from] NoEntropy),
    /// There are as many keys as allowed, and the oldest still signs until this time.
    #[error("{KEYS_MAX} HMAC keys are in use, because a replaced key signs for another 24 hours: the next can be made at {}", Time::from(*.0))]
    TooMany(Timestamp),
}

/// The HMAC keys of one gateway.
pub struct HmacKeys {
    gateway: Arc<Gateway>,
    rotating: tokio::sync::Mutex<()>,
    last_read: Mutex<LastRead>,
}

/// The result of the last reading of the keys; empty before the first.
#[derive(Default)]
struct LastRead {
    keys: Option<SigningKeys>,
    read_failure: Option<ReadFailure>,
}

/// Why notifications wait for their key.
#[derive(Debug, thiserror::Error, Told)]
#[error("notifications wait, because their HMAC key cannot be read: {0}")]
pub struct KeyUnread(Telling);

/// A key that exists and could not be read.
#[derive(Clone)]
struct ReadFailure {
    key_id: Id,
    /// On the environment's clock.
    asked_at: Timestamp,
    /// The reason, for people.
    sentence: Telling,
}

impl HmacKeys {
    pub fn new(gateway: Arc<Gateway>) -> Self {
        Self { gateway, rotating: tokio::sync::Mutex::default(), last_read: Mutex::default() }
    }

    /// If the HMAC key exists and cannot be read: a sentence that says why notifications wait, with
    /// the remedy.
    #[must_use]
    pub fn read_failure(&self) -> Option<Telling> {
        self.last_read().read_failure.as_ref().map(|read_failure| read_failure.sentence.clone())
    }

    /// Makes a new HMAC key and returns its text, to be shown to the merchant only once. The new
    /// key signs from now on, and so does each key that was replaced less than 24 hours ago.
    /// `actor` is the requester, for the audit.
    ///
    /// If the secret store lost the old key, only the new key signs: a rotation is the remedy for a
    /// lost key.
    ///
    /// # Errors
    /// The secret store or the database fails. Then the old key still signs.
    pub async fn rotate(&self, actor: &str) -> Result<Secret, RotateError> {
        let gateway = &self.gateway;
        let _one_at_a_time = self.rotating.lock().await;
        let signing_id = gateway.store.read(|reader| reader.hmac_key_id())?;
        let mut bytes = Zeroizing::new([0u8; KEY_BYTES]);
        gateway.machine.entropy.fill(bytes.as_mut())?;
        let new = HmacKey::new(gateway.machine.entropy.id()?, gateway.time.now(), &bytes);
        let (id, text) = (new.id(), Secret::new(new.text().to_owned()));

        let (secrets, now) = (gateway.machine.secrets.clone(), gateway.time.now());
        blocking(move || {
            let stored = StoredKeys::load(&*secrets)?.from(signing_id);
            let mut keys = vec![new];
            for key in stored {
                let signs_until = keys[keys.len() - 1].replaced_signs_until();
                if keys.len() > 1 && signs_until <= now {
                    break;
                }
                if keys.len() == KEYS_MAX {
                    return Err(RotateError::TooMany(signs_until));
                }
                keys.push(key);
            }
            Ok(StoredKeys::from_keys(&keys).write(&*secrets)?)
        })
        .await?;
        let (at, actor) = (gateway.time.now(), actor.to_owned());
        gateway
            .store
            .write(move |tx| {
                tx.set_hmac_key_id(&id)?;
                tx.audit(at, &actor, "hmac-key rotate", &id.to_string())
            })
            .await?;
        gateway.signals.notifier.notify_one();
        Ok(text)
    }

    /// The signing keys. They are read from the secret store again when the signing key has
    /// changed. `None` if they cannot be read; then no notification may be sent.
    pub async fn signing(&self, key_id: Id, now: Timestamp) -> Option<SigningKeys> {
        {
            let last_read = self.last_read();
            if let Some(keys) = last_read.keys.as_ref().filter(|keys| keys.current.id() == key_id) {
                return Some(keys.clone());
            }
            let asked_lately = |read_failure: &ReadFailure| {
                read_failure.key_id == key_id && now < read_failure.asked_at.plus_ms(RETRY_MS)
            };
            if last_read.read_failure.as_ref().is_some_and(asked_lately) {
                return None;
            }
        }
        let loaded = load(&self.gateway.machine.secrets, key_id).await;
        let mut last_read = self.last_read();
        match loaded {
            Ok(keys) => {
                *last_read = LastRead { keys: Some(keys.clone()), read_failure: None };
                Some(keys)
            }
            Err(error) => {
                let sentence = KeyUnread(error.telling()).telling();
                if last_read
                    .read_failure
                    .as_ref()
                    .is_none_or(|read_failure| read_failure.sentence != sentence)
                {
                    tracing::error!("{sentence}");
                }
                *last_read = LastRead {
                    keys: None,
                    read_failure: Some(ReadFailure { key_id, asked_at: now, sentence }),
                };
                None
            }
        }
    }

    /// Checks the header `X-BPG-Signature` of a body, as a shop would.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn check(
        &self,
        body: &[u8],
        signature: Option<&str>,
    ) -> Result<SignatureCheck, StoreError> {
        let Some(signature) = signature else { return Ok(SignatureCheck::Missing) };
        let Some(key_id) = self.gateway.store.read(|reader| reader.hmac_key_id())? else {
            return Ok(SignatureCheck::Wrong);
        };
        let keys = self.signing(key_id, self.gateway.time.now()).await;
        let is_right = keys.is_some_and(|keys| keys.signed(body, signature));
        Ok(if is_right { SignatureCheck::Right } else { SignatureCheck::Wrong })
    }

    fn last_read(&self) -> MutexGuard<'_, LastRead> {
        self.last_read.lock()
    }
}

/// Whether the stored keys contain the signing key.
pub fn holds_key(keys: &Secret, signing_id: &Id) -> bool {
    serde_json::from_str::<StoredKeys>(keys.reveal())
        .is_ok_and(|stored| !stored.from(Some(*signing_id)).is_empty())
}

/// Reads the signing key, and the keys before it.
async fn load(secrets: &Arc<dyn SecretStore>, signing_id: Id) -> Result<SigningKeys, SecretError> {
    let secrets = secrets.clone();
    let read =
        blocking(move || Ok::<_, SecretError>(StoredKeys::load(&*secrets)?.from(Some(signing_id))));
    let mut keys = read.await?.into_iter();
    match keys.next() {
        Some(current) => Ok(SigningKeys { current, replaced: keys.collect() }),
        None => Err(SecretError(
            "the HMAC key is missing from the stored secrets: make a new one (`tillgate hmac-key rotate`)".to_owned(),
        )),
    }
}

/// Runs a call of the secret store on another thread, because the call blocks and D-Bus must not be
/// called from an async thread.
async fn blocking<T: Send + 'static, E: From<SecretError> + Send + 'static>(
    job: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    let failed = |_| {
        Err(SecretError(
            "the secrets could not be read or written, unexpectedly: see the log".to_owned(),
        )
        .into())
    };
    tokio::task::spawn_blocking(job).await.unwrap_or_else(failed)
}

/// The JSON in the secret store: the keys, newest first.
#[derive(Default, Serialize, Deserialize)]
struct StoredKeys {
    keys: Vec<StoredKey>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredKey {
    id: String,
    /// The key's text.
    key: String,
    made_at_ms: i64,
}

impl Drop for StoredKey {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

impl StoredKeys {
    fn from_keys(keys: &[HmacKey]) -> Self {
        let stored = |key: &HmacKey| StoredKey {
            id: key.id().to_string(),
            key: key.text().to_owned(),
            made_at_ms: key.made_at().ms(),
        };
        Self { keys: keys.iter().map(stored).collect() }
    }

    fn load(secrets: &dyn SecretStore) -> Result<Self, SecretError> {
        let Some(text) = secrets.get(Purpose::HmacKeys)? else { return Ok(Self::default()) };
        serde_json::from_str(text.reveal()).map_err(|_| {
            SecretError(format!(
                "the HMAC keys in {} are not in Tillgate's format: restore or remove them",
                secrets.describe()
            ))
        })
    }

    fn write(&self, secrets: &dyn SecretStore) -> Result<(), SecretError> {
        let text = serde_json::to_string(self)
            .map_err(|_| SecretError("the HMAC keys cannot be written as JSON".to_owned()))?;
        secrets.set(Purpose::HmacKeys, &Secret::new(text))
    }

    /// The signing key and the older keys that rotations replaced, newest first. Stored keys that
    /// are newer than the signing key are left out: their rotation was interrupted. An invalid key
    /// ends the list.
    fn from(&self, signing_id: Option<Id>) -> Vec<HmacKey> {
        let Some(signing_id) = signing_id.map(|id| id.to_string()) else { return Vec::new() };
        self.keys
            .iter()
            .skip_while(|stored| stored.id != signing_id)
            .map_while(|stored| {
                HmacKey::from_text(
                    stored.id.parse().ok()?,
                    Timestamp::from_ms(stored.made_at_ms),
                    &stored.key,
                )
                .ok()
            })
            .collect()
    }
}
