//! The HMAC keys: kept in the secret store, told apart by the id that the database holds.
//!
//! A new key goes to the secret store first and becomes the one that signs with a row in the
//! database. A crash between the two leaves a key that nobody was shown and nothing names: the old
//! one goes on, and the next rotation throws the other away. Where the row names a key that cannot
//! be read, nothing is sent.

use serde::{Deserialize, Serialize};
use tillgate_domain::id::Id;
use tillgate_domain::time::Timestamp;
use zeroize::{Zeroize as _, Zeroizing};

use crate::entropy::NoEntropy;
use crate::gateway::Gateway;
use crate::secrets::{Purpose, Secret, SecretError, SecretStore};
use crate::signature::{HmacKey, KEY_BYTES, SigningKeys};
use crate::store::StoreError;

/// Keys in the secret store: a new one that may not be named yet, the one that signs, and the one
/// that it replaced.
const KEYS_KEPT: usize = 3;

/// Why there is no new key.
#[derive(Debug, thiserror::Error)]
pub enum RotateError {
    /// The secret store.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No random bytes.
    #[error(transparent)]
    NoEntropy(#[from] NoEntropy),
}

/// Makes a new HMAC key and answers it as it is shown to the merchant, this once. It signs from
/// now on; the one it replaces signs beside it for 24 hours. `actor` is who asked, for the audit.
///
/// Where the old key was lost from the secret store, the new one stands alone: this is the remedy.
///
/// # Errors
/// When the secret store or the database fails; the old key goes on then.
pub async fn rotate(gateway: &Gateway, actor: &str) -> Result<Secret, RotateError> {
    let _one_at_a_time = gateway.notifier.rotating.lock().await;
    let signing_id = gateway.store.read(|reader| reader.hmac_key_id())?;
    let mut bytes = Zeroizing::new([0u8; KEY_BYTES]);
    gateway.entropy.fill(bytes.as_mut())?;
    let new = HmacKey::new(gateway.entropy.id()?, gateway.clock.now(), &bytes);
    let (id, shown) = (new.id(), Secret::new(new.shown().to_owned()));

    let secrets = gateway.secrets.clone();
    blocking(move || {
        let kept = Kept::read(&*secrets)?;
        let mut keys = vec![new];
        keys.extend(kept.from(signing_id));
        keys.truncate(KEYS_KEPT);
        Kept::of(&keys).write(&*secrets)
    })
    .await?;
    let (at, actor) = (gateway.clock.now(), actor.to_owned());
    gateway
        .store
        .write(move |tx| {
            tx.set_hmac_key_id(&id)?;
            tx.audit(at, &actor, "hmac-key rotate", &id.to_string())
        })
        .await?;
    gateway.notifier_wake.notify_one();
    Ok(shown)
}

/// Reads the key that signs, and its predecessor.
pub(super) async fn load(gateway: &Gateway, signing_id: Id) -> Result<SigningKeys, SecretError> {
    let secrets = gateway.secrets.clone();
    let mut keys = blocking(move || Ok(Kept::read(&*secrets)?.from(Some(signing_id)))).await?.into_iter();
    match keys.next() {
        Some(current) => Ok(SigningKeys { current, previous: keys.next() }),
        None => Err(SecretError(
            "the HMAC key is missing from the place of secrets: make a new one (tillgate hmac-key rotate)".to_owned(),
        )),
    }
}

/// The secret store blocks, and one on D-Bus must not be called from an async thread.
async fn blocking<T: Send + 'static>(
    job: impl FnOnce() -> Result<T, SecretError> + Send + 'static,
) -> Result<T, SecretError> {
    tokio::task::spawn_blocking(job)
        .await
        .unwrap_or_else(|_| Err(SecretError("the place of secrets failed unexpectedly: see the log".to_owned())))
}

/// The secret's text: keys, newest first.
#[derive(Default, Serialize, Deserialize)]
struct Kept {
    keys: Vec<KeptKey>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeptKey {
    id: String,
    key: String,
    made_at_ms: i64,
}

impl Drop for KeptKey {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

impl Kept {
    fn of(keys: &[HmacKey]) -> Self {
        let kept = |key: &HmacKey| KeptKey {
            id: key.id().to_string(),
            key: key.shown().to_owned(),
            made_at_ms: key.made_at().ms(),
        };
        Self { keys: keys.iter().map(kept).collect() }
    }

    fn read(secrets: &dyn SecretStore) -> Result<Self, SecretError> {
        let Some(text) = secrets.get(Purpose::HmacKeys)? else { return Ok(Self::default()) };
        serde_json::from_str(text.reveal()).map_err(|_| {
            SecretError(format!(
                "the HMAC keys in {} are not in a form that Tillgate writes: restore or remove them",
                secrets.describe()
            ))
        })
    }

    fn write(&self, secrets: &dyn SecretStore) -> Result<(), SecretError> {
        let text = serde_json::to_string(self)
            .map_err(|_| SecretError("the HMAC keys cannot be written as JSON".to_owned()))?;
        secrets.set(Purpose::HmacKeys, &Secret::new(text))
    }

    /// The keys from the one that signs on, older ones after it; those before it were never in use.
    /// One that cannot be read ends the list.
    fn from(&self, signing_id: Option<Id>) -> Vec<HmacKey> {
        let Some(signing_id) = signing_id.map(|id| id.to_string()) else { return Vec::new() };
        self.keys
            .iter()
            .skip_while(|kept| kept.id != signing_id)
            .map_while(|kept| {
                HmacKey::from_shown(kept.id.parse().ok()?, Timestamp::from_ms(kept.made_at_ms), &kept.key).ok()
            })
            .collect()
    }
}
