//! Scenarios and laws of looks at a payment of 100,000 satoshis that expires at [`EXPIRES`].

mod anomalies;
mod counting;
mod due;
mod laws;
mod shares;
mod states;
mod world;

use bitcoin::hashes::Hash;
use bitcoin::{FeeRate, Txid};

use super::{Advance, LookFacts, ZeroConf, advance};
use crate::anomaly::{Anomaly, AnomalyChange, AnomalyKind, Resolution, TRANSITIONS};
use crate::id::Id;
use crate::money::{Currency, Rate};
use crate::payment::{Payment, PaymentState};
use crate::policy::{Policy, PolicySettings};
use crate::receipt::{Position, Receipt};
use crate::time::Timestamp;

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;
const CREATED: Timestamp = Timestamp::from_ms(1_700_000_000_000);
const EXPIRES: Timestamp = CREATED.plus_ms(30 * MINUTE_MS);
const AMOUNT: u64 = 100_000;
const DUST: u64 = 294;
/// The fee rate of a transaction, and the estimate.
const RELAYED: FeeRate = FeeRate::from_sat_per_vb_u32(2);
/// Default height of the best block.
const TIP: u32 = 1_000;

fn txid(number: u8) -> Txid {
    Txid::from_byte_array([number; 32])
}

pub(crate) fn payment(state: PaymentState) -> Payment {
    let policy =
        Policy { confirmations: 1, ..Policy::freeze(&PolicySettings::default(), None, None) };
    Payment {
        id: Id::from_bytes([7; 20]),
        state,
        amount_sats: AMOUNT,
        dust_limit_sats: DUST,
        price_minor: 6_500,
        currency: Currency::USD,
        rate: Rate::parse("65000").unwrap(),
        created_at: CREATED,
        expires_at: EXPIRES,
        policy,
        closed_at: None,
        accepted_sats: None,
        confirmed_at: None,
        paid_sats: 0,
        conflict_seen: false,
    }
}

/// A look this many minutes after the creation.
fn look(minutes: i64) -> LookFacts {
    let at = CREATED.plus_ms(minutes * MINUTE_MS);
    LookFacts {
        at,
        tip_height: TIP,
        tip_time: at,
        has_mempool: true,
        time_decides: true,
        staff_accepts: false,
        zero_conf: ZeroConf::From(RELAYED),
    }
}

/// A transaction that was in the mempool a minute after the creation, without a verdict.
fn receipt(number: u8, amount_sats: u64) -> Receipt {
    let at = CREATED.plus_ms(MINUTE_MS);
    Receipt {
        txid: txid(number),
        amount_sats,
        first_seen_at: at,
        last_seen_at: at,
        earliest_at: at,
        position: Position::Mempool,
        conflict_in_chain: false,
        conflict_in_mempool: false,
        last_conflict_at: None,
        zero_conf_rate: Some(RELAYED),
        conflicts_with: Vec::new(),
        eligible_sats: None,
        counted_sats: 0,
        gone: false,
        refunded: false,
    }
}

impl Receipt {
    fn confirmed(self, confirmations: u32) -> Self {
        Self {
            position: Position::Block { height: TIP + 1 - confirmations, time: EXPIRES },
            ..self
        }
    }

    /// In neither mempool nor chain since a look one second after the last sighting.
    fn absent(self) -> Self {
        Self { position: self.position.missed(self.last_seen_at.plus_ms(1_000)), ..self }
    }

    /// `sats` counted at the last look, and the same sum is eligible.
    fn counted(self, sats: u64) -> Self {
        Self { eligible_sats: Some(sats), counted_sats: sats, ..self }
    }

    /// An earlier look found that it does not count.
    fn late(self) -> Self {
        Self { eligible_sats: Some(0), counted_sats: 0, ..self }
    }

    fn spent_in_chain(self) -> Self {
        Self { conflict_in_chain: true, ..self.absent() }
    }

    fn against(self, number: u8) -> Self {
        Self { conflicts_with: vec![txid(number)], ..self }
    }
}

/// A payment after its closing look.
fn closed(state: PaymentState, paid_sats: u64) -> Payment {
    Payment { closed_at: Some(EXPIRES.plus_ms(1)), paid_sats, ..payment(state) }
}

fn anomaly(kind: AnomalyKind, tx: Option<u8>, paid_sats: u64, resolution: Resolution) -> Anomaly {
    let txids = vec![txid(tx.unwrap_or(1))];
    Anomaly { id: Id::from_bytes([9; 20]), kind, txid: tx.map(txid), paid_sats, txids, resolution }
}

/// Stores the decisions of a look, as the gateway does.
fn apply(
    advanced: &Advance,
    payment: &mut Payment,
    receipts: &mut [Receipt],
    anomalies: &mut Vec<Anomaly>,
) {
    payment.state = advanced.state;
    payment.paid_sats = advanced.paid_sats;
    payment.closed_at = advanced.closed_at;
    payment.confirmed_at = advanced.confirmed_at;
    payment.accepted_sats = advanced.accepted_sats;
    payment.conflict_seen = advanced.conflict_seen;
    for (receipt, verdict) in receipts.iter_mut().zip(&advanced.verdicts) {
        assert_eq!(receipt.txid, verdict.txid);
        receipt.eligible_sats = Some(verdict.eligible_sats);
        receipt.counted_sats = verdict.counted_sats;
        receipt.gone = verdict.gone;
    }
    for change in &advanced.anomalies {
        apply_change(change, anomalies);
    }
}

fn apply_change(change: &AnomalyChange, anomalies: &mut Vec<Anomaly>) {
    let (id, coins, resolution) = match change {
        AnomalyChange::Raise { kind, txid, coins } => {
            let id = Id::from_bytes([u8::try_from(anomalies.len()).unwrap(); 20]);
            let (kind, txid, coins) = (*kind, *txid, coins.clone());
            let (paid_sats, txids) = (coins.paid_sats, coins.txids);
            anomalies.push(Anomaly {
                id,
                kind,
                txid,
                paid_sats,
                txids,
                resolution: Resolution::Open,
            });
            return;
        }
        AnomalyChange::Follow { id, coins, .. } | AnomalyChange::Reopen { id, coins } => {
            (id, Some(coins), Resolution::Open)
        }
        AnomalyChange::Dismiss { id, .. } => (id, None, Resolution::DismissedBySystem),
        AnomalyChange::Accept { id } => (id, None, Resolution::Accepted),
    };
    let anomaly = anomalies.iter_mut().find(|anomaly| anomaly.id == *id).unwrap();
    let step = (anomaly.resolution, resolution);
    assert!(step.0 == step.1 || TRANSITIONS.contains(&step), "{step:?}");
    anomaly.resolution = resolution;
    if let Some(coins) = coins {
        anomaly.paid_sats = coins.paid_sats;
        anomaly.txids.clone_from(&coins.txids);
    }
}
