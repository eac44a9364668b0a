//! The merchant's settings: listed, shown, changed.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::ask::{Ask, Asker};
use super::error::CommandError;
use super::page::Page;
use crate::settings::{Act, SettingNow};

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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct SetSetting {
    /// The setting's name.
    pub name: String,
    /// Its value, in the form that the table of settings gives.
    pub value: String,
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
    let shown = match value {
        Some(value) => gateway.settings.set(&gateway.store, name, value, act).await?,
        None => gateway.settings.unset(&gateway.store, name, act).await?,
    };
    gateway.rates.set_min_fresh_sources(gateway.settings.snapshot().min_fresh_sources);
    gateway.note_change();
    Ok(shown.into())
}
