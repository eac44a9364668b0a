//! Makes one transaction for the waiting payouts: chooses coins, reads the words, signs and checks.
//! The commit that stores it first checks that its coins and payouts have not changed.

use std::sync::Arc;

use bitcoin::{FeeRate, OutPoint, Transaction, Txid};
use tillgate_chain::TxPosition;
use tillgate_domain::batch::Position;
use tillgate_domain::payout::PayoutState;
use tillgate_machine::fail_points::{self, Point};
use tillgate_machine::secrets::{Purpose, Secret};
use tillgate_store::batches::NewVersion;
use tillgate_store::coins::{Coin, CoinFacts};
use tillgate_store::keychains::Keychain;
use tillgate_store::payouts::PayoutRow;
use tillgate_store::{Reader, StoreError, Tx};
use tillgate_told::{Telling, Told as _};

use super::chosen::{Chosen, seed};
use super::double_payments::{Payable, coins_of, payable};
use super::error::{SendError, Unsent};
use super::instead::{self, Contested, Replaced};
use crate::funds::{self, PayoutFeeRate};
use crate::gateway::{Gateway, KeysRefused, Wait, WaitCause, Waits};
use crate::notifications::outbox::{self, Outbox};
use crate::settings::Settings;
use crate::settlement::batches;
use crate::settlement::twins::UnminedTwins;
use crate::wallet::spend::{
    self, FeeWanted, FreshChange, Funding, Payee, SpendableCoin, UnsignedSpend,
};
use crate::wallet::{Wallet, WalletError};

/// Largest number of payouts considered for one transaction. More payouts do not fit into a
/// transaction.
pub const QUEUE_MAX: u32 = 5_000;

/// A signed and checked transaction, not stored yet.
#[derive(Debug)]
pub struct Signed {
    pub spend: UnsignedSpend,
    pub tx: Transaction,
    /// Sequence numbers of its payouts, in the order of the spend's payees.
    pub payouts: Vec<i64>,
}

/// Chooses coins for as many of the waiting payouts as the coins allow. Blocks.
pub fn prepare(
    gateway: &Gateway,
    settings: &Settings,
    rate: PayoutFeeRate,
) -> Result<Chosen, Unsent> {
    let Some(wallet) = gateway.wallet.get() else {
        return Err(Unsent::Obstacle(WaitCause::Other.because(&Waits::NoWallet)));
    };
    if rate.is_above_cap() {
        return Err(Unsent::Obstacle(WaitCause::Fees.because(&Waits::FeesAboveCap {
            estimate: rate.estimate.to_sat_per_vb_ceil(),
            cap: rate.cap.to_sat_per_vb_ceil(),
        })));
    }
    fail_points::pass(Point::ChooseBefore);
    let queue = gateway.store.read(|reader| Queue::load(reader, settings))?;
    let change = fresh_change(&wallet, queue.change_index)
        .map_err(|reason| Unsent::Obstacle(WaitCause::Other.because(&reason)))?;
    let funding = Funding {
        required: &[],
        optional: &queue.coins,
        fee: FeeWanted::at(rate.estimate),
        change: &change,
        address_type: wallet.keychains.address_type(),
        tip_height: queue.tip_height,
    };
    let chosen = choose(gateway, &queue, &funding, rate)?;
    fail_points::pass(Point::ChooseAfter);
    Ok(chosen)
}

/// Chooses the next transaction. A payout that a twin pays must not keep the others waiting, so it
/// comes after them.
fn choose(
    gateway: &Gateway,
    queue: &Queue,
    funding: &Funding<'_>,
    rate: PayoutFeeRate,
) -> Result<Chosen, Unsent> {
    let mut why_not = queue.waits.clone().map(Unsent::Waits);
    if !queue.together.is_empty() {
        match choose_together(gateway, &queue.together, funding, rate) {
            Ok(together) => return Ok(together),
            Err(why) => why_not = Some(why),
        }
    }
    for contested in &queue.contested {
        match instead::choose(gateway, contested, funding, rate) {
            Ok(alone) => return Ok(alone),
            Err(why) => why_not = why_not.or(Some(why)),
        }
    }
    Err(why_not.unwrap_or_else(|| Unsent::Waits(WaitCause::Other.because(&Waits::NoPayout))))
}

/// The payouts that wait for a transaction, the oldest approval first, and the coins for them.
struct Queue {
    /// Payouts that share a transaction.
    together: Vec<PayoutRow>,
    /// Payouts that a twin pays too. Each has a transaction of its own.
    contested: Vec<Contested>,
    /// The first reason why a payout waits for a twin's end.
    waits: Option<Wait>,
    /// The spendable coins, without those of the twins.
    coins: Vec<SpendableCoin>,
    tip_height: u32,
    change_index: u32,
}

impl Queue {
    fn load(reader: &Reader<'_>, settings: &Settings) -> Result<Self, StoreError> {
        let change =
            reader.keychain(Keychain::Internal)?.ok_or(StoreError::BadValue("keychains"))?;
        let (twins, tip_height) = (UnminedTwins::load(reader)?, reader.tip_height()?);
        let coins = funds::spendable_coins(reader, settings)?;
        let (together, contested, waits) = (Vec::new(), Vec::new(), None);
        let mut queue =
            Self { together, contested, waits, coins, tip_height, change_index: change.1 };
        for payout in reader.unsent_payouts(QUEUE_MAX)? {
            match payable(reader, &twins, &payout)? {
                Payable::Waits(why) => queue.waits = queue.waits.or(Some(why)),
                Payable::Spending(required) if required.is_empty() => queue.together.push(payout),
                Payable::Spending(required) => {
                    let mut coins = Vec::new();
                    for twin in twins.paying(&payout) {
                        coins.extend(coins_of(reader, twin)?);
                    }
                    queue.coins.retain(|coin| {
                        !coins.iter().any(|it: &SpendableCoin| it.outpoint == coin.outpoint)
                    });
                    let replaced = Replaced::load(reader, &twins, &payout)?;
                    queue.contested.push(Contested { payout, required, coins, replaced });
                }
            }
        }
        Ok(queue)
    }
}

/// Chooses coins for as many of these payouts as the coins allow, in one transaction.
fn choose_together(
    gateway: &Gateway,
    waiting: &[PayoutRow],
    funding: &Funding<'_>,
    rate: PayoutFeeRate,
) -> Result<Chosen, Unsent> {
    let payees: Vec<Payee> = waiting
        .iter()
        .map(|payout| Payee { script: payout.script.clone(), amount_sats: payout.amount_sats })
        .collect();
    let chosen = spend::choose_most(&payees, funding, seed(gateway.machine.entropy.as_ref())?);
    let (spend, places) = chosen.map_err(|error| Unsent::Obstacle(error.into()))?;
    let payouts =
        places.iter().filter_map(|place| waiting.get(*place)).map(|payout| payout.seq).collect();
    let fee = funding.fee_for_inputs(&spend.inputs);
    Ok(Chosen { spend, payouts, fee, cap: rate.cap })
}

/// Signs and checks a chosen transaction. Blocks.
pub fn sign_chosen(gateway: &Gateway, chosen: Chosen) -> Result<Signed, Wait> {
    let Chosen { spend, payouts, fee, cap } = chosen;
    let wallet = gateway.wallet.get().ok_or_else(|| WaitCause::Other.because(&Waits::NoWallet))?;
    let tx = sign(gateway, &wallet, &spend, &fee, cap)?;
    Ok(Signed { spend, tx, payouts })
}

/// Reads the words, signs, wipes the words, and checks the signed transaction. Blocks.
pub fn sign(
    gateway: &Gateway,
    wallet: &Wallet,
    spend: &UnsignedSpend,
    fee: &FeeWanted,
    cap: FeeRate,
) -> Result<Transaction, Wait> {
    fail_points::pass(Point::SignBefore);
    let words = match words(gateway) {
        Ok(words) => words,
        Err(reason) => {
            refuse_keys(gateway, &reason);
            return Err(Wait { cause: WaitCause::Keyring, reason });
        }
    };
    let signed = spend::sign(spend, &words, &wallet.keychains);
    drop(words);
    let tx = signed.map_err(|error| {
        // The stored words belong to another wallet, so the sender must not read them again every
        // second.
        let reason = error.telling();
        refuse_keys(gateway, &reason);
        Wait { cause: WaitCause::Keyring, reason }
    })?;
    gateway.sending.note_keys_refused(None);
    fail_points::pass(Point::SignAfter);
    if let Err(error) = spend::check(spend, &tx, &wallet.keychains, fee, cap) {
        tracing::error!(%error, "a signed transaction did not pass its check and was discarded");
        return Err(WaitCause::Other.because(&Waits::NotPassed(error.to_string())));
    }
    Ok(tx)
}

fn refuse_keys(gateway: &Gateway, reason: &Telling) {
    let refused = KeysRefused { at: gateway.time.now(), reason: reason.clone() };
    gateway.sending.note_keys_refused(Some(refused));
}

fn words(gateway: &Gateway) -> Result<Secret, Telling> {
    if let Some(sandbox) = &gateway.backend.sandbox
        && sandbox.faults().map_err(|error| error.telling())?.keys_locked
    {
        return Err(Waits::LockedInSandbox.telling());
    }
    match gateway.machine.secrets.get(Purpose::WalletMnemonic) {
        Ok(Some(words)) => Ok(words),
        Ok(None) => Err(Waits::NoWords { place: gateway.machine.secrets.describe() }.telling()),
        Err(error) => Err(error.telling()),
    }
}

/// The change script at `index`, the next change index.
pub fn fresh_change(wallet: &Wallet, index: u32) -> Result<FreshChange, WalletError> {
    let script = wallet.change.script(index)?;
    // The watcher must know the script: it may see the transaction before the backend answers the
    // broadcast.
    wallet.change.derive_up_to(index.saturating_add(1))?;
    Ok(FreshChange { script, index })
}

/// Commits a new batch. Returns `None`, and stores nothing, if its coins or payouts changed during
/// signing or the sender is on hold.
pub async fn store(gateway: &Arc<Gateway>, signed: Signed) -> Result<Option<Txid>, SendError> {
    outbox::commit(gateway, None, move |outbox| insert(outbox, &signed, None)).await
}

/// As [`store`], within a commit. `by` names the person who ordered the transaction, if any.
pub fn insert(
    outbox: &Outbox<'_>,
    signed: &Signed,
    by: Option<String>,
) -> Result<Option<Txid>, SendError> {
    let tx = outbox.tx;
    if tx.sender_hold()?.is_some()
        || !all_wait(tx, &signed.payouts)?
        || !are_free(tx, &signed.spend, None)?
    {
        return Ok(None);
    }
    let batch_seq = tx.insert_batch(outbox.now)?;
    signed.payouts.iter().try_for_each(|payout_seq| tx.join_batch(*payout_seq, batch_seq))?;
    store_version(outbox, batch_seq, signed, true, by).map(Some)
}

fn all_wait(tx: &Tx<'_>, payouts: &[i64]) -> Result<bool, StoreError> {
    for seq in payouts {
        let Some(row) = tx.payout_by_seq(*seq)? else { return Ok(false) };
        if row.state != PayoutState::Queued || row.batch_seq.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a spend can be stored: its change index is the next one, and each coin is free. A free
/// coin is still in its block and in no other batch; only an unmined twin may spend it. The batch's
/// own coins are always free.
pub fn are_free(
    tx: &Tx<'_>,
    spend: &UnsignedSpend,
    own_batch: Option<i64>,
) -> Result<bool, StoreError> {
    for coin in &spend.inputs {
        let Some(facts) = tx.coin_facts(&coin.outpoint)? else { return Ok(false) };
        let batch = tx.live_batch_of_input(&coin.outpoint)?;
        let is_free = match batch {
            None => {
                let is_twins = |spender: Txid| {
                    Ok::<_, StoreError>(facts.spent_height.is_none() && tx.is_twin(&spender)?)
                };
                let is_unspent =
                    facts.spent_by.map_or(Ok(true), is_twins)? && facts.conflict_height.is_none();
                is_unspent && is_where_seen(coin, &facts)
            }
            Some(batch) => own_batch == Some(batch),
        };
        if !is_free {
            return Ok(false);
        }
    }
    let Some(change) = &spend.change else { return Ok(true) };
    Ok(tx.keychain(Keychain::Internal)?.is_some_and(|(_, next_index)| next_index == change.index))
}

/// Whether a coin is still in the block that held it when it was chosen. Our own change that was
/// unconfirmed then may be anywhere now.
fn is_where_seen(coin: &SpendableCoin, facts: &CoinFacts) -> bool {
    match (coin.height, facts.position) {
        (Some(seen), Position::Block { height }) => seen == height,
        (Some(_), Position::Mempool | Position::Absent) => false,
        (None, _) => true,
    }
}

/// Stores a signed transaction as the next version of a batch, with its change, and settles the
/// batch. `by` names the person who ordered it.
pub fn store_version(
    outbox: &Outbox<'_>,
    batch_seq: i64,
    signed: &Signed,
    pays: bool,
    by: Option<String>,
) -> Result<Txid, SendError> {
    let tx = outbox.tx;
    let Signed { spend, tx: transaction, payouts } = signed;
    let outputs = payouts
        .iter()
        .enumerate()
        .filter_map(|(number, seq)| Some((spend.payee_vout(number)?, *seq)));
    let version = NewVersion {
        tx: transaction.clone(),
        pays,
        fee_sats: spend.fee_sats,
        vsize: transaction.weight().to_vbytes_ceil(),
        outputs: outputs.collect(),
        at: outbox.now,
        by,
    };
    let txid = tx.store_version(batch_seq, &version)?;
    if let (Some(change), Some(vout)) = (&spend.change, spend.change_vout()) {
        tx.take_change_index()?;
        let coin = Coin {
            outpoint: OutPoint { txid, vout },
            keychain: Keychain::Internal,
            index: change.index,
            payment_seq: None,
            amount_sats: change.amount_sats,
            is_coinbase: false,
        };
        tx.store_coin(&coin, &TxPosition::Absent)?;
    }
    // `settle` returns warnings to staff. A version that is stored just now causes none.
    batches::settle(outbox, batch_seq, tx.tip_height()?)?;
    Ok(txid)
}

/// Coins that a replacement must spend: all inputs of all versions.
pub fn inputs_of(tx: &Reader<'_>, batch_seq: i64) -> Result<Vec<SpendableCoin>, StoreError> {
    let mut coins = Vec::new();
    for outpoint in tx.inputs_of_batch(batch_seq)? {
        let coin = tx.coin_of_input(&outpoint)?.ok_or(StoreError::BadValue("batch_inputs"))?;
        coins.push(funds::with_ancestors(tx, &coin)?);
    }
    Ok(coins)
}
