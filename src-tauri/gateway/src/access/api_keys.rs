//! Creates, lists and revokes API keys, and holds them in memory for authentication. A secret is
//! shown once. Only its SHA-256 is stored: a slow hash would not protect 256 random bits better.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tillgate_domain::permission::Permissions;
use tillgate_domain::time::Timestamp;
use tillgate_machine::entropy::{Entropy, NoEntropy};
use tillgate_store::api_keys::ApiKey;
use tillgate_store::notify_hosts::NotifyHosts;
use tillgate_store::{Store, StoreError};

/// Limit of a name's characters.
const NAME_MAX: usize = 64;

/// A request for a new key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRequest {
    /// 1 to 64 letters, digits or underscores; unique among live keys.
    pub name: String,
    /// The calls that it allows.
    pub permissions: Permissions,
    /// Whether its payments need no `notificationUrl`.
    pub notification_url_optional: bool,
    /// Whether the key can read, resend and approve only its own records.
    pub own_only: bool,
    /// The hosts to which the key's payments and payouts may send notifications.
    pub notify_hosts: NotifyHosts,
}

/// Reason why a key was not made or revoked.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum KeyError {
    #[error("a key's name is 1 to 64 letters, digits or underscores")]
    BadName,
    #[error("a live key is named {0} already: revoke it first, or choose another name")]
    NameTaken(String),
    #[error("no live key is named {0}")]
    NoSuchKey(String),
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The live keys of one environment, in memory, equal to the last commit.
pub struct ApiKeys {
    store: Arc<Store>,
    live: RwLock<HashMap<String, Arc<ApiKey>>>,
    /// Held from a commit to the change in memory, so that both happen in the same order.
    changing: tokio::sync::Mutex<()>,
}

impl ApiKeys {
    /// Reads the live keys.
    pub fn load(store: Arc<Store>) -> Result<Arc<Self>, StoreError> {
        let keys = store.read(|reader| reader.live_api_keys())?;
        let live = keys.into_iter().map(|key| (key.name.clone(), Arc::new(key))).collect();
        Ok(Arc::new(Self { store, live: RwLock::new(live), changing: tokio::sync::Mutex::new(()) }))
    }

    /// The live key of this name and secret. A wrong name takes as long as a wrong secret.
    #[must_use]
    pub fn authenticate(&self, name: &str, secret: &str) -> Option<Arc<ApiKey>> {
        let given: [u8; 32] = Sha256::digest(secret.as_bytes()).into();
        let key = self.live.read().get(name).cloned();
        let stored = key.as_ref().map_or([0; 32], |key| key.secret_sha256);
        if bool::from(given.ct_eq(&stored)) { key } else { None }
    }

    /// Creates a key, valid at once, and returns its secret, which is shown only once. The audit
    /// log names `actor`.
    ///
    /// # Errors
    /// When the name is invalid or taken, or the key could not be stored.
    pub async fn create(
        self: &Arc<Self>,
        request: KeyRequest,
        entropy: &dyn Entropy,
        now: Timestamp,
        actor: &str,
    ) -> Result<(Arc<ApiKey>, String), KeyError> {
        if !is_name(&request.name) {
            return Err(KeyError::BadName);
        }
        let mut bytes = [0u8; 32];
        entropy.fill(&mut bytes)?;
        let secret = hex::encode(bytes);
        let new = ApiKey {
            key_id: 0,
            name: request.name,
            secret_sha256: Sha256::digest(secret.as_bytes()).into(),
            permissions: request.permissions,
            notification_url_optional: request.notification_url_optional,
            own_only: request.own_only,
            notify_hosts: request.notify_hosts,
            created_at: now,
            revoked_at: None,
        };
        let actor = actor.to_owned();
        let key = self.to_the_end(move |keys| async move { keys.insert(new, actor).await }).await?;
        Ok((key, secret))
    }

    /// Revokes the live key of this name at once. The audit log names `actor`.
    ///
    /// # Errors
    /// When there is no such key, or the change could not be stored.
    pub async fn revoke(
        self: &Arc<Self>,
        name: &str,
        now: Timestamp,
        actor: &str,
    ) -> Result<ApiKey, KeyError> {
        let (name, actor) = (name.to_owned(), actor.to_owned());
        self.to_the_end(move |keys| async move { keys.remove(name, now, actor).await }).await
    }

    /// The number of live keys.
    pub fn live_count(&self) -> u64 {
        self.live.read().len() as u64
    }

    /// All keys ever made, live ones first, newest first.
    pub fn list(&self) -> Result<Vec<ApiKey>, StoreError> {
        self.store.read(|reader| reader.api_keys())
    }

    async fn insert(&self, mut key: ApiKey, actor: String) -> Result<Arc<ApiKey>, KeyError> {
        let _changing = self.changing.lock().await;
        let key = self
            .store
            .write(move |tx| -> Result<_, KeyError> {
                if tx.live_api_key(&key.name)?.is_some() {
                    return Err(KeyError::NameTaken(key.name));
                }
                key.key_id = tx.insert_api_key(&key)?;
                tx.audit(key.created_at, &actor, "keys create", &key.name)?;
                Ok(Arc::new(key))
            })
            .await?;
        self.live.write().insert(key.name.clone(), Arc::clone(&key));
        Ok(key)
    }

    async fn remove(
        &self,
        name: String,
        now: Timestamp,
        actor: String,
    ) -> Result<ApiKey, KeyError> {
        let _changing = self.changing.lock().await;
        let key = self
            .store
            .write(move |tx| -> Result<_, KeyError> {
                let Some(mut key) = tx.live_api_key(&name)? else {
                    return Err(KeyError::NoSuchKey(name));
                };
                tx.revoke_api_key(key.key_id, now)?;
                tx.audit(now, &actor, "keys revoke", &key.name)?;
                key.revoked_at = Some(now);
                Ok(key)
            })
            .await?;
        self.live.write().remove(&key.name);
        Ok(key)
    }

    /// Runs a change to its end, even if the caller is cancelled between the commit and the change
    /// in memory.
    async fn to_the_end<T, F>(
        self: &Arc<Self>,
        change: impl FnOnce(Arc<Self>) -> F,
    ) -> Result<T, KeyError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, KeyError>> + Send + 'static,
    {
        tokio::spawn(change(Arc::clone(self)))
            .await
            .map_err(|_| KeyError::Store(StoreError::Closed))?
    }
}

fn is_name(name: &str) -> bool {
    (1..=NAME_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use tillgate_machine::entropy::SystemEntropy;

    use super::*;

    const NOW: Timestamp = Timestamp::from_ms(1_768_219_580_000);

    fn request(name: &str) -> KeyRequest {
        KeyRequest {
            name: name.to_owned(),
            permissions: "shop".parse().unwrap(),
            notification_url_optional: false,
            own_only: false,
            notify_hosts: NotifyHosts::default(),
        }
    }

    fn keys() -> (tempfile::TempDir, Arc<ApiKeys>) {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(&folder.path().join("t.db")).unwrap());
        (folder, ApiKeys::load(store).unwrap())
    }

    #[tokio::test]
    async fn a_key_is_good_once_made_and_refused_once_revoked() {
        let (_folder, keys) = keys();
        let (key, secret) =
            keys.create(request("shop_1"), &SystemEntropy, NOW, "cli").await.unwrap();
        assert_eq!(keys.authenticate("shop_1", &secret), Some(key));
        assert_eq!(keys.authenticate("shop_1", &secret.to_uppercase()), None);
        assert_eq!(keys.authenticate("shop_2", &secret), None);
        keys.revoke("shop_1", NOW, "cli").await.unwrap();
        assert_eq!(keys.authenticate("shop_1", &secret), None);
        assert!(matches!(keys.revoke("shop_1", NOW, "cli").await, Err(KeyError::NoSuchKey(_))));
    }

    #[tokio::test]
    async fn keys_survive_a_restart_without_their_secrets() {
        let (folder, keys) = keys();
        let (_, secret) = keys.create(request("shop_1"), &SystemEntropy, NOW, "cli").await.unwrap();
        let file = folder.path().join("t.db");
        let again = ApiKeys::load(Arc::new(Store::open(&file).unwrap())).unwrap();
        assert!(again.authenticate("shop_1", &secret).is_some());
        let stored = std::fs::read(&file).unwrap();
        assert!(!stored.windows(secret.len()).any(|window| window == secret.as_bytes()));
    }

    #[tokio::test]
    async fn a_name_has_one_live_key_and_is_free_after_revocation() {
        let (_folder, keys) = keys();
        keys.create(request("shop"), &SystemEntropy, NOW, "cli").await.unwrap();
        assert!(matches!(
            keys.create(request("shop"), &SystemEntropy, NOW, "cli").await,
            Err(KeyError::NameTaken(_))
        ));
        keys.revoke("shop", NOW, "cli").await.unwrap();
        let (_, second) = keys.create(request("shop"), &SystemEntropy, NOW, "cli").await.unwrap();
        assert!(keys.authenticate("shop", &second).is_some());
        assert_eq!(keys.list().unwrap().len(), 2);
    }

    #[tokio::test]
    async fn a_name_is_letters_digits_and_underscores() {
        let (_folder, keys) = keys();
        for name in ["", "a b", "a:b", "é", "a-b", &"a".repeat(65)] {
            let refused = keys.create(request(name), &SystemEntropy, NOW, "cli").await;
            assert!(matches!(refused, Err(KeyError::BadName)), "{name}");
        }
        keys.create(request(&"a".repeat(64)), &SystemEntropy, NOW, "cli").await.unwrap();
    }
}
