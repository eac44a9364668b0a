//! The commands of API keys and of the HMAC key.

use clap::Subcommand;
use tillgate_console::Command;
use tillgate_console::keys::{CreateKey, ListKeys, RevokeKey, RotateHmacKey};

#[derive(Debug, Subcommand)]
pub enum Keys {
    /// Make a key; its secret is shown only once. JSON: {"name", "secret", "permissions"}.
    Create {
        /// The key's name: 1 to 64 letters, digits or underscores.
        name: String,
        /// shop (payments only), full, or a list of payments.read, payments.create, payouts.read,
        /// payouts.create, payouts.approve.
        #[arg(long, default_value = "shop", value_name = "shop|full|LIST")]
        permissions: String,
        /// Payments made with this key need no notificationUrl.
        #[arg(long)]
        notification_url_optional: bool,
        /// The key sees, resends and approves only the payments and payouts that it created.
        #[arg(long)]
        own: bool,
        /// A host that this key's notifications may go to, like shop.example; repeatable
        /// [default: all hosts].
        #[arg(long = "notify-host", value_name = "HOST")]
        notify_hosts: Vec<String>,
    },
    /// List the keys. JSON: {"items": […]}.
    List,
    /// Revoke a key: it is refused at once.
    Revoke {
        /// The key's name.
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub enum HmacKey {
    /// Make a new key, which is shown only once. The old key signs webhook-signature too for 24
    /// hours. JSON: {"key"}.
    Rotate,
}

impl Keys {
    /// The command for these arguments.
    pub fn command(self) -> Command {
        match self {
            Self::Create { name, permissions, notification_url_optional, own, notify_hosts } => {
                CreateKey { name, permissions, notification_url_optional, own, notify_hosts }.into()
            }
            Self::List => ListKeys {}.into(),
            Self::Revoke { name } => RevokeKey { name }.into(),
        }
    }
}

impl HmacKey {
    /// The command for these arguments.
    pub fn command(self) -> Command {
        match self {
            Self::Rotate => RotateHmacKey {}.into(),
        }
    }
}
