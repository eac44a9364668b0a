//! The settings in effect: the stored values, overridden by values given at the start.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use tillgate_machine::environment::Environment;
use tillgate_store::Store;
use tokio::sync::Mutex;

use super::defaults::fee_fallback_default;
use super::error::SettingError;
use super::password_entry::PasswordEntry;
use super::setting::Setting;
use super::table::SETTINGS;
use super::values::Settings;

/// A value given at the start, which overrides the stored one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The value, in the setting's form.
    pub value: String,
    /// The flag or environment variable that gave the value, for people.
    pub by: String,
}

/// A setting as people see it.
#[derive(Debug, Clone)]
pub struct SettingNow {
    /// The table's row.
    pub setting: &'static Setting,
    /// The value in effect.
    pub value: String,
    /// The default of this environment.
    pub default: String,
    /// For `backendPassword`, whose value is hidden: whether it is set. `None` for all other
    /// settings.
    pub is_set: Option<bool>,
}

/// The settings of a gateway: the stored values, overridden by values given at the start.
#[derive(Debug)]
pub struct LiveSettings {
    pub environment: Environment,
    pub overrides: BTreeMap<&'static str, Override>,
    now: RwLock<Arc<Settings>>,
    /// Held from a change's validation to its refresh, so that the newest commit is in effect.
    pub changing: Mutex<()>,
    /// Held while a value in the secret store changes together with other settings, so that they
    /// are one change.
    pub changing_secrets: Mutex<()>,
}

impl LiveSettings {
    /// Reads the stored values and applies the overrides. A stored value of an older version may be
    /// invalid now. It is logged, and the default is used until the setting is set again.
    ///
    /// # Errors
    /// An override is unknown or out of bounds, or the database cannot be read.
    pub fn load(
        environment: Environment,
        overrides: &BTreeMap<String, Override>,
        store: &Store,
    ) -> Result<Self, SettingError> {
        let mut named = BTreeMap::new();
        for (name, given) in overrides {
            let setting = Setting::named(name)?;
            setting.apply(&mut Settings::defaults(environment), &given.value)?;
            named.insert(setting.name, given.clone());
        }
        let live = Self {
            environment,
            overrides: named,
            now: RwLock::new(Arc::new(Settings::defaults(environment))),
            changing: Mutex::new(()),
            changing_secrets: Mutex::new(()),
        };
        live.refresh(store)?;
        Ok(live)
    }

    /// The settings in effect now.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Settings> {
        Arc::clone(&self.now.read())
    }

    /// One setting, with its value in effect.
    ///
    /// # Errors
    /// [`SettingError::Unknown`].
    pub fn show(&self, name: &str) -> Result<SettingNow, SettingError> {
        let setting = Setting::named(name)?;
        Ok(SettingNow::new(setting, &self.snapshot(), &self.defaults()))
    }

    /// The defaults of this environment on its network.
    fn defaults(&self) -> Settings {
        let fee_fallback_sat_vb = fee_fallback_default(self.snapshot().network);
        Settings { fee_fallback_sat_vb, ..Settings::defaults(self.environment) }
    }

    /// All settings, in the table's order.
    #[must_use]
    pub fn list(&self) -> Vec<SettingNow> {
        let (settings, defaults) = (self.snapshot(), self.defaults());
        SETTINGS.iter().map(|setting| SettingNow::new(setting, &settings, &defaults)).collect()
    }

    /// The settings as they would be with these values, each by its name; `None` for a default.
    /// Changes no setting.
    ///
    /// # Errors
    /// The error with the name of the wrong setting; in a conflict, one of the settings in conflict
    /// or the last one.
    pub fn with<'a>(
        &self,
        values: &[(&'a str, Option<&str>)],
    ) -> Result<Settings, (&'a str, SettingError)> {
        let defaults = self.defaults();
        let mut settings = Settings::clone(&self.snapshot());
        for (name, value) in values {
            let wrong = |error| (*name, error);
            let setting = Setting::named(name).map_err(wrong)?;
            let default = (setting.text)(&defaults);
            setting.apply(&mut settings, value.unwrap_or(&default)).map_err(wrong)?;
        }
        let last = values.last().map_or("", |(name, _)| *name);
        settings.agree(self.environment).map_err(|error| match error {
            SettingError::BackendUrl { .. } => ("backendUrl", error),
            error => (last, error),
        })?;
        // A stored value must not block a change of another setting.
        let of_servers = ["proxy", "backendZmq", "backendUrl"];
        if let Some(named) =
            of_servers.iter().rfind(|named| values.iter().any(|(name, _)| name == *named))
        {
            settings.servers_are_in_reach().map_err(|error| (*named, error))?;
        }
        // Limits that were stored before this rule must not block a change of another setting.
        if let Some((limit, _)) = values.iter().rfind(|(name, _)| is_limit(name)) {
            settings.limits_agree().map_err(|error| (*limit, error))?;
        }
        Ok(settings)
    }

    pub fn refresh(&self, store: &Store) -> Result<(), SettingError> {
        let mut settings = Settings::defaults(self.environment);
        let rows = store.read(|reader| reader.settings())?;
        let is_set = |name: &str| {
            self.overrides.contains_key(name) || rows.iter().any(|(row, _)| row == name)
        };
        let has_fallback = is_set("feeFallbackSatVb");
        for (name, value) in rows {
            if name == PasswordEntry::ROW {
                settings.backend_password = PasswordEntry::of_row(&value)?;
                continue;
            }
            if name == PasswordEntry::IS_SET_ROW {
                settings.has_backend_password = value == true.to_string();
                continue;
            }
            // A setting of a newer version is ignored.
            let Ok(setting) = Setting::named(&name) else { continue };
            if let Err(error) = setting.apply(&mut settings, &value) {
                tracing::error!(setting = name, %error, "a stored setting is invalid; its default is used");
                // The default backend is not used: the server would be asked in the wrong protocol,
                // and its silence would hide the cause.
                if setting.name == "backend" {
                    settings.backend_refused = Some(error.to_string());
                }
            }
        }
        for (name, given) in &self.overrides {
            Setting::named(name)?.apply(&mut settings, &given.value)?;
        }
        if !has_fallback {
            settings.fee_fallback_sat_vb = fee_fallback_default(settings.network);
        }
        // A stored setting may conflict with an override of this start.
        settings.agree(self.environment)?;
        *self.now.write() = Arc::new(settings);
        Ok(())
    }
}

/// Whether a setting is a limit of payouts.
fn is_limit(name: &str) -> bool {
    ["dailyLimitBtc", "minPayoutBtc"].contains(&name)
}

impl SettingNow {
    fn new(setting: &'static Setting, settings: &Settings, defaults: &Settings) -> Self {
        let is_set =
            (setting.name == PasswordEntry::SETTING).then_some(settings.has_backend_password);
        Self { setting, value: (setting.text)(settings), default: (setting.text)(defaults), is_set }
    }
}
