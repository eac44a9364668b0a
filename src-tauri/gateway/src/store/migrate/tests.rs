//! Files of older and newer schemas, and of other programs.

mod every_schema;

use rusqlite::Connection;
use tillgate_domain::receipt::Position;
use tillgate_domain::time::Timestamp;

use super::{MIGRATIONS, migrate_by};
use crate::store::{Store, StoreError};

fn open_with(sql: &str) -> Result<Store, StoreError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.db");
    Connection::open(&file).unwrap().execute_batch(sql).unwrap();
    Store::open(&file)
}

#[test]
fn a_new_file_is_made_and_opens_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.db");
    drop(Store::open(&file).unwrap());
    Store::open(&file).unwrap();
}

#[tokio::test]
async fn payments_of_an_older_schema_are_indexed_after_a_copy() {
    use crate::store::payment_lists::{PaymentFilter, tests::insert};
    use crate::store::payments::PaymentRow;

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.db");
    let connection = crate::store::open::for_writing(&file).unwrap();
    let application = super::APPLICATION_ID;
    let older = format!("{} PRAGMA application_id = {application}; PRAGMA user_version = 1;", MIGRATIONS[0]);
    connection.execute_batch(&older).unwrap();
    drop(connection);
    // The rows are written under the newer schema and copied into the older one.
    let newer = folder.path().join("newer.db");
    let store = Store::open(&newer).unwrap();
    store.write(|tx| (0..5).try_for_each(|number| insert(tx, number))).await.unwrap();
    drop(store);
    let connection = Connection::open(&file).unwrap();
    let columns: String = connection
        .query_row("SELECT group_concat(name) FROM pragma_table_info('payments')", [], |row| row.get(0))
        .unwrap();
    connection
        .execute_batch(&format!(
            "ATTACH '{}' AS newer; INSERT INTO rates SELECT rate_id, currency, rate, at, sources FROM newer.rates; \
             INSERT INTO payments ({columns}) SELECT {columns} FROM newer.payments;",
            newer.display()
        ))
        .unwrap();
    drop(connection);

    let store = Store::open(&file).unwrap();
    let listed = |store: &Store| -> Vec<PaymentRow> {
        store.read(|reader| reader.payments(&PaymentFilter::default(), 50, 0)).unwrap()
    };
    assert_eq!(listed(&store).len(), 5);
    assert_eq!(store.read(|reader| reader.last_indexed_payment()).unwrap(), 5);
    assert_eq!(listed(&store), listed(&Store::open(&newer).unwrap()));
    assert!(folder.path().join("gateway.db.before-schema-2").exists());
}

#[tokio::test]
async fn coins_of_an_older_schema_are_kept_and_booked() {
    use bitcoin::hashes::Hash as _;
    use bitcoin::{OutPoint, Txid};

    use crate::store::coins::{Coin, StoredCoin};
    use crate::store::keychains::Keychain;
    use crate::store::ledger::{LedgerKind, LedgerPart};
    use crate::store::payment_lists::tests::insert;

    let folder = tempfile::tempdir().unwrap();
    let newer = folder.path().join("newer.db");
    let store = Store::open(&newer).unwrap();
    store.write(|tx| (0..2).try_for_each(|number| insert(tx, number))).await.unwrap();
    drop(store);
    let file = folder.path().join("gateway.db");
    let connection = crate::store::open::for_writing(&file).unwrap();
    migrate_by(&MIGRATIONS[..2], &connection, &file, 0).unwrap();
    connection
        .execute_batch(&format!(
            "ATTACH '{}' AS newer; INSERT INTO rates SELECT rate_id, currency, rate, at, sources FROM newer.rates; \
             ALTER TABLE newer.payments DROP COLUMN given_above; \
             INSERT INTO payments SELECT * FROM newer.payments; \
             INSERT INTO chain VALUES (1, 77, 250, zeroblob(32), 5000, 6000); \
             INSERT INTO transactions VALUES (zeroblob(32), x'00', 1), (x'{one}', x'00', 1); \
             INSERT INTO receipts (payment_seq, txid, amount_sats, first_seen_at, last_seen_at, earliest_at, position, \
                block_height, block_time, conflict_in_chain, conflict_in_mempool, relays_well) \
                VALUES (1, zeroblob(32), 700, 1, 1, 1, 'block', 249, 1, 0, 0, 0), \
                       (2, x'{one}', 800, 1, 1, 1, 'mempool', NULL, NULL, 0, 0, 0); \
             UPDATE receipts SET counted_sats = 600 WHERE position = 'block'; \
             INSERT INTO coins VALUES (zeroblob(32), 3, 1, 11, 700), (x'{one}', 0, 2, 12, 800);",
            newer.display(),
            one = "01".repeat(32),
        ))
        .unwrap();
    drop(connection);

    let store = Store::open(&file).unwrap();
    let stored =
        |txid: [u8; 32], vout, payment_seq: i64, index, amount_sats, position: &str, block_height| StoredCoin {
            coin: Coin {
                outpoint: OutPoint { txid: Txid::from_byte_array(txid), vout },
                keychain: Keychain::External,
                index,
                payment_seq: Some(payment_seq),
                amount_sats,
                is_coinbase: false,
            },
            position: position.to_owned(),
            block_height,
            spent_by: None,
        };
    assert_eq!(
        store.read(|reader| reader.coins()).unwrap(),
        [stored([0; 32], 3, 1, 11, 700, "block", Some(249)), stored([1; 32], 0, 2, 12, 800, "mempool", None)]
    );
    let watched = store.read(|reader| reader.watched_chain()).unwrap().unwrap();
    assert_eq!((watched.tip.height, watched.looked_at.ms(), watched.cursor), (250, 6000, None));
    // The ledger begins with mined coins, counted and uncounted.
    let booked = store.read(|reader| reader.ledger_page(&LedgerPart { limit: 10, ..LedgerPart::default() })).unwrap();
    let booked: Vec<_> = booked.iter().map(|entry| (entry.kind, entry.sats)).collect();
    assert_eq!(booked, [(LedgerKind::Payment, 600), (LedgerKind::Anomaly, 100)]);
    assert_eq!(store.read(|reader| reader.unbooked_receipts(1)).unwrap(), []);
    assert_eq!(store.read(|reader| reader.reckoned_balance_sats()).unwrap(), 700);
    assert_eq!(store.read(|reader| reader.ledger_sats()).unwrap(), 700);
}

#[test]
fn older_absent_receipts_are_missing_since_the_last_look() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.db");
    let connection = crate::store::open::for_writing(&file).unwrap();
    migrate_by(&MIGRATIONS[..2], &connection, &file, 0).unwrap();
    let receipt = |number: u8, position: &str, gone: u8| {
        let txid = format!("x'{}'", hex::encode([number; 32]));
        format!(
            "INSERT INTO transactions VALUES ({txid}, x'', 1000); \
             INSERT INTO receipts (payment_seq, txid, amount_sats, first_seen_at, last_seen_at, earliest_at, \
             position, conflict_in_chain, conflict_in_mempool, relays_well, gone) \
             VALUES (1, {txid}, 5, 1000, 2000, 1000, '{position}', 0, 0, 0, {gone});"
        )
    };
    connection
        .execute_batch(&format!(
            "INSERT INTO chain VALUES (1, 7, 0, zeroblob(32), 0, 9000); \
             INSERT INTO rates VALUES (1, 'USD', '65000.0000', 0, '{{}}'); \
             INSERT INTO payments (seq, id, state, amount_sats, price_minor, currency, rate, rate_id, \
             derivation_index, script, address, label, message, merchant_transaction_id, created_at, expires_at, \
             current_at, confirmations, zero_conf_quiet_ms, tolerance_per_mille, overpayment, \
             anomaly_confirmations, offline_grace_ms) VALUES (1, zeroblob(20), 'NEW', 5, 1, 'USD', '65000.0000', 1, \
             0, x'00', 'a', 'shop', '', '', 0, 1000, 0, 1, 3000, 0, 'confirm', 2, 0); {}{}{}",
            receipt(1, "mempool", 0),
            receipt(2, "absent", 0),
            receipt(3, "absent", 1),
        ))
        .unwrap();
    drop(connection);

    let store = Store::open(&file).unwrap();
    let receipts = store.read(|reader| reader.receipts(1)).unwrap();
    let since = |ms| Position::Absent { since: Timestamp::from_ms(ms) };
    let positions: Vec<Position> = receipts.iter().map(|one| one.position).collect();
    assert_eq!(positions, [Position::Mempool, since(9_000), since(2_000)]);
}

#[test]
fn an_anomaly_of_an_older_schema_gets_its_payments_key() {
    use crate::store::anomalies::AnomalyFilter;

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.db");
    let connection = crate::store::open::for_writing(&file).unwrap();
    migrate_by(&MIGRATIONS[..7], &connection, &file, 0).unwrap();
    connection
        .execute_batch(
            "INSERT INTO api_keys (key_id, name, secret_sha256, permissions, notification_url_optional, created_at) \
             VALUES (7, 'till', zeroblob(32), 'shop', 0, 0); \
             INSERT INTO rates VALUES (1, 'USD', '65000.0000', 0, '{}', 1); \
             INSERT INTO payments (seq, id, state, amount_sats, price_minor, currency, rate, rate_id, key_id, \
             derivation_index, script, address, label, message, merchant_transaction_id, created_at, expires_at, \
             current_at, confirmations, zero_conf_quiet_ms, tolerance_per_mille, overpayment, \
             anomaly_confirmations, offline_grace_ms) VALUES (1, zeroblob(20), 'NEW', 5, 1, 'USD', '65000.0000', 1, 7, \
             0, x'00', 'a', 'till', '', '', 0, 1000, 0, 1, 3000, 0, 'confirm', 2, 0); \
             INSERT INTO anomalies (id, payment_seq, kind, paid_sats, txids, rate, rate_at, resolution, created_at, \
             current_at) VALUES (zeroblob(20), 1, 'OVERPAYMENT', 5, x'', '65000.0000', 0, 'OPEN', 0, 0)",
        )
        .unwrap();
    drop(connection);

    let store = Store::open(&file).unwrap();
    let of_key = |key_id| AnomalyFilter { key_id: Some(key_id), ..AnomalyFilter::default() };
    let count = |key_id| store.read(|reader| reader.anomalies_count(&of_key(key_id))).unwrap();
    assert_eq!((count(7), count(8)), (1, 0));
}

#[test]
fn an_older_failed_payout_gets_its_time_and_its_actor() {
    use tillgate_domain::id::Id;

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.db");
    let connection = crate::store::open::for_writing(&file).unwrap();
    migrate_by(&MIGRATIONS[..9], &connection, &file, 0).unwrap();
    let id = |number: u8| Id::from_bytes([0xa0 + number; 20]);
    let (one, two) = ("01".repeat(32), "02".repeat(32));
    // Each was resent at 9,000, the time in `current_at`.
    let payout = |number: u8, batch: &str| {
        let id = id(number);
        format!(
            "INSERT INTO payouts (id, state, amount_sats, script, address, currency, rate, rate_id, fiat_minor, \
             fiat_total_minor, fiat_total_milli, network_fee_sats, balance_short, requested_by, merchant_name, created_at, \
             expires_at, approved_at, approved_by, failure_reason, batch_seq, current_at) VALUES (x'{id}', 'FAILED', 5, \
             x'00', 'a', 'USD', '65000.0000', 1, 1, 1, 10, 1, 0, 'till', 'm', 0, 1, 1, 'cli:ada', 'why', {batch}, 9000);"
        )
    };
    let notified = |number: u8, at: u32, is_resend: u8| {
        format!(
            "INSERT INTO notifications (id, subject_kind, subject_id, url, server, queued_at, state, head, key_id, is_resend) \
             VALUES (randomblob(20), 'payout', x'{}', 'u', 's', {at}, 'DELIVERED', 0, 0, {is_resend});",
            id(number)
        )
    };
    let rows = [
        "INSERT INTO rates VALUES (1, 'USD', '65000.0000', 0, '{}', 1); INSERT INTO batches (seq, created_at) VALUES (1, 10);"
            .to_owned(),
        // SENT at first, then given up.
        payout(1, "1"),
        "INSERT INTO ledger (at, kind, sats, payout_seq) VALUES (20, 'PAYOUT', -5, 1), (300, 'PAYOUT', 5, 1);".to_owned(),
        notified(1, 20, 0) + &notified(1, 300, 0) + &notified(1, 9_000, 1),
        // Given up before signing; failed after waiting too long; and the same without a notification.
        payout(2, "NULL") + &payout(3, "NULL") + &payout(4, "NULL"),
        format!("INSERT INTO audit (at, actor, act, subject) VALUES (400, 'cli:bea', 'payouts abandon', '{}');", id(2)),
        notified(2, 400, 0) + &notified(2, 9_000, 1) + &notified(3, 500, 0) + &notified(3, 9_000, 1),
        format!(
            "INSERT INTO transactions VALUES (x'{one}', x'00', 1), (x'{two}', x'00', 1); \
             INSERT INTO versions (txid, batch_seq, number, pays, fee_sats, vsize, created_at, position) VALUES \
             (x'{one}', 1, 1, 1, 1, 1, 10, 'absent'), (x'{two}', 1, 2, 0, 1, 1, 30, 'absent'); \
             INSERT INTO audit (at, actor, act, subject) VALUES (10, 'cli:eve', 'payouts bump', 'another'), \
             (30, 'panel:cal', 'payouts abandon', '{}');",
            id(1)
        ),
    ];
    connection.execute_batch(&rows.concat()).unwrap();
    drop(connection);

    drop(Store::open(&file).unwrap());
    let connection = Connection::open(&file).unwrap();
    let mut query = connection.prepare("SELECT failed_at, given_up_by FROM payouts ORDER BY seq").unwrap();
    let ends = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let ends: Vec<(i64, Option<String>)> = ends.map(Result::unwrap).collect();
    assert_eq!(ends, [(300, None), (400, Some("cli:bea".to_owned())), (500, None), (9_000, None)]);
    let mut query = connection.prepare("SELECT made_by FROM versions ORDER BY number").unwrap();
    let makers: Vec<Option<String>> = query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(makers, [None, Some("panel:cal".to_owned())]);
}

/// A parent with a child that refers to it.
const PARENT_AND_CHILD: &str = "CREATE TABLE parent (id INTEGER PRIMARY KEY) STRICT; \
     CREATE TABLE child (id INTEGER PRIMARY KEY, of INTEGER NOT NULL REFERENCES parent (id)) STRICT; \
     INSERT INTO parent VALUES (7); INSERT INTO child VALUES (1, 7);";

#[test]
fn a_table_that_others_refer_to_can_be_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.db");
    let connection = crate::store::open::for_writing(&file).unwrap();
    let anew = "CREATE TABLE new (id INTEGER PRIMARY KEY, more TEXT) STRICT; INSERT INTO new (id) SELECT id FROM parent; \
         DROP TABLE parent; ALTER TABLE new RENAME TO parent;";
    migrate_by(&[PARENT_AND_CHILD, anew], &connection, &file, 0).unwrap();
    assert_eq!(connection.query_row("SELECT of FROM child", [], |row| row.get::<_, i64>(0)).unwrap(), 7);
    connection.execute("INSERT INTO child VALUES (2, 7)", []).unwrap();
    connection.execute("INSERT INTO child VALUES (3, 8)", []).expect_err("references are watched over again");
}

#[test]
fn a_migration_that_breaks_a_reference_is_undone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.db");
    let connection = crate::store::open::for_writing(&file).unwrap();
    let refused = migrate_by(&[PARENT_AND_CHILD, "DELETE FROM parent;"], &connection, &file, 0);
    assert!(matches!(&refused, Err(StoreError::Corrupt(why)) if why.contains("child")), "{refused:?}");
    drop(connection);
    let connection = Connection::open(&file).unwrap();
    let left = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!((left("SELECT count(*) FROM parent"), left("PRAGMA user_version")), (1, 1));
}

#[test]
fn another_programs_database_is_left_alone() {
    let opened = open_with("CREATE TABLE theirs (x)");
    assert!(matches!(opened, Err(StoreError::NotOurs { .. })));
}

#[test]
fn no_rows_constraints_make_a_table_on_the_side() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.db");
    drop(Store::open(&file).unwrap());
    // A writing connection: constraints mean nothing to others.
    let connection = Connection::open(&file).unwrap();
    let mut tables = connection
        .prepare(
            "SELECT name, (SELECT group_concat('?') FROM pragma_table_info(sqlite_schema.name)) \
             FROM sqlite_schema WHERE type = 'table'",
        )
        .unwrap();
    let mut tables = tables.query([]).unwrap();
    let mut checked = 0;
    while let Some(table) = tables.next().unwrap() {
        let (table, values): (String, String) = (table.get(0).unwrap(), table.get(1).unwrap());
        let mut steps = connection.prepare(&format!("EXPLAIN INSERT INTO {table} VALUES ({values})")).unwrap();
        let mut steps = steps.raw_query();
        while let Some(step) = steps.next().unwrap() {
            assert_ne!(step.get::<_, String>("opcode").unwrap(), "OpenEphemeral", "{table}");
        }
        checked += 1;
    }
    assert!(checked > 10);
}

#[test]
fn a_newer_schema_is_refused_and_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.db");
    drop(Store::open(&file).unwrap());
    let newer = MIGRATIONS.len() + 1;
    Connection::open(&file).unwrap().execute_batch(&format!("PRAGMA user_version = {newer}")).unwrap();
    let Err(refusal) = Store::open(&file) else { panic!("a newer schema was opened") };
    assert!(refusal.to_string().contains("install the newer Tillgate"), "{refusal}");
}

#[test]
fn a_damaged_file_is_named_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.db");
    std::fs::write(&file, [0x5a; 8192]).unwrap();
    let Err(refusal) = Store::open(&file) else { panic!("garbage was opened") };
    assert!(matches!(refusal, StoreError::Corrupt(_)), "{refusal:?}");
}

#[test]
#[cfg(unix)]
fn the_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.db");
    let _store = Store::open(&file).unwrap();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", entry.path());
    }
}

#[test]
fn the_quotes_of_an_older_rate_become_its_certificate() {
    use crate::rates::certificate::{self, Part};

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.db");
    let connection = crate::store::open::for_writing(&file).unwrap();
    migrate_by(&MIGRATIONS[..9], &connection, &file, 0).unwrap();
    let older = r#"INSERT INTO rates VALUES (1, 'USD', '65050.0000', 7000, '{"a":"65000.00","b":"65100"}', 1),
        (2, 'EUR', '1.0000', 7000, '{}', 0)"#;
    connection.execute_batch(older).unwrap();
    drop(connection);
    let store = Store::open(&file).unwrap();
    let stored: Vec<Vec<Part>> = store
        .read(|reader| reader.last_rates())
        .unwrap()
        .iter()
        .map(|(_, rate)| certificate::read(&rate.sources))
        .collect();
    let part = |name: &str, rate: &str| {
        let (name, rate) = (name.to_owned(), rate.to_owned());
        Part { name, rate, time: 7_000, used: true, why: None }
    };
    assert_eq!(stored, [vec![], vec![part("a", "65000.00"), part("b", "65100")]]);
}
