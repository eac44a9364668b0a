use bitcoin::WPubkeyHash;
use tillgate_domain::id::Id;
use tillgate_domain::money::{Currency, Rate};
use tillgate_domain::payout::limit::UtcDay;

use super::*;
use crate::payment_lists::tests::store;
use crate::payouts::NewPayout;
use crate::rates::StoredRate;
use crate::{Store, Tx};

const TXID: [u8; 32] = [9; 32];
const TWIN: [u8; 32] = [8; 32];

fn script(number: u8) -> ScriptBuf {
    ScriptBuf::new_p2wpkh(&WPubkeyHash::from_byte_array([number; 20]))
}

/// Inserts a payout. Three payouts share each second.
fn insert(tx: &Tx<'_>, number: u32, state: PayoutState) -> Result<i64, StoreError> {
    let created_at = Timestamp::from_ms(1_700_000_000_000).plus_ms(i64::from(number / 3) * 1_000);
    let currency =
        if number.is_multiple_of(4) { Currency::from_code("JPY").unwrap() } else { Currency::USD };
    let rate = Rate::parse("50000").unwrap();
    let rate_id =
        tx.store_rate(currency, &StoredRate { rate, at: created_at, sources: "[]".to_owned() })?;
    let mut id = [0; 20];
    id[..4].copy_from_slice(&number.to_be_bytes());
    let is_approved = !matches!(state, PayoutState::New | PayoutState::Expired);
    let row = PayoutRow {
        seq: 0,
        id: Id::from_bytes(id),
        state: if is_approved { PayoutState::Queued } else { state },
        amount_sats: 10_000 + u64::from(number % 7),
        script: script(u8::try_from(number % 5).unwrap()),
        address: String::new(),
        currency,
        rate,
        fiat_minor: 1,
        // 15 units of the currency for each third payout.
        fiat_total_minor: if number.is_multiple_of(3) {
            currency.parse_minor("15").unwrap()
        } else {
            1
        },
        network_fee_sats: 100,
        balance_short: false,
        key_id: number.is_multiple_of(2).then_some(7),
        requested_by: if number.is_multiple_of(2) { "till" } else { "cli:ann" }.to_owned(),
        merchant_name: "Merchant".to_owned(),
        comment: None,
        notification_url: None,
        anomaly: None,
        created_at,
        expires_at: created_at.plus_ms(600_000),
        approved_at: is_approved.then_some(created_at),
        approved_by: is_approved.then(|| "shop".to_owned()),
        sent_at: None,
        failure_reason: None,
        failed_at: None,
        given_up_by: None,
        batch_seq: None,
        txid: None,
        booked_sats: 0,
        booked_fee_sats: 0,
        current_at: created_at,
    };
    let seq = tx.insert_payout(&NewPayout { row: row.clone(), rate_id })?;
    if state == PayoutState::Failed {
        tx.update_payout(&PayoutRow {
            seq,
            state,
            failure_reason: Some(tillgate_told::Telling::of_text("given up")),
            ..row
        })?;
    }
    Ok(seq)
}

/// The state in which [`sixty`] inserts payout `number`.
fn state(number: u32) -> PayoutState {
    use PayoutState::{Expired, Failed, New, Queued};
    [New, Expired, Queued, Failed, Queued][usize::try_from(number % 5).unwrap()]
}

/// Inserts sixty payouts; a version pays one of them, and a twin pays another.
async fn sixty(store: &Store) {
    store
        .write(|tx| {
            tx.connection.execute_batch(
                "INSERT INTO api_keys (key_id, name, secret_sha256, permissions, notification_url_optional, created_at) \
                 VALUES (7, 'till', zeroblob(32), 'full', 0, 0)",
            )?;
            for number in 0..60 {
                insert(tx, number, state(number))?;
            }
            for txid in [TXID, TWIN] {
                tx.connection.execute("INSERT INTO transactions (txid, raw, first_seen_at) VALUES (?1, x'00', 0)", [txid])?;
            }
            tx.connection.execute_batch("INSERT INTO batches (seq, created_at) VALUES (1, 0)")?;
            tx.connection.execute(
                "INSERT INTO versions (txid, batch_seq, number, pays, fee_sats, vsize, created_at, position) \
                 VALUES (?1, 1, 1, 1, 100, 100, 0, 'absent')",
                [TXID],
            )?;
            tx.connection.execute("INSERT INTO version_outputs (txid, vout, payout_seq) VALUES (?1, 0, 13)", [TXID])?;
            tx.connection.execute("INSERT INTO twins (txid, noticed_at, made_at, position) VALUES (?1, 0, 0, 'absent')", [TWIN])?;
            tx.connection.execute("INSERT INTO twin_outputs (txid, vout, payout_seq) VALUES (?1, 0, 3)", [TWIN])?;
            Ok::<_, StoreError>(())
        })
        .await
        .unwrap();
}

/// Whether payout `number` matches a filter.
type Matches = fn(u32) -> bool;

fn filters() -> Vec<(PayoutFilter, Matches)> {
    use PayoutState::{Failed, New, Queued};
    let all = PayoutFilter::default();
    let second = |n: i64| Some(Timestamp::from_ms(1_700_000_000_000 + n * 1_000));
    let of_key = PayoutFilter { key_id: Some(7), ..all.clone() };
    vec![
        (all.clone(), |_| true),
        (of_key.clone(), |n| n.is_multiple_of(2)),
        (PayoutFilter { requested_by: Some("cli:ann".to_owned()), ..all.clone() }, |n| {
            !n.is_multiple_of(2)
        }),
        (
            PayoutFilter {
                states: vec![Failed],
                requested_by: Some("till".to_owned()),
                ..all.clone()
            },
            |n| state(n) == Failed && n.is_multiple_of(2),
        ),
        (PayoutFilter { nothing: true, ..of_key.clone() }, |_| false),
        (PayoutFilter { states: vec![Failed], ..all.clone() }, |n| state(n) == Failed),
        (PayoutFilter { states: vec![Queued, Failed, Queued], ..all.clone() }, |n| {
            matches!(state(n), Queued | Failed)
        }),
        (PayoutFilter { states: vec![New], ..of_key.clone() }, |n| {
            state(n) == New && n.is_multiple_of(2)
        }),
        (PayoutFilter { states: vec![Failed], ..of_key.clone() }, |n| {
            state(n) == Failed && n.is_multiple_of(2)
        }),
        (PayoutFilter { from: second(3), to: second(6), ..all.clone() }, |n| (9..18).contains(&n)),
        (PayoutFilter { states: vec![Queued, New], from: second(3), ..all.clone() }, |n| {
            n >= 9 && matches!(state(n), Queued | New)
        }),
        (PayoutFilter { script: Some(script(2)), ..all.clone() }, |n| n % 5 == 2),
        (PayoutFilter { script: Some(script(2)), amount_sats: Some(10_000), ..of_key }, |n| {
            n % 5 == 2 && n.is_multiple_of(14)
        }),
        (PayoutFilter { amount_sats: Some(10_003), to: second(10), ..all.clone() }, |n| {
            n % 7 == 3 && n < 30
        }),
        (PayoutFilter { fiat_total_milli: Some(15_000), ..all.clone() }, |n| n.is_multiple_of(3)),
        (PayoutFilter { txid: Some(Txid::from_byte_array(TXID)), ..all.clone() }, |n| n == 12),
        (PayoutFilter { txid: Some(Txid::from_byte_array(TWIN)), ..all.clone() }, |n| n == 2),
        (PayoutFilter { txid: Some(Txid::from_byte_array([1; 32])), ..all }, |_| false),
    ]
}

#[tokio::test]
async fn payouts_are_listed_by_every_filter_newest_first() {
    let (_folder, store) = store();
    sixty(&store).await;
    for (filter, matches) in filters() {
        let expected: Vec<i64> =
            (0..60).rev().filter(|number| matches(*number)).map(|n| i64::from(n) + 1).collect();
        for (limit, offset) in [(500, 0), (5, 0), (5, 3), (1, 59), (5, 60)] {
            let page = store.read(|reader| reader.payouts(&filter, limit, offset)).unwrap();
            let page: Vec<i64> = page.iter().map(|row| row.seq).collect();
            let those = expected
                .iter()
                .skip(usize::try_from(offset).unwrap())
                .take(usize::try_from(limit).unwrap());
            assert_eq!(page, those.copied().collect::<Vec<_>>(), "{filter:?} {limit} {offset}");
        }
        assert_eq!(
            store.read(|reader| reader.payouts_count(&filter)).unwrap(),
            expected.len() as u64,
            "{filter:?}"
        );
    }
}

#[tokio::test]
async fn failed_and_earlier_payouts_do_not_count_in_the_limit() {
    let (_folder, store) = store();
    sixty(&store).await;
    let queued = (0..60_u32).filter(|number| state(*number) == PayoutState::Queued);
    let expected: u64 = queued.map(|number| 10_000 + u64::from(number % 7)).sum();
    let day = UtcDay::of(Timestamp::from_ms(1_700_000_000_000));
    let used = |day: UtcDay| store.read(|reader| reader.paid_out_since(day.begin)).unwrap().0;
    assert_eq!(used(day), expected);
    assert_eq!(used(UtcDay::of(day.end)), 0);
}

#[tokio::test]
async fn only_offers_are_due_to_expire_and_only_at_their_end() {
    let (_folder, store) = store();
    sixty(&store).await;
    let due = |at| {
        let rows = store.read(|reader| reader.payouts_due_to_expire(at, 100)).unwrap();
        rows.iter().map(|row| row.seq).collect::<Vec<_>>()
    };
    let first = store.read(|reader| reader.next_payout_expires_at()).unwrap().unwrap();
    assert_eq!(first, Timestamp::from_ms(1_700_000_600_000));
    assert_eq!(due(first.plus_ms(-1)), Vec::<i64>::new());
    assert_eq!(due(first), [1]);
    assert_eq!(due(first.plus_ms(60_000)).len(), 12, "every fifth payout is NEW");
}

fn plan(store: &Store, sql: &str, values: Vec<Value>) -> String {
    let steps = |reader: &Reader<'_>| {
        let mut steps = reader.connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
        let steps = steps.query_map(params_from_iter(values), |row| row.get::<_, String>(3))?;
        Ok::<_, StoreError>(steps.collect::<Result<Vec<_>, _>>()?.join("; "))
    };
    store.read(steps).unwrap()
}

#[test]
fn every_filter_uses_an_index_and_sorts_nothing() {
    use PayoutState::{Failed, New, Sent};
    let (_folder, store) = store();
    let all = PayoutFilter::default();
    let of_key = PayoutFilter { key_id: Some(7), ..all.clone() };
    let at = Some(Timestamp::from_ms(1));
    for (filter, index) in [
        (all.clone(), "payouts_by_creation"),
        (PayoutFilter { from: at, to: at, ..all.clone() }, "payouts_by_creation"),
        (of_key.clone(), "payouts_by_key"),
        (PayoutFilter { states: vec![Sent], ..of_key.clone() }, "payouts_by_key"),
        (PayoutFilter { states: vec![New], ..of_key.clone() }, "payouts_by_state"),
        (PayoutFilter { states: vec![Sent, Failed], ..all.clone() }, "payouts_by_state"),
        (PayoutFilter { states: vec![Sent], from: at, ..all.clone() }, "payouts_by_state"),
        (
            PayoutFilter { script: Some(script(1)), states: vec![Sent], ..of_key.clone() },
            "payouts_by_script",
        ),
        (PayoutFilter { amount_sats: Some(1), from: at, ..of_key.clone() }, "payouts_by_amount"),
        (
            PayoutFilter { fiat_total_milli: Some(1), amount_sats: Some(1), ..of_key },
            "payouts_by_total",
        ),
        (
            PayoutFilter { requested_by: Some("till".to_owned()), ..all.clone() },
            "payouts_by_requester",
        ),
        (PayoutFilter { txid: Some(Txid::from_byte_array(TXID)), ..all }, "twin_outputs"),
    ] {
        let ((page, values), (count, its)) = (filter.page(50, 0), filter.count());
        let (page, count) = (plan(&store, &page, values), plan(&store, &count, its));
        assert!(page.contains(index) && count.contains("INDEX"), "{filter:?}: {page} / {count}");
        // One transaction has few payouts.
        assert!(filter.txid.is_some() || !page.contains("TEMP B-TREE"), "{filter:?}: {page}");
        assert!(
            !page.contains("SCAN payouts") || index == "payouts_by_creation",
            "{filter:?}: {page}"
        );
    }
}

#[test]
fn the_limit_and_the_expiry_are_read_by_their_indexes() {
    let (_folder, store) = store();
    let begin = vec![Value::Integer(0)];
    assert!(plan(&store, PAID_OUT_SINCE, begin).contains("COVERING INDEX payouts_of_a_day"));
    let due = format!("SELECT p.seq FROM payouts AS p WHERE {DUE_TO_EXPIRE}");
    let at_most = vec![Value::Integer(0), Value::Integer(1)];
    assert!(plan(&store, &due, at_most).contains("payouts_open"), "only open offers are read");
}
