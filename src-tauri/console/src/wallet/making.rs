//! Makes the wallet, and checks whether words would restore it. New words are shown once. The panel
//! then asks for two of them again.

use std::fmt;
use tillgate_gateway::error_type::ErrorType;

use serde::{Deserialize, Serialize};
use tillgate_gateway::setup::{self, DraftError, Fit, SetupError};
use tillgate_gateway::wallet::words::{self, WordCount};
use ts_rs::TS;
use zeroize::Zeroize as _;

use super::birthday::SheetView;
use super::descriptor::WalletDescriptorView;
use crate::ask::{Ask, Asker};
use crate::error::CommandError;
use crate::refusal::ArgumentFault;

/// The words of a wallet, from or for a person. They are never logged, and wiped when dropped.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(type = "string")]
pub struct Words(String);

impl Words {
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[REDACTED]")
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Stores new words with the secrets and returns them. `makeWallet` then makes the wallet from
/// them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct CreateWallet {
    /// The number of words: 12 or 24; 12 if absent.
    #[serde(default)]
    pub words: Option<u32>,
}

/// Makes the wallet from the words of `createWallet`. No later command returns these words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct MakeWallet {}

/// Returns new words, which are kept in memory for 15 minutes. `confirmWallet` makes the wallet
/// from them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct DraftWallet {
    /// The number of words: 12 or 24; 12 if absent.
    #[serde(default)]
    pub words: Option<u32>,
}

/// Makes the wallet from the words of `draftWallet`, if the person repeats two of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmWallet {
    /// The `draftId` that `draftWallet` returned.
    pub draft_id: String,
    /// The words at the two places `asked`, in that order.
    pub told: [Words; 2],
}

/// Discards the words of `draftWallet`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DiscardDraft {
    /// The `draftId` that `draftWallet` returned.
    pub draft_id: String,
}

/// Asks whether words would restore this wallet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct VerifyWords {
    pub words: Words,
}

/// The words of a new wallet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct NewWordsView {
    /// The words, separated by spaces.
    pub words: Words,
}

/// New words from which no wallet has been made yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct WalletDraftView {
    /// The id of the draft, for `confirmWallet` and `discardDraft`.
    pub draft_id: String,
    /// The words, separated by spaces.
    pub words: Words,
    /// The places of the two words that the person must repeat, counted from 1.
    pub asked: [u32; 2],
    /// The facts to write down beside the words.
    pub sheet: SheetView,
}

/// The answer to a discarded draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct DraftDiscardedView {}

/// Whether words would restore this wallet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct WordsVerifiedView {
    pub fits: bool,
    /// The result as a sentence, with the reason if the words would not restore the wallet.
    pub message: String,
}

impl Ask for CreateWallet {
    type Answer = NewWordsView;

    async fn answer(self, by: &Asker<'_>) -> Result<NewWordsView, CommandError> {
        let words = setup::keep_words(by.gateway(), count(self.words)?).await?;
        Ok(NewWordsView { words: Words::new(words.reveal().to_owned()) })
    }
}

impl Ask for MakeWallet {
    type Answer = WalletDescriptorView;

    async fn answer(self, by: &Asker<'_>) -> Result<WalletDescriptorView, CommandError> {
        setup::make(by.gateway(), by.actor).await?;
        WalletDescriptorView::from_gateway(by.gateway())
    }
}

impl Ask for DraftWallet {
    type Answer = WalletDraftView;

    async fn answer(self, by: &Asker<'_>) -> Result<WalletDraftView, CommandError> {
        let draft = setup::draft(by.gateway(), count(self.words)?).await?;
        Ok(WalletDraftView {
            words: Words::new(draft.words.reveal().to_owned()),
            asked: draft.asked.map(|place| u32::try_from(place).unwrap_or(u32::MAX)),
            draft_id: draft.id,
            sheet: SheetView::of_new(by.gateway()),
        })
    }
}

impl Ask for ConfirmWallet {
    type Answer = WalletDescriptorView;

    async fn answer(self, by: &Asker<'_>) -> Result<WalletDescriptorView, CommandError> {
        let told = [self.told[0].reveal(), self.told[1].reveal()];
        setup::confirm(by.gateway(), &self.draft_id, told, by.actor).await?;
        WalletDescriptorView::from_gateway(by.gateway())
    }
}

impl Ask for DiscardDraft {
    type Answer = DraftDiscardedView;

    async fn answer(self, by: &Asker<'_>) -> Result<DraftDiscardedView, CommandError> {
        setup::discard(&by.gateway().wallet, &self.draft_id);
        Ok(DraftDiscardedView {})
    }
}

impl Ask for VerifyWords {
    type Answer = WordsVerifiedView;

    async fn answer(self, by: &Asker<'_>) -> Result<WordsVerifiedView, CommandError> {
        let fit = match words::parse(self.words.reveal()) {
            Ok(words) => setup::fit(by.gateway(), &words).map_err(SetupError::from)?,
            Err(why) => return Ok(WordsVerifiedView { fits: false, message: why.to_string() }),
        };
        let (fits, message) = match fit {
            Fit::Fits => (true, "these words restore this wallet"),
            Fit::Other => (false, "these words are another wallet's"),
            Fit::NoWallet => (false, "there is no wallet here that they could restore"),
        };
        Ok(WordsVerifiedView { fits, message: message.to_owned() })
    }
}

impl From<SetupError> for CommandError {
    fn from(error: SetupError) -> Self {
        match error {
            SetupError::Exists | SetupError::OtherWallet | SetupError::OtherWords(_) => {
                Self::told("WALLET_EXISTS", &error)
            }
            SetupError::Words(_) => Self::at("words", &error),
            SetupError::Birthday | SetupError::Pruned { .. } => Self::at("birthday", &error),
            SetupError::Gap(_) => Self::at("gap", &error),
            SetupError::NoHeight(_) => Self {
                field: Some("birthday".to_owned()),
                ..Self::told(ErrorType::ChainNotReady, &error)
            },
            SetupError::NoWords | SetupError::NotLooking => Self::told(ErrorType::NotFound, &error),
            SetupError::Secret(_) => Self::told("SECRETS_UNAVAILABLE", &error),
            SetupError::DataDir(_) => Self::told(ErrorType::StorageUnavailable, &error),
            SetupError::Store(error) => error.into(),
            SetupError::Wallet(_) | SetupError::Entropy(_) | SetupError::Interrupted => {
                Self::told(ErrorType::InternalError, &error)
            }
        }
    }
}

impl From<DraftError> for CommandError {
    fn from(error: DraftError) -> Self {
        match error {
            DraftError::Gone => Self::told(ErrorType::NotFound, &error),
            DraftError::Wrong(_) => Self::at("told", &error),
            DraftError::Setup(error) => error.into(),
        }
    }
}

fn count(words: Option<u32>) -> Result<WordCount, CommandError> {
    match words {
        None => Ok(WordCount::default()),
        Some(count) => WordCount::from_number(count)
            .ok_or_else(|| CommandError::invalid("words", &ArgumentFault::WordCount)),
    }
}
