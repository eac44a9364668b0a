//! Lists, shows and changes the merchant's settings.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use tillgate_gateway::error_type::ErrorType;

use serde::{Deserialize, Serialize};
use tillgate_gateway::backup;
use tillgate_gateway::gateway::Gateway;
use tillgate_gateway::settings::{
    Act, Beside, NewPassword, PasswordEntry, SettingError, SettingNow,
};
use tillgate_machine::secrets::Secret;
use tillgate_store::backups::FolderRow;
use ts_rs::TS;

use super::ask::{Ask, Asker};
use super::error::CommandError;
use super::page::Page;
use crate::refusal::Refusal;

/// The setting whose value is stored with the secrets, and not in the table of settings.
pub const BACKEND_PASSWORD: &str = PasswordEntry::SETTING;

/// The setting that names the folder of nightly backups. The folder must exist when it is set.
const BACKUP_FOLDER: &str = "backupFolder";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ListSettings {}

/// Shows one setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct GetSetting {
    pub name: String,
}

/// Changes a setting. The change takes effect at once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SetSetting {
    pub name: String,
    /// The value in the form that `SettingItem::about` describes.
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
pub struct UnsetSetting {
    pub name: String,
}

/// Changes several settings in one transaction. Rules between settings are checked against the
/// final values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ChangeSettings {
    /// The changes; each setting may occur once.
    pub changes: Vec<SettingChange>,
}

/// The new value of one setting.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SettingChange {
    pub name: String,
    /// The value in the form that `SettingItem::about` describes. If absent, the setting returns to
    /// its default.
    #[serde(default)]
    pub value: Option<String>,
}

impl fmt::Debug for SettingChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value =
            if self.name == BACKEND_PASSWORD { Some("[REDACTED]") } else { self.value.as_deref() };
        f.debug_struct("SettingChange").field("name", &self.name).field("value", &value).finish()
    }
}

/// A setting with its present value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SettingItem {
    pub name: String,
    /// The value in effect.
    pub value: String,
    /// The default in this environment.
    pub default: String,
    /// The purpose and the allowed values of the setting, in sentences.
    pub about: String,
    /// Whether a password is stored. Absent for every setting but `backendPassword`, whose value is
    /// never shown.
    #[serde(default, rename = "isSet", skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub is_set: Option<bool>,
}

impl From<SettingNow> for SettingItem {
    fn from(shown: SettingNow) -> Self {
        Self {
            name: shown.setting.name.to_owned(),
            value: shown.value,
            default: shown.default,
            is_set: shown.is_set,
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
        let changes: Vec<_> =
            self.changes.iter().map(|one| (one.name.as_str(), one.value.as_deref())).collect();
        match change(by, &changes).await {
            Ok(items) => Ok(Page::whole(items)),
            // The field names the setting, because the refusal of a value names only `value`.
            Err((name, error)) if error.field.is_some() => {
                Err(CommandError { field: Some(name.to_owned()), ..error })
            }
            Err((_, error)) => Err(error),
        }
    }
}

async fn change_one(
    by: &Asker<'_>,
    name: &str,
    value: Option<&str>,
) -> Result<SettingItem, CommandError> {
    let items = change(by, &[(name, value)]).await.map_err(|(_, error)| error)?;
    items.into_iter().next().ok_or_else(CommandError::internal)
}

/// Changes settings. An error comes with the name of the setting that is wrong.
async fn change<'a>(
    by: &Asker<'_>,
    changes: &[(&'a str, Option<&str>)],
) -> Result<Vec<SettingItem>, (&'a str, CommandError)> {
    let gateway = by.gateway();
    let act = Act { actor: by.actor, at: gateway.time.now() };
    // The password is stored with the secrets. The table stores an empty value, so that the audit
    // records the change.
    let mut listed = changes.to_vec();
    for (name, value) in &mut listed {
        if *name == BACKEND_PASSWORD {
            *value = None;
        }
    }
    let mut beside = Beside::default();
    if let Some((name, Some(_))) = listed.iter().find(|(name, _)| *name == BACKUP_FOLDER) {
        gateway.settings.judge(&gateway.store, &listed).map_err(refused)?;
        let wanted = gateway.settings.with(&listed).map_err(refused)?;
        beside.backup_folder =
            marked(gateway, wanted.backup_folder).await.map_err(|error| (*name, error))?;
    }
    let shown = match changes.iter().find(|(name, _)| *name == BACKEND_PASSWORD) {
        None => gateway
            .settings
            .change_with(&gateway.store, &listed, beside, act)
            .await
            .map_err(refused)?,
        Some((name, password)) => {
            change_with_password(gateway, (name, *password), &listed, beside, act).await?
        }
    };
    if changes.iter().any(|(name, _)| name.starts_with("backend") || *name == "proxy") {
        gateway.choose_backend().await;
    }
    if gateway.market.rates.follow(gateway.settings.snapshot().rate_rules())
        && gateway.served.get().is_some()
    {
        // Rates computed under the former settings were dropped, so new ones are fetched at once.
        gateway.refresh_rates_soon().await;
    }
    gateway.signals.note_change();
    Ok(shown.into_iter().map(SettingItem::from).collect())
}

fn refused((name, error): (&str, SettingError)) -> (&str, CommandError) {
    (name, error.into())
}

/// Writes the mark file into the folder of backups. Refuses a folder that cannot be written now. If
/// the folder is missing later, each nightly backup reports it.
async fn marked(
    gateway: &Gateway,
    folder: Option<String>,
) -> Result<Option<FolderRow>, CommandError> {
    let Some(folder) = folder else { return Ok(None) };
    let marked = backup::mark_folder(gateway, PathBuf::from(folder)).await;
    marked.map(Some).map_err(|error| CommandError::at("value", &error))
}

/// Changes settings together with the password of the Bitcoin backend. Without a password the
/// stored one is removed.
async fn change_with_password<'a>(
    gateway: &Arc<Gateway>,
    (name, password): (&'a str, Option<&str>),
    listed: &[(&'a str, Option<&str>)],
    beside: Beside,
    act: Act<'_>,
) -> Result<Vec<SettingNow>, (&'a str, CommandError)> {
    let of_password = |error: CommandError| (name, error);
    let _one_at_a_time = gateway.settings.changing_secrets.lock().await;
    // The settings are checked before the password is stored, so that a refused change rarely
    // stores a password.
    gateway.settings.judge(&gateway.store, listed).map_err(refused)?;
    // The entry in effect is read from the database, because the settings in memory may be older
    // after a failure.
    let former =
        gateway.store.read(PasswordEntry::in_effect).map_err(|error| of_password(error.into()))?;
    let password = Secret::new(password.unwrap_or_default().to_owned());
    let new = NewPassword { entry: former.other(), is_set: !password.reveal().is_empty() };
    keep_password(gateway, former.other(), password).await.map_err(of_password)?;
    let beside = Beside { password: Some(new), ..beside };
    let changed = gateway.settings.change_with(&gateway.store, listed, beside, act).await;
    // One of the two entries is not in effect, and is emptied. If the database cannot say which,
    // both stay, and the next change overwrites the unused one.
    if let Ok(entry) = gateway.store.read(PasswordEntry::in_effect)
        && let Err(error) = keep_password(gateway, entry.other(), Secret::new(String::new())).await
    {
        tracing::warn!(%error, "an unused password of the Bitcoin backend is still stored with the secrets; the next change removes it");
    }
    changed.map_err(refused)
}

/// Stores a password of the Bitcoin backend in this entry of the secrets. An empty password means
/// that there is none.
async fn keep_password(
    gateway: &Arc<Gateway>,
    entry: PasswordEntry,
    password: Secret,
) -> Result<(), CommandError> {
    let gateway = Arc::clone(gateway);
    let keep = move || match gateway.machine.secrets.get(entry.purpose())? {
        // A keyring may ask a person for each new entry, so no entry is created for an empty
        // password.
        None if password.reveal().is_empty() => Ok(()),
        Some(_) | None => gateway.machine.secrets.set(entry.purpose(), &password),
    };
    match tokio::task::spawn_blocking(keep).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(CommandError::told("SECRETS_UNAVAILABLE", &error)),
        Err(error) => Err(CommandError::told(
            ErrorType::InternalError,
            &Refusal::PasswordNotStored(error.to_string()),
        )),
    }
}

#[cfg(test)]
mod tests;
