//! The command line's grammar: what `clap` reads, and the [`Command`] that it means. Acts on nothing.

mod backups;
mod keys;
mod payouts;
mod records;
mod settings;
mod wallet;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::OnceLock;

use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};

use self::backups::Backup;
pub(super) use self::backups::Restore;
use self::keys::{HmacKey, Keys};
use self::payouts::{Limits, Payouts, Statement, StatementFormat};
use self::records::{Anomalies, Deliveries, Payments};
use self::settings::Settings;
use self::wallet::Wallet;
use crate::console::Command;
use crate::console::doctor::Doctor;
use crate::console::status::Status;
use crate::machine::environment::Environment;
use crate::machine::secrets::Secret;

const EXAMPLES: &str = "\
Examples:
  tillgate serve                                                start on the built-in sandbox at 127.0.0.1:7421
  tillgate keys create webshop --environment test               a key for a shop; its secret is shown this once
  tillgate hmac-key rotate --environment test                   sign notifications from now on
  tillgate payments list --environment test                     the newest payments
  tillgate payouts approve ID --environment test                send what a shop's program asked for
  tillgate statement --currency USD --environment test          what came and went, and its worth
  tillgate settings set merchantName 'Café' --environment test  what customers read
  tillgate backup /media/usb/till.backup --environment test     all that there is, in one encrypted file
  tillgate doctor --environment production                      what is wrong, and what to do
  tillgate serve --environment production                       the other environment, which shares nothing with the first

Once production has a wallet and test is there too, a command that changes something must name its environment.

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
    pub common: CommonArgs,
    #[command(subcommand)]
    pub act: Act,
}

/// Arguments of every command.
#[derive(Debug, Clone, Args)]
pub(super) struct CommonArgs {
    /// Which environment: test (the built-in sandbox) or production [default: test until production has a wallet; then `serve`
    /// serves both, a command that shows means production, and a command that changes something must name one].
    #[arg(long, global = true, env = "TILLGATE_ENVIRONMENT", value_name = "test|production")]
    pub environment: Option<Environment>,
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
    /// Read the passphrase of --secrets-file, and of backups without one of their own, from this file descriptor, not from
    /// TILLGATE_PASSPHRASE.
    #[arg(long, global = true, value_name = "FD")]
    pub passphrase_fd: Option<i32>,
    /// Read the passphrase of backups from this file descriptor, not from TILLGATE_BACKUP_PASSPHRASE.
    #[arg(long, global = true, value_name = "FD")]
    pub backup_passphrase_fd: Option<i32>,
}

/// The same arguments for one chosen environment.
#[derive(Debug, Clone)]
pub(super) struct Common {
    pub environment: Environment,
    pub data_dir: Option<PathBuf>,
    pub secrets_file: Option<PathBuf>,
    pub passphrase_fd: Option<i32>,
    pub backup_passphrase_fd: Option<i32>,
    /// Whether the command must not ask a person.
    pub json: bool,
    /// The passphrase given for this environment's secrets, kept because a descriptor can be read only once.
    pub passphrase: OnceLock<Secret>,
    /// The passphrase given for backups alone, kept for the same reason.
    pub backup_passphrase: OnceLock<Secret>,
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
    /// Show the running gateway: how far the chain was watched, rates, queues, and why payouts wait.
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
    /// Coins that leave: offers, approval, fees, giving up.
    #[command(subcommand)]
    Payouts(Payouts),
    /// How much may be paid out.
    #[command(subcommand)]
    Limits(Limits),
    /// Make, restore and show the wallet.
    #[command(subcommand)]
    Wallet(Wallet),
    /// Every movement of the balance, with its worth, and sums by day and month.
    /// JSON: {"currency", "items": [{"time", "kind", "btcAmount" (negative where it leaves), "fiatAmount",
    /// "exchangeRate", "feeBtc", "btcTxId", "paymentId", "payoutId", "anomalyId"}], "totals": {"byDay", "byMonth"}}.
    /// Members without a value are left out. The sum of btcAmount over all time is the balance of `wallet info`. A row
    /// is valued by the rate of its payment or payout if that is in the currency, else by the rate of its moment.
    Statement(Statement),
    /// Attempts to notify shops.
    #[command(subcommand)]
    Deliveries(Deliveries),
    /// Save all that there is in one encrypted file, while payments go on: database, secrets, on the sandbox its chain.
    ///
    /// The passphrase comes from TILLGATE_BACKUP_PASSPHRASE or --backup-passphrase-fd, else from TILLGATE_PASSPHRASE or
    /// --passphrase-fd, else it is asked for; it has at least 8 characters, in production 12. Who has file and passphrase has the coins; without the passphrase the file is worth nothing, to you too.
    /// JSON: {"file", "madeAt", "sizeBytes", "checkedAt"}.
    Backup(Backup),
    /// Restore a backup where there is none of this environment: the same payments, keys and balance.
    /// The restored copy gives no address and sends nothing before it has looked through the chain: start `tillgate
    /// serve`. The copy that was saved must not run any more. JSON: {"environment", "folder", "madeAt", "wallet"}.
    Restore(Restore),
    /// Check keyring, chain, rates, clock, disk, ports, permissions, database, notifications and payouts; say what to do.
    ///
    /// JSON: {"ok", "checks": [{"name", "ok", "message"}]}; exit status 1 when something is wrong.
    Doctor,
}

/// How to serve.
#[derive(Debug, Clone, Args)]
pub(super) struct ServeArgs {
    /// The address of the API; port 0 picks a free one [default: 127.0.0.1:7421, production 127.0.0.1:7420].
    #[arg(long, env = "TILLGATE_LISTEN", value_name = "ADDR:PORT")]
    pub listen: Option<SocketAddr>,
    /// The address of the payment pages [default: with the API].
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
    /// Serve TLS with a certificate of our own making, stored in the data directory.
    #[arg(long, env = "TILLGATE_TLS_SELF_SIGNED")]
    pub tls_self_signed: bool,
}

/// How an answer is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// For people.
    Text,
    /// One JSON document.
    Json,
    /// A table for other programs.
    Csv,
}

/// The meaning of a command line.
#[derive(Debug)]
pub(super) enum Meaning {
    /// Run the gateway.
    Serve(ServeArgs),
    /// Ask a gateway.
    Ask(Command),
    /// Restore a backup, without a gateway.
    Restore(Restore),
}

impl CommonArgs {
    /// The same, for this environment.
    pub(super) fn of(&self, environment: Environment) -> Common {
        let Self { data_dir, secrets_file, passphrase_fd, backup_passphrase_fd, json, .. } = self.clone();
        let (passphrase, backup_passphrase) = (OnceLock::new(), OnceLock::new());
        Common {
            environment,
            data_dir,
            secrets_file,
            passphrase_fd,
            backup_passphrase_fd,
            json,
            passphrase,
            backup_passphrase,
        }
    }
}

impl Tillgate {
    /// The line, unless it asks for two forms at once, or names settings without their values.
    ///
    /// # Errors
    /// As wrong usage.
    pub(super) fn checked(self) -> Result<Self, clap::Error> {
        if self.common.json && self.form() == Form::Csv {
            let why = "--format csv and --json ask for two forms: leave one of them out";
            return Err(Self::command().error(clap::error::ErrorKind::ArgumentConflict, why));
        }
        if let Act::Settings(settings) = &self.act
            && let Some(why) = settings.wrong_usage()
        {
            return Err(Self::command().error(clap::error::ErrorKind::WrongNumberOfValues, why));
        }
        Ok(self)
    }

    /// The form of the answer; the command's own `--format` counts before `--json`.
    pub(super) fn form(&self) -> Form {
        let format = match &self.act {
            Act::Statement(statement) => statement.format,
            _ => None,
        };
        match format {
            Some(StatementFormat::Csv) => Form::Csv,
            Some(StatementFormat::Json) => Form::Json,
            None if self.common.json => Form::Json,
            None => Form::Text,
        }
    }
}

impl Act {
    /// Turns the act into its meaning.
    pub(super) fn meaning(self) -> Meaning {
        Meaning::Ask(match self {
            Self::Serve(serve) => return Meaning::Serve(serve),
            Self::Status => Status {}.into(),
            Self::Keys(keys) => keys.command(),
            Self::HmacKey(key) => key.command(),
            Self::Settings(settings) => settings.command(),
            Self::Payments(payments) => payments.command(),
            Self::Anomalies(anomalies) => anomalies.command(),
            Self::Payouts(payouts) => payouts.command(),
            Self::Limits(limits) => limits.command(),
            Self::Wallet(wallet) => wallet.command(),
            Self::Backup(backup) => backup.command(),
            Self::Restore(restore) => return Meaning::Restore(restore),
            Self::Statement(statement) => statement.command(),
            Self::Deliveries(deliveries) => deliveries.command(),
            Self::Doctor => Doctor {}.into(),
        })
    }
}

#[cfg(test)]
mod tests;
