//! A transaction that replaces another, and a backend's refusal of it.

use bitcoin::Txid;
use serde::{Deserialize, Serialize};
use tillgate_chain::{fee_named, may_a_higher_fee_help, quoted};
use tillgate_store::Reader;
use tillgate_store::batches::{Refusal, VersionRow};
use tillgate_told::{Sum, Telling, Told};
use ts_rs::TS;

use super::view::VersionItem;
use crate::ask::Asker;
use crate::btc::BtcView;
use crate::error::CommandError;

/// A backend's refusal of a stored transaction. The transaction is broadcast again later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RefusalView {
    /// A sentence with the backend's message in quotation marks, without a remedy and without a
    /// full stop.
    pub message: Telling,
    /// The fee that the backend's message demands, if it names one.
    pub fee_named: Option<BtcView>,
    /// Whether a higher fee might help.
    #[serde(default)]
    pub fee_may_help: bool,
}

/// The sentences about a refusal.
#[derive(Debug, thiserror::Error, Told)]
pub enum BackendRefusal {
    #[error(
        "the Bitcoin backend refused it, because a block holds another transaction that spends its coins"
    )]
    RuledOut,
    #[error("the Bitcoin backend refused it: {words}")]
    Refused { words: String },
    #[error("the Bitcoin backend refused it: {words}. It names a fee of {fee} BTC")]
    NamesFee { words: String, fee: Sum },
}

/// A transaction that was stored as the replacement of another.
pub struct Replaced {
    pub row: VersionRow,
    pub item: VersionItem,
    /// Absent if a backend accepted the transaction or none answered.
    pub refusal: Option<RefusalView>,
}

impl Replaced {
    pub async fn load(by: &Asker<'_>, txid: Txid) -> Result<Self, CommandError> {
        let find = move |reader: &Reader<'_>| Ok((reader.version(&txid)?, reader.tip_height()?));
        let (row, tip_height) = by.read(move |_, reader| find(reader)).await?;
        let row = row.ok_or_else(CommandError::internal)?;
        Ok(Self {
            item: VersionItem::from_row(&row, tip_height),
            refusal: row.refusal.as_ref().map(RefusalView::from),
            row,
        })
    }
}

impl From<&Refusal> for RefusalView {
    fn from(refusal: &Refusal) -> Self {
        let Some(words) = &refusal.words else {
            let message = BackendRefusal::RuledOut.telling();
            return Self { message, fee_named: None, fee_may_help: false };
        };
        let fee_named = fee_named(words).map(BtcView::from_sats);
        let words_shown = quoted(words);
        let refusal = match &fee_named {
            Some(fee) => {
                BackendRefusal::NamesFee { words: words_shown, fee: Sum(fee.shown.clone()) }
            }
            None => BackendRefusal::Refused { words: words_shown },
        };
        Self { message: refusal.telling(), fee_named, fee_may_help: may_a_higher_fee_help(words) }
    }
}
