//! The commands of the wallet.

use clap::{Args, Subcommand};

use super::backups::absolute;
use crate::console::Command;
use crate::console::backups::VerifyBackup;
use crate::console::wallet::{
    ContinueRestore, CreateWallet, RestoreWallet, ShowRestore, StopRestore, VerifyWords, WalletDescriptor, WalletInfo,
    WalletLabels, Words,
};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Wallet {
    /// Make the wallet of new words, which are shown this once; two of them are asked back. JSON: {"words"}, and nothing is asked.
    Create {
        /// How many words.
        #[arg(long, value_name = "12|24", value_parser = ["12", "24"])]
        words: Option<String>,
    },
    /// Restore the wallet from its words, read from the standard input. JSON: {"made", "restore"}.
    ///
    /// If the wallet exists already, its words are put back with the secrets. With --birthday or --gap the chain is
    /// looked through once more. Until then no address is given and no payout is sent; `wallet info` shows the
    /// progress.
    Restore(RestoreArgs),
    /// Prove that a backup, or words on the standard input, would restore this wallet; exit status 1 where they would not.
    ///
    /// The passphrase of a backup comes as for `tillgate backup`; without one the stored key is tried. JSON of a backup:
    /// {"ok": true, "madeAt", "program"}; of words: {"fits", "message"}.
    VerifyBackup {
        /// The backup; without it words are read from the standard input.
        #[arg(value_name = "FILE")]
        file: Option<String>,
    },
    /// Tell what the wallet holds. JSON: {"balanceBtc", "spendableBtc", "lockedBtc", "pendingBtc", "addressType", "network",
    /// "longestUnused", "gapLimit", "nextIndex", "looked"}.
    Info,
    /// Print the public descriptors: who has them sees every payment, and can spend nothing. JSON: {"external", "internal"}.
    Descriptor,
    /// Print what transactions, addresses and coins are for, as BIP329 has it: one JSON object a line. JSON: {"items": […]}.
    Labels,
}

/// How a wallet is restored.
#[derive(Debug, Args)]
pub(in crate::cli) struct RestoreArgs {
    /// When it got its first coin at the earliest: a block's height, or a date like 2024-05-31 [default: the network's first block that can hold one].
    ///
    /// A node of Bitcoin Core reads blocks from there on, and looks a date up. An Electrum server is asked about
    /// addresses, as long whatever the birthday, and a date is taken for none there.
    #[arg(long, value_name = "HEIGHT|DATE")]
    birthday: Option<String>,
    /// How many addresses that were given may be without a coin in a row [default: the setting restoreSkip and 500 more].
    ///
    /// The look goes restoreSkip further: another copy that was restored before has passed over so many.
    #[arg(long, value_name = "N")]
    gap: Option<u32>,
    /// Another copy went on from where this one stands, as after its folder was put back by hand: pass over restoreSkip addresses.
    #[arg(long)]
    beside_another: bool,
    /// Tell how far the look through the chain has come; no words are read.
    #[arg(long, group = "look", conflicts_with_all = ["birthday", "gap", "beside_another"])]
    show: bool,
    /// Stop the look; no words are read.
    #[arg(long, group = "look", conflicts_with_all = ["birthday", "gap", "beside_another"])]
    stop: bool,
    /// Let a look that was stopped go on; no words are read.
    #[arg(long = "continue", group = "look", conflicts_with_all = ["birthday", "gap", "beside_another"])]
    go_on: bool,
}

impl Wallet {
    /// The command for these arguments.
    pub(super) fn command(self) -> Command {
        match self {
            Self::Create { words } => CreateWallet { words: words.and_then(|words| words.parse().ok()) }.into(),
            Self::Restore(RestoreArgs { show: true, .. }) => ShowRestore {}.into(),
            Self::Restore(RestoreArgs { stop: true, .. }) => StopRestore {}.into(),
            Self::Restore(RestoreArgs { go_on: true, .. }) => ContinueRestore {}.into(),
            // The words are read once the line is understood.
            Self::Restore(RestoreArgs { birthday, gap, beside_another, .. }) => {
                RestoreWallet { words: Words::new(String::new()), birthday, gap, beside_another }.into()
            }
            Self::VerifyBackup { file: None } => VerifyWords { words: Words::new(String::new()) }.into(),
            Self::Info => WalletInfo {}.into(),
            Self::Descriptor => WalletDescriptor {}.into(),
            Self::VerifyBackup { file: Some(file) } => {
                VerifyBackup { file: absolute(&file), passphrase: None, stored_first: false }.into()
            }
            Self::Labels => WalletLabels { after: None, limit: None }.into(),
        }
    }
}
