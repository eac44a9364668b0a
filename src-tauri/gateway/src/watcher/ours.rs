//! What of the chain is ours: finds in each transaction what it pays to payments and to our change, and which of our
//! coins it spends. Reads; writes nothing.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};

use bitcoin::{Amount, OutPoint, Script, Transaction, Txid};

use super::WatchError;
use crate::chain::WatchList;
use crate::gateway::Gateway;
use crate::store::coins::Coin;
use crate::store::keychains::Keychain;
use crate::store::{Reader, StoreError};

/// How long what is gone is followed: well beyond the 14 days after which it is gone for good. Where it comes back later,
/// it is seen as any other transaction is.
const FOLLOWED_FOR_MS: i64 = 30 * 24 * 3_600_000;

/// What of one transaction is ours.
#[derive(Default)]
pub(super) struct Found {
    /// What it pays to payments, by their numbers: the derivation index, and output numbers with satoshis.
    pub payments: BTreeMap<i64, (u32, Vec<(u32, u64)>)>,
    /// What else it pays to this wallet: our change, and addresses that were given to no payment here.
    pub change: Vec<Coin>,
    /// Our coins that it spends.
    pub spends: Vec<OutPoint>,
}

/// What of the chain is ours, as the database and the wallet have it.
pub(super) struct Ours<'a> {
    gateway: &'a Gateway,
    txids: Vec<Txid>,
    /// What was found in transactions that the backend asked about.
    found: RefCell<HashMap<Txid, Found>>,
    /// Coins made in this very look, which the database does not hold yet.
    made: RefCell<HashSet<OutPoint>>,
    /// Why the database could not be asked about a transaction.
    error: Cell<Option<StoreError>>,
}

impl<'a> Ours<'a> {
    /// What of the chain is ours, addresses that another copy of the wallet gave included.
    ///
    /// # Errors
    /// When those cannot be derived: the program is stopping.
    pub(super) fn new(gateway: &'a Gateway) -> Result<Self, WatchError> {
        if gateway.wallet.get().is_some_and(|wallet| !wallet.addresses.wait_until_known_ahead()) {
            return Err(WatchError::BrokenOff);
        }
        let (found, made) = (RefCell::default(), RefCell::default());
        Ok(Self { gateway, txids: Vec::new(), found, made, error: Cell::new(None) })
    }

    /// Wants to be told of every transaction that we know, too.
    pub(super) fn expect_all_known(&mut self) -> Result<(), StoreError> {
        self.txids = self.gateway.store.read(|reader| reader.known_transactions())?;
        Ok(())
    }

    /// What of a transaction in a view is ours. The backend has asked about most of them already.
    pub(super) fn of(&self, tx: &Transaction, txid: &Txid) -> Result<Found, StoreError> {
        let found = self.found.borrow_mut().remove(txid);
        found.map_or_else(|| self.find(tx, txid), Ok)
    }

    /// Fails if the database could not be asked about a transaction: the view is not whole then.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        self.error.take().map_or(Ok(()), Err)
    }

    fn find(&self, tx: &Transaction, txid: &Txid) -> Result<Found, StoreError> {
        self.gateway.store.read(|reader| {
            let mut found = Found::default();
            for (vout, output) in (0u32..).zip(&tx.output) {
                // An output of nothing pays nothing.
                if output.value == Amount::ZERO {
                    continue;
                }
                let amount_sats = output.value.to_sat();
                let outpoint = OutPoint { txid: *txid, vout };
                if let Some((seq, index)) = reader.payment_of_script(&output.script_pubkey)? {
                    found.payments.entry(seq).or_insert_with(|| (index, Vec::new())).1.push((vout, amount_sats));
                } else if let Some((keychain, index)) = self.of_wallet(&output.script_pubkey) {
                    let is_coinbase = tx.is_coinbase();
                    found.change.push(Coin { outpoint, keychain, index, payment_seq: None, amount_sats, is_coinbase });
                } else {
                    continue;
                }
                self.made.borrow_mut().insert(outpoint);
            }
            found.spends = self.spent(reader, tx)?;
            Ok(found)
        })
    }

    /// Where a script of this wallet stands that is no payment's. Another copy of the wallet may use change and addresses far
    /// beyond what was given here: as far as it did, and some more, is known before the next transaction is looked at.
    fn of_wallet(&self, script: &Script) -> Option<(Keychain, u32)> {
        let wallet = self.gateway.wallet.get()?;
        if let Some(index) = wallet.change.index_of(script) {
            if let Err(error) = wallet.change.given(index.saturating_add(1)) {
                tracing::error!(%error, index, "the scripts of our change beyond one that was used cannot be derived");
            }
            return Some((Keychain::Internal, index));
        }
        let index = wallet.addresses.index_ahead(script)?;
        wallet.addresses.skip_to_beyond(index);
        Some((Keychain::External, index))
    }

    fn spent(&self, reader: &Reader<'_>, tx: &Transaction) -> Result<Vec<OutPoint>, StoreError> {
        let mut spent = Vec::new();
        for outpoint in tx.input.iter().map(|input| input.previous_output) {
            if self.made.borrow().contains(&outpoint) || reader.has_coin(&outpoint)? {
                spent.push(outpoint);
            }
        }
        Ok(spent)
    }
}

impl Found {
    fn is_empty(&self) -> bool {
        self.payments.is_empty() && self.change.is_empty() && self.spends.is_empty()
    }
}

impl WatchList for Ours<'_> {
    fn concerns(&self, tx: &Transaction) -> bool {
        let txid = tx.compute_txid();
        match self.find(tx, &txid) {
            Ok(found) if found.is_empty() => false,
            Ok(found) => {
                self.found.borrow_mut().insert(txid, found);
                true
            }
            Err(error) => {
                self.error.set(Some(error));
                false
            }
        }
    }

    fn txids(&self) -> &[Txid] {
        &self.txids
    }

    fn unsettled(&self, above: u32) -> Vec<Transaction> {
        let since = self.gateway.clock.now().plus_ms(-FOLLOWED_FOR_MS);
        let unsettled = self.gateway.store.read(|reader| reader.unsettled_transactions(above, since));
        unsettled.unwrap_or_else(|error| {
            self.error.set(Some(error));
            Vec::new()
        })
    }
}
