//! Chooses the servers of the Bitcoin backend by the settings.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bitcoin::{Network, Script};
use tillgate_chain::Sees;
use tillgate_chain::configured::BackendOptions;
use tillgate_chain::core::{ANSWERED_WITHIN, Credentials};
use tillgate_chain::down::Down;
use tillgate_domain::chain::Urgency;
use tillgate_machine::secrets::{Secret, SecretStore};
use tillgate_told::{Telling, Told as _};
use zeroize::Zeroizing;

use super::resources::Gateway;
use crate::settings::{ChainNetwork, PasswordEntry, Settings};

/// A backend that staff typed into a form, not saved yet.
pub struct TypedBackend {
    /// The settings that would be saved.
    pub settings: Settings,
    /// The password; `None` for the stored one.
    pub password: Option<Secret>,
    /// Longest wait for one answer.
    pub answered_within: Duration,
}

impl Gateway {
    /// Switches to the servers that the settings name now.
    pub async fn choose_backend(self: &Arc<Self>) {
        let gateway = Arc::clone(self);
        let chosen = tokio::task::spawn_blocking(move || gateway.choose_backend_blocking()).await;
        if let Err(error) = chosen {
            tracing::error!(%error, "the Bitcoin backend could not be chosen");
        }
    }

    /// As [`Self::choose_backend`], on a blocking thread, because the secret store blocks.
    pub fn choose_backend_blocking(&self) {
        if let Some(configured) = &self.backend.configured {
            let settings = self.settings.snapshot();
            let password =
                || stored_password(self.machine.secrets.as_ref(), settings.backend_password);
            configured.configure(options(
                &settings,
                password,
                configured.network(),
                ANSWERED_WITHIN,
            ));
        }
    }

    /// Connection options of a backend that is not saved, or why there are none. Blocks in the
    /// secret store.
    pub fn backend_options(&self, typed: &TypedBackend) -> Result<BackendOptions, Telling> {
        let network = match (&self.backend.configured, typed.settings.network) {
            (Some(configured), _) => configured.network(),
            (None, ChainNetwork::Sandbox) => {
                return Err(Down::BuiltIn.telling());
            }
            (None, network) => network.network(),
        };
        let password = || match &typed.password {
            Some(password) => Ok(Some(password.clone())),
            None => stored_password(self.machine.secrets.as_ref(), typed.settings.backend_password),
        };
        options(&typed.settings, password, network, typed.answered_within)?
            .ok_or_else(|| Down::NotSet.telling())
    }

    /// Whether there is a view of the chain: the sandbox, or a chosen server.
    pub fn has_backend(&self) -> bool {
        let settings = self.settings.snapshot();
        self.backend.configured.is_none()
            || (settings.backend_refused.is_none() && !settings.backend_urls.is_empty())
    }

    /// Adds the script of a new payment to the next looks of a backend that is asked by script.
    pub fn note_awaited(&self, script: &Script) {
        match self.backend.chain.sees() {
            Sees::Everything => {}
            Sees::Scripts => self.backend.hot.add(script.to_owned(), Urgency::Awaited),
        }
    }
}

/// The backend that the settings name, if any, or why it cannot be asked.
fn options(
    settings: &Settings,
    password: impl FnOnce() -> Result<Option<Secret>, Telling>,
    network: Network,
    answered_within: Duration,
) -> Result<Option<BackendOptions>, Telling> {
    if let Some(why) = &settings.backend_refused {
        return Err(Telling::of_text(why.clone()));
    }
    if settings.backend_urls.is_empty() {
        return Ok(None);
    }
    let kind = settings.backend;
    Ok(Some(BackendOptions {
        kind,
        urls: settings.backend_urls.clone(),
        credentials: if kind.has_login() { Some(credentials(settings, password)?) } else { None },
        notices: settings.backend_zmq.clone().filter(|_| kind.has_notices()),
        certificates: settings.backend_certificates.clone(),
        proxy: settings.proxy.clone(),
        network,
        answered_within,
    }))
}

/// The password in this entry of the secret store.
fn stored_password(
    secrets: &dyn SecretStore,
    entry: PasswordEntry,
) -> Result<Option<Secret>, Telling> {
    secrets.get(entry.purpose()).map_err(|error| error.telling())
}

/// The credentials for a node.
fn credentials(
    settings: &Settings,
    password: impl FnOnce() -> Result<Option<Secret>, Telling>,
) -> Result<Credentials, Telling> {
    match (&settings.backend_user, &settings.backend_cookie_file) {
        (Some(user), _) => {
            let password = password()?
                .filter(|password| !password.reveal().is_empty())
                .ok_or_else(|| Down::NoPassword.telling())?;
            Ok(Credentials::Password {
                user: user.clone(),
                password: Zeroizing::new(password.reveal().to_owned()),
            })
        }
        (None, Some(file)) => Ok(Credentials::CookieFile(PathBuf::from(file))),
        (None, None) => Err(Down::NoCredentials.telling()),
    }
}
