//! Changes of settings: validated together, stored in one transaction, in effect at once.

use tillgate_domain::time::Timestamp;
use tillgate_store::Store;
use tillgate_store::backups::FolderRow;

use super::error::SettingError;
use super::live::{LiveSettings, SettingNow};
use super::password_entry::{NewPassword, PasswordEntry};
use super::setting::Setting;
use super::values::Settings;

/// The actor and time of a change, for the audit log.
#[derive(Debug, Clone, Copy)]
pub struct Act<'a> {
    pub actor: &'a str,
    /// The time, on the environment's clock.
    pub at: Timestamp,
}

/// A setting and its new stored text; `None` returns it to its default.
type Change = (&'static Setting, Option<String>);

/// Changes that take effect together with settings, in the same transaction.
#[derive(Debug, Default)]
pub struct Beside {
    /// A new password of the backend, which is kept with the secrets.
    pub password: Option<NewPassword>,
    /// The new folder of nightly backups, with the name of its mark file. By the mark a backup
    /// recognises the right disk, if another disk is mounted at the same path.
    pub backup_folder: Option<FolderRow>,
}

impl LiveSettings {
    /// Stores a value; it takes effect at once.
    ///
    /// # Errors
    /// The name is unknown, the value is out of bounds or may not change, or the database failed.
    pub async fn set(
        &self,
        store: &Store,
        name: &str,
        value: &str,
        act: Act<'_>,
    ) -> Result<SettingNow, SettingError> {
        self.change_one(store, (name, Some(value)), act).await
    }

    /// Returns a setting to its default; it takes effect at once.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub async fn unset(
        &self,
        store: &Store,
        name: &str,
        act: Act<'_>,
    ) -> Result<SettingNow, SettingError> {
        self.change_one(store, (name, None), act).await
    }

    /// Changes all of these settings or none, each by its name; `None` returns a setting to its
    /// default. Conflicts between settings are checked after all values were applied.
    ///
    /// # Errors
    /// The error with the name of the wrong setting. For a wrong combination or a failure of the
    /// database the name is usually the last one.
    pub async fn change<'a>(
        &self,
        store: &Store,
        changes: &[(&'a str, Option<&str>)],
        act: Act<'_>,
    ) -> Result<Vec<SettingNow>, (&'a str, SettingError)> {
        self.change_with(store, changes, Beside::default(), act).await
    }

    /// As [`Self::change`], together with further changes in the same transaction.
    ///
    /// # Errors
    /// As [`Self::change`].
    pub async fn change_with<'a>(
        &self,
        store: &Store,
        changes: &[(&'a str, Option<&str>)],
        beside: Beside,
        act: Act<'_>,
    ) -> Result<Vec<SettingNow>, (&'a str, SettingError)> {
        let last = changes.last().map_or("", |(name, _)| *name);
        let stored = self.validated(changes)?;
        let _one_at_a_time = self.changing.lock().await;
        self.with(changes)?;
        self.store_all(store, stored, beside, act).await.map_err(|error| (last, error))?;
        changes.iter().map(|(name, _)| self.show(name).map_err(|error| (*name, error))).collect()
    }

    /// Checks whether [`Self::change`] would be refused, before other work is done for it. Changes
    /// no setting.
    ///
    /// # Errors
    /// As [`Self::change`].
    pub fn judge<'a>(
        &self,
        store: &Store,
        changes: &[(&'a str, Option<&str>)],
    ) -> Result<(), (&'a str, SettingError)> {
        let last = changes.last().map_or("", |(name, _)| *name);
        let validated = self.validated(changes)?;
        self.with(changes)?;
        let has_wallet =
            store.read(|reader| reader.has_wallet()).map_err(|error| (last, error.into()))?;
        let fixed = validated.iter().find(|(setting, _)| has_wallet && is_of_wallet(setting));
        fixed.map_or(Ok(()), |(setting, _)| Err((setting.name, SettingError::Fixed(setting.name))))
    }

    /// The text to store for each of these changes, in the setting's own form.
    fn validated<'a>(
        &self,
        changes: &[(&'a str, Option<&str>)],
    ) -> Result<Vec<Change>, (&'a str, SettingError)> {
        let mut stored: Vec<Change> = Vec::with_capacity(changes.len());
        for (name, value) in changes {
            let wrong = |error| (*name, error);
            let setting = Setting::named(name).map_err(wrong)?;
            if stored.iter().any(|(before, _)| before.name == setting.name) {
                return Err(wrong(SettingError::Twice(setting.name)));
            }
            if let Some(given) = self.overrides.get(setting.name) {
                return Err(wrong(SettingError::Overridden {
                    name: setting.name,
                    by: given.by.clone(),
                }));
            }
            let mut alone = Settings::defaults(self.environment);
            let text = value
                .map(|value| setting.apply(&mut alone, value).map(|()| (setting.text)(&alone)));
            stored.push((setting, text.transpose().map_err(wrong)?));
        }
        Ok(stored)
    }

    async fn change_one(
        &self,
        store: &Store,
        change: (&str, Option<&str>),
        act: Act<'_>,
    ) -> Result<SettingNow, SettingError> {
        let name = change.0;
        self.change(store, &[change], act).await.map_err(|(_, error)| error)?;
        self.show(name)
    }

    async fn store_all(
        &self,
        store: &Store,
        changes: Vec<Change>,
        beside: Beside,
        act: Act<'_>,
    ) -> Result<(), SettingError> {
        let (actor, at) = (act.actor.to_owned(), act.at);
        store
            .write(move |tx| {
                for (setting, value) in &changes {
                    if is_of_wallet(setting) && tx.has_wallet()? {
                        return Err(SettingError::Fixed(setting.name));
                    }
                    match value {
                        Some(value) => tx.put_setting(setting.name, value)?,
                        None => tx.remove_setting(setting.name)?,
                    }
                    let act = if value.is_some() { "settings set" } else { "settings unset" };
                    tx.audit(at, &actor, act, setting.name)?;
                }
                if let Some(NewPassword { entry, is_set }) = beside.password {
                    tx.put_setting(PasswordEntry::ROW, entry.as_str())?;
                    tx.put_setting(PasswordEntry::IS_SET_ROW, &is_set.to_string())?;
                }
                if let Some(folder) = &beside.backup_folder {
                    tx.put_backup_folder(folder)?;
                }
                Ok(())
            })
            .await?;
        self.refresh(store)
    }
}

/// Whether the setting cannot change once a wallet exists.
fn is_of_wallet(setting: &Setting) -> bool {
    ["addressType", "network"].contains(&setting.name)
}
