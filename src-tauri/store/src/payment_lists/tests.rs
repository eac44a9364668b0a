use bitcoin::WPubkeyHash;
use bitcoin::hashes::Hash as _;
use tillgate_domain::id::Id;
use tillgate_domain::money::{Currency, Rate};
use tillgate_domain::payment::Payment;
use tillgate_domain::policy::{Policy, PolicySettings};

use super::*;
use crate::Store;
use crate::keychains::Keychain;
use crate::payments::NewPayment;
use crate::rates::StoredRate;

const STATES: [PaymentState; 3] =
    [PaymentState::New, PaymentState::Expired, PaymentState::Confirmed];

pub fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("gateway.db")).unwrap();
    (folder, store)
}

/// Inserts a payment. Three payments share each second, and the clock was set back once, at
/// `number` 20.
pub fn insert(tx: &Tx<'_>, number: u32) -> Result<(), StoreError> {
    let seconds = i64::from(number / 3) - if number < 20 { 0 } else { 9 };
    let created_at = Timestamp::from_ms(1_700_000_000_000).plus_ms(seconds * 1_000);
    let currency = Currency::USD;
    let rate = Rate::parse("50000").unwrap();
    let rate_id =
        tx.store_rate(currency, &StoredRate { rate, at: created_at, sources: "[]".to_owned() })?;
    let mut bytes = [0; 20];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    let payment = Payment {
        id: Id::from_bytes(bytes),
        state: PaymentState::New,
        amount_sats: 20_000,
        dust_limit_sats: 294,
        price_minor: 1_000,
        currency,
        rate,
        created_at,
        expires_at: created_at.plus_ms(1_000),
        policy: Policy::freeze(&PolicySettings::default(), None, None),
        closed_at: None,
        accepted_sats: None,
        confirmed_at: None,
        paid_sats: 0,
        conflict_seen: false,
    };
    let row = PaymentRow {
        seq: 0,
        payment,
        address: format!("address {number}"),
        script: ScriptBuf::new_p2wpkh(&WPubkeyHash::from_byte_array(bytes)),
        // Concurrent requests are not always stored in the order of their addresses.
        derivation_index: number ^ 1,
        key_id: None,
        label: ["web", "till"][usize::from(number.is_multiple_of(5))].to_owned(),
        message: String::new(),
        merchant_transaction_id: format!("order-{}", number / 4),
        notification_url: None,
        anomaly_notification_url: None,
        redirect_urls: None,
        current_at: created_at,
    };
    tx.insert_payment(&NewPayment { row, rate_id })?;
    Ok(())
}

/// Inserts forty payments in three states; closed ones are never due.
async fn forty(store: &Store) {
    store
        .write(|tx| {
            (0..40).try_for_each(|number| insert(tx, number))?;
            for (remainder, state) in (0..).zip(STATES) {
                let due = if state == PaymentState::New { "next_due_at" } else { "NULL" };
                tx.connection.execute(
                    &format!(
                        "UPDATE payments SET state = ?1, next_due_at = {due} WHERE seq % 3 = ?2"
                    ),
                    params![state.as_str(), remainder],
                )?;
            }
            Ok::<_, StoreError>(())
        })
        .await
        .unwrap();
}

fn filters() -> Vec<PaymentFilter> {
    let all = PaymentFilter::default();
    let second = |n: i64| Some(Timestamp::from_ms(1_700_000_000_000 + n * 1_000));
    let mut script = [0; 20];
    script[..4].copy_from_slice(&21u32.to_be_bytes());
    vec![
        all.clone(),
        PaymentFilter::open(),
        PaymentFilter { states: vec![PaymentState::Expired, PaymentState::New], ..all.clone() },
        PaymentFilter { from: second(2), to: second(4), ..all.clone() },
        PaymentFilter { merchant_transaction_id: Some("order-5".to_owned()), ..all.clone() },
        PaymentFilter { label: Some("till".to_owned()), from: second(1), ..all.clone() },
        PaymentFilter { label: Some("nobody".to_owned()), ..all.clone() },
        PaymentFilter {
            script: Some(ScriptBuf::new_p2wpkh(&WPubkeyHash::from_byte_array(script))),
            ..all
        },
    ]
}

/// The answers to all filters, at the current state of indexing.
fn answers(store: &Store) -> Vec<(u64, Vec<i64>)> {
    let read = |reader: &Reader<'_>| {
        let mut answers = Vec::new();
        for filter in filters() {
            for (limit, offset) in
                [(1, 0), (50, 0), (5, 3), (7, 17), (3, 38), (5, 40), (1, u64::MAX)]
            {
                let page = reader.payments(&filter, limit, offset)?;
                answers.push((
                    reader.payments_count(&filter)?,
                    page.iter().map(|row| row.seq).collect(),
                ));
            }
        }
        for ms in [-3_000, 3_001, 100_000] {
            let due =
                reader.payments_due_by_time(Timestamp::from_ms(1_700_000_000_000 + ms), 10)?;
            answers.push((0, due));
        }
        Ok::<_, StoreError>(answers)
    };
    store.read(read).unwrap()
}

#[tokio::test]
async fn lists_are_the_same_however_many_payments_are_indexed() {
    let (_folder, store) = store();
    forty(&store).await;
    let expected = answers(&store);
    // Newest first: by time, then by `seq`.
    let (count, newest) = &expected[1];
    assert_eq!((*count, newest.len()), (40, 40));
    assert_eq!(newest[..9], [20, 19, 18, 17, 16, 40, 15, 14, 13]);
    let (open, page) = &expected[7];
    assert!(*open == 13 && page.iter().all(|seq| seq % 3 == 0), "{page:?}");
    let (due, none_due) = (&expected[expected.len() - 1].1, &expected[expected.len() - 3].1);
    assert_eq!((due.len(), none_due.len()), (10, 0));

    let mut indexed = 0;
    while indexed < 40 {
        let before = indexed;
        indexed = store.write(move |tx| tx.index_payments(before, 9)).await.unwrap();
        assert_eq!(indexed, 40.min(before + 9));
        assert_eq!(store.read(|reader| reader.last_indexed_payment()).unwrap(), indexed);
        assert_eq!(answers(&store), expected, "{indexed} indexed");
    }
}

#[tokio::test]
async fn no_address_index_is_given_twice_while_payments_are_indexed() {
    let (_folder, store) = store();
    let next_index =
        || store.read(|reader| reader.keychain(Keychain::External)).unwrap().unwrap().1;
    store.write(|tx| tx.insert_keychain(Keychain::External, "wpkh")).await.unwrap();
    assert_eq!(next_index(), 0);
    // The second payment has index 0, the first has index 1.
    store.write(|tx| (0..2).try_for_each(|number| insert(tx, number))).await.unwrap();
    for indexed in 0..2 {
        assert_eq!(next_index(), 2, "{indexed} indexed");
        store.write(move |tx| tx.index_payments(indexed, 1)).await.unwrap();
    }
    assert_eq!(next_index(), 2);
}

#[tokio::test]
async fn each_filter_searches_indexed_payments_by_the_right_index() {
    let (_folder, store) = store();
    let plan = |sql: &str, values: Vec<Value>| {
        store
            .read(|reader| {
                let mut steps = reader.connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
                let steps =
                    steps.query_map(params_from_iter(values), |row| row.get::<_, String>(3))?;
                Ok::<_, StoreError>(steps.collect::<Result<Vec<_>, _>>()?.join("; "))
            })
            .unwrap()
    };
    let indexes = [
        "COVERING INDEX payments_by_creation",
        "COVERING INDEX payments_by_state",
        "COVERING INDEX payments_by_state",
        "COVERING INDEX payments_by_creation",
        "COVERING INDEX payments_by_merchant_transaction",
        "COVERING INDEX payments_by_label",
        "COVERING INDEX payments_by_label",
        "sqlite_autoindex_payments_2",
    ];
    let of_key = |filter| PaymentFilter { key_id: Some(7), ..filter };
    let own = [
        (PaymentFilter::default(), "COVERING INDEX payments_by_key"),
        (
            PaymentFilter { from: Some(Timestamp::from_ms(1)), ..PaymentFilter::default() },
            "payments_by_key",
        ),
        (
            PaymentFilter { label: Some("till".to_owned()), ..PaymentFilter::default() },
            "payments_by_key",
        ),
        // Few payments are open, and many are closed.
        (PaymentFilter::open(), "payments_by_state"),
        (
            PaymentFilter { states: vec![PaymentState::Expired], ..PaymentFilter::default() },
            "payments_by_key",
        ),
        (filters().swap_remove(4), "payments_by_merchant_transaction"),
        (
            PaymentFilter {
                merchant_transaction_id: Some(String::new()),
                ..PaymentFilter::default()
            },
            "payments_by_key",
        ),
        (filters().swap_remove(7), "sqlite_autoindex_payments_2"),
    ];
    let own = own.into_iter().map(|(filter, index)| (of_key(filter), index));
    for (filter, index) in filters().into_iter().zip(indexes).chain(own) {
        let (condition, values) = filter.condition();
        let list = format!(
            "SELECT created_at, seq FROM {INDEXED_PAYMENTS}{condition} ORDER BY created_at DESC, seq DESC"
        );
        let count = format!("SELECT count(*) FROM {INDEXED_PAYMENTS}{condition}");
        let list = plan(&list, values.clone());
        assert!(list.contains(index), "{filter:?}: {list}");
        if filter.key_id.is_some() {
            let count = plan(&count, values);
            assert!(count.contains(index), "{filter:?}: {count}");
        }
    }
    // Unindexed payments are found by `seq`, and only they are sorted.
    let due = plan(&due_by_time(), vec![Value::Integer(1), Value::Integer(1)]);
    let (indexed, unindexed) = due.split_once("RIGHT").unwrap();
    assert!(
        indexed.contains("COVERING INDEX payments_due_at") && !indexed.contains("TEMP"),
        "{due}"
    );
    assert!(unindexed.contains("INTEGER PRIMARY KEY (rowid>?)"), "{due}");
}

#[tokio::test]
async fn payments_are_never_deleted() {
    let (_folder, store) = store();
    forty(&store).await;
    let deleted = store
        .write(|tx| Ok::<_, StoreError>(tx.connection.execute("DELETE FROM payments", [])?))
        .await;
    assert!(deleted.is_err_and(|error| error.to_string().contains("never deleted")));
}

#[tokio::test]
async fn a_part_of_a_payment_finds_it_indexed_or_not() {
    let (_folder, store) = store();
    forty(&store).await;
    store
        .write(|tx| {
            tx.connection.execute(
                "UPDATE payments SET message = '50% off: Kaffee', price_minor = 2250 WHERE seq = 7",
                [],
            )?;
            tx.index_payments(0, 20)?;
            Ok::<_, StoreError>(())
        })
        .await
        .unwrap();
    let found = |part: &str| {
        let filter = PaymentFilter { part: Some(part.to_owned()), ..PaymentFilter::default() };
        store.read(|reader| reader.matching_payments(&filter)).unwrap().seqs
    };
    for part in ["kaffee", "50% off", "22.50", "22,50"] {
        assert_eq!(found(part), [7], "{part}");
    }
    assert_eq!(
        found("der-9"),
        [40, 39, 38, 37],
        "a part of the reference of payments without an index"
    );
    assert!(found("order-1%").is_empty(), "a sign of a pattern is a text");
    assert_eq!(found("ADDRESS 3").len(), 11, "3 and 30 to 39");
}

#[tokio::test]
async fn the_sums_of_matching_payments_count_confirmed_prices_and_received_coins() {
    let (_folder, store) = store();
    forty(&store).await;
    store
        .write(|tx| {
            tx.connection
                .execute("UPDATE payments SET paid_sats = 20000 WHERE state = 'CONFIRMED'", [])?;
            tx.index_payments(0, 20)?;
            Ok::<_, StoreError>(())
        })
        .await
        .unwrap();
    let filter = PaymentFilter { label: Some("till".to_owned()), ..PaymentFilter::default() };
    let matches = store.read(|reader| reader.matching_payments(&filter)).unwrap();
    let listed = store.read(|reader| reader.payment_seqs(&filter, 100, 0)).unwrap();
    assert_eq!(matches.seqs, listed, "both lists have one order");
    let confirmed = matches.paid_sats / 20_000;
    assert!(confirmed > 0);
    assert_eq!(matches.confirmed_minor["USD"].unsigned_abs(), confirmed * 1_000);
}
