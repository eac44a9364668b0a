//! A transaction that replaces another, and a backend's refusal of it.

use bitcoin::Txid;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::view::VersionItem;
use crate::chain::{fee_named, may_a_higher_fee_help, quoted};
use crate::console::ask::Asker;
use crate::console::btc::BtcView;
use crate::console::error::CommandError;
use crate::store::Reader;
use crate::store::batches::{Refusal, VersionRow};

/// A backend's refusal of a stored transaction. The transaction is broadcast again later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct RefusalView {
    /// A sentence with the backend's message in quotation marks, without a remedy and without a full stop.
    pub message: String,
    /// The fee that the backend's message demands, if it names one.
    pub fee_named: Option<BtcView>,
    /// Whether a higher fee might help.
    #[serde(default)]
    pub fee_may_help: bool,
}

/// A transaction that was stored as the replacement of another.
pub(super) struct Replaced {
    pub row: VersionRow,
    pub item: VersionItem,
    /// Absent if a backend accepted the transaction or none answered.
    pub refusal: Option<RefusalView>,
}

impl Replaced {
    pub(super) async fn of(by: &Asker<'_>, txid: Txid) -> Result<Self, CommandError> {
        let find = move |reader: &Reader<'_>| Ok((reader.version(&txid)?, reader.tip_height()?));
        let (row, tip_height) = by.read(move |_, reader| find(reader)).await?;
        let row = row.ok_or_else(CommandError::internal)?;
        Ok(Self { item: VersionItem::of(&row, tip_height), refusal: row.refusal.as_ref().map(RefusalView::from), row })
    }
}

impl From<&Refusal> for RefusalView {
    fn from(refusal: &Refusal) -> Self {
        let Some(words) = &refusal.words else {
            let message =
                "the Bitcoin backend refused it, because a block holds another transaction that spends its coins";
            return Self { message: message.to_owned(), fee_named: None, fee_may_help: false };
        };
        let fee_named = fee_named(words).map(BtcView::of_sats);
        let named = fee_named.as_ref().map(|fee| format!(". It names a fee of {} BTC", fee.shown)).unwrap_or_default();
        Self {
            message: format!("the Bitcoin backend refused it: {}{named}", quoted(words)),
            fee_named,
            fee_may_help: may_a_higher_fee_help(words),
        }
    }
}
