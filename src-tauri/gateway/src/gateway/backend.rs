//! Which node the settings choose.

use std::path::PathBuf;
use std::sync::Arc;

use bitcoin::Network;
use zeroize::Zeroizing;

use super::Gateway;
use crate::chain::core::{ANSWERED_WITHIN, CoreOptions, SignIn};
use crate::machine::secrets::{Purpose, SecretStore};
use crate::settings::Settings;

impl Gateway {
    /// Asks from now on the node that the settings of this moment choose. The secret store blocks.
    pub(crate) async fn choose_node(self: &Arc<Self>) {
        let gateway = Arc::clone(self);
        let chosen = tokio::task::spawn_blocking(move || gateway.choose_node_blocking()).await;
        if let Err(error) = chosen {
            tracing::error!(%error, "the Bitcoin backend could not be chosen");
        }
    }

    /// The same, on a blocking thread.
    pub(crate) fn choose_node_blocking(&self) {
        if let Some(node) = &self.node {
            node.choose(options(&self.settings.snapshot(), self.secrets.as_ref(), node.network()));
        }
    }
}

/// The node that the settings name, if they name one; else why it cannot be asked.
fn options(settings: &Settings, secrets: &dyn SecretStore, network: Network) -> Result<Option<CoreOptions>, String> {
    let Some(url) = settings.backend_url.clone() else { return Ok(None) };
    let sign_in = match (&settings.backend_user, &settings.backend_cookie_file) {
        (Some(user), _) => {
            let password = secrets.get(Purpose::BackendPassword).map_err(|error| error.to_string())?;
            let password = password.filter(|password| !password.reveal().is_empty()).ok_or(
                "backendUser is set and its password is not: give it by tillgate settings set backendPassword -",
            )?;
            SignIn::Password { user: user.clone(), password: Zeroizing::new(password.reveal().to_owned()) }
        }
        (None, Some(file)) => SignIn::CookieFile(PathBuf::from(file)),
        (None, None) => {
            return Err(
                "backendUrl is set, and how to sign in is not: set backendCookieFile to the node's file .cookie, or backendUser and backendPassword".to_owned(),
            );
        }
    };
    Ok(Some(CoreOptions { url, sign_in, network, answered_within: ANSWERED_WITHIN }))
}
