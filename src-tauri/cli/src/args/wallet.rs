//! The commands of the wallet.

use clap::{Args, Subcommand};
use tillgate_console::Command;
use tillgate_console::backups::VerifyBackup;
use tillgate_console::wallet::{
    ContinueRestore, CreateWallet, ImportLabels, RestoreWallet, ShowRestore, StopRestore,
    VerifyWords, WalletDescriptor, WalletInfo, WalletLabels, Words,
};

use super::backups::absolute;

#[derive(Debug, Subcommand)]
pub enum Wallet {
    /// Make a wallet from new words, which are shown only once; type two of them back. JSON:
    /// {"words"}, and no word is asked for.
    Create {
        /// The number of words.
        #[arg(long, value_name = "12|24", value_parser = ["12", "24"])]
        words: Option<String>,
    },
    /// Restore the wallet from its words, read from the standard input. JSON: {"made", "restore"}.
    ///
    /// If the wallet exists already, its words are stored with the secrets again. With --birthday
    /// or --gap the chain is scanned again too. Until a scan ends no address is given and no payout
    /// is sent; `wallet info` shows the progress.
    Restore(RestoreArgs),
    /// Check that a backup, or words on the standard input, would restore this wallet; exit status
    /// 1 if not.
    ///
    /// The passphrase of a backup is given as for `tillgate backup`; without a passphrase the
    /// stored key is tried. JSON for a backup: {"ok": true, "madeAt", "program"}; for words:
    /// {"fits", "message"}.
    VerifyBackup {
        /// The backup [default: words are read from the standard input].
        #[arg(value_name = "FILE")]
        file: Option<String>,
    },
    /// Show the wallet's balance, addresses and network. JSON: {"balanceBtc", "spendableBtc",
    /// "lockedBtc", "pendingBtc", "addressType", "network", "longestUnused", "gapLimit",
    /// "nextIndex", "looked"}.
    Info,
    /// Print the public descriptors, which show every payment but cannot spend. JSON:
    /// {"descriptor", "external", "internal"}; `descriptor` is that of both keychains, which
    /// Sparrow, Specter, Liana and Bitcoin Core read.
    Descriptor,
    /// Print labels of transactions, addresses and coins (BIP329), one JSON object a line. JSON:
    /// {"items": […]}.
    ///
    /// With --import labels of another wallet program are read instead, all of the file or none.
    /// They are shown with payments and payouts, and take the place of our own labels here. JSON:
    /// {"imported", "unchanged", "foreign", "foreignLines", "unkept", "unkeptTypes", "cut",
    /// "replaced", "frozen"}.
    Labels {
        /// A file in the format of BIP329, as Sparrow exports it.
        #[arg(long, value_name = "FILE")]
        import: Option<String>,
    },
}

/// How a wallet is restored.
#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// The earliest time of the wallet's first coin: a block height, or a date like 2024-05-31
    /// [default: the network's first block that can hold such a coin].
    ///
    /// With Bitcoin Core the blocks from the birthday on are scanned; the node looks up the block
    /// of a date. An Electrum server is asked about addresses, which takes equally long with any
    /// birthday, and a date is ignored.
    #[arg(long, value_name = "HEIGHT|DATE")]
    birthday: Option<String>,
    /// The largest number of addresses in a row that were given to customers and received no coin
    /// [default: the setting restoreSkip plus 500].
    ///
    /// The scan adds restoreSkip to it, because another restored copy may have skipped that many
    /// addresses.
    #[arg(long, value_name = "N")]
    gap: Option<u32>,
    /// Another copy of the wallet has used addresses after this copy's last, for example because
    /// this copy's folder was restored by hand: skip restoreSkip addresses.
    #[arg(long)]
    beside_another: bool,
    /// Show the progress of the scan; no words are read.
    #[arg(long, group = "look", conflicts_with_all = ["birthday", "gap", "beside_another"])]
    show: bool,
    /// Stop the scan; no words are read.
    #[arg(long, group = "look", conflicts_with_all = ["birthday", "gap", "beside_another"])]
    stop: bool,
    /// Continue a stopped scan; no words are read.
    #[arg(long = "continue", group = "look", conflicts_with_all = ["birthday", "gap", "beside_another"])]
    go_on: bool,
}

impl Wallet {
    /// The command for these arguments.
    pub fn command(self) -> Command {
        match self {
            Self::Create { words } => {
                CreateWallet { words: words.and_then(|words| words.parse().ok()) }.into()
            }
            Self::Restore(RestoreArgs { show: true, .. }) => ShowRestore {}.into(),
            Self::Restore(RestoreArgs { stop: true, .. }) => StopRestore {}.into(),
            Self::Restore(RestoreArgs { go_on: true, .. }) => ContinueRestore {}.into(),
            // `call::run` reads the words.
            Self::Restore(RestoreArgs { birthday, gap, beside_another, .. }) => {
                RestoreWallet { words: Words::new(String::new()), birthday, gap, beside_another }
                    .into()
            }
            Self::VerifyBackup { file: None } => {
                VerifyWords { words: Words::new(String::new()) }.into()
            }
            Self::Info => WalletInfo::default().into(),
            Self::Descriptor => WalletDescriptor {}.into(),
            Self::VerifyBackup { file: Some(file) } => {
                VerifyBackup { file: absolute(&file), passphrase: None, stored_first: false }.into()
            }
            Self::Labels { import: None } => WalletLabels { after: None, limit: None }.into(),
            Self::Labels { import: Some(file) } => ImportLabels { file: absolute(&file) }.into(),
        }
    }
}
