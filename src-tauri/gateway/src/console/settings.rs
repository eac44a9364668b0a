//! The merchant's settings: listed, shown, changed.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::ask::{Ask, Asker};
use super::error::CommandError;
use super::page::Page;
use crate::gateway::Gateway;
use crate::machine::secrets::{Purpose, Secret, SecretError};
use crate::settings::{Act, SettingError, SettingNow};

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

/// Changes several settings, all of them or none, at once: what they rule out of each other is judged once all are there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct ChangeSettings {
    /// Each setting once.
    pub changes: Vec<SettingChange>,
}

/// A setting and the value that it is to have.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct SettingChange {
    /// The setting's name.
    pub name: String,
    /// Its value, in the form that the table of settings gives; absent for its default.
    #[serde(default)]
    pub value: Option<String>,
}

impl fmt::Debug for SettingChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = if self.name == BACKEND_PASSWORD { Some("[REDACTED]") } else { self.value.as_deref() };
        f.debug_struct("SettingChange").field("name", &self.name).field("value", &value).finish()
    }
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
        change_one(by, &self.name, Some(&self.value)).await
    }
}

impl Ask for UnsetSetting {
    type Answer = SettingItem;

    async fn answer(self, by: &Asker<'_>) -> Result<SettingItem, CommandError> {
        change_one(by, &self.name, None).await
    }
}

impl Ask for ChangeSettings {
    type Answer = Page<SettingItem>;

    async fn answer(self, by: &Asker<'_>) -> Result<Page<SettingItem>, CommandError> {
        let changes: Vec<_> = self.changes.iter().map(|one| (one.name.as_str(), one.value.as_deref())).collect();
        match change(by, &changes).await {
            Ok(items) => Ok(Page::whole(items)),
            // Which of them is wrong: a refused value alone names no place.
            Err((name, Refused::Setting(error))) => {
                let error = CommandError::from(error);
                Err(if error.field.is_some() { CommandError { field: Some(name.to_owned()), ..error } } else { error })
            }
            Err((_, Refused::Secrets(error))) => Err(error),
        }
    }
}

/// Why settings were not changed.
enum Refused {
    Setting(SettingError),
    /// The password could not be kept.
    Secrets(CommandError),
}

async fn change_one(by: &Asker<'_>, name: &str, value: Option<&str>) -> Result<SettingItem, CommandError> {
    let items = change(by, &[(name, value)]).await.map_err(|(_, refused)| match refused {
        Refused::Setting(error) => error.into(),
        Refused::Secrets(error) => error,
    })?;
    items.into_iter().next().ok_or_else(CommandError::internal)
}

async fn change<'a>(
    by: &Asker<'_>,
    changes: &[(&'a str, Option<&str>)],
) -> Result<Vec<SettingItem>, (&'a str, Refused)> {
    let gateway = by.gateway();
    let act = Act { actor: by.actor, at: gateway.clock.now() };
    let refused = |(name, error)| (name, Refused::Setting(error));
    // What lies with the secrets is no value of the table: it stays empty there, and the act is noted all the same.
    let mut listed = changes.to_vec();
    for (name, value) in &mut listed {
        if *name == BACKEND_PASSWORD {
            *value = None;
        }
    }
    let shown = match changes.iter().find(|(name, _)| *name == BACKEND_PASSWORD) {
        None => gateway.settings.change(&gateway.store, &listed, act).await.map_err(refused)?,
        Some((name, password)) => {
            let _one_at_a_time = gateway.settings.changing_secrets.lock().await;
            // Before it is kept: what is refused leaves the former one. Then first, for the others may sign in with it.
            gateway.settings.judge(&gateway.store, &listed).map_err(refused)?;
            let password = Secret::new(password.unwrap_or_default().to_owned());
            let of_secrets = |error| (*name, Refused::Secrets(error));
            let former = replace_password(gateway, password).await.map_err(of_secrets)?;
            match gateway.settings.change(&gateway.store, &listed, act).await {
                Ok(shown) => shown,
                Err(error) => {
                    replace_password(gateway, former).await.map_err(of_secrets)?;
                    return Err(refused(error));
                }
            }
        }
    };
    if changes.iter().any(|(name, _)| name.starts_with("backend") || *name == "proxy") {
        gateway.choose_backend().await;
    }
    if gateway.rates.follow(gateway.settings.snapshot().rate_rules()) && gateway.served.get().is_some() {
        // In effect at once: what was known under the former setting is forgotten.
        gateway.refresh_rates_soon().await;
    }
    gateway.note_change();
    Ok(shown.into_iter().map(SettingItem::from).collect())
}

/// Puts the password of the Bitcoin backend with the secrets, and answers the former one; an empty one is none.
async fn replace_password(gateway: &Arc<Gateway>, password: Secret) -> Result<Secret, CommandError> {
    let gateway = Arc::clone(gateway);
    let replace = move || {
        let former = gateway.secrets.get(Purpose::BackendPassword)?;
        gateway.secrets.set(Purpose::BackendPassword, &password)?;
        Ok::<_, SecretError>(former.unwrap_or_else(|| Secret::new(String::new())))
    };
    match tokio::task::spawn_blocking(replace).await {
        Ok(Ok(former)) => Ok(former),
        Ok(Err(error)) => Err(CommandError::of("SECRETS_UNAVAILABLE", &error)),
        Err(error) => Err(CommandError::of("INTERNAL_ERROR", &format!("the password could not be kept: {error}"))),
    }
}
