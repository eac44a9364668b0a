//! What of the chain is ours: finds in each transaction what it pays to payments and to our change, and which of our
//! coins it spends. Reads; writes nothing.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};

use bitcoin::{Amount, OutPoint, Script, Transaction, Txid};

use super::error::WatchError;
use crate::chain::{KnownPosition, KnownScripts, TxFacts, TxPosition, WatchList};
use crate::gateway::Gateway;
use crate::store::coins::Coin;
use crate::store::keychains::Keychain;
use crate::store::{Reader, StoreError};

/// How long what is gone is followed: well beyond the 14 days after which it is gone for good. Where it comes back later,
/// it is seen as any other transaction is.
pub(super) const FOLLOWED_FOR_MS: i64 = 30 * 24 * 3_600_000;

/// What of one transaction is ours.
#[derive(Default)]
pub(super) struct Found {
    /// What it pays to payments, by their numbers: the derivation index, and output numbers with satoshis.
    pub payments: BTreeMap<i64, (u32, Vec<(u32, u64)>)>,
    /// What else it pays to this wallet: our change, and addresses that were given to no payment here.
    pub change: Vec<Coin>,
    /// Our coins that it spends.
    pub spends: Vec<OutPoint>,
    /// It was told before as a twin, and is followed.
    pub is_twin: bool,
}

/// What of the chain is ours, as the database and the wallet have it.
pub(super) struct Ours<'a> {
    gateway: &'a Gateway,
    txids: Vec<Txid>,
    /// What was found in transactions that the backend asked about.
    found: RefCell<HashMap<Txid, Found>>,
    /// Coins made in this very look, which the database does not hold yet.
    made: RefCell<HashSet<OutPoint>>,
    /// Another chain is there: what was remembered of scripts was of the one before.
    is_anew: Cell<bool>,
    /// The height up to which the blocks are those that the database speaks of; `None`: all.
    known_up_to: Cell<Option<u32>>,
    /// Why the database could not be asked about a transaction.
    error: Cell<Option<StoreError>>,
    /// What lies ahead could not be derived: the program is stopping.
    is_broken_off: Cell<bool>,
}

impl<'a> Ours<'a> {
    /// What of the chain is ours, addresses that another copy of the wallet gave included.
    ///
    /// # Errors
    /// When those cannot be derived: the program is stopping.
    pub(super) fn new(gateway: &'a Gateway) -> Result<Self, WatchError> {
        wait_until_known_ahead(gateway)?;
        let (found, made) = (RefCell::default(), RefCell::default());
        let (is_anew, known_up_to) = (Cell::new(false), Cell::new(None));
        let (error, is_broken_off) = (Cell::new(None), Cell::new(false));
        Ok(Self { gateway, txids: Vec::new(), found, made, is_anew, known_up_to, error, is_broken_off })
    }

    /// Wants to be told of every transaction that we know, too.
    pub(super) fn expect_all_known(&mut self) -> Result<(), StoreError> {
        self.txids = self.gateway.store.read(|reader| reader.known_transactions())?;
        Ok(())
    }

    /// Whether it wants to be told of transactions that we know.
    pub(super) const fn expects_known(&self) -> bool {
        !self.txids.is_empty()
    }

    /// Has forgotten from now on what was remembered of scripts.
    pub(super) fn begin_anew(&self) {
        self.is_anew.set(true);
    }

    /// Reckons from now on with blocks above a height that are not those of which the database speaks.
    pub(super) fn know_up_to(&self, height: Option<u32>) {
        self.known_up_to.set(height);
    }

    /// What of a transaction in a view is ours. The backend has asked about most of them already.
    pub(super) fn of(&self, facts: &TxFacts, txid: &Txid) -> Result<Found, StoreError> {
        let found = self.found.borrow_mut().remove(txid);
        let mut found = found.map_or_else(|| self.find(&facts.tx, txid), Ok)?;
        self.take_out_older(&mut found, facts, txid)?;
        Ok(found)
    }

    /// What a block holds that was there before a payment's address was given is not paid for it: another copy of the wallet gave
    /// the address to somebody else, before this one was restored. Once seen so, or as paid for it, it stays so.
    fn take_out_older(&self, found: &mut Found, facts: &TxFacts, txid: &Txid) -> Result<(), StoreError> {
        let Found { payments, change, .. } = found;
        self.gateway.store.read(|reader| {
            for (seq, (index, outputs)) in payments.iter_mut() {
                let given_above = reader.given_above(*seq)?.map(|height| self.known(height));
                let is_older = match facts.position {
                    TxPosition::Block { height, .. } => given_above.is_some_and(|given_above| height <= given_above),
                    TxPosition::Mempool { .. } | TxPosition::Absent => false,
                };
                for (vout, amount_sats) in std::mem::take(outputs) {
                    let outpoint = OutPoint { txid: *txid, vout };
                    let is_of_other = reader.payee_of_coin(&outpoint)?.map_or(is_older, |payee| payee.is_none());
                    if is_of_other {
                        let (keychain, is_coinbase) = (Keychain::External, facts.tx.is_coinbase());
                        let index = *index;
                        change.push(Coin { outpoint, keychain, index, payment_seq: None, amount_sats, is_coinbase });
                    } else {
                        outputs.push((vout, amount_sats));
                    }
                }
            }
            payments.retain(|_, (_, outputs)| !outputs.is_empty());
            Ok(())
        })
    }

    /// Fails if it could not be told of a transaction whether it is ours: the view is not whole then.
    pub(super) fn check(&self) -> Result<(), WatchError> {
        if self.is_broken_off.get() {
            return Err(WatchError::BrokenOff);
        }
        Ok(self.error.take().map_or(Ok(()), Err)?)
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
            found.is_twin = reader.is_twin(txid)?;
            Ok(found)
        })
    }

    /// The lower of a height that the database tells, and of that up to which it speaks of these blocks.
    fn known(&self, height: u32) -> u32 {
        self.known_up_to.get().map_or(height, |known| known.min(height))
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
        if !wallet.addresses.wait_until_known_ahead() {
            self.is_broken_off.set(true);
        }
        Some((Keychain::External, index))
    }

    /// The same without any consequence, addresses that were skipped included.
    fn place_in_wallet(&self, script: &Script) -> Option<(Keychain, u32)> {
        let wallet = self.gateway.wallet.get()?;
        let of_change = wallet.change.index_of(script).map(|index| (Keychain::Internal, index));
        of_change.or_else(|| wallet.addresses.index_ahead(script).map(|index| (Keychain::External, index)))
    }

    /// What the database answered; nothing where it could not, for which the look fails.
    fn or_note<T: Default>(&self, answer: Result<T, StoreError>) -> T {
        answer.unwrap_or_else(|error| {
            self.error.set(Some(error));
            T::default()
        })
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

impl KnownScripts for Ours<'_> {
    fn state(&self, script: &Script) -> Option<Vec<u8>> {
        if self.is_anew.get() {
            return None;
        }
        self.or_note(self.gateway.store.read(|reader| reader.script_state(script)))
    }

    fn transactions(&self, script: &Script) -> Vec<(Transaction, KnownPosition)> {
        let known = self.gateway.store.read(|reader| {
            if let Some((seq, index)) = reader.payment_of_script(script)? {
                let mut known = reader.transactions_of_payment(seq)?;
                // What came before the address was given for it.
                known.append(&mut reader.transactions_of_index(Keychain::External, index)?);
                return Ok(known);
            }
            match self.place_in_wallet(script) {
                Some((keychain, index)) => reader.transactions_of_index(keychain, index),
                None => Ok(Vec::new()),
            }
        });
        self.or_note(known)
    }
}

impl Found {
    fn is_empty(&self) -> bool {
        self.payments.is_empty() && !self.moves_coins()
    }

    /// Whether it moves coins that are no payment's.
    pub(super) fn moves_coins(&self) -> bool {
        !self.change.is_empty() || !self.spends.is_empty() || self.is_twin
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
        self.or_note(self.gateway.store.read(|reader| reader.unsettled_transactions(above, since)))
    }

    fn is_followed(&self, txid: &Txid) -> bool {
        let since = self.gateway.clock.now().plus_ms(-FOLLOWED_FOR_MS);
        // A look that could not ask fails in any case.
        self.or_note(self.gateway.store.read(|reader| reader.is_followed(txid, since)))
    }
}

/// Waits until all addresses ahead are known that another copy of the wallet may have given.
///
/// # Errors
/// When they cannot be derived: the program is stopping.
pub(super) fn wait_until_known_ahead(gateway: &Gateway) -> Result<(), WatchError> {
    match gateway.wallet.get().is_none_or(|wallet| wallet.addresses.wait_until_known_ahead()) {
        true => Ok(()),
        false => Err(WatchError::BrokenOff),
    }
}
