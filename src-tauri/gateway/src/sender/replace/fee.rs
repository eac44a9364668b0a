//! The fee of a replacement, and the unsigned transaction that would pay it.

use std::sync::Arc;
use std::time::Duration;
use tillgate_chain::Chain;

use bitcoin::{FeeRate, Txid};
use tillgate_domain::id::Id;
use tillgate_store::batches::VersionRow;
use tillgate_store::keychains::Keychain;
use tillgate_store::payouts::PayoutRow;
use tillgate_store::{Reader, StoreError};
use tillgate_told::Told as _;
use tokio::time::timeout;

use super::error::ReplaceError;
use super::kind::{Agreed, Kind};
use super::target::{self, Target};
use crate::funds::{self, PayoutFeeRate};
use crate::gateway::{Gateway, Waits};
use crate::sender::build;
use crate::sender::chosen::{Chosen, seed};
use crate::sender::error::SendError;
use crate::sender::instead::Replaced;
use crate::wallet::spend::{self, FeeWanted, Funding, Paid, Payee, UnsignedSpend};

/// Longest wait for `Chain::fees_with_descendants`. Without its answer the fee may be too low; then
/// the backend's refusal names the needed fee.
const FEES_TIMEOUT: Duration = Duration::from_secs(2);

/// The fee and the effect of a replacement that is made now.
#[derive(Debug, Clone)]
pub struct ReplacementFee {
    /// The fee of the transaction that would be replaced.
    pub now_sats: u64,
    pub fee_sats: u64,
    pub vsize: u64,
    /// The sum that the transaction pays out.
    pub pays_sats: u64,
    /// All payouts affected by the replacement.
    pub payouts: Vec<Id>,
}

/// A chosen replacement, before staff agree.
pub struct Replacement {
    pub chosen: Chosen,
    pub fee: ReplacementFee,
    /// Whether descendants that other people made raise the fee.
    pub pays_for_strangers: bool,
}

/// The fee of a bump made now, at a rate in sat/vB or at the estimate.
pub async fn bump_fee(
    gateway: &Arc<Gateway>,
    id: Id,
    fee_rate_sat_vb: Option<u32>,
) -> Result<ReplacementFee, ReplaceError> {
    let kind = Kind::HigherFee { fee_rate: fee_rate_sat_vb.map(FeeRate::from_sat_per_vb_u32) };
    estimate(gateway, id, kind).await?.ok_or(ReplaceError::Stale)
}

/// The fee of giving a payout up now, and all affected payouts; `None` if no transaction was signed
/// for the payout.
pub async fn abandon_fee(
    gateway: &Arc<Gateway>,
    id: Id,
) -> Result<Option<ReplacementFee>, ReplaceError> {
    estimate(gateway, id, Kind::GivingUp { all: true }).await
}

async fn estimate(
    gateway: &Arc<Gateway>,
    id: Id,
    kind: Kind,
) -> Result<Option<ReplacementFee>, ReplaceError> {
    let Some(target) = gateway.store.read(|reader| kind.target(reader, id))? else {
        return Ok(None);
    };
    gateway.store.read(target::may_sign)?;
    let rate = funds::fee_rate(gateway, &gateway.settings.snapshot()).await;
    Ok(Some(choose(gateway, target, kind, rate).await?.0.fee))
}

/// The fee rate of a replacement.
///
/// # Errors
/// When staff named no rate for a bump, and the backend gives no estimate.
pub async fn rate(gateway: &Arc<Gateway>, kind: Kind) -> Result<PayoutFeeRate, ReplaceError> {
    let settings = gateway.settings.snapshot();
    match kind {
        Kind::HigherFee { fee_rate: None } => funds::fee_rate_now(gateway, &settings)
            .await
            .map_err(|why| ReplaceError::Obstacle(why.telling())),
        Kind::HigherFee { fee_rate: Some(_) } | Kind::GivingUp { .. } => {
            Ok(funds::fee_rate(gateway, &settings).await)
        }
    }
}

/// Chooses coins and fee. Returns the target too.
pub async fn choose(
    gateway: &Arc<Gateway>,
    target: Target,
    kind: Kind,
    rate: PayoutFeeRate,
) -> Result<(Replacement, Target), ReplaceError> {
    let known_sats = fees_known(&gateway.backend.chain, &target).await;
    let gateway = Arc::clone(gateway);
    let choose = move || {
        choose_now(&gateway, &target, kind, rate, known_sats).map(|chosen| (chosen, target))
    };
    tokio::task::spawn_blocking(choose).await.map_err(|_| SendError::Interrupted)?
}

/// The backend's sum of the fees of all transactions that would be replaced; `None` if it does not
/// answer.
async fn fees_known(chain: &Arc<dyn Chain>, target: &Target) -> Option<u64> {
    let (chain, txids) = (Arc::clone(chain), target.versions.iter().map(|version| version.txid));
    let txids: Vec<Txid> = txids.collect();
    let asked = tokio::task::spawn_blocking(move || chain.fees_with_descendants(&txids));
    let told = timeout(FEES_TIMEOUT, asked).await.ok()?.ok()?;
    told.inspect_err(
        |error| tracing::info!(%error, "the fees of a payout's descendants are not known"),
    )
    .ok()?
}

fn choose_now(
    gateway: &Gateway,
    target: &Target,
    kind: Kind,
    rate: PayoutFeeRate,
    known_sats: Option<u64>,
) -> Result<Replacement, ReplaceError> {
    let wallet =
        gateway.wallet.get().ok_or_else(|| ReplaceError::Obstacle(Waits::NoWallet.telling()))?;
    let settings = gateway.settings.snapshot();
    let twins = gateway
        .store
        .read(|reader| Replaced::spending(reader, &reader.inputs_of_batch(target.batch_seq)?))?;
    let twins_sats = twins.fees_sats(gateway.backend.chain.as_ref());
    let (required, optional, tip_height, change_index, (fee, pays_for_strangers)) =
        gateway.store.read(|reader| {
            let change =
                reader.keychain(Keychain::Internal)?.ok_or(StoreError::BadValue("keychains"))?;
            let required = build::inputs_of(reader, target.batch_seq)?;
            let mut optional = funds::spendable_coins(reader, &settings)?;
            optional.retain(|coin| coin.height.is_some() && kind.pays());
            let fee = fee_wanted(reader, (target, &twins), (kind, rate), (known_sats, twins_sats))?;
            Ok::<_, StoreError>((required, optional, reader.tip_height()?, change.1, fee))
        })?;
    let change = build::fresh_change(&wallet, change_index)
        .map_err(|error| ReplaceError::Obstacle(error.telling()))?;
    let funding = Funding {
        required: &required,
        optional: &optional,
        fee,
        change: &change,
        address_type: wallet.keychains.address_type(),
        tip_height,
    };
    let (spend, payouts) = unsigned_spend(gateway, target, kind, &funding)?;
    let replacement = ReplacementFee {
        now_sats: target.versions.last().map_or(0, |newest| newest.fee_sats),
        fee_sats: spend.fee_sats,
        vsize: spend.vsize,
        pays_sats: target.pays_sats(),
        payouts: target.affected.clone(),
    };
    // The rate may be above `feeCapSatVb`: staff named it, or BIP125 needs it.
    let cap = rate.cap.max(fee.rate);
    Ok(Replacement {
        chosen: Chosen { spend, payouts, fee, cap },
        fee: replacement,
        pays_for_strangers,
    })
}

fn unsigned_spend(
    gateway: &Gateway,
    target: &Target,
    kind: Kind,
    funding: &Funding<'_>,
) -> Result<(UnsignedSpend, Vec<i64>), ReplaceError> {
    let seed = seed(gateway.machine.entropy.as_ref())?;
    let (spend, payouts) = match kind {
        Kind::HigherFee { .. } => {
            let payee = |row: &PayoutRow| Payee {
                script: row.script.clone(),
                amount_sats: row.amount_sats,
            };
            let payees: Vec<Payee> = target.payouts.iter().map(payee).collect();
            let payouts = target.payouts.iter().map(|row| row.seq).collect();
            (spend::choose(&payees, funding, seed), payouts)
        }
        Kind::GivingUp { .. } => (spend::to_ourselves(funding, seed), Vec::new()),
    };
    Ok((spend.map_err(|error| ReplaceError::Obstacle(error.telling()))?, payouts))
}

/// Checks the fee of a replacement against the setting `feeCapSatVb`, or the rate of staff if it is
/// higher. A bump at the estimate is always checked. Any other replacement is checked only if it
/// pays for descendants that strangers made, and staff were shown no fee. The payee can make a
/// child with any fee, and BIP125 makes the replacement pay more.
///
/// # Errors
/// The rate that the replacement needs, if it is above the cap.
pub fn check_cap(
    replacement: &Replacement,
    rate: &PayoutFeeRate,
    (kind, agreed): (Kind, Agreed),
) -> Result<(), ReplaceError> {
    let Chosen { spend, fee, .. } = &replacement.chosen;
    // The part that the ancestors lack is subtracted: it does not raise this transaction's own
    // rate.
    let needed = spend.fee_sats.saturating_sub(fee.for_ancestors_sats).div_ceil(spend.vsize.max(1));
    let (given, is_at_estimate) = match kind {
        Kind::HigherFee { fee_rate } => (fee_rate, fee_rate.is_none()),
        Kind::GivingUp { .. } => (None, false),
    };
    let cap = rate.cap.max(given.unwrap_or(FeeRate::ZERO)).to_sat_per_vb_ceil();
    let is_bound = is_at_estimate || (replacement.pays_for_strangers && agreed.fee_sats.is_none());
    if needed > cap && is_bound { Err(ReplaceError::AboveCap { needed, cap }) } else { Ok(()) }
}

/// Checks the fee against the highest fee that staff agreed to. The fee of a bump is also checked
/// against the sum that the transaction pays out, unless staff force it.
///
/// # Errors
/// If the fee is too high.
pub fn check_agreed(
    fee: &ReplacementFee,
    (kind, agreed): (Kind, Agreed),
) -> Result<(), ReplaceError> {
    let ReplacementFee { fee_sats, pays_sats, .. } = *fee;
    if let Some(agreed_sats) = agreed.fee_sats.filter(|agreed_sats| *agreed_sats < fee_sats) {
        return Err(ReplaceError::AboveAgreed { fee_sats, agreed_sats });
    }
    match kind {
        Kind::HigherFee { .. } if fee_sats > pays_sats && !agreed.is_forced => {
            Err(ReplaceError::AbovePayout { fee_sats, pays_sats })
        }
        Kind::HigherFee { .. } | Kind::GivingUp { .. } => Ok(()),
    }
}

/// The wanted fee of a replacement, and whether descendants of strangers raise it. The fee is the
/// wanted rate, plus the part that the ancestors lack, and always more than the sum of all replaced
/// fees (BIP125, rule 3). If another copy's transactions with fees of `twins_sats` keep the
/// versions out of the mempool, it replaces those.
fn fee_wanted(
    reader: &Reader<'_>,
    (target, twins): (&Target, &Replaced),
    (kind, rate): (Kind, PayoutFeeRate),
    (known_sats, twins_sats): (Option<u64>, u64),
) -> Result<(FeeWanted, bool), StoreError> {
    let wanted = match kind {
        Kind::HigherFee { fee_rate } => fee_rate.unwrap_or(rate.estimate),
        Kind::GivingUp { .. } => rate.capped(),
    };
    let paid = |version: &VersionRow| Paid { fee_sats: version.fee_sats, vsize: version.vsize };
    let versions: Vec<Paid> = target.versions.iter().map(paid).collect();
    let mut ours_sats = versions.iter().map(|paid| paid.fee_sats).max().unwrap_or(0);
    for descendant in &target.descendants {
        let highest = reader.versions(*descendant)?.iter().map(|version| version.fee_sats).max();
        ours_sats = ours_sats.saturating_add(highest.unwrap_or(0));
    }
    // Versions and twins spend the same coins, so the mempool never has both.
    let ours_sats = ours_sats.max(twins_sats);
    let replaced = [&versions, twins.paid()].concat();
    // A stranger's child may pay a higher fee than the payouts are worth. Giving them up does not
    // pay for such a child.
    let known_sats =
        known_sats.filter(|sats| kind.pays() || *sats <= target.pays_sats()).unwrap_or(0);
    let fee = FeeWanted::at(wanted)
        .adding(rate.increment)
        .paying_for_ancestors(ancestors(reader, target)?)
        .replacing(&replaced);
    Ok((fee.replacing_fees(ours_sats.max(known_sats)), known_sats > ours_sats))
}

/// Fees and size of the unconfirmed ancestors of a batch's newest version.
fn ancestors(reader: &Reader<'_>, target: &Target) -> Result<Paid, StoreError> {
    let mut sum = Paid { fee_sats: 0, vsize: 0 };
    let Some(newest) = target.versions.last() else { return Ok(sum) };
    for (txid, ancestor) in funds::unconfirmed(reader, &newest.txid)? {
        if txid != newest.txid {
            sum.fee_sats = sum.fee_sats.saturating_add(ancestor.paid.fee_sats);
            sum.vsize = sum.vsize.saturating_add(ancestor.paid.vsize);
        }
    }
    Ok(sum)
}
