//! A small chain with a mempool, in which transactions appear, confirm, conflict and vanish, and a
//! gateway that looks at it.

use bitcoin::{FeeRate, Txid};
use proptest::prelude::*;

use super::{AMOUNT, DUST, RELAYED, ZeroConf, payment, txid};
use super::{
    Anomaly, CREATED, DAY_MS, LookFacts, MINUTE_MS, Payment, PaymentState, Position, Receipt, TIP,
    Timestamp,
};
use crate::anomaly::Resolution;
use crate::closing::{Closing, CutOff, Seen};
use crate::policy::OverpaymentRule;
use crate::receipt::Sighting;

/// An event between two looks.
#[derive(Debug, Clone)]
pub(super) enum Event {
    Broadcast(usize),
    Evict(usize),
    /// A transaction conflicts with one that counts.
    Conflict(usize),
    /// All conflicts with what counts leave the mempool, and what counts is broadcast again.
    ConflictGone,
    /// A block with the mempool's transactions that the bit mask selects.
    Mine(u8),
    /// Takes blocks back; their transactions return to the mempool, or vanish.
    Reorg {
        depth: usize,
        keep: bool,
    },
    Wait(i64),
    /// The node loses its connections, or finds some again. It shows each change all the same.
    CutOff(bool),
    /// The gateway forgets what it knew of the node.
    Restart,
    /// The node's estimate of the fee rate becomes another, in sat/vB.
    Estimate(Option<u32>),
    StaffAccepts,
    /// Staff decides on an anomaly.
    Decide(usize, Resolution),
}

/// A transaction: a bit mask of the inputs it spends, and the sum it pays to the payment's address.
#[derive(Debug, Clone)]
pub(super) struct Tx {
    inputs: u8,
    amount_sats: u64,
    broadcast_at: Option<Timestamp>,
}

#[derive(Debug, Clone)]
pub(super) struct World {
    txs: Vec<Tx>,
    mempool: Vec<usize>,
    blocks: Vec<(Timestamp, Vec<usize>)>,
    now: Timestamp,
    has_mempool: bool,
    pub is_cut_off: bool,
    /// The node's estimate of the fee rate.
    pub estimate: Option<FeeRate>,
    closing: Closing,
    accepting: bool,
    pub payment: Payment,
    pub receipts: Vec<Receipt>,
    pub anomalies: Vec<Anomaly>,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let wait = prop_oneof![
        3 => Just(1_000), 4 => Just(MINUTE_MS), 4 => Just(16 * MINUTE_MS), 2 => Just(70 * MINUTE_MS), 1 => Just(15 * DAY_MS)
    ];
    let decision = prop_oneof![
        Just(Resolution::Refunding),
        Just(Resolution::Refunded),
        Just(Resolution::DismissedByStaff)
    ];
    let event = prop_oneof![
        6 => (0..8_usize).prop_map(Event::Broadcast),
        1 => (0..8_usize).prop_map(Event::Evict),
        3 => (0..8_usize).prop_map(Event::Conflict),
        1 => Just(Event::ConflictGone),
        5 => prop_oneof![3 => Just(u8::MAX), 1 => any::<u8>()].prop_map(Event::Mine),
        2 => (1..4_usize, any::<bool>()).prop_map(|(depth, keep)| Event::Reorg { depth, keep }),
        4 => wait.prop_map(Event::Wait),
        1 => any::<bool>().prop_map(Event::CutOff),
        1 => Just(Event::Restart),
        1 => prop::sample::select(vec![None, Some(1), Some(3)]).prop_map(Event::Estimate),
        1 => Just(Event::StaffAccepts),
        1 => (0..4_usize, decision).prop_map(|(index, decision)| Event::Decide(index, decision)),
    ];
    proptest::collection::vec(event, 1..40)
}

/// A world before its first look, and its events.
pub(super) fn histories() -> impl Strategy<Value = (World, Vec<Event>)> {
    let amount = prop_oneof![
        6 => prop_oneof![Just(0), Just(AMOUNT), Just(60_000), Just(40_000), Just(150_000), Just(99_000)],
        2 => (DUST - 1..=DUST + 1).prop_map(|surplus_sats| AMOUNT + surplus_sats),
        1 => DUST - 1..=DUST + 1,
    ];
    let inputs = prop_oneof![Just(1), Just(2), Just(3), Just(4), Just(6), Just(8), Just(16)];
    let rules = (
        0..3_u32,
        any::<bool>(),
        prop_oneof![Just(0), Just(10)],
        1..3_u32,
        prop_oneof![4 => Just(true), 1 => Just(false)],
    );
    (proptest::collection::vec(txs(inputs, amount), 2..8), rules, events()).prop_map(
        |(
            txs,
            (confirmations, invalidates, tolerance, anomaly_confirmations, has_mempool),
            events,
        )| {
            let mut payment = payment(PaymentState::New);
            payment.policy.confirmations = confirmations;
            payment.policy.tolerance_per_mille = tolerance;
            payment.policy.anomaly_confirmations = anomaly_confirmations;
            payment.policy.overpayment =
                if invalidates { OverpaymentRule::Invalidate } else { OverpaymentRule::Confirm };
            (World { has_mempool, ..World::new(txs, payment) }, events)
        },
    )
}

/// A world with few contested inputs, whose payment never has the required confirmations, and its
/// events.
pub(super) fn fights() -> impl Strategy<Value = (World, Vec<Event>)> {
    let amount = prop_oneof![Just(0), Just(100_000), Just(60_000), Just(150_000)];
    let txs = proptest::collection::vec(txs(1..8_u8, amount), 3..8);
    (txs, moves()).prop_map(|(txs, moves)| (World::unconfirmed(txs), moves))
}

/// The same, with four inputs in the first transaction, and one of them in each other transaction.
pub(super) fn splits() -> impl Strategy<Value = (World, Vec<Event>)> {
    let amount = prop_oneof![Just(100_000), Just(60_000), Just(150_000)];
    let txs = proptest::collection::vec(txs(Just(15), amount), 5);
    (txs, moves()).prop_map(|(mut txs, moves)| {
        txs[1..].iter_mut().enumerate().for_each(|(index, tx)| tx.inputs = 1 << index);
        (World::unconfirmed(txs), moves)
    })
}

fn moves() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        8 => (0..7_usize).prop_map(Event::Broadcast),
        3 => (0..7_usize).prop_map(Event::Evict),
        1 => any::<u8>().prop_map(Event::Mine),
        1 => (1..4_usize, any::<bool>()).prop_map(|(depth, keep)| Event::Reorg { depth, keep }),
    ];
    proptest::collection::vec(event, 1..20)
}

fn txs(
    inputs: impl Strategy<Value = u8>,
    amount_sats: impl Strategy<Value = u64>,
) -> impl Strategy<Value = Tx> {
    (inputs, amount_sats).prop_map(|(inputs, amount_sats)| Tx {
        inputs,
        amount_sats,
        broadcast_at: None,
    })
}

impl World {
    fn new(txs: Vec<Tx>, payment: Payment) -> Self {
        Self {
            txs,
            mempool: Vec::new(),
            blocks: vec![(CREATED, Vec::new()); 5],
            now: CREATED,
            has_mempool: true,
            is_cut_off: false,
            estimate: Some(RELAYED),
            closing: Closing::default(),
            accepting: false,
            payment,
            receipts: Vec::new(),
            anomalies: Vec::new(),
        }
    }

    fn unconfirmed(txs: Vec<Tx>) -> Self {
        let mut payment = payment(PaymentState::New);
        payment.policy.confirmations = 100;
        Self::new(txs, payment)
    }

    pub(super) fn happen(&mut self, event: &Event) {
        match event {
            Event::Broadcast(number) => self.broadcast(number % self.txs.len()),
            Event::Evict(number) => self.mempool.retain(|tx| tx != number),
            Event::Conflict(number) => {
                let rivals: Vec<usize> =
                    self.counting().into_iter().flat_map(|tx| self.rivals(tx)).collect();
                if !rivals.is_empty() {
                    self.broadcast(rivals[number % rivals.len()]);
                }
            }
            Event::ConflictGone => self.counting().into_iter().for_each(|tx| self.broadcast(tx)),
            Event::Mine(mask) => {
                let (mined, left) = self.mempool.iter().partition(|&&tx| mask >> tx & 1 == 1);
                self.mempool = left;
                self.blocks.push((self.now, mined));
            }
            Event::Reorg { depth, keep } => {
                let back: Vec<usize> = self
                    .blocks
                    .split_off(self.blocks.len() - depth)
                    .into_iter()
                    .flat_map(|(_, txs)| txs)
                    .collect();
                self.blocks.extend(vec![(self.now, Vec::new()); depth + 1]);
                if *keep {
                    back.into_iter().for_each(|tx| self.broadcast(tx));
                }
            }
            Event::Wait(ms) => self.now = self.now.plus_ms(*ms),
            Event::CutOff(is_cut_off) => self.is_cut_off = *is_cut_off,
            Event::Restart => self.closing = Closing::default(),
            Event::Estimate(sat_vb) => self.estimate = sat_vb.map(FeeRate::from_sat_per_vb_u32),
            Event::StaffAccepts => self.accepting = true,
            Event::Decide(index, resolution) => self.decide(*index, *resolution),
        }
    }

    fn broadcast(&mut self, number: usize) {
        let inputs = self.txs[number].inputs;
        let is_spent = |tx: &usize| self.txs[*tx].inputs & inputs != 0;
        if self.blocks.iter().flat_map(|(_, txs)| txs).any(is_spent) {
            return;
        }
        let txs = &self.txs;
        self.mempool.retain(|tx| txs[*tx].inputs & inputs == 0);
        self.mempool.push(number);
        self.txs[number].broadcast_at.get_or_insert(self.now);
    }

    /// The transactions that count.
    fn counting(&self) -> Vec<usize> {
        let counts = |tx: &usize| self.receipt_of(*tx).is_some_and(|one| one.counted_sats > 0);
        (0..self.txs.len()).filter(counts).collect()
    }

    fn receipt_of(&self, number: usize) -> Option<&Receipt> {
        let txid = txid(u8::try_from(number).unwrap() + 1);
        self.receipts.iter().find(|one| one.txid == txid)
    }

    /// The other transactions that spend one of its inputs.
    fn rivals(&self, number: usize) -> Vec<usize> {
        let inputs = self.txs[number].inputs;
        (0..self.txs.len())
            .filter(|&tx| tx != number && self.txs[tx].inputs & inputs != 0)
            .collect()
    }

    /// For each unconfirmed transaction that counts and has conflicts in the mempool: its counted
    /// sum, and the sums that the conflicts pay, each with its transaction.
    pub(super) fn attacks(&self) -> Vec<(u64, Vec<(usize, u64)>)> {
        let is_waiting = |tx: &usize| !matches!(self.position(*tx), Some(Position::Block { .. }));
        let attack = |tx: usize| {
            let by = self
                .rivals(tx)
                .into_iter()
                .filter(|rival| self.has_mempool && self.mempool.contains(rival));
            (
                self.receipt_of(tx).unwrap().counted_sats,
                by.map(|rival| (rival, self.txs[rival].amount_sats)).collect(),
            )
        };
        let attacks = self.counting().into_iter().filter(is_waiting).map(attack);
        attacks.filter(|(_, by): &(u64, Vec<_>)| !by.is_empty()).collect()
    }

    fn decide(&mut self, index: usize, resolution: Resolution) {
        let Some(anomaly) = self.anomalies.get_mut(index) else { return };
        let may = match resolution {
            Resolution::Refunded => anomaly.resolution == Resolution::Refunding,
            _ => anomaly.resolution == Resolution::Open,
        };
        if may
            && (anomaly.kind != crate::anomaly::AnomalyKind::ReversedPayment
                || !resolution.is_refund())
        {
            anomaly.resolution = resolution;
            let concerned = |one: &&mut Receipt| {
                anomaly.txid.map_or(one.counted_sats > 0, |txid| txid == one.txid)
            };
            if resolution.is_refund() {
                self.receipts.iter_mut().filter(concerned).for_each(|one| one.refunded = true);
            }
        }
    }

    /// Looks at the chain: brings the receipts' facts up to date.
    pub(super) fn look(&mut self) -> LookFacts {
        for number in 0..self.txs.len() {
            if self.txs[number].amount_sats > 0 {
                self.observe(number);
            }
        }
        let known: Vec<Txid> = self.receipts.iter().map(|one| one.txid).collect();
        for one in &mut self.receipts {
            one.conflicts_with.retain(|txid| known.contains(txid));
        }
        let (at, tip_time) = (self.now, self.blocks.last().map_or(CREATED, |block| block.0));
        let cut_off = self.is_cut_off.then_some(CutOff::NoConnections);
        self.closing.look(&Seen {
            at,
            tip_time,
            median_time: None,
            servers_ahead_ms: Some(0),
            cut_off,
        });
        let is_open = self.payment.closed_at.is_none() && at > self.payment.expires_at;
        let look = LookFacts {
            at,
            tip_height: TIP + u32::try_from(self.blocks.len()).unwrap(),
            tip_time,
            has_mempool: self.has_mempool,
            zero_conf: self
                .estimate
                .filter(|_| self.closing.hears(at))
                .map_or(ZeroConf::Never, ZeroConf::From),
            time_decides: !is_open || self.closing.may_close(&self.payment, at, tip_time),
            staff_accepts: self.accepting,
        };
        self.accepting = false;
        self.now = self.now.plus_ms(1_000);
        look
    }

    fn observe(&mut self, number: usize) {
        let id = txid(u8::try_from(number).unwrap() + 1);
        let appeared_at = self.txs[number].broadcast_at.unwrap_or(self.now);
        let found = self.position(number).map(|position| (position, appeared_at));
        let rivals =
            |tx: &&usize| **tx != number && self.txs[**tx].inputs & self.txs[number].inputs != 0;
        let in_chain = self.blocks.iter().flat_map(|(_, txs)| txs).any(|tx| rivals(&tx));
        let in_mempool = self.has_mempool && self.mempool.iter().any(|tx| rivals(&tx));
        let all: Vec<usize> = (0..self.txs.len()).collect();
        let conflicts_with =
            all.iter().filter(rivals).map(|&tx| txid(u8::try_from(tx).unwrap() + 1)).collect();
        let sighting = Sighting {
            at: self.now,
            looked_before: None,
            found,
            amount_sats: self.txs[number].amount_sats,
            conflict_in_chain: Some(in_chain),
            conflict_in_mempool: Some(in_mempool),
            has_conflict: false,
            zero_conf_rate: Some(RELAYED),
        };
        let index = self.receipts.iter().position(|one| one.txid == id);
        let known = index.map(|index| self.receipts[index].clone());
        let Some(seen) = Receipt::after(known, id, &sighting) else { return };
        let seen = Receipt { conflicts_with, ..seen };
        match index {
            Some(index) => self.receipts[index] = seen,
            None => self.receipts.push(seen),
        }
    }

    fn position(&self, number: usize) -> Option<Position> {
        let block = self.blocks.iter().position(|(_, txs)| txs.contains(&number));
        match block {
            Some(index) => {
                let height = TIP + 1 + u32::try_from(index).unwrap();
                Some(Position::Block { height, time: self.blocks[index].0 })
            }
            None => {
                (self.has_mempool && self.mempool.contains(&number)).then_some(Position::Mempool)
            }
        }
    }
}
