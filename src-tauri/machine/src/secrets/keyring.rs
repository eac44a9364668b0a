//! The OS keyring: Secret Service on Linux, Keychain on macOS, Credential Manager on Windows. There
//! is one entry for each installation, environment and purpose.
//!
//! Each call makes a new connection, so that a restarted or unlocked keyring works with the next
//! call. A call takes 10 to 15 ms, or as long as a person takes to answer the keyring's prompt.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use keyring_core::api::CredentialStoreApi;
use keyring_core::{Entry, Error};
use tillgate_domain::id::Id;

use super::secret::{Purpose, Secret};
use super::store::{SecretError, SecretStore};
use crate::environment::Environment;

/// Name of the entries, for people who look into their keyring.
const SERVICE: &str = "Tillgate";

/// The target of the log lines of this file.
pub const LOG_TARGET: &str = module_path!();

/// Entry that tests whether the keyring stores, returns and removes secrets.
const TRIAL: &str = "trial";

/// Time after which the log says that the keyring may wait for a person.
const TOLD_AFTER: Duration = Duration::from_secs(3);

/// The keyring's entries of one installation and environment.
pub(super) struct Keyring {
    prefix: String,
}

impl Keyring {
    pub(super) fn new(installation: &Id, environment: Environment) -> Self {
        Self { prefix: format!("{installation}/{environment}") }
    }

    /// Checks that the keyring can be reached and read, without changing anything.
    pub(super) fn reach(&self) -> Result<(), SecretError> {
        self.get(Purpose::WalletMnemonic).map(|_| ())
    }

    /// Stores, reads and removes a word, because a keyring may answer without being able to store.
    pub(super) fn try_out(&self) -> Result<(), SecretError> {
        self.with_entry(TRIAL, |entry| {
            entry.set_password(TRIAL)?;
            let read = entry.get_password()?;
            entry.delete_credential()?;
            if read == TRIAL {
                Ok(())
            } else {
                Err(Error::BadStoreFormat("it returned another value than was stored".to_owned()))
            }
        })
    }

    fn with_entry<T: Send>(
        &self,
        purpose: &str,
        work: impl FnOnce(&Entry) -> keyring_core::Result<T> + Send,
    ) -> Result<T, SecretError> {
        let user = format!("{}/{purpose}", self.prefix);
        // The Secret Service's client panics on a thread of an async runtime, so it gets its own
        // thread.
        let asked = || work(&store()?.build(SERVICE, &user, None)?);
        let result = on_its_own_thread(asked, TOLD_AFTER, || {
            tracing::warn!(
                "the OS keyring has not answered yet: it may ask on this machine's screen to be unlocked"
            );
        });
        match result {
            Ok(done) => done.map_err(|error| sentence(&error)),
            Err(_) => Err(SecretError(
                "the OS keyring's client failed unexpectedly: see the log".to_owned(),
            )),
        }
    }
}

impl SecretStore for Keyring {
    fn get(&self, purpose: Purpose) -> Result<Option<Secret>, SecretError> {
        self.with_entry(purpose.as_str(), |entry| match entry.get_password() {
            Ok(text) => Ok(Some(Secret::new(text))),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(error),
        })
    }

    fn set(&self, purpose: Purpose, secret: &Secret) -> Result<(), SecretError> {
        self.with_entry(purpose.as_str(), |entry| entry.set_password(secret.reveal()))
    }

    fn describe(&self) -> String {
        "the OS keyring".to_owned()
    }
}

/// Runs `work` on its own thread, and calls `tell` if the work takes longer than `after`.
fn on_its_own_thread<T: Send>(
    work: impl FnOnce() -> T + Send,
    after: Duration,
    tell: impl FnOnce(),
) -> thread::Result<T> {
    thread::scope(|scope| {
        let (working, worked) = mpsc::channel::<()>();
        let worker = scope.spawn(move || {
            let _until_done = working;
            work()
        });
        if worked.recv_timeout(after) == Err(RecvTimeoutError::Timeout) {
            tell();
        }
        worker.join()
    })
}

#[cfg(target_os = "linux")]
fn store() -> keyring_core::Result<Arc<impl CredentialStoreApi>> {
    zbus_secret_service_keyring_store::Store::new()
}

#[cfg(target_os = "macos")]
fn store() -> keyring_core::Result<Arc<impl CredentialStoreApi>> {
    apple_native_keyring_store::keychain::Store::new()
}

#[cfg(target_os = "windows")]
fn store() -> keyring_core::Result<Arc<impl CredentialStoreApi>> {
    windows_native_keyring_store::Store::new()
}

/// The remedy for a keyring that cannot be reached.
const START: &str = if cfg!(target_os = "linux") {
    "start one in this session (GNOME Keyring or KWallet, over D-Bus)"
} else {
    "sign in to this computer as the user who runs Tillgate"
};

/// The failure and its remedy, without any secret. Some errors carry a secret; only their kind is
/// named.
fn sentence(error: &Error) -> SecretError {
    SecretError(match error {
        Error::PlatformFailure(detail) => {
            format!("the OS keyring cannot be reached ({detail}): {START}")
        }
        Error::NoStorageAccess(detail) => {
            format!(
                "the OS keyring is locked or has no collection to store in ({detail}): unlock it"
            )
        }
        Error::NoEntry => "an entry disappeared from the OS keyring during its use".to_owned(),
        Error::BadEncoding(_) | Error::BadDataFormat(..) => {
            "the OS keyring holds something else under Tillgate's name: restore the entry"
                .to_owned()
        }
        Error::Ambiguous(entries) => format!(
            "the OS keyring holds {} entries of the same name for Tillgate: remove all but the right one",
            entries.len()
        ),
        Error::TooLong(name, most) => {
            format!("the OS keyring takes at most {most} characters for {name}")
        }
        Error::BadStoreFormat(detail) => format!("the OS keyring does not work: {detail}"),
        other => format!("the OS keyring refuses: {other}"),
    })
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
