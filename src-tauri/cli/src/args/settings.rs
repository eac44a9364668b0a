//! The commands of settings.

use clap::Subcommand;
use tillgate_console::Command;
use tillgate_console::settings::{
    BACKEND_PASSWORD, ChangeSettings, GetSetting, ListSettings, SetSetting, SettingChange,
    UnsetSetting,
};

use crate::image;
use crate::password::PASSWORD_IS_READ;

/// The usage error for a password as an argument: other users can list a process's arguments.
const PASSWORD_SHOWN: &str = "backendPassword must not be an argument, where others can read it: give - instead, and the password is read from the standard input";

#[derive(Debug, Subcommand)]
pub enum Settings {
    /// List all settings. JSON: {"items": [{"name", "value", "default", "about"}]}; the value of
    /// backendPassword is empty, and "isSet" says whether a password is stored.
    List,
    /// Show one setting.
    Get {
        /// The setting's name.
        name: String,
    },
    /// Change a setting, or several at once as NAME=VALUE: all of them or none. JSON of several:
    /// {"items": […]} as for list.
    #[command(
        override_usage = "tillgate settings set NAME VALUE\n       tillgate settings set NAME --file FILE\n       tillgate settings set NAME=VALUE NAME=VALUE…"
    )]
    Set {
        /// The setting's name, or NAME=VALUE.
        #[arg(value_name = "NAME")]
        name: String,
        /// The value, in the form that `settings list` shows. For backendPassword give -; the
        /// password is then read from the standard input.
        #[arg(allow_hyphen_values = true)]
        value: Option<String>,
        /// Further pairs NAME=VALUE.
        #[arg(value_name = "NAME=VALUE")]
        more: Vec<String>,
        /// Take the value from an image file (PNG, JPEG, WebP or SVG), for merchantLogo.
        #[arg(long, value_name = "FILE", value_parser = image::data_url)]
        file: Option<String>,
    },
    /// Return a setting to its default.
    Unset {
        /// The setting's name.
        name: String,
    },
}

impl Settings {
    /// The command for these arguments.
    pub fn command(self) -> Command {
        match self {
            Self::List => ListSettings {}.into(),
            Self::Get { name } => GetSetting { name }.into(),
            Self::Set { name, value, more, .. } if is_pair(&name) => {
                let pairs = [name].into_iter().chain(value).chain(more);
                let changes = pairs.filter_map(|pair| pair.split_once('=').map(change)).collect();
                ChangeSettings { changes }.into()
            }
            // `wrong_usage` made sure that exactly one of `value` and `file` is given.
            Self::Set { name, value, file, .. } => {
                SetSetting { name, value: value.or(file).unwrap_or_default() }.into()
            }
            Self::Unset { name } => UnsetSetting { name }.into(),
        }
    }
}

impl Settings {
    /// The usage error that the grammar of `clap` cannot express; `None` if the line is valid.
    pub fn wrong_usage(&self) -> Option<&'static str> {
        let Self::Set { name, value, more, file } = self else { return None };
        let given = usize::from(value.is_some()) + usize::from(file.is_some());
        let shown = format!("{BACKEND_PASSWORD}={PASSWORD_IS_READ}");
        let is_shown_pair =
            |one: &String| one.starts_with(&format!("{BACKEND_PASSWORD}=")) && *one != shown;
        let is_shown_value = name == BACKEND_PASSWORD
            && value.as_ref().or(file.as_ref()).is_some_and(|value| value != PASSWORD_IS_READ);
        if is_shown_value
            || (is_pair(name) && [name].into_iter().chain(value).chain(more).any(is_shown_pair))
        {
            return Some(PASSWORD_SHOWN);
        }
        match (is_pair(name), given, more.as_slice()) {
            (true, _, _) if file.is_some() => {
                Some("--file gives the value of one setting: NAME --file FILE")
            }
            (true, _, more) if value.iter().chain(more).all(|one| is_pair(one)) => None,
            (true, _, _) => Some("each of several settings is given as NAME=VALUE"),
            (false, 1, []) => None,
            (false, 0, _) => {
                Some("the setting needs a value: NAME VALUE, NAME=VALUE, or NAME --file FILE")
            }
            (false, _, []) => Some("a value is given in the line or by --file, not both"),
            (false, _, _) => {
                Some("one setting is given as NAME VALUE, several as NAME=VALUE NAME=VALUE")
            }
        }
    }
}

/// Whether this is NAME=VALUE. A setting's name has no equals sign.
fn is_pair(named: &str) -> bool {
    named.contains('=')
}

fn change((name, value): (&str, &str)) -> SettingChange {
    SettingChange { name: name.to_owned(), value: Some(value.to_owned()) }
}
