//! What there is to pay with, and what sending costs: the one place where offers and estimates ask of coins and fees.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bitcoin::{Script, ScriptBuf};

pub(crate) use crate::funds::{PayoutFeeRate, fee_rate};

use crate::funds;
use crate::gateway::Gateway;
use crate::settings::{AddressType, Settings};
use crate::store::{Reader, StoreError};
use crate::wallet::NotReady;
use crate::wallet::spend::{self, Payee, SpendableCoin};

/// What is wrong with an address of our own; goes on from the name of the field.
pub(super) const OWN_ADDRESS: &str =
    "is one of this wallet's own: coins sent there would never leave it, give the recipient's address";

/// An offer waits no longer until the wallet knows its own addresses: a hundred thousand that were skipped are derived in about
/// three seconds.
const KNOWN_WITHIN: Duration = Duration::from_secs(10);

/// How often it asks meanwhile.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// What one payout takes, with the coins that would be chosen now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Funding {
    /// The fee of a transaction for it alone.
    pub(super) network_fee_sats: u64,
    /// The coins do not suffice for it and what waits before it.
    pub(super) balance_short: bool,
}

/// The right to have a payout reckoned: taken at the last moment, when no network is waited for any more, and given back
/// when that is done, also where nobody waits for it any more. People need none.
pub(crate) struct Permit {
    take: Option<Taking>,
}

/// What a permit is given back by dropping, once there is one.
type Taking = Pin<Box<dyn Future<Output = Result<Box<dyn Send>, StoreError>> + Send>>;

impl Permit {
    /// What `take` answers is the permit.
    pub(crate) fn by<P: Send + 'static>(take: impl Future<Output = Result<P, StoreError>> + Send + 'static) -> Self {
        let take = async move { take.await.map(|held| Box::new(held) as Box<dyn Send>) };
        Self { take: Some(Box::pin(take)) }
    }

    /// Of people.
    pub(crate) const fn none() -> Self {
        Self { take: None }
    }

    async fn take(self) -> Result<Option<Box<dyn Send>>, StoreError> {
        match self.take {
            Some(take) => take.await.map(Some),
            None => Ok(None),
        }
    }
}

/// What there is to pay with at one moment.
struct Purse {
    /// Those that a transaction may choose among.
    coins: Vec<SpendableCoin>,
    /// What waits before whatever is offered now.
    waiting_sats: u64,
}

impl Purse {
    fn read(reader: &Reader<'_>, settings: &Settings) -> Result<Self, StoreError> {
        Ok(Self { coins: funds::spendable(reader, settings)?, waiting_sats: reader.waiting_payouts_sats()? })
    }

    /// What a payee takes; `spendable_sats` is asked where it is payable by itself, and the coins to choose among come to
    /// less than it and what waits.
    fn funding(
        &self,
        payee: &Payee,
        fee_rate: PayoutFeeRate,
        address_type: AddressType,
        spendable_sats: impl FnOnce() -> Result<u64, StoreError>,
    ) -> Result<Funding, StoreError> {
        let fee = spend::fee_for_one(payee, &self.coins, fee_rate.capped(), address_type);
        let network_fee_sats = fee.fee_sats;
        let needed_sats = payee.amount_sats.saturating_add(network_fee_sats).saturating_add(self.waiting_sats);
        let worth = self.coins.iter().filter(|coin| spend::is_worth_spending(coin, fee_rate.capped(), address_type));
        let choice_sats = worth.fold(0u64, |sum, coin| sum.saturating_add(coin.amount_sats));
        let balance_short = !fee.is_payable || (choice_sats < needed_sats && spendable_sats()? < needed_sats);
        Ok(Funding { network_fee_sats, balance_short })
    }
}

/// What a payout of `amount_sats` to `script` takes at this fee rate. Blocks for as long as it takes to read the coins.
///
/// # Errors
/// When the database cannot be read.
pub(super) fn funding(
    reader: &Reader<'_>,
    gateway: &Gateway,
    settings: &Settings,
    fee_rate: PayoutFeeRate,
    (amount_sats, script): (u64, &Script),
) -> Result<Funding, StoreError> {
    let payee = Payee { script: script.to_owned(), amount_sats };
    let address_type = funds::address_type(gateway, settings);
    let spendable_sats = || funds::spendable_sats(reader, settings, fee_rate, address_type);
    Purse::read(reader, settings)?.funding(&payee, fee_rate, address_type, spendable_sats)
}

/// The same on a thread that may wait. No coin is chosen while the database is read: choosing takes long where there are
/// many.
///
/// # Errors
/// When the database cannot be read, and when there is no permit for it in time.
pub(super) async fn funding_off_thread(
    gateway: &Arc<Gateway>,
    settings: &Arc<Settings>,
    fee_rate: PayoutFeeRate,
    (amount_sats, script): (u64, ScriptBuf),
    permit: Permit,
) -> Result<Funding, StoreError> {
    let (gateway, settings) = (Arc::clone(gateway), Arc::clone(settings));
    let permit = permit.take().await?;
    let reckon = move || {
        let _permit = permit;
        let purse = gateway.store.read(|reader| Purse::read(reader, &settings))?;
        let payee = Payee { script, amount_sats };
        let address_type = funds::address_type(&gateway, &settings);
        let spendable_sats =
            || gateway.store.read(|reader| funds::spendable_sats(reader, &settings, fee_rate, address_type));
        purse.funding(&payee, fee_rate, address_type, spendable_sats)
    };
    tokio::task::spawn_blocking(reckon).await.map_err(|_| StoreError::Closed)?
}

/// The most that one payout to `script` could come to now, after what waits before it; 0 where that would be dust.
///
/// # Errors
/// When the database cannot be read.
pub(super) fn most_sats(
    reader: &Reader<'_>,
    gateway: &Gateway,
    settings: &Settings,
    fee_rate: PayoutFeeRate,
    script: &Script,
) -> Result<u64, StoreError> {
    let coins = funds::spendable(reader, settings)?;
    let most_sats = spend::most(script, &coins, fee_rate.capped(), funds::address_type(gateway, settings));
    let free_sats = most_sats.saturating_sub(reader.waiting_payouts_sats()?);
    Ok(if free_sats < script.minimal_non_dust().to_sat() { 0 } else { free_sats })
}

/// Waits until [`Gateway::is_ours`] knows every address of this wallet: those that were skipped are derived in the first seconds after a
/// start. A wallet that is not ready is not waited for.
///
/// # Errors
/// When that takes too long.
pub(super) async fn ours_is_known(gateway: &Gateway) -> Result<(), NotReady> {
    let Ok(wallet) = gateway.ready_wallet() else { return Ok(()) };
    let known = async {
        // Without a thread for each that waits: they may be many.
        while !wallet.addresses.is_known_ahead() {
            tokio::time::sleep(ASK_EVERY).await;
        }
    };
    tokio::time::timeout(KNOWN_WITHIN, known).await.map_err(|_| NotReady::NotDerived)
}
