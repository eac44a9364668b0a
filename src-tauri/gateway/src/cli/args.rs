//! The command line's grammar: what `clap` reads, and the [`Command`] that it means. Acts on nothing.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tillgate_domain::payment::PaymentState;

use super::image;
use crate::console::Command;
use crate::console::anomalies::{DismissAnomaly, ListAnomalies, ShowAnomaly};
use crate::console::deliveries::{ListDeliveries, Resend};
use crate::console::doctor::Doctor;
use crate::console::keys::{CreateKey, ListKeys, RevokeKey, RotateHmacKey};
use crate::console::payments::{AcceptPayment, ListPayments, ShowPayment};
use crate::console::settings::{GetSetting, ListSettings, SetSetting, UnsetSetting};
use crate::console::status::Status;
use crate::machine::environment::Environment;

const EXAMPLES: &str = "\
Examples:
  tillgate serve                              start on the built-in sandbox at 127.0.0.1:7421
  tillgate keys create webshop                a key for a shop; its secret is shown this once
  tillgate hmac-key rotate                    sign notifications from now on
  tillgate payments list                      the newest payments
  tillgate settings set merchantName 'Café'   what customers read
  tillgate doctor                             what is wrong, and what to do

Every command works whether or not a gateway is running on the data directory, and
takes effect at once in a running one. With --json it prints one JSON document on
stdout. A failure is one line on stderr and exit status 1; wrong usage is exit status 2.
Each setting can be given by an environment variable at the start of the gateway, such
as TILLGATE_MERCHANT_NAME, and TILLGATE_LOG says what is logged (info, debug, …).";

/// Take Bitcoin on your own machine.
#[derive(Debug, Parser)]
#[command(name = "tillgate", version, after_help = EXAMPLES, arg_required_else_help = true, max_term_width = 110)]
pub(super) struct Tillgate {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub act: Act,
}

/// What every command takes.
#[derive(Debug, Args)]
pub(super) struct Common {
    /// Which environment: test (the built-in sandbox) or production.
    #[arg(long, global = true, env = "TILLGATE_ENVIRONMENT", default_value = "test", value_name = "test|production")]
    pub environment: Environment,
    /// The folder that holds the data; each environment has a sub-folder [default: the platform's].
    #[arg(long, global = true, env = "TILLGATE_DATA_DIR", value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Print one JSON document on stdout.
    #[arg(long, global = true)]
    pub json: bool,
    /// The form of the log on stderr.
    #[arg(long, global = true, env = "TILLGATE_LOG_FORMAT", value_enum, default_value = "human")]
    pub log_format: LogFormat,
    /// Keep secrets in this file, encrypted with a passphrase, instead of the OS keyring.
    #[arg(long, global = true, env = "TILLGATE_SECRETS_FILE", value_name = "FILE")]
    pub secrets_file: Option<PathBuf>,
    /// Read the passphrase of --secrets-file from this file descriptor, not from TILLGATE_PASSPHRASE.
    #[arg(long, global = true, value_name = "FD", requires = "secrets_file")]
    pub passphrase_fd: Option<i32>,
}

/// The form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// For people.
    Human,
    /// One JSON object a line.
    Json,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(super) enum Act {
    /// Run the gateway until SIGTERM or Ctrl-C.
    ///
    /// When ready it prints one line to stdout:
    /// {"event":"ready","environment":"test","api":"http://127.0.0.1:7421/v2","pages":"http://127.0.0.1:7421/pay"}
    Serve(ServeArgs),
    /// What is running, how far the chain was watched, which rates, what is queued.
    Status,
    /// Keys by which programs call the API.
    #[command(subcommand)]
    Keys(Keys),
    /// The key that signs notifications.
    #[command(subcommand, name = "hmac-key")]
    HmacKey(HmacKey),
    /// The merchant's settings.
    #[command(subcommand)]
    Settings(Settings),
    /// Payments of customers.
    #[command(subcommand)]
    Payments(Payments),
    /// Coins that do not fit a payment.
    #[command(subcommand)]
    Anomalies(Anomalies),
    /// Attempts to notify shops.
    #[command(subcommand)]
    Deliveries(Deliveries),
    /// Check keyring, backend, rates, clock, disk, ports, permissions and database; say what to do.
    ///
    /// JSON: {"ok", "checks": [{"name", "ok", "message"}]}; exit status 1 when something is wrong.
    Doctor,
}

/// How to serve.
#[derive(Debug, Clone, Args)]
pub(super) struct ServeArgs {
    /// Where the API listens; port 0 picks a free one [default: 127.0.0.1:7421, production 127.0.0.1:7420].
    #[arg(long, env = "TILLGATE_LISTEN", value_name = "ADDR:PORT")]
    pub listen: Option<SocketAddr>,
    /// Where the payment pages listen [default: with the API].
    #[arg(long, env = "TILLGATE_PAGES_LISTEN", value_name = "ADDR:PORT")]
    pub pages_listen: Option<SocketAddr>,
    /// The address under which customers reach the payment pages; rules over the setting publicUrl.
    #[arg(long, value_name = "URL")]
    pub public_url: Option<String>,
    /// The certificate for TLS, a PEM file.
    #[arg(
        long,
        env = "TILLGATE_TLS_CERT",
        value_name = "FILE",
        requires = "tls_key",
        conflicts_with = "tls_self_signed"
    )]
    pub tls_cert: Option<PathBuf>,
    /// Its private key, a PEM file.
    #[arg(long, env = "TILLGATE_TLS_KEY", value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Serve TLS with a certificate of our own making, kept in the data directory.
    #[arg(long, env = "TILLGATE_TLS_SELF_SIGNED")]
    pub tls_self_signed: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum Keys {
    /// Make a key; its secret is shown this once. JSON: {"name", "secret", "permissions"}.
    Create {
        /// Letters, digits, underscore; 1 to 64.
        name: String,
        /// shop (payments only), full, or a list of payments.read, payments.create, payouts.read,
        /// payouts.create, payouts.approve.
        #[arg(long, default_value = "shop", value_name = "shop|full|LIST")]
        permissions: String,
        /// Payments made with this key need no notificationUrl.
        #[arg(long)]
        notification_url_optional: bool,
        /// The key sees, resends and approves what it made, and nothing else.
        #[arg(long)]
        own: bool,
        /// A host that this key's notifications may go to, like shop.example; repeatable [default: all hosts].
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
pub(super) enum HmacKey {
    /// Make a new key, shown this once; the old one signs beside it for 24 hours. JSON: {"key"}.
    Rotate,
}

#[derive(Debug, Subcommand)]
pub(super) enum Settings {
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
        /// The value, in the form that `settings list` shows.
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

/// Which part of a list.
#[derive(Debug, Args)]
pub(super) struct Range {
    /// How many at most.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500), value_name = "1-500")]
    pub limit: u32,
    /// How many of the newest to pass over.
    #[arg(long, default_value_t = 0)]
    pub offset: u32,
}

#[derive(Debug, Subcommand)]
pub(super) enum Payments {
    /// List payments, newest first. JSON: {"items": […], "itemsCount"}.
    List {
        #[command(flatten)]
        range: Range,
        /// Only those in this state (NEW, UNDERPAID, UNCONFIRMED, CONFIRMED, EXPIRED, INVALID); repeatable.
        #[arg(long = "status", value_name = "STATE")]
        states: Vec<PaymentState>,
        /// An id, address, transaction id or the shop's own reference.
        #[arg(long, value_name = "TEXT")]
        search: Option<String>,
    },
    /// Show one payment with its transactions, history, deliveries and anomalies.
    Show {
        /// Its id.
        id: String,
    },
    /// Accept the coins that came for an underpaid, expired or invalid payment.
    Accept {
        /// Its id.
        id: String,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum Anomalies {
    /// List anomalies, newest first. JSON: {"items": […], "itemsCount"}.
    List {
        #[command(flatten)]
        range: Range,
        /// Only those that wait for a decision.
        #[arg(long)]
        open: bool,
    },
    /// Show one anomaly.
    Show {
        /// Its id.
        id: String,
    },
    /// Dismiss an anomaly.
    Dismiss {
        /// Its id.
        id: String,
        /// Why, for the record; the shop reads it.
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum Deliveries {
    /// List attempts to notify, newest first. JSON: {"items": […], "itemsCount"}.
    List {
        #[command(flatten)]
        range: Range,
        /// Only failed ones.
        #[arg(long)]
        failed: bool,
    },
    /// Queue the present record again, for a delivery, payment or anomaly. JSON: {"queued"}.
    Resend {
        /// The id of the delivery, payment or anomaly.
        id: String,
    },
}

/// What a line means.
#[derive(Debug)]
pub(super) enum Meaning {
    /// Run the gateway.
    Serve(ServeArgs),
    /// Ask a gateway.
    Ask(Command),
}

impl Act {
    /// What the line means.
    pub(super) fn meaning(self) -> Meaning {
        Meaning::Ask(match self {
            Self::Serve(serve) => return Meaning::Serve(serve),
            Self::Status => Status {}.into(),
            Self::Keys(Keys::Create { name, permissions, notification_url_optional, own, notify_hosts }) => {
                CreateKey { name, permissions, notification_url_optional, own, notify_hosts }.into()
            }
            Self::Keys(Keys::List) => ListKeys {}.into(),
            Self::Keys(Keys::Revoke { name }) => RevokeKey { name }.into(),
            Self::HmacKey(HmacKey::Rotate) => RotateHmacKey {}.into(),
            Self::Settings(Settings::List) => ListSettings {}.into(),
            Self::Settings(Settings::Get { name }) => GetSetting { name }.into(),
            Self::Settings(Settings::Set { name, value, file }) => {
                // The grammar wants exactly one of them.
                SetSetting { name, value: value.or(file).unwrap_or_default() }.into()
            }
            Self::Settings(Settings::Unset { name }) => UnsetSetting { name }.into(),
            Self::Payments(Payments::List { range, states, search }) => {
                let states = states.into_iter().map(Into::into).collect();
                ListPayments { limit: range.limit, offset: range.offset, states, search }.into()
            }
            Self::Payments(Payments::Show { id }) => ShowPayment { payment_id: id }.into(),
            Self::Payments(Payments::Accept { id }) => AcceptPayment { payment_id: id, accepted_sats: None }.into(),
            Self::Anomalies(Anomalies::List { range, open }) => {
                ListAnomalies { open, limit: range.limit, offset: range.offset }.into()
            }
            Self::Anomalies(Anomalies::Show { id }) => ShowAnomaly { anomaly_id: id }.into(),
            Self::Anomalies(Anomalies::Dismiss { id, reason }) => DismissAnomaly { anomaly_id: id, reason }.into(),
            Self::Deliveries(Deliveries::List { range, failed }) => {
                ListDeliveries { failed, limit: range.limit, offset: range.offset }.into()
            }
            Self::Deliveries(Deliveries::Resend { id }) => Resend { id }.into(),
            Self::Doctor => Doctor {}.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    fn parse(line: &str) -> Result<Command, clap::Error> {
        let words = std::iter::once("tillgate").chain(line.split(' '));
        match Tillgate::try_parse_from(words)?.act.meaning() {
            Meaning::Ask(command) => Ok(command),
            Meaning::Serve(_) => panic!("{line} serves"),
        }
    }

    #[test]
    fn the_grammar_is_sound() {
        Tillgate::command().debug_assert();
    }

    #[test]
    fn a_line_means_its_command() {
        assert_eq!(parse("status --json").unwrap(), Status {}.into());
        assert_eq!(
            parse("keys create till --permissions full --notification-url-optional").unwrap(),
            CreateKey {
                name: "till".to_owned(),
                permissions: "full".to_owned(),
                notification_url_optional: true,
                own: false,
                notify_hosts: Vec::new()
            }
            .into()
        );
        assert_eq!(
            parse("keys create shop --own --notify-host a.example --notify-host b.example").unwrap(),
            CreateKey {
                name: "shop".to_owned(),
                permissions: "shop".to_owned(),
                notification_url_optional: false,
                own: true,
                notify_hosts: vec!["a.example".to_owned(), "b.example".to_owned()]
            }
            .into()
        );
        assert_eq!(
            parse("payments list --status NEW --status UNDERPAID --limit 3").unwrap(),
            ListPayments {
                limit: 3,
                offset: 0,
                states: vec![PaymentState::New.into(), PaymentState::Underpaid.into()],
                search: None
            }
            .into()
        );
        assert_eq!(
            parse("settings set tolerancePerMille -1").unwrap(),
            SetSetting { name: "tolerancePerMille".to_owned(), value: "-1".to_owned() }.into(),
            "the table refuses it with the bounds"
        );
    }

    #[test]
    fn a_logo_is_taken_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("logo");
        std::fs::write(&file, b"\x89PNG\r\n\x1a\n").unwrap();
        let line = format!("settings set merchantLogo --file {}", file.display());
        let value = "data:image/png;base64,iVBORw0KGgo=".to_owned();
        assert_eq!(parse(&line).unwrap(), SetSetting { name: "merchantLogo".to_owned(), value }.into());
        let missing = format!("{line}.missing");
        for line in [&missing, "settings set merchantLogo", "settings set merchantLogo x --file y"] {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn wrong_usage_is_refused_by_the_grammar() {
        for line in [
            "keys",
            "keys create",
            "anomalies dismiss abc",
            "payments list --limit 501",
            "payments list --status PAID",
            "nonsense",
            "serve -x",
        ] {
            assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
        }
    }
}
