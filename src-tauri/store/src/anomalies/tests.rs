use super::*;
use crate::Store;
use crate::payment_lists::tests::{insert, store};

/// Twelve payments, each with an anomaly; key 7 made every second one, and four share a reference.
/// The first `indexed` payments are indexed.
async fn twelve(store: &Store, indexed: i64) {
    store
        .write(move |tx| {
            tx.connection.execute_batch(
                "INSERT INTO api_keys (key_id, name, secret_sha256, permissions, notification_url_optional, created_at) \
                 VALUES (7, 'till', zeroblob(32), 'shop', 0, 0)",
            )?;
            (0..12).try_for_each(|number| insert(tx, number))?;
            tx.connection.execute("UPDATE payments SET key_id = 7 WHERE seq % 2 = 0", [])?;
            for seq in 1..=12_u8 {
                tx.insert_anomaly(&NewAnomaly {
                    id: Id::from_bytes([seq; 20]),
                    payment_seq: seq.into(),
                    kind: [AnomalyKind::LatePayment, AnomalyKind::Overpayment][usize::from(seq % 3 == 0)],
                    txid: None,
                    paid_sats: 1_000,
                    txids: Vec::new(),
                    rate: Rate::parse("50000").unwrap(),
                    rate_at: Timestamp::from_ms(0),
                    at: Timestamp::from_ms(i64::from(seq) * 1_000),
                })?;
            }
            tx.index_payments(0, indexed)
        })
        .await
        .unwrap();
}

/// `payment_seq` of the matching anomalies, newest first.
fn listed(store: &Store, filter: &AnomalyFilter) -> Vec<i64> {
    let rows = store.read(|reader| reader.anomalies(filter, 50, 0)).unwrap();
    let count = store.read(|reader| reader.anomalies_count(filter)).unwrap();
    assert_eq!(count, rows.len() as u64, "{filter:?}");
    rows.iter().map(|row| row.payment_seq).collect()
}

#[tokio::test]
async fn anomalies_are_listed_by_key_payment_reference_kind_and_time() {
    for indexed in [0, 6, 12] {
        let (_folder, store) = store();
        twelve(&store, indexed).await;
        let all = AnomalyFilter::default();
        let of_key = AnomalyFilter { key_id: Some(7), ..all.clone() };
        let fifth = store.read(|reader| reader.payment_by_seq(5)).unwrap().unwrap();
        let of_order = Some(fifth.merchant_transaction_id);
        for (filter, expected) in [
            (all.clone(), vec![12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]),
            (of_key.clone(), vec![12, 10, 8, 6, 4, 2]),
            (
                AnomalyFilter { begin: Some(Timestamp::from_ms(8_000)), ..of_key.clone() },
                vec![12, 10, 8],
            ),
            (AnomalyFilter { kind: Some(AnomalyKind::Overpayment), ..of_key.clone() }, vec![12, 6]),
            (AnomalyFilter { payment_id: Some(fifth.payment.id), ..all.clone() }, vec![5]),
            (AnomalyFilter { payment_id: Some(fifth.payment.id), ..of_key.clone() }, vec![]),
            (
                AnomalyFilter { merchant_transaction_id: of_order.clone(), ..all.clone() },
                vec![8, 7, 6, 5],
            ),
            (AnomalyFilter { merchant_transaction_id: of_order, ..of_key.clone() }, vec![8, 6]),
            (AnomalyFilter { merchant_transaction_id: Some(String::new()), ..of_key }, vec![]),
        ] {
            assert_eq!(listed(&store, &filter), expected, "{filter:?}, {indexed} indexed");
        }
    }
}

#[test]
fn each_filter_uses_the_index_that_reads_fewest_rows() {
    let (_folder, store) = store();
    let plan = |sql: &str, values: Vec<Value>| {
        let steps = |reader: &Reader<'_>| {
            let mut steps = reader.connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
            let steps = steps.query_map(params_from_iter(values), |row| row.get::<_, String>(3))?;
            Ok::<_, StoreError>(steps.collect::<Result<Vec<_>, _>>()?.join("; "))
        };
        store.read(steps).unwrap()
    };
    let all = AnomalyFilter::default();
    let of_key = AnomalyFilter { key_id: Some(7), ..all.clone() };
    let payment_id = Some(Id::from_bytes([1; 20]));
    let (order, none) = (Some("order-1".to_owned()), Some(String::new()));
    for (filter, index) in [
        (all.clone(), "anomalies_by_creation"),
        (of_key.clone(), "anomalies_by_key"),
        (
            AnomalyFilter { begin: Some(Timestamp::from_ms(1)), ..of_key.clone() },
            "anomalies_by_key",
        ),
        (
            AnomalyFilter { kind: Some(AnomalyKind::LatePayment), ..of_key.clone() },
            "anomalies_by_key",
        ),
        (AnomalyFilter { merchant_transaction_id: none, ..of_key.clone() }, "anomalies_by_key"),
        (
            AnomalyFilter { merchant_transaction_id: order.clone(), ..all.clone() },
            "payments_by_merchant_transaction",
        ),
        (
            AnomalyFilter { merchant_transaction_id: order, ..of_key.clone() },
            "payments_by_merchant_transaction",
        ),
        (AnomalyFilter { payment_id, ..all.clone() }, "anomalies_one_to_a_ground"),
        (AnomalyFilter { payment_id, ..of_key }, "anomalies_one_to_a_ground"),
        (
            AnomalyFilter { resolution: Some(Resolution::Open), ..all.clone() },
            "anomalies_by_resolution",
        ),
    ] {
        let (list, values) = filter.page(50, 0);
        let list = plan(&list, values);
        assert!(list.contains(index), "{filter:?}: {list}");
        let (count, values) = filter.count();
        let count = plan(&count, values.clone());
        assert!(values.is_empty() || !count.contains("SCAN a"), "{filter:?}: {count}");
    }
}
