//! The states of payouts that share a transaction (interface, section 4, "Sending: exactly once"):
//! a pure function of the positions of their transactions.

use bitcoin::Txid;

use crate::payout::PayoutState;

/// Confirmations from which a conflict is final.
pub const FINAL_CONFIRMATIONS: u32 = 6;

/// The highest block whose transactions need no more settling under a tip of this height; negative
/// near the genesis block. They have one confirmation more than [`FINAL_CONFIRMATIONS`], because a
/// transaction that becomes final is settled once more under that tip.
#[must_use]
pub fn decided_up_to(tip_height: u32) -> i64 {
    i64::from(tip_height) - i64::from(FINAL_CONFIRMATIONS)
}

/// Position of a stored transaction in the chain or the mempool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// In the block of this height.
    Block {
        /// Height of the block.
        height: u32,
    },
    /// In the mempool.
    Mempool,
    /// In neither mempool nor chain.
    Absent,
}

/// One stored transaction of a batch, or a transaction of another copy of the wallet that pays the
/// same payout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// Its transaction id.
    pub txid: Txid,
    /// Whether it pays the payouts. Versions that abandon the batch pay the wallet itself.
    pub pays: bool,
    /// Whether a backend ever accepted it.
    pub accepted: bool,
    /// Its position at the last look.
    pub position: Position,
    /// The lowest block that holds a conflict: a transaction that spends an input of this one, or
    /// of an unconfirmed ancestor.
    pub conflict_height: Option<u32>,
}

/// The outcome for one payout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    /// Its state.
    pub state: PayoutState,
    /// The transaction that its record names. The first of these: the confirmed one that pays it;
    /// one of another copy that may be mined again, unless ours is in the mempool; our newest that
    /// a node accepted; our first.
    pub txid: Option<Txid>,
}

impl Position {
    /// Whether it is in a block.
    #[must_use]
    pub const fn is_in_block(self) -> bool {
        matches!(self, Self::Block { .. })
    }

    /// Its confirmations under a tip of this height.
    #[must_use]
    pub const fn confirmations(self, tip_height: u32) -> u32 {
        match self {
            Self::Block { height } => confirmations(height, tip_height),
            Self::Mempool | Self::Absent => 0,
        }
    }
}

impl Version {
    /// Its confirmations under a tip of this height.
    #[must_use]
    pub const fn confirmations(&self, tip_height: u32) -> u32 {
        self.position.confirmations(tip_height)
    }

    /// Whether it can no longer be mined, because a conflict has [`FINAL_CONFIRMATIONS`].
    #[must_use]
    pub fn is_ruled_out(&self, tip_height: u32) -> bool {
        self.position == Position::Absent
            && self
                .conflict_height
                .is_some_and(|height| confirmations(height, tip_height) >= FINAL_CONFIRMATIONS)
    }

    const fn was_taken(&self) -> bool {
        self.accepted || !matches!(self.position, Position::Absent)
    }
}

/// The next state of a payout. Calling it twice with the same facts gives the same answer.
///
/// `versions` are the transactions of its batch, the oldest first; empty before the payout has a
/// batch. `twins` are transactions of another copy of the wallet that pay it and were once in a
/// block, the first noticed first.
#[must_use]
pub fn settle(
    state: PayoutState,
    versions: &[Version],
    twins: &[Version],
    tip_height: u32,
) -> Settled {
    let paying = || versions.iter().filter(|version| version.pays);
    let payers = || paying().chain(twins);
    let confirmed = payers().find(|payer| payer.position.is_in_block());
    let is_ours_in_mempool = paying().any(|version| version.position == Position::Mempool);
    // A reorganisation removed the twin's block; the twin may be mined again until a conflict rules
    // it out.
    let left_a_block =
        twins.iter().rfind(|twin| !is_ours_in_mempool && !twin.is_ruled_out(tip_height));
    let newest_taken = paying().rfind(|version| version.was_taken());
    let ours = newest_taken.or_else(|| paying().next()).or_else(|| twins.last());
    let txid = confirmed.or(left_a_block).or(ours).map(|payer| payer.txid);
    let all_ruled_out =
        payers().next().is_some() && payers().all(|payer| payer.is_ruled_out(tip_height));
    let state = match state {
        _ if confirmed.is_some() => PayoutState::Sent,
        PayoutState::New | PayoutState::Expired => state,
        PayoutState::Queued | PayoutState::Sent if all_ruled_out => PayoutState::Failed,
        PayoutState::Queued if payers().any(Version::was_taken) => PayoutState::Sent,
        PayoutState::Queued | PayoutState::Sent | PayoutState::Failed => state,
    };
    Settled { state, txid }
}

/// Whether the paying transactions of a batch can no longer be mined; its inputs are then free
/// again.
#[must_use]
pub fn is_ruled_out(versions: &[Version], tip_height: u32) -> bool {
    versions.iter().any(|version| version.pays)
        && versions
            .iter()
            .filter(|version| version.pays)
            .all(|version| version.is_ruled_out(tip_height))
}

/// Whether a later block may still change something in a batch.
#[must_use]
pub fn is_pending(versions: &[Version], tip_height: u32) -> bool {
    let is_final = |version: &Version| version.confirmations(tip_height) >= FINAL_CONFIRMATIONS;
    !versions.iter().any(is_final) && !is_ruled_out(versions, tip_height)
}

/// The fee share in satoshis of the payout at `index` of `count`, the oldest first. The parts are
/// equal; each of the oldest payouts bears one satoshi of the remainder.
#[must_use]
pub const fn fee_share_sats(fee_sats: u64, count: u64, index: u64) -> u64 {
    match fee_sats.checked_div(count) {
        None => 0,
        Some(part) => part + if index < fee_sats % count { 1 } else { 0 },
    }
}

const fn confirmations(height: u32, tip_height: u32) -> u32 {
    match tip_height.checked_sub(height) {
        Some(above) => above + 1,
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use bitcoin::hashes::Hash as _;
    use proptest::prelude::*;

    use super::*;

    const TIP: u32 = 100;

    fn txid(number: u8) -> Txid {
        Txid::from_byte_array([number; 32])
    }

    fn version(number: u8, position: Position) -> Version {
        Version { txid: txid(number), pays: true, accepted: false, position, conflict_height: None }
    }

    fn state(before: PayoutState, versions: &[Version]) -> PayoutState {
        settle(before, versions, &[], TIP).state
    }

    #[test]
    fn a_payout_stays_sent_when_its_accepted_transaction_drops_out() {
        let stored = version(1, Position::Absent);
        assert_eq!(state(PayoutState::Queued, &[stored]), PayoutState::Queued);
        let taken = Version { accepted: true, ..stored };
        assert_eq!(state(PayoutState::Queued, &[taken]), PayoutState::Sent);
        assert_eq!(state(PayoutState::Queued, &[version(1, Position::Mempool)]), PayoutState::Sent);
        assert_eq!(state(PayoutState::Sent, &[stored]), PayoutState::Sent);
    }

    #[test]
    fn a_payout_fails_once_conflicts_with_all_payers_are_six_deep() {
        let ruled_out_at = |number, height| Version {
            conflict_height: Some(height),
            ..version(number, Position::Absent)
        };
        assert_eq!(state(PayoutState::Sent, &[ruled_out_at(1, 96)]), PayoutState::Sent);
        assert_eq!(state(PayoutState::Sent, &[ruled_out_at(1, 95)]), PayoutState::Failed);
        assert_eq!(
            state(PayoutState::Sent, &[ruled_out_at(1, 95), version(2, Position::Absent)]),
            PayoutState::Sent
        );
        let gave_up = Version { pays: false, ..version(3, Position::Block { height: 95 }) };
        assert_eq!(state(PayoutState::Sent, &[ruled_out_at(1, 95), gave_up]), PayoutState::Failed);
        assert_eq!(
            state(PayoutState::Failed, &[version(1, Position::Mempool)]),
            PayoutState::Failed
        );
    }

    #[test]
    fn an_older_version_that_is_mined_sends_the_payout() {
        let mined = version(1, Position::Block { height: 100 });
        let newest = Version { accepted: true, ..version(2, Position::Absent) };
        for before in [PayoutState::Queued, PayoutState::Sent, PayoutState::Failed] {
            let settled = settle(before, &[mined, newest], &[], TIP);
            assert_eq!(settled, Settled { state: PayoutState::Sent, txid: Some(txid(1)) });
        }
        assert_eq!(
            settle(PayoutState::Sent, &[version(1, Position::Absent), newest], &[], TIP).txid,
            Some(txid(2))
        );
    }

    #[test]
    fn a_record_names_the_newest_accepted_transaction() {
        let named = |versions: &[Version]| settle(PayoutState::Sent, versions, &[], TIP).txid;
        let taken = |number| Version { accepted: true, ..version(number, Position::Absent) };
        let stored = |number| version(number, Position::Absent);
        assert_eq!(named(&[taken(1), stored(2)]), Some(txid(1)));
        assert_eq!(named(&[taken(1), taken(2), stored(3)]), Some(txid(2)));
        assert_eq!(named(&[stored(1), stored(2)]), Some(txid(1)), "no node accepted any");
    }

    #[test]
    fn a_payout_mined_by_another_copy_is_sent_under_its_txid() {
        let mined = version(9, Position::Block { height: 95 });
        let sent = Settled { state: PayoutState::Sent, txid: Some(txid(9)) };
        for before in PayoutState::ALL {
            assert_eq!(settle(before, &[], &[mined], TIP), sent);
        }
        let first = Version { conflict_height: Some(90), ..version(8, Position::Absent) };
        assert_eq!(
            settle(PayoutState::Sent, &[], &[first, mined], TIP),
            sent,
            "one twin replaced another"
        );
        let (own, twin) =
            (version(1, Position::Block { height: 99 }), version(9, Position::Mempool));
        assert_eq!(settle(PayoutState::Sent, &[own], &[twin], TIP).txid, Some(txid(1)));
        assert_eq!(
            settle(PayoutState::Sent, &[], &[twin], TIP),
            sent,
            "a reorganisation took its block"
        );
        assert_eq!(settle(PayoutState::Failed, &[], &[twin], TIP).state, PayoutState::Failed);
    }

    #[test]
    fn a_twin_is_named_until_ruled_out_or_ours_is_in_the_mempool() {
        let named = |own, twin| settle(PayoutState::Sent, &[own], &[twin], TIP).txid;
        let (own, dropped) = (version(1, Position::Absent), version(9, Position::Absent));
        assert_eq!(named(own, dropped), Some(txid(9)));
        assert_eq!(named(version(1, Position::Mempool), dropped), Some(txid(1)));
        assert_eq!(named(own, Version { conflict_height: Some(96), ..dropped }), Some(txid(9)));
        assert_eq!(named(own, Version { conflict_height: Some(95), ..dropped }), Some(txid(1)));
    }

    fn any_version() -> impl Strategy<Value = Version> {
        let position = prop_oneof![
            (80..=TIP).prop_map(|height| Position::Block { height }),
            Just(Position::Mempool),
            Just(Position::Absent)
        ];
        (any::<bool>(), any::<bool>(), position, proptest::option::of(80..=TIP)).prop_map(
            |(pays, accepted, position, conflict_height)| Version {
                txid: txid(1),
                pays,
                accepted,
                position,
                conflict_height,
            },
        )
    }

    proptest! {
        #[test]
        fn settling_follows_the_transition_table_and_is_idempotent(
            before in proptest::sample::select(PayoutState::ALL.to_vec()),
            versions in proptest::collection::vec(any_version(), 0..4),
            twins in proptest::collection::vec(any_version(), 0..3),
        ) {
            let once = settle(before, &versions, &twins, TIP);
            prop_assert!(once.state == before || before.may_become(once.state), "{before} -> {}", once.state);
            prop_assert_eq!(settle(once.state, &versions, &twins, TIP), once);
        }

        #[test]
        fn fee_shares_add_up_and_the_oldest_pay_the_remainder(fee in 0u64..1_000_000, count in 1u64..200) {
            let shares: Vec<u64> = (0..count).map(|index| fee_share_sats(fee, count, index)).collect();
            prop_assert_eq!(shares.iter().sum::<u64>(), fee);
            prop_assert!(shares.is_sorted_by(|older, newer| older >= newer));
            prop_assert!(shares.first().zip(shares.last()).is_some_and(|(first, last)| first - last <= 1));
        }
    }
}
