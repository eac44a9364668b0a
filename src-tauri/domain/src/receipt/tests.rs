use bitcoin::hashes::Hash as _;

use super::*;

const HASH: [u8; 32] = [1; 32];

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_ms(seconds * 1_000)
}

/// A look at this second, ten seconds after the last one, with the position it found.
fn look(seconds: i64, found: Option<(Position, Timestamp)>) -> Sighting {
    Sighting {
        at: at(seconds),
        looked_before: Some(at(seconds - 10)),
        found,
        amount_sats: 1_000,
        conflict_in_chain: Some(false),
        conflict_in_mempool: Some(false),
        has_conflict: false,
        zero_conf_rate: Some(FeeRate::BROADCAST_MIN),
    }
}

/// The receipt of a transaction after these looks.
fn after(looks: &[Sighting]) -> Option<Receipt> {
    looks
        .iter()
        .fold(None, |known, sighting| Receipt::after(known, Txid::from_byte_array(HASH), sighting))
}

#[test]
fn a_transaction_that_was_never_found_has_no_receipt() {
    assert_eq!(after(&[look(100, None), look(110, None)]), None);
}

#[test]
fn a_transaction_is_as_old_as_its_earliest_sign() {
    let mempool = |seconds| Some((Position::Mempool, at(seconds)));
    let block = |seconds| Some((Position::Block { height: 7, time: at(seconds) }, at(seconds)));
    for (looks, earliest) in [
        (vec![look(100, mempool(90))], 90),
        (vec![look(100, mempool(105))], 100),
        (vec![look(100, mempool(100)), look(110, block(80))], 80),
        (vec![look(100, mempool(90)), look(110, block(108))], 90),
    ] {
        let receipt = after(&looks).unwrap();
        assert_eq!(
            (receipt.first_seen_at, receipt.earliest_at),
            (at(100), at(earliest)),
            "{looks:?}"
        );
    }
}

#[test]
fn a_missed_transaction_was_last_seen_by_the_look_before() {
    let seen = look(100, Some((Position::Mempool, at(100))));
    let missed = after(&[seen, look(150, None), look(160, None)]).unwrap();
    assert_eq!(
        (missed.last_seen_at, missed.position),
        (at(140), Position::Absent { since: at(150) })
    );
    let unknown = after(&[seen]).unwrap().after_no_sight(at(150), Some(at(140)));
    assert_eq!(
        (unknown.last_seen_at, unknown.position),
        (at(140), Position::Absent { since: at(150) })
    );
    assert!(unknown.zero_conf_rate.is_none());
}

#[test]
fn an_unknown_conflict_keeps_its_last_known_value() {
    let found = Some((Position::Mempool, at(100)));
    let attacked = Sighting { conflict_in_mempool: Some(true), ..look(100, found) };
    let silent = |found| Sighting { conflict_in_mempool: None, ..look(110, found) };
    let still = after(&[attacked, silent(None)]).unwrap();
    assert!(still.conflict_in_mempool && !still.conflict_in_chain);
    assert_eq!(still.last_conflict_at, Some(at(110)));
    assert!(
        !after(&[attacked, silent(found)]).unwrap().conflict_in_mempool,
        "the mempool has the transaction itself"
    );
    let over = after(&[attacked, look(110, found)]).unwrap();
    assert_eq!((over.conflict_in_mempool, over.last_conflict_at), (false, Some(at(100))));
    let rival = Sighting { has_conflict: true, ..look(110, found) };
    assert_eq!(
        after(&[rival]).unwrap().last_conflict_at,
        Some(at(110)),
        "a conflict in neither mempool nor chain"
    );
}

#[test]
fn verdicts_stay_when_a_transaction_is_seen_again() {
    let seen = after(&[look(100, Some((Position::Mempool, at(100))))]).unwrap();
    let counted = Receipt { eligible_sats: Some(900), counted_sats: 900, refunded: true, ..seen };
    let again =
        Receipt::after(Some(counted), Txid::from_byte_array(HASH), &look(110, None)).unwrap();
    assert_eq!((again.eligible_sats, again.counted_sats, again.refunded), (Some(900), 900, true));
}

#[test]
fn only_counted_receipts_lower_the_confirmations() {
    let of = |height: Option<u32>, counted_sats| {
        let found =
            height.map_or(Position::Mempool, |height| Position::Block { height, time: at(100) });
        Receipt { counted_sats, ..after(&[look(100, Some((found, at(100))))]).unwrap() }
    };
    let (deep, shallow, late) = (of(Some(5), 600), of(Some(9), 400), of(None, 0));
    assert_eq!(least_confirmations(&[deep.clone(), shallow, late.clone()], 10), 2);
    assert_eq!(least_confirmations(&[deep, late.clone()], 10), 6);
    assert_eq!(least_confirmations(&[late], 10), 0, "nothing counts");
}
