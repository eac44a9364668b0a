//! The merchant's settings: listed, shown, changed.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::ask::{Ask, Asker};
use super::error::CommandError;
use super::page::Page;
use crate::gateway::Gateway;
use crate::machine::secrets::{Purpose, Secret};
use crate::settings::{Act, SettingNow};

/// The setting whose value lies with the secrets.
pub(crate) const BACKEND_PASSWORD: &str = "backendPassword";

/// Lists all settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct ListSettings {}

/// Shows one setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct GetSetting {
    /// The setting's name.
    pub name: String,
}

/// Changes a setting, at once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct SetSetting {
    /// The setting's name.
    pub name: String,
    /// Its value, in the form that the table of settings gives.
    pub value: String,
}

impl fmt::Debug for SetSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = if self.name == BACKEND_PASSWORD { "[REDACTED]" } else { &self.value };
        f.debug_struct("SetSetting").field("name", &self.name).field("value", &value).finish()
    }
}

/// Returns a setting to its default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct UnsetSetting {
    /// The setting's name.
    pub name: String,
}

/// A setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct SettingItem {
    /// The setting's name.
    pub name: String,
    /// Its value now.
    pub value: String,
    /// Its default in this environment.
    pub default: String,
    /// What it does and what it may be, in sentences.
    pub about: String,
}

impl From<SettingNow> for SettingItem {
    fn from(shown: SettingNow) -> Self {
        Self {
            name: shown.setting.name.to_owned(),
            value: shown.value,
            default: shown.default,
            about: format!("{} Must be {}.", shown.setting.about, shown.setting.form),
        }
    }
}

impl Ask for ListSettings {
    type Answer = Page<SettingItem>;

    async fn answer(self, by: &Asker<'_>) -> Result<Page<SettingItem>, CommandError> {
        Ok(Page::whole(by.gateway().settings.list().into_iter().map(SettingItem::from).collect()))
    }
}

impl Ask for GetSetting {
    type Answer = SettingItem;

    async fn answer(self, by: &Asker<'_>) -> Result<SettingItem, CommandError> {
        Ok(by.gateway().settings.show(&self.name)?.into())
    }
}

impl Ask for SetSetting {
    type Answer = SettingItem;

    async fn answer(self, by: &Asker<'_>) -> Result<SettingItem, CommandError> {
        change(by, &self.name, Some(&self.value)).await
    }
}

impl Ask for UnsetSetting {
    type Answer = SettingItem;

    async fn answer(self, by: &Asker<'_>) -> Result<SettingItem, CommandError> {
        change(by, &self.name, None).await
    }
}

async fn change(by: &Asker<'_>, name: &str, value: Option<&str>) -> Result<SettingItem, CommandError> {
    let gateway = by.gateway();
    let act = Act { actor: by.actor, at: gateway.clock.now() };
    // What lies with the secrets is no value of the table: it stays empty there, and the act is noted all the same.
    let value = if name == BACKEND_PASSWORD {
        keep_password(gateway, value.unwrap_or_default()).await?;
        None
    } else {
        value
    };
    let shown = match value {
        Some(value) => gateway.settings.set(&gateway.store, name, value, act).await?,
        None => gateway.settings.unset(&gateway.store, name, act).await?,
    };
    if name.starts_with("backend") || name == "proxy" {
        gateway.choose_backend().await;
    }
    if gateway.rates.follow(gateway.settings.snapshot().rate_rules()) && gateway.served.get().is_some() {
        // In effect at once: what was known under the former setting is forgotten.
        gateway.refresh_rates_soon().await;
    }
    gateway.note_change();
    Ok(shown.into())
}

/// Puts the password of the Bitcoin backend with the secrets; an empty one is none.
async fn keep_password(gateway: &Arc<Gateway>, password: &str) -> Result<(), CommandError> {
    let (gateway, password) = (Arc::clone(gateway), Secret::new(password.to_owned()));
    let kept = tokio::task::spawn_blocking(move || gateway.secrets.set(Purpose::BackendPassword, &password)).await;
    match kept {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(CommandError::of("SECRETS_UNAVAILABLE", &error)),
        Err(error) => Err(CommandError::of("INTERNAL_ERROR", &format!("the password could not be kept: {error}"))),
    }
}
