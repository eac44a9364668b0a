//! Set-up and checks for tests of the sender: a gateway with a wallet and coins.

use std::collections::BTreeSet;
use std::iter;

use bitcoin::{Transaction, Txid};
use tillgate_domain::id::Id;
use tillgate_domain::money::{Currency, format_btc};
use tillgate_domain::payout::PayoutState;
use tillgate_sandbox::{BroadcastFault, FaultsPatch};
use tillgate_store::StoreError;
use tillgate_store::ledger::LedgerPart;
use tillgate_store::notify_hosts::NotifyHosts;
use tillgate_store::payouts::PayoutRow;

use super::World;
use super::stage::{Backend, Stage};
use crate::payouts::{self, OfferRequest, PayoutRequest, Permit, Requester};
use crate::sender::{Agreed, ReplaceError, Sender};
use crate::statement;
use crate::watcher::Watcher;

/// A wallet with this many confirmed coins of 0.01 BTC each.
pub async fn world_with_coins(count: usize) -> World {
    let world = World::new().await;
    make_wallet_with_coins(&world, count).await;
    world
}

async fn make_wallet_with_coins(world: &World, count: usize) {
    world.make_wallet().await;
    add_coins(world, count).await;
}

pub async fn add_coins(world: &World, count: usize) {
    for _ in 0..count {
        let payment = world.payment_to_wallet().await;
        world.customer_pays(&payment, 1_000_000);
    }
    world.mine(2).await;
}

/// A stage with two coins and this backend.
pub async fn stage_with_coins(backend: Backend) -> Stage {
    println!("through {backend:?}");
    let stage = Stage::new(backend).await;
    make_wallet_with_coins(stage.world(), 2).await;
    stage
}

/// Checks that the payout is paid by the other copy's transaction alone.
pub fn check_paid_by_the_other_alone(world: &World, payout: &Id, twin: &Transaction) {
    assert_eq!(
        (world.payout_state(payout), world.txid_of(payout)),
        (PayoutState::Sent, twin.compute_txid())
    );
    assert_eq!(world.outputs_of(payout), 1, "one output should pay the payout");
    world.check_ledger();
}

impl Sender {
    /// A bump by staff who were shown no fee.
    pub async fn bump(
        &self,
        id: Id,
        fee_rate_sat_vb: Option<u32>,
        actor: &str,
        watcher: &Watcher,
    ) -> Result<Txid, ReplaceError> {
        self.bump_agreed(id, fee_rate_sat_vb, Agreed::default(), (actor, watcher)).await
    }

    /// An abandonment by staff who were shown no fee.
    pub async fn abandon(
        &self,
        id: Id,
        all: bool,
        actor: &str,
        watcher: &Watcher,
    ) -> Result<Option<Txid>, ReplaceError> {
        self.abandon_agreed(id, all, Agreed::default(), (actor, watcher)).await
    }
}

impl World {
    /// Advances the clock until the batch is due, looks at the chain, and runs a pass of the
    /// sender.
    pub async fn send(&self) {
        self.pass_ms(31_000).await;
        self.pass_sender().await;
    }

    /// Mines blocks, looks at the chain, and runs a pass of the sender.
    pub async fn mine_and_pass(&self, count: u32) {
        self.mine(count).await;
        self.pass_sender().await;
    }

    /// Looks at the chain and runs a pass of the sender.
    pub async fn look_and_pass(&self) {
        self.look().await;
        self.pass_sender().await;
    }

    /// A new approved payout of the same amount to the same address.
    pub async fn approved_payout_to(&self, row: &PayoutRow) -> Id {
        self.asked_for(row, true).await
    }

    /// A new offer of the same amount to the same address.
    pub async fn offered_payout_to(&self, row: &PayoutRow) -> Id {
        self.asked_for(row, false).await
    }

    async fn asked_for(&self, row: &PayoutRow, is_approved: bool) -> Id {
        let request = OfferRequest {
            requester: Requester {
                key_id: None,
                name: "cli:ann".to_owned(),
                notify_hosts: NotifyHosts::default(),
            },
            payout: PayoutRequest {
                address: Some(row.address.clone().into()),
                btc_amount: Some(format_btc(row.amount_sats).into()),
                fiat_amount: None,
                currency: Some("USD".into()),
                comment: None,
                notification_url: None,
                refund_sats: None,
                field_errors: Vec::new(),
            },
            is_approved,
            once: None,
            permit: Permit::none(),
            // Confirms that the payout is wanted although another copy paid the address.
            again: true,
        };
        payouts::offer(&self.gateway, request).await.unwrap().payout_id()
    }

    pub fn payout_state(&self, id: &Id) -> PayoutState {
        self.payout(id).state
    }

    pub fn txid_of(&self, id: &Id) -> Txid {
        self.payout(id).txid.expect("no transaction is stored for the payout")
    }

    /// Number of outputs in blocks and mempool that pay the payout's address exactly its amount.
    pub fn outputs_of(&self, id: &Id) -> usize {
        let payout = self.payout(id);
        let outputs = self.sandbox().outputs_to(&payout.script).unwrap();
        outputs.iter().filter(|output| output.amount_sats == payout.amount_sats).count()
    }

    pub fn broadcasts(&self, broadcast: BroadcastFault) {
        self.sandbox()
            .set_faults(FaultsPatch { broadcast: Some(broadcast), ..FaultsPatch::default() })
            .unwrap();
    }

    pub fn lock_keys(&self, locked: bool) {
        self.sandbox()
            .set_faults(FaultsPatch { keys_locked: Some(locked), ..FaultsPatch::default() })
            .unwrap();
    }

    /// Checks that the ledger's sum equals the balance computed from coins and payouts.
    pub fn check_ledger(&self) {
        let (booked, reckoned) = self
            .gateway
            .store
            .read(|reader| {
                Ok::<_, StoreError>((reader.ledger_sats()?, reader.reckoned_balance_sats()?))
            })
            .unwrap();
        assert_eq!(booked, reckoned, "the ledger's sum is not the balance");
    }

    /// Checks that the opening balance and the movements make up the closing balance, for each
    /// period between two movements.
    pub fn check_statements(&self) {
        let rows = LedgerPart { limit: u32::MAX, ..LedgerPart::default() };
        self.gateway
            .store
            .read(|reader| {
                let times: BTreeSet<_> =
                    reader.ledger_page(&rows)?.iter().map(|entry| entry.at).collect();
                let bounds: Vec<_> =
                    iter::once(None).chain(times.into_iter().map(Some)).chain([None]).collect();
                let mut carried_sats = 0;
                for pair in bounds.windows(2) {
                    let sums = statement::sums(reader, (pair[0], pair[1]), Currency::USD, 2)?;
                    let moved: i64 = sums.by_kind.iter().map(|kind| kind.sats).sum();
                    assert_eq!(
                        sums.opening_sats, carried_sats,
                        "it goes on from the period before"
                    );
                    assert_eq!(sums.opening_sats + moved, sums.closing_sats, "{sums:?}");
                    carried_sats = sums.closing_sats;
                }
                Ok::<_, StoreError>(())
            })
            .unwrap();
    }

    /// Checks that the ledger's sum is the chain's balance. No transaction of ours may be
    /// unconfirmed.
    pub fn check_balance(&self) {
        let balance = self.gateway.store.read(|reader| reader.ledger_sats()).unwrap();
        assert_eq!(u64::try_from(balance).unwrap(), self.chain_balance());
    }

    /// The sum of our unspent coins in blocks, locked ones included.
    pub fn chain_balance(&self) -> u64 {
        let coins = self.gateway.store.read(|reader| reader.coins()).unwrap();
        coins
            .iter()
            .filter(|coin| coin.position == "block" && coin.spent_by.is_none())
            .map(|coin| coin.coin.amount_sats)
            .sum()
    }
}
