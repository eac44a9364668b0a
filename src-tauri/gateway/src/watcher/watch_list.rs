//! Finds the parts of a transaction that are ours: outputs to payments and to the wallet, and
//! spends of our coins. This module writes nothing.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use bitcoin::{Amount, OutPoint, Script, Transaction, Txid};
use tillgate_chain::{KnownPosition, KnownScripts, TxFacts, TxPosition, WatchList};
use tillgate_store::coins::Coin;
use tillgate_store::keychains::Keychain;
use tillgate_store::other_type::OtherCoin;
use tillgate_store::{Reader, StoreError};

use super::error::WatchError;
use crate::gateway::{Gateway, WalletSlot};
use crate::wallet::OtherType;

/// Time for which an absent transaction is followed. It is well above the 14 days after which the
/// transaction is gone. A transaction that returns later is treated as new.
pub const FOLLOWED_FOR_MS: i64 = 30 * 24 * 3_600_000;

#[derive(Default)]
pub struct OurParts {
    /// Outputs to payments, by the payment's `seq`: the derivation index, and output indices
    /// (`vout`) with satoshis.
    pub payments: BTreeMap<i64, (u32, Vec<(u32, u64)>)>,
    /// Other outputs to this wallet: our change, and addresses not given to any payment here.
    pub change: Vec<Coin>,
    /// Coins of ours that the transaction spends.
    pub spends: Vec<OutPoint>,
    /// Whether the transaction is a known twin.
    pub is_twin: bool,
    /// Outputs to addresses of the other type that a restore looks at.
    pub others: Vec<OtherCoin>,
    /// Coins of the other type that the transaction spends.
    pub other_spends: Vec<OutPoint>,
}

/// Recognises our transactions by the database and the wallet.
pub struct OurTransactions<'a> {
    gateway: &'a Gateway,
    /// Known transactions on which the backend must report.
    txids: Vec<Txid>,
    /// Results for transactions that the backend asked about.
    found: RefCell<HashMap<Txid, OurParts>>,
    /// Coins created in this look, which the database does not hold yet.
    made: RefCell<HashSet<OutPoint>>,
    /// The other address type that a restore looks at, and its coins created in this look.
    other: Option<Arc<OtherType>>,
    made_of_other: RefCell<HashSet<OutPoint>>,
    /// Whether the stored script states are outdated, because the chain is another one.
    is_anew: Cell<bool>,
    /// The database's blocks up to this height are still in the chain; `None`: all its blocks.
    known_up_to: Cell<Option<u32>>,
    /// A database error during the look.
    error: Cell<Option<StoreError>>,
    /// Whether scripts ahead could not be derived, because the program is stopping.
    is_interrupted: Cell<bool>,
}

impl<'a> OurTransactions<'a> {
    pub fn new(gateway: &'a Gateway) -> Result<Self, WatchError> {
        wait_until_known_ahead(&gateway.wallet)?;
        let (found, made) = (RefCell::default(), RefCell::default());
        let (is_anew, known_up_to) = (Cell::new(false), Cell::new(None));
        let (error, is_interrupted) = (Cell::new(None), Cell::new(false));
        let (other, made_of_other) =
            (gateway.wallet.get().and_then(|wallet| wallet.other()), RefCell::default());
        let txids = Vec::new();
        Ok(Self {
            gateway,
            txids,
            found,
            made,
            other,
            made_of_other,
            is_anew,
            known_up_to,
            error,
            is_interrupted,
        })
    }

    /// Also asks for reports on all known transactions.
    pub fn expect_all_known(&mut self) -> Result<(), StoreError> {
        self.txids = self.gateway.store.read(|reader| reader.known_transactions())?;
        Ok(())
    }

    /// Whether reports on known transactions are asked for.
    pub const fn expects_known(&self) -> bool {
        !self.txids.is_empty()
    }

    /// Ignores stored script states from now on.
    pub fn begin_anew(&self) {
        self.is_anew.set(true);
    }

    /// Treats stored heights above `height` as outdated from now on.
    pub fn know_up_to(&self, height: Option<u32>) {
        self.known_up_to.set(height);
    }

    /// The parts of a transaction that are ours, mostly found already by [`WatchList::concerns`].
    pub fn parts_of(&self, facts: &TxFacts, txid: &Txid) -> Result<OurParts, StoreError> {
        let found = self.found.borrow_mut().remove(txid);
        let mut found = found.map_or_else(|| self.find(&facts.tx, txid), Ok)?;
        self.take_out_older(&mut found, facts, txid)?;
        Ok(found)
    }

    /// Takes outputs away from a payment if their block is older than the payment. Another copy of
    /// the wallet gave the address to another customer before this copy was restored. A stored coin
    /// keeps its payee.
    fn take_out_older(
        &self,
        found: &mut OurParts,
        facts: &TxFacts,
        txid: &Txid,
    ) -> Result<(), StoreError> {
        let OurParts { payments, change, .. } = found;
        self.gateway.store.read(|reader| {
            for (seq, (index, outputs)) in payments.iter_mut() {
                let given_above = reader.given_above(*seq)?.map(|height| self.known(height));
                let is_older = match facts.position {
                    TxPosition::Block { height, .. } => {
                        given_above.is_some_and(|given_above| height <= given_above)
                    }
                    TxPosition::Mempool { .. } | TxPosition::Absent => false,
                };
                for (vout, amount_sats) in std::mem::take(outputs) {
                    let outpoint = OutPoint { txid: *txid, vout };
                    let is_of_other =
                        reader.payee_of_coin(&outpoint)?.map_or(is_older, |payee| payee.is_none());
                    if is_of_other {
                        let (keychain, is_coinbase) = (Keychain::External, facts.tx.is_coinbase());
                        let index = *index;
                        change.push(Coin {
                            outpoint,
                            keychain,
                            index,
                            payment_seq: None,
                            amount_sats,
                            is_coinbase,
                        });
                    } else {
                        outputs.push((vout, amount_sats));
                    }
                }
            }
            payments.retain(|_, (_, outputs)| !outputs.is_empty());
            Ok(())
        })
    }

    /// Fails if a transaction could not be classified: the view is incomplete then.
    pub fn check(&self) -> Result<(), WatchError> {
        if self.is_interrupted.get() {
            return Err(WatchError::Interrupted);
        }
        Ok(self.error.take().map_or(Ok(()), Err)?)
    }

    fn find(&self, tx: &Transaction, txid: &Txid) -> Result<OurParts, StoreError> {
        self.gateway.store.read(|reader| {
            let mut found = OurParts::default();
            for (vout, output) in (0u32..).zip(&tx.output) {
                // An output of zero satoshis pays nothing.
                if output.value == Amount::ZERO {
                    continue;
                }
                let amount_sats = output.value.to_sat();
                let outpoint = OutPoint { txid: *txid, vout };
                if let Some((seq, index)) = reader.payment_of_script(&output.script_pubkey)? {
                    found
                        .payments
                        .entry(seq)
                        .or_insert_with(|| (index, Vec::new()))
                        .1
                        .push((vout, amount_sats));
                } else if let Some((keychain, index)) = self.of_wallet(&output.script_pubkey) {
                    let is_coinbase = tx.is_coinbase();
                    found.change.push(Coin {
                        outpoint,
                        keychain,
                        index,
                        payment_seq: None,
                        amount_sats,
                        is_coinbase,
                    });
                } else if let Some((keychain, index)) = self.of_other_type(&output.script_pubkey) {
                    found.others.push(OtherCoin { outpoint, keychain, index, amount_sats });
                    self.made_of_other.borrow_mut().insert(outpoint);
                    continue;
                } else {
                    continue;
                }
                self.made.borrow_mut().insert(outpoint);
            }
            found.spends = self.spent(reader, tx)?;
            found.other_spends = self.spent_of_other_type(reader, tx)?;
            found.is_twin = reader.is_twin(txid)?;
            Ok(found)
        })
    }

    /// A stored height, limited to blocks that are still in the chain.
    fn known(&self, height: u32) -> u32 {
        self.known_up_to.get().map_or(height, |known| known.min(height))
    }

    /// Keychain and index of a wallet script that no payment has. Another copy of the wallet may
    /// use scripts far beyond this copy's. So the scripts beyond a found one are derived before the
    /// next transaction is checked.
    fn of_wallet(&self, script: &Script) -> Option<(Keychain, u32)> {
        let wallet = self.gateway.wallet.get()?;
        if let Some(index) = wallet.change.index_of(script) {
            if let Err(error) = wallet.change.derive_up_to(index.saturating_add(1)) {
                tracing::error!(%error, index, "the change scripts after a used index cannot be derived");
            }
            return Some((Keychain::Internal, index));
        }
        let index = wallet.addresses.index_of_ungiven(script)?;
        wallet.addresses.skip_to_beyond(index);
        if !wallet.addresses.wait_until_known_ahead() {
            self.is_interrupted.set(true);
        }
        Some((Keychain::External, index))
    }

    fn of_other_type(&self, script: &Script) -> Option<(Keychain, u32)> {
        self.other.as_ref()?.find(script)
    }

    fn spent_of_other_type(
        &self,
        reader: &Reader<'_>,
        tx: &Transaction,
    ) -> Result<Vec<OutPoint>, StoreError> {
        let mut spent = Vec::new();
        if self.other.is_some() {
            for outpoint in tx.input.iter().map(|input| input.previous_output) {
                if self.made_of_other.borrow().contains(&outpoint)
                    || reader.has_other_coin(&outpoint)?
                {
                    spent.push(outpoint);
                }
            }
        }
        Ok(spent)
    }

    /// Like [`Self::of_wallet`], but derives no further scripts.
    fn place_in_wallet(&self, script: &Script) -> Option<(Keychain, u32)> {
        let wallet = self.gateway.wallet.get()?;
        let of_change = wallet.change.index_of(script).map(|index| (Keychain::Internal, index));
        of_change.or_else(|| {
            wallet.addresses.index_of_ungiven(script).map(|index| (Keychain::External, index))
        })
    }

    /// The database's answer, or a default after an error, which fails the look.
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

impl KnownScripts for OurTransactions<'_> {
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
                // Transactions from before the address was given to this payment.
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

impl OurParts {
    fn is_empty(&self) -> bool {
        self.payments.is_empty()
            && !self.moves_coins()
            && self.others.is_empty()
            && self.other_spends.is_empty()
    }

    /// Whether it moves coins that are no payment's.
    pub fn moves_coins(&self) -> bool {
        !self.change.is_empty() || !self.spends.is_empty() || self.is_twin
    }
}

impl WatchList for OurTransactions<'_> {
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
        let since = self.gateway.time.now().plus_ms(-FOLLOWED_FOR_MS);
        self.or_note(self.gateway.store.read(|reader| reader.unsettled_transactions(above, since)))
    }

    fn is_followed(&self, txid: &Txid) -> bool {
        let since = self.gateway.time.now().plus_ms(-FOLLOWED_FOR_MS);
        // After a failed read the look fails, whatever the result here is.
        self.or_note(self.gateway.store.read(|reader| reader.is_followed(txid, since)))
    }
}

/// Waits until the addresses that another copy of the wallet may have given are derived.
///
/// # Errors
/// Fails when they cannot be derived, because the program is stopping.
pub fn wait_until_known_ahead(wallet: &WalletSlot) -> Result<(), WatchError> {
    match wallet.get().is_none_or(|wallet| wallet.addresses.wait_until_known_ahead()) {
        true => Ok(()),
        false => Err(WatchError::Interrupted),
    }
}
