//! The wallet: what it holds, its public descriptors, and labels for other wallets' programs.

mod making;
mod restoring;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tillgate_domain::money::{format_btc, format_btc_signed};
use ts_rs::TS;

use super::ask::{Ask, Asker};
use super::btc::BtcView;
use super::error::CommandError;
use crate::funds::{self, PayoutFeeRate};
use crate::gateway::Gateway;
use crate::store::keychains::Keychain;
use crate::store::labels::{Labelled, LabelledKind, LabelsFrom};
use crate::store::{Reader, StoreError};
use crate::wallet::{Descriptors, Wallet};
pub(crate) use making::{
    ConfirmWallet, CreateWallet, DiscardDraft, DraftWallet, MakeWallet, VerifyWords, WalletDraftView, Words,
};
pub(crate) use restoring::{
    ContinueRestore, RestoreState, RestoreView, RestoreWallet, RestoredView, ShowRestore, StopRestore,
};

/// Outputs of a page of labels at most. The last transaction is told whole, and has no more than some thousands.
const LABELLED_MAX: u32 = 1_000;

/// What other wallets' programs pass over unasked.
const USUAL_GAP_LIMIT: u32 = 20;

/// Tells what the wallet holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct WalletInfo {}

/// Tells the wallet's public descriptors: whoever has them sees every payment, and can spend nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct WalletDescriptor {}

/// Tells what transactions, addresses and coins are for, in the words of BIP329, a page at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct WalletLabels {
    /// Where the page before it says that it goes on; absent for the first.
    #[serde(default)]
    pub after: Option<LabelsPlace>,
    /// Of how many outputs at most, from 1 to 1000; 1000 where it is absent.
    #[serde(default)]
    pub limit: Option<u32>,
}

/// Where a page of labels ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct LabelsPlace {
    /// Whether all is told but addresses of payouts.
    pub of_payout_addresses: bool,
    /// The last transaction or script that was told, in hexadecimal digits.
    pub last: String,
}

/// What the wallet holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct WalletInfoView {
    /// Confirmed coins of customers, with payouts reckoned from SENT on: the sum of the statement.
    pub balance: BtcView,
    /// What payouts could use now: coins that are worth spending at the present rate of fees.
    pub spendable: BtcView,
    /// Coins that went into our own transactions that no block holds yet, each once. The change of these transactions may be
    /// in `spendable` already.
    pub locked: BtcView,
    /// Coins of customers that no block holds yet.
    pub pending: BtcView,
    /// Rewards of miners that are too young to be spent; the balance has them.
    pub immature: BtcView,
    /// `bip84` or `bip86`.
    pub address_type: String,
    /// `bitcoin`, `testnet4`, `signet` or `regtest`.
    pub network: String,
    /// The longest run of addresses without a coin below one that has one.
    pub longest_unused: u32,
    /// So many addresses in a row without a coin another wallet's program must pass over to find all coins (its gap limit).
    pub gap_limit: u32,
    /// The index of the next address.
    pub next_index: u32,
    /// How far it has looked, where it was restored and has not looked at all of the chain.
    pub restore: Option<RestoreView>,
    /// What `tillgate wallet info --json` prints: JSON, its numbers with 8 decimals.
    pub record: String,
}

/// The public descriptors, with checksums.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct WalletDescriptorView {
    /// Addresses for customers.
    pub external: String,
    /// Our own change.
    pub internal: String,
}

/// A page of labels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct WalletLabelsView {
    /// One for each transaction, address and coin.
    pub items: Vec<Label>,
    /// Where the next page begins, if there is one.
    pub next: Option<LabelsPlace>,
}

/// A label, as BIP329 has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct Label {
    /// `tx`, `addr` or `output`.
    #[serde(rename = "type")]
    pub kind: String,
    /// A transaction's id, an address, or a transaction's id with the number of the output: `…:0`.
    #[serde(rename = "ref")]
    pub reference: String,
    /// What it is for.
    pub label: String,
}

impl Ask for WalletInfo {
    type Answer = WalletInfoView;

    async fn answer(self, by: &Asker<'_>) -> Result<WalletInfoView, CommandError> {
        let wallet = wallet(by.gateway())?;
        let fee_rate = funds::fee_rate(by.gateway(), &by.gateway().settings.snapshot()).await;
        by.read(move |gateway, reader| info(gateway, reader, &wallet, fee_rate)).await
    }
}

impl Ask for WalletDescriptor {
    type Answer = WalletDescriptorView;

    async fn answer(self, by: &Asker<'_>) -> Result<WalletDescriptorView, CommandError> {
        Ok(WalletDescriptorView::of(wallet(by.gateway())?.keychains.descriptors()))
    }
}

impl Ask for WalletLabels {
    type Answer = WalletLabelsView;

    async fn answer(self, by: &Asker<'_>) -> Result<WalletLabelsView, CommandError> {
        let limit = self.limit.unwrap_or(LABELLED_MAX);
        if !(1..=LABELLED_MAX).contains(&limit) {
            return Err(CommandError::invalid("limit", &format_args!("must be from 1 to {LABELLED_MAX}")));
        }
        let from = self.after.map_or(Ok(LabelsFrom::Transactions(Vec::new())), LabelsFrom::try_from)?;
        let (labels, next) = by.read(move |_, reader| reader.labels(&from, limit)).await?;
        Ok(WalletLabelsView {
            items: labels.iter().map(Label::from).collect(),
            next: next.as_ref().map(LabelsPlace::from),
        })
    }
}

impl WalletDescriptorView {
    fn of(descriptors: &Descriptors) -> Self {
        Self { external: descriptors.external.clone(), internal: descriptors.internal.clone() }
    }
}

impl From<&LabelsFrom> for LabelsPlace {
    fn from(from: &LabelsFrom) -> Self {
        let (of_payout_addresses, last) = match from {
            LabelsFrom::Transactions(last) => (false, last),
            LabelsFrom::PayoutAddresses(last) => (true, last),
        };
        Self { of_payout_addresses, last: hex::encode(last) }
    }
}

impl TryFrom<LabelsPlace> for LabelsFrom {
    type Error = CommandError;

    fn try_from(place: LabelsPlace) -> Result<Self, CommandError> {
        let wrong = |_| CommandError::invalid("after", &"must be what the page before it named");
        let last = hex::decode(&place.last).map_err(wrong)?;
        Ok(if place.of_payout_addresses { Self::PayoutAddresses(last) } else { Self::Transactions(last) })
    }
}

impl From<&Labelled> for Label {
    fn from(labelled: &Labelled) -> Self {
        let kind = match labelled.kind {
            LabelledKind::Transaction => "tx",
            LabelledKind::Address => "addr",
            LabelledKind::Output => "output",
        };
        Self { kind: kind.to_owned(), reference: labelled.reference.clone(), label: labelled.label.clone() }
    }
}

fn wallet(gateway: &Gateway) -> Result<Arc<Wallet>, CommandError> {
    let none = "there is no wallet yet: `tillgate wallet create` makes one, `tillgate wallet restore` brings one back";
    gateway.wallet.get().cloned().ok_or_else(|| CommandError::of("WALLET_NOT_READY", &none))
}

fn info(
    gateway: &Gateway,
    reader: &Reader<'_>,
    wallet: &Wallet,
    fee_rate: PayoutFeeRate,
) -> Result<WalletInfoView, StoreError> {
    let settings = gateway.settings.snapshot();
    let spendable_sats = funds::spendable_sats(reader, &settings, fee_rate, wallet.keychains.address_type())?;
    let sums = reader.coin_sums()?;
    let tip_height = gateway.last_look.status().tip.map_or(0, |tip| tip.height);
    let immature_sats = reader.immature_sats(tip_height)?;
    let balance_sats = reader.ledger_sats()?;
    let address_type = wallet.keychains.address_type().as_str();
    let network = wallet.keychains.network().to_string();
    let longest_unused = reader.longest_unused_run(Keychain::External)?;
    let gap_limit = longest_unused.saturating_add(1).max(USUAL_GAP_LIMIT);
    let next_index = reader.keychain(Keychain::External)?.map_or(0, |(_, next_index)| next_index);
    let restore = reader.dangerous_restore()?;
    let restore = restore.map(|restore| RestoreView::of(gateway, reader, &restore)).transpose()?;
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
        balance: BtcView::of(balance_sats),
        spendable: BtcView::of_sats(spendable_sats),
        locked: BtcView::of_sats(sums.locked_sats),
        pending: BtcView::of_sats(sums.pending_sats),
        immature: BtcView::of_sats(immature_sats),
        address_type: address_type.to_owned(),
        network,
        longest_unused,
        gap_limit,
        next_index,
        restore,
        record,
    })
}
