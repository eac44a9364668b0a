//! Coins and fees for offers and estimates.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bitcoin::{Script, ScriptBuf};

pub use crate::funds::{PayoutFeeRate, fee_rate};

use tillgate_store::{Reader, StoreError};

use crate::funds;
use crate::gateway::Gateway;
use crate::settings::{AddressType, Settings};
use crate::wallet::NotReady;
use crate::wallet::spend::{self, Payee, SpendableCoin};

/// Longest wait of an offer until the wallet knows its own addresses. A hundred thousand skipped
/// addresses are derived in about three seconds.
const KNOWN_WITHIN: Duration = Duration::from_secs(10);

/// Interval of the checks during that wait.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// The fee and coverage of one payout, with the coins that would be chosen now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayoutCost {
    /// The fee of a transaction for this payout alone.
    pub network_fee_sats: u64,
    /// The coins are too few for this payout and the payouts that wait before it.
    pub balance_short: bool,
}

/// The permit to choose coins for a shop's request. It is taken after all waits for the network,
/// and returned when the computation ends, even if the caller has gone. Requests by staff need
/// none.
pub struct Permit {
    take: Option<Taking>,
}

/// Takes the permit. Dropping its result gives the permit back.
type Taking = Pin<Box<dyn Future<Output = Result<Box<dyn Send>, StoreError>> + Send>>;

impl Permit {
    /// A permit that `take` acquires.
    pub fn by<P: Send + 'static>(
        take: impl Future<Output = Result<P, StoreError>> + Send + 'static,
    ) -> Self {
        let take = async move { take.await.map(|held| Box::new(held) as Box<dyn Send>) };
        Self { take: Some(Box::pin(take)) }
    }

    /// No permit is needed: the request is by staff.
    pub const fn none() -> Self {
        Self { take: None }
    }

    async fn take(self) -> Result<Option<Box<dyn Send>>, StoreError> {
        match self.take {
            Some(take) => take.await.map(Some),
            None => Ok(None),
        }
    }
}

/// The available coins at one moment.
struct Purse {
    /// The coins among which a transaction may choose.
    coins: Vec<SpendableCoin>,
    /// The sum of the payouts that are sent before a new offer.
    waiting_sats: u64,
}

impl Purse {
    fn load(reader: &Reader<'_>, settings: &Settings) -> Result<Self, StoreError> {
        Ok(Self {
            coins: funds::spendable_coins(reader, settings)?,
            waiting_sats: reader.waiting_payouts_sats()?,
        })
    }

    /// Computes the cost of a payee. `spendable_sats` is called only if the payout alone is
    /// payable, but `coins` are worth less than the payout and the waiting ones together.
    fn cost(
        &self,
        payee: &Payee,
        fee_rate: PayoutFeeRate,
        address_type: AddressType,
        spendable_sats: impl FnOnce() -> Result<u64, StoreError>,
    ) -> Result<PayoutCost, StoreError> {
        let fee = spend::fee_for_one(payee, &self.coins, fee_rate.capped(), address_type);
        let network_fee_sats = fee.fee_sats;
        let needed_sats =
            payee.amount_sats.saturating_add(network_fee_sats).saturating_add(self.waiting_sats);
        let worth = self
            .coins
            .iter()
            .filter(|coin| spend::is_worth_spending(coin, fee_rate.capped(), address_type));
        let choice_sats = worth.fold(0u64, |sum, coin| sum.saturating_add(coin.amount_sats));
        let balance_short =
            !fee.is_payable || (choice_sats < needed_sats && spendable_sats()? < needed_sats);
        Ok(PayoutCost { network_fee_sats, balance_short })
    }
}

/// The cost of a payout of `amount_sats` to `script` at this fee rate. Blocks while the coins
/// are read.
pub fn cost(
    reader: &Reader<'_>,
    gateway: &Gateway,
    settings: &Settings,
    fee_rate: PayoutFeeRate,
    (amount_sats, script): (u64, &Script),
) -> Result<PayoutCost, StoreError> {
    let payee = Payee { script: script.to_owned(), amount_sats };
    let address_type = funds::address_type(&gateway.wallet, settings);
    let spendable_sats = || funds::spendable_sats(reader, settings, fee_rate, address_type);
    Purse::load(reader, settings)?.cost(&payee, fee_rate, address_type, spendable_sats)
}

/// As [`cost`], on a thread that may block. The database is released before the coins are
/// chosen, because that may take long.
///
/// # Errors
/// When the database cannot be read, and when no permit comes in time.
pub async fn cost_off_thread(
    gateway: &Arc<Gateway>,
    settings: &Arc<Settings>,
    fee_rate: PayoutFeeRate,
    (amount_sats, script): (u64, ScriptBuf),
    permit: Permit,
) -> Result<PayoutCost, StoreError> {
    let (gateway, settings) = (Arc::clone(gateway), Arc::clone(settings));
    let permit = permit.take().await?;
    let reckon = move || {
        let _permit = permit;
        let purse = gateway.store.read(|reader| Purse::load(reader, &settings))?;
        let payee = Payee { script, amount_sats };
        let address_type = funds::address_type(&gateway.wallet, &settings);
        let spendable_sats = || {
            gateway
                .store
                .read(|reader| funds::spendable_sats(reader, &settings, fee_rate, address_type))
        };
        purse.cost(&payee, fee_rate, address_type, spendable_sats)
    };
    tokio::task::spawn_blocking(reckon).await.map_err(|_| StoreError::Closed)?
}

/// The largest amount that a payout to `script` can have after the waiting payouts; 0 if that is
/// dust.
pub fn most_sats(
    reader: &Reader<'_>,
    gateway: &Gateway,
    settings: &Settings,
    fee_rate: PayoutFeeRate,
    script: &Script,
) -> Result<u64, StoreError> {
    let coins = funds::spendable_coins(reader, settings)?;
    let most_sats = spend::most(
        script,
        &coins,
        fee_rate.capped(),
        funds::address_type(&gateway.wallet, settings),
    );
    let free_sats = most_sats.saturating_sub(reader.waiting_payouts_sats()?);
    Ok(if free_sats < script.minimal_non_dust().to_sat() { 0 } else { free_sats })
}

/// Whether a payout with this amount and fee, and the payouts that wait before it, leave fewer
/// coins than the fee once more. Then its fee cannot be raised later. False if the coins are too
/// few for the payout itself.
pub fn takes_all_coins(
    reader: &Reader<'_>,
    gateway: &Gateway,
    settings: &Settings,
    fee_rate: PayoutFeeRate,
    (amount_sats, fee_sats): (u64, u64),
) -> Result<bool, StoreError> {
    let address_type = funds::address_type(&gateway.wallet, settings);
    let spendable_sats = funds::spendable_sats(reader, settings, fee_rate, address_type)?;
    let needed_sats =
        reader.waiting_payouts_sats()?.saturating_add(amount_sats).saturating_add(fee_sats);
    Ok(spendable_sats.checked_sub(needed_sats).is_some_and(|left_sats| left_sats < fee_sats))
}

/// Waits until [`Gateway::is_ours`] knows every address of this wallet: skipped addresses are
/// derived in the first seconds after a start. It does not wait for a wallet that is not ready.
///
/// # Errors
/// When the derivation takes too long.
pub async fn ours_is_known(gateway: &Gateway) -> Result<(), NotReady> {
    let Ok(wallet) = gateway.ready_wallet() else { return Ok(()) };
    let known = async {
        // Sleeps instead of blocking a thread, because many callers may wait.
        while !wallet.addresses.is_known_ahead() {
            tokio::time::sleep(ASK_EVERY).await;
        }
    };
    tokio::time::timeout(KNOWN_WITHIN, known).await.map_err(|_| NotReady::NotDerived)
}
