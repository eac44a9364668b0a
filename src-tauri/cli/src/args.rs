//! The command line's grammar: the arguments that `clap` parses, and the [`Command`] for each. It
//! executes nothing.

mod backups;
mod keys;
mod payouts;
mod records;
mod settings;
mod wallet;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::OnceLock;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use self::backups::Backup;
pub use self::backups::Restore;
use tillgate_console::Command;
use tillgate_console::doctor::Doctor;
use tillgate_console::status::Status;
use tillgate_machine::environment::Environment;
use tillgate_machine::secrets::Secret;

use self::keys::{HmacKey, Keys};
use self::payouts::{Limits, Payouts, Statement, StatementFormat};
use self::records::{Anomalies, Deliveries, Payments};
use self::settings::Settings;
use self::wallet::Wallet;

const EXAMPLES: &str = "\
Examples:
  tillgate serve                                                start on the built-in sandbox at 127.0.0.1:7421
  tillgate keys create webshop --environment test               a key for a shop; its secret is shown only once
  tillgate hmac-key rotate --environment test                   sign notifications from now on
  tillgate payments list --environment test                     the newest payments
  tillgate payouts approve ID --environment test                approve a payout that a shop requested
  tillgate statement --currency USD --environment test          every movement of the balance, valued in USD
  tillgate settings set merchantName 'Café' --environment test  the name that customers read
  tillgate backup /media/usb/till.backup --environment test     database and secrets in one encrypted file
  tillgate doctor --environment production                      find problems, and their remedies
  tillgate serve --environment production                       start production, which shares nothing with test

Once production has a wallet and test exists too, a command that changes something must name its environment.

Every command works whether or not a gateway is running on the data directory, and
takes effect at once in a running one. With --json it prints one JSON document on
stdout. A failure is one line on stderr and exit status 1; wrong usage is exit status 2.
Each setting can be given by an environment variable at the start of the gateway, such
as TILLGATE_MERCHANT_NAME, and TILLGATE_LOG says what is logged (info, debug, …).";

/// Take Bitcoin on your own machine.
#[derive(Debug, Parser)]
#[command(name = "tillgate", version, after_help = EXAMPLES, arg_required_else_help = true, max_term_width = 110)]
pub struct Tillgate {
    #[command(flatten)]
    pub common: CommonArgs,
    #[command(subcommand)]
    pub act: Act,
}

/// Arguments of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of every command")]
pub struct CommonArgs {
    /// The environment: test (the built-in sandbox) or production. The default is test until
    /// production has a wallet. Then `serve` serves both, and a command that only shows uses
    /// production. If test exists too, a command that changes something must name its environment.
    #[arg(long, global = true, env = "TILLGATE_ENVIRONMENT", value_name = "test|production")]
    pub environment: Option<Environment>,
    /// The folder that holds the data; each environment has a sub-folder
    /// [default: the platform's data folder].
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
    /// Read the passphrase of --secrets-file from this file descriptor, not from
    /// TILLGATE_PASSPHRASE. Backups use it too, unless they are given their own.
    #[arg(long, global = true, value_name = "FD")]
    pub passphrase_fd: Option<i32>,
    /// Read the passphrase of backups from this file descriptor, not from
    /// TILLGATE_BACKUP_PASSPHRASE.
    #[arg(long, global = true, value_name = "FD")]
    pub backup_passphrase_fd: Option<i32>,
}

/// [`CommonArgs`] for one chosen environment.
#[derive(Debug, Clone)]
pub struct Common {
    pub environment: Environment,
    pub data_dir: Option<PathBuf>,
    pub secrets_file: Option<PathBuf>,
    pub passphrase_fd: Option<i32>,
    pub backup_passphrase_fd: Option<i32>,
    /// Whether `--json` was given. The command then asks a person nothing.
    pub json: bool,
    /// The passphrase given for this environment's secrets, kept because a descriptor can be read
    /// only once.
    pub passphrase: OnceLock<Secret>,
    /// The passphrase given for backups alone, kept because a descriptor can be read only once.
    pub backup_passphrase: OnceLock<Secret>,
}

/// The form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Human,
    /// One JSON object a line.
    Json,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Act {
    /// Run the gateway until SIGTERM or Ctrl-C.
    ///
    /// When ready it prints one line to stdout:
    /// {"event":"ready","environment":"test","api":"http://127.0.0.1:7421/v2","pages":"http://127.0.0.1:7421/pay"}
    Serve(ServeArgs),
    /// Show the gateway's state: the last look at the chain, rates, queues, and why payouts wait.
    Status,
    /// API keys, with which programs call the API.
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
    /// Payouts to other addresses: offers, approval, fees, cancelling.
    #[command(subcommand)]
    Payouts(Payouts),
    /// How much may be paid out.
    #[command(subcommand)]
    Limits(Limits),
    /// Make, restore and show the wallet.
    #[command(subcommand)]
    Wallet(Wallet),
    /// Every movement of the balance, with its value, and sums by day and month. JSON: {"currency",
    /// "items":
    /// [{"time", "kind", "btcAmount" (negative for outgoing coins), "fiatAmount", "exchangeRate", "feeBtc", "btcTxId", "paymentId", "payoutId", "anomalyId"}],
    /// "totals": {"byDay", "byMonth"}}. Members without a value are left out. The sum of btcAmount
    /// over all time is the balance of `wallet info`. A row is valued at the rate of its payment or
    /// payout if that has the same currency, else at the rate of the row's time.
    Statement(Statement),
    /// Attempts to notify shops.
    #[command(subcommand)]
    Deliveries(Deliveries),
    /// Save database, secrets and the sandbox's chain in one encrypted file, while payments go on.
    ///
    /// The passphrase comes from TILLGATE_BACKUP_PASSPHRASE or --backup-passphrase-fd, else from
    /// TILLGATE_PASSPHRASE or --passphrase-fd, else you are asked for it. It has at least 8
    /// characters, in production 12. Anyone with the file and the passphrase can spend the coins;
    /// without the passphrase nobody can open the file, not even you. JSON: {"file", "madeAt",
    /// "sizeBytes", "checkedAt"}.
    Backup(Backup),
    /// Restore a backup into an environment that does not exist yet: the same payments, keys and
    /// balance. Then start `tillgate serve`: the restored copy gives no address and sends nothing
    /// before it has scanned the chain. The original must never run again. JSON: {"environment",
    /// "folder", "madeAt", "wallet"}.
    Restore(Restore),
    /// Check keyring, chain, rates, clock, disk, ports, permissions, database, notifications and
    /// payouts; say what to do.
    ///
    /// JSON: {"ok", "checks": [{"name", "ok", "message"}]}; exit status 1 when something is wrong.
    Doctor,
}

/// The arguments of `serve`.
#[derive(Debug, Clone, Args)]
pub struct ServeArgs {
    /// The address of the API; port 0 picks a free one
    /// [default: 127.0.0.1:7421, production 127.0.0.1:7420].
    #[arg(long, env = "TILLGATE_LISTEN", value_name = "ADDR:PORT")]
    pub listen: Option<SocketAddr>,
    /// The address of the payment pages [default: the address of the API].
    #[arg(long, env = "TILLGATE_PAGES_LISTEN", value_name = "ADDR:PORT")]
    pub pages_listen: Option<SocketAddr>,
    /// The address under which customers reach the payment pages; overrides the setting publicUrl.
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
    /// The certificate's private key, a PEM file.
    #[arg(long, env = "TILLGATE_TLS_KEY", value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Serve TLS with a self-signed certificate, which is stored in the data directory.
    #[arg(long, env = "TILLGATE_TLS_SELF_SIGNED")]
    pub tls_self_signed: bool,
}

/// How an answer is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Text,
    /// One JSON document.
    Json,
    /// A table.
    Table,
}

/// The meaning of a command line.
#[derive(Debug)]
pub enum Meaning {
    /// Run the gateway.
    Serve(ServeArgs),
    /// Send this command to a gateway.
    Ask(Command),
    /// Restore a backup, without a gateway.
    Restore(Restore),
}

impl CommonArgs {
    /// These arguments for one environment.
    pub fn in_environment(&self, environment: Environment) -> Common {
        let Self { data_dir, secrets_file, passphrase_fd, backup_passphrase_fd, json, .. } =
            self.clone();
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
    /// Parses the line of this process.
    ///
    /// # Errors
    /// The usage error or the help to print.
    pub fn from_command_line() -> Result<Self, clap::Error> {
        let mut grammar = Self::command();
        let matches = grammar.try_get_matches_from_mut(std::env::args_os())?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut grammar))
    }

    /// Checks rules that `clap` cannot express: one form of output, and a value for each setting.
    ///
    /// # Errors
    /// The usage error to print.
    pub fn checked(self) -> Result<Self, clap::Error> {
        if self.common.json && self.form() == Form::Table {
            let why = "a table (--format) and --json are two forms: leave one of them out";
            return Err(Self::command().error(clap::error::ErrorKind::ArgumentConflict, why));
        }
        if let Act::Settings(settings) = &self.act
            && let Some(why) = settings.wrong_usage()
        {
            return Err(Self::command().error(clap::error::ErrorKind::WrongNumberOfValues, why));
        }
        Ok(self)
    }

    /// The form of the answer; the command's own `--format` takes precedence over `--json`.
    pub fn form(&self) -> Form {
        let format = match &self.act {
            Act::Statement(statement) => statement.format,
            Act::Payments(Payments::List { format: Some(_), .. }) => return Form::Table,
            _ => None,
        };
        match format {
            Some(StatementFormat::Csv | StatementFormat::Spreadsheet) => Form::Table,
            Some(StatementFormat::Json) => Form::Json,
            None if self.common.json => Form::Json,
            None => Form::Text,
        }
    }
}

impl Act {
    /// Converts the subcommand to its [`Meaning`].
    pub fn meaning(self) -> Meaning {
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
