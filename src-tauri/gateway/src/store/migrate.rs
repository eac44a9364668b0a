//! Numbered, forward-only migrations. The file is copied before it is changed; a newer schema is
//! refused.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::StoreError;
use crate::machine::fail_points::{self, Point};

const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_initial.sql"),
    include_str!("migrations/0002_filing.sql"),
    include_str!("migrations/0003_chain_and_coins.sql"),
    include_str!("migrations/0004_absent_since.sql"),
    include_str!("migrations/0005_rates_in_use.sql"),
    include_str!("migrations/0006_keys.sql"),
    include_str!("migrations/0007_resends_and_own_lists.sql"),
    include_str!("migrations/0008_anomalies_of_a_key.sql"),
    include_str!("migrations/0009_payouts.sql"),
];

/// "TILG": tells our files from other SQLite databases (`PRAGMA application_id`).
const APPLICATION_ID: i64 = 0x5449_4c47;

pub(super) fn migrate(connection: &Connection, file: &Path) -> Result<(), StoreError> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let application: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if (application != APPLICATION_ID && tables > 0) || version < 0 {
        return Err(StoreError::NotOurs { file: file.to_owned() });
    }
    migrate_by(MIGRATIONS, connection, file, version)
}

/// Brings a file of schema `version` up to the last of `migrations`.
fn migrate_by(migrations: &[&str], connection: &Connection, file: &Path, version: i64) -> Result<(), StoreError> {
    let known = migrations.len() as i64;
    if version > known {
        return Err(StoreError::NewerSchema { file: file.to_owned(), found: version, known });
    }
    if version > 0 && version < known {
        copy_before(connection, file, version)?;
    }
    // A table that others refer to can only be made anew while nobody watches over the references. Inside a
    // transaction the pragma does nothing.
    connection.pragma_update(None, "foreign_keys", false)?;
    for (number, sql) in (1i64..).zip(migrations).skip_while(|(number, _)| *number <= version) {
        fail_points::pass(Point::CommitBefore);
        let step = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        step.execute_batch(sql)?;
        check_references(&step)?;
        step.pragma_update(None, "application_id", APPLICATION_ID)?;
        step.pragma_update(None, "user_version", number)?;
        step.commit()?;
        fail_points::pass(Point::CommitAfter);
    }
    Ok(connection.pragma_update(None, "foreign_keys", true)?)
}

/// Refuses rows that refer to others which are not there.
fn check_references(connection: &Connection) -> Result<(), StoreError> {
    let mut query = connection.prepare("SELECT \"table\", parent FROM pragma_foreign_key_check LIMIT 1")?;
    let mut broken = query.query([])?;
    match broken.next()? {
        None => Ok(()),
        Some(row) => {
            let (table, parent): (String, String) = (row.get(0)?, row.get(1)?);
            Err(StoreError::Corrupt(format!("a row of {table} refers to one of {parent} that is missing")))
        }
    }
}

/// `VACUUM INTO` copies a consistent state, whatever stands in the log.
fn copy_before(connection: &Connection, file: &Path, version: i64) -> Result<(), StoreError> {
    let copy = PathBuf::from(format!("{}.before-schema-{}", file.display(), version + 1));
    if copy.exists() {
        std::fs::remove_file(&copy)
            .map_err(|source| StoreError::Io { action: "removing an old copy of the database", source })?;
    }
    connection.execute("VACUUM INTO ?1", [copy.to_string_lossy()])?;
    Ok(())
}

#[cfg(test)]
mod tests {
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
    async fn payments_of_an_older_schema_are_stored_and_indexed_and_a_copy_is_made() {
        use crate::store::payment_lists::{PaymentFilter, tests::insert};
        use crate::store::payments::PaymentRow;

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gateway.db");
        let connection = crate::store::open::for_writing(&file).unwrap();
        let application = super::APPLICATION_ID;
        let older = format!("{} PRAGMA application_id = {application}; PRAGMA user_version = 1;", MIGRATIONS[0]);
        connection.execute_batch(&older).unwrap();
        drop(connection);
        // Written under the newer schema, and taken back to the older.
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
    async fn coins_of_an_older_schema_are_kept_with_their_places_and_booked_and_the_chain_is_watched_from_its_start() {
        use bitcoin::hashes::Hash as _;
        use bitcoin::{OutPoint, Txid};

        use crate::store::coins::{Coin, StoredCoin};
        use crate::store::keychains::Keychain;
        use crate::store::ledger::LedgerKind;
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
        // The ledger begins with what blocks hold: what counts, and what does not.
        let booked = store.read(|reader| reader.ledger_entries(None, None)).unwrap();
        let booked: Vec<_> = booked.iter().map(|entry| (entry.kind, entry.sats)).collect();
        assert_eq!(booked, [(LedgerKind::Payment, 600), (LedgerKind::Anomaly, 100)]);
        assert_eq!(store.read(|reader| reader.unbooked_receipts(1)).unwrap(), []);
        assert_eq!(store.read(|reader| reader.reckoned_balance_sats()).unwrap(), 700);
    }

    #[test]
    fn what_an_older_schema_calls_absent_is_missed_from_the_last_look_on() {
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
    fn an_anomaly_of_an_older_schema_has_the_key_that_its_payment_was_made_with() {
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
        // One that may write: to others, constraints mean nothing.
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
}
