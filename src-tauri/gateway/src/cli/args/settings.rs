//! The commands of settings.

use clap::Subcommand;

use crate::cli::image;
use crate::console::Command;
use crate::console::settings::{BACKEND_PASSWORD, GetSetting, ListSettings, SetSetting, UnsetSetting};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Settings {
    /// List all settings. JSON: {"items": [{"name", "value", "default", "about"}]}.
    List,
    /// Show one setting.
    Get {
        /// The setting's name.
        name: String,
    },
    /// Change a setting, at once.
    Set {
        /// The setting's name.
        name: String,
        /// The value, in the form that `settings list` shows; for backendPassword -, which reads it from the standard input.
        #[arg(allow_hyphen_values = true, required_unless_present = "file")]
        value: Option<String>,
        /// Take the value from an image file (PNG, JPEG, WebP or SVG), for merchantLogo.
        #[arg(long, value_name = "FILE", conflicts_with = "value", value_parser = image::data_url)]
        file: Option<String>,
    },
    /// Return a setting to its default.
    Unset {
        /// The setting's name.
        name: String,
    },
}

impl Settings {
    /// What the line asks.
    pub(super) fn command(self) -> Command {
        match self {
            Self::List => ListSettings {}.into(),
            Self::Get { name } => GetSetting { name }.into(),
            Self::Set { name, value, file } => {
                // The grammar wants exactly one of them.
                let value = match value.or(file) {
                    Some(value) if value == "-" && name == BACKEND_PASSWORD => read_line(),
                    value => value.unwrap_or_default(),
                };
                SetSetting { name, value }.into()
            }
            Self::Unset { name } => UnsetSetting { name }.into(),
        }
    }
}

/// A line of the standard input without its end; what cannot be read is empty.
fn read_line() -> String {
    let mut line = String::new();
    let _ = std::io::stdin().read_line(&mut line);
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    line
}
