//! The wallet: its sums, its public descriptors, and labels for other wallet programs.

mod birthday;
mod descriptor;
mod existing;
mod importing;
mod making;
mod restoring;

use serde::{Deserialize, Serialize};
use tillgate_domain::money::{Currency, format_btc, format_btc_signed};
use ts_rs::TS;

use super::ask::{Ask, Asker, in_range, shop_currency};
use super::btc::BtcView;
use super::error::CommandError;
use super::sums::FiatView;
use crate::refusal::ArgumentFault;
pub use birthday::SheetView;
pub use descriptor::{WalletDescriptor, WalletDescriptorView};
use existing::existing_wallet;
pub use importing::{ImportLabels, ImportedLabels};
pub use making::{
    ConfirmWallet, CreateWallet, DiscardDraft, DraftWallet, MakeWallet, VerifyWords,
    WalletDraftView, Words,
};
pub use restoring::{
    ContinueRestore, NothingFound, OtherTypeView, RestoreView, RestoreWallet, RestoredView,
    ShowRestore, StopRestore, has_found_nothing,
};
use tillgate_gateway::funds::{self, PayoutFeeRate};
use tillgate_gateway::gateway::Gateway;
use tillgate_gateway::wallet::Wallet;
use tillgate_store::keychains::Keychain;
use tillgate_store::labels::{Labelled, LabelsFrom};
use tillgate_store::{Reader, StoreError};

/// The most outputs on a page of labels. A page may be longer, because it holds all outputs of its
/// last transaction.
const LABELLED_MAX: u32 = 1_000;

/// The default gap limit of other wallet programs: unused addresses in a row.
const USUAL_GAP_LIMIT: u32 = 20;

/// Asks for the wallet's sums.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct WalletInfo {
    /// The ISO code of the currency of `balanceWorth`; the first of the setting `currencies` if
    /// absent.
    #[serde(default)]
    pub currency: Option<String>,
}

/// Asks for a page of labels of transactions, addresses and coins, in the format of BIP329.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct WalletLabels {
    /// The field `next` of the previous page; absent for the first page.
    #[serde(default)]
    pub after: Option<LabelsPlace>,
    /// The number of outputs on a page, from 1 to 1000; 1000 if absent.
    #[serde(default)]
    pub limit: Option<u32>,
}

/// The end of a page of labels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct LabelsPlace {
    /// The part of the list that the page belongs to.
    pub part: LabelsPart,
    /// The last transaction or script on the page, in hexadecimal digits, or the number of its last
    /// imported label.
    pub last: String,
}

/// A part of the list of labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum LabelsPart {
    Transactions,
    PayoutAddresses,
    Imported,
}

/// The wallet's sums.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct WalletInfoView {
    /// The sum of the ledger: the confirmed coins of customers, minus the payouts that are SENT.
    pub balance: BtcView,
    /// The worth of `balance`, rounded half-even; absent without a fresh rate.
    #[serde(default)]
    pub balance_worth: Option<FiatView>,
    /// The coins that a payout could spend now, without those that are not worth their fee at the
    /// present fee rate.
    pub spendable: BtcView,
    /// The inputs of our own unconfirmed transactions, each coin once. The change of these
    /// transactions may be in `spendable` already.
    pub locked: BtcView,
    /// The confirmations after which a customer's coin is in `spendable`.
    #[serde(default)]
    pub spend_confirmations: u32,
    /// Unconfirmed coins of customers.
    pub pending: BtcView,
    /// Coinbase outputs with fewer than 100 confirmations, which cannot be spent yet. The balance
    /// includes them.
    pub immature: BtcView,
    /// `bip84` or `bip86`.
    pub address_type: String,
    /// `bitcoin`, `testnet4`, `signet` or `regtest`.
    pub network: String,
    /// The length of the longest run of addresses without a coin that is followed by an address
    /// with a coin.
    pub longest_unused: u32,
    /// The gap limit that another wallet program needs to find all coins.
    pub gap_limit: u32,
    /// The derivation index of the next external address.
    pub next_index: u32,
    /// The progress of a restored wallet's look through the chain; absent if the wallet was not
    /// restored, or the look has ended.
    pub restore: Option<RestoreView>,
    /// The output of `tillgate wallet info --json`.
    pub record: String,
}

/// A page of labels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct WalletLabelsView {
    /// One label for each transaction, address and coin.
    pub items: Vec<Label>,
    /// The value of `after` for the next page; absent on the last page.
    pub next: Option<LabelsPlace>,
}

/// A label in the format of BIP329.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Label {
    /// `tx`, `addr` or `output`.
    #[serde(rename = "type")]
    pub kind: String,
    /// A txid, an address, or an outpoint: `…:0`.
    #[serde(rename = "ref")]
    pub reference: String,
    pub label: String,
}

impl Ask for WalletInfo {
    type Answer = WalletInfoView;

    async fn answer(self, by: &Asker<'_>) -> Result<WalletInfoView, CommandError> {
        let wallet = existing_wallet(by.gateway())?;
        let currency = shop_currency(by, self.currency.as_deref())?;
        let fee_rate = funds::fee_rate(by.gateway(), &by.gateway().settings.snapshot()).await;
        by.read(move |gateway, reader| info(gateway, reader, &wallet, fee_rate, currency)).await
    }
}

impl Ask for WalletLabels {
    type Answer = WalletLabelsView;

    async fn answer(self, by: &Asker<'_>) -> Result<WalletLabelsView, CommandError> {
        let limit = in_range("limit", self.limit.unwrap_or(LABELLED_MAX), 1, LABELLED_MAX)?;
        let from =
            self.after.map_or(Ok(LabelsFrom::Transactions(Vec::new())), LabelsFrom::try_from)?;
        let (labels, next) = by.read(move |_, reader| reader.labels(&from, limit)).await?;
        Ok(WalletLabelsView {
            items: labels.iter().map(Label::from).collect(),
            next: next.as_ref().map(LabelsPlace::from),
        })
    }
}

impl From<&LabelsFrom> for LabelsPlace {
    fn from(from: &LabelsFrom) -> Self {
        let (part, last) = match from {
            LabelsFrom::Transactions(last) => (LabelsPart::Transactions, hex::encode(last)),
            LabelsFrom::PayoutAddresses(last) => (LabelsPart::PayoutAddresses, hex::encode(last)),
            LabelsFrom::Imported(last) => (LabelsPart::Imported, last.to_string()),
        };
        Self { part, last }
    }
}

impl TryFrom<LabelsPlace> for LabelsFrom {
    type Error = CommandError;

    fn try_from(place: LabelsPlace) -> Result<Self, CommandError> {
        let wrong = || CommandError::invalid("after", &ArgumentFault::Place);
        let bytes = || hex::decode(&place.last).map_err(|_| wrong());
        Ok(match place.part {
            LabelsPart::Transactions => Self::Transactions(bytes()?),
            LabelsPart::PayoutAddresses => Self::PayoutAddresses(bytes()?),
            LabelsPart::Imported => Self::Imported(place.last.parse().map_err(|_| wrong())?),
        })
    }
}

impl From<&Labelled> for Label {
    fn from(labelled: &Labelled) -> Self {
        Self {
            kind: labelled.kind.as_str().to_owned(),
            reference: labelled.reference.clone(),
            label: labelled.label.clone(),
        }
    }
}

fn info(
    gateway: &Gateway,
    reader: &Reader<'_>,
    wallet: &Wallet,
    fee_rate: PayoutFeeRate,
    currency: Currency,
) -> Result<WalletInfoView, StoreError> {
    let settings = gateway.settings.snapshot();
    let spendable_sats =
        funds::spendable_sats(reader, &settings, fee_rate, wallet.keychains.address_type())?;
    let sums = reader.coin_sums()?;
    let tip_height = gateway.backend.last_look.status().tip.map_or(0, |tip| tip.height);
    let immature_sats = reader.immature_sats(tip_height)?;
    let balance_sats = reader.ledger_sats()?;
    let address_type = wallet.keychains.address_type().as_str();
    let network = wallet.keychains.network().to_string();
    let longest_unused = reader.longest_unused_run(Keychain::External)?;
    let gap_limit = longest_unused.saturating_add(1).max(USUAL_GAP_LIMIT);
    let next_index = reader.keychain(Keychain::External)?.map_or(0, |(_, next_index)| next_index);
    let restore = reader.dangerous_restore()?;
    let restore =
        restore.map(|restore| RestoreView::load(gateway, reader, &restore)).transpose()?;
    let looked = restore.is_none();
    let record = format!(
        r#"{{"balanceBtc":{},"spendableBtc":{},"lockedBtc":{},"pendingBtc":{},"immatureBtc":{},"addressType":"{address_type}","network":"{network}","longestUnused":{longest_unused},"gapLimit":{gap_limit},"nextIndex":{next_index},"looked":{looked}}}"#,
        format_btc_signed(balance_sats),
        format_btc(spendable_sats),
        format_btc(sums.locked_sats),
        format_btc(sums.pending_sats),
        format_btc(immature_sats),
    );
    Ok(WalletInfoView {
        balance: BtcView::from_signed_sats(balance_sats),
        balance_worth: u64::try_from(balance_sats)
            .ok()
            .and_then(|sats| FiatView::today(gateway, sats, currency)),
        spendable: BtcView::from_sats(spendable_sats),
        locked: BtcView::from_sats(sums.locked_sats),
        spend_confirmations: settings.spend_confirmations,
        pending: BtcView::from_sats(sums.pending_sats),
        immature: BtcView::from_sats(immature_sats),
        address_type: address_type.to_owned(),
        network,
        longest_unused,
        gap_limit,
        next_index,
        restore,
        record,
    })
}
