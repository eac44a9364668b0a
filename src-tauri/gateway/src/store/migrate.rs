//! Numbered, forward-only migrations. The file is copied before it is changed; a newer schema is
//! refused.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::StoreError;
use crate::fail_points::{self, Point};

const MIGRATIONS: &[&str] = &[include_str!("migrations/0001_initial.sql"), include_str!("migrations/0002_filing.sql")];

/// "TILG": tells our files from other SQLite databases (`PRAGMA application_id`).
const APPLICATION_ID: i64 = 0x5449_4c47;

pub(super) fn migrate(connection: &Connection, file: &Path) -> Result<(), StoreError> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let application: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if (application != APPLICATION_ID && tables > 0) || version < 0 {
        return Err(StoreError::NotOurs { file: file.to_owned() });
    }
    let known = MIGRATIONS.len() as i64;
    if version > known {
        return Err(StoreError::NewerSchema { file: file.to_owned(), found: version, known });
    }
    if version > 0 && version < known {
        copy_before(connection, file, version)?;
    }
    for (number, sql) in (1i64..).zip(MIGRATIONS).skip_while(|(number, _)| *number <= version) {
        fail_points::pass(Point::CommitBefore);
        connection.execute_batch(&format!(
            "BEGIN IMMEDIATE; {sql} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {number}; COMMIT;"
        ))?;
        fail_points::pass(Point::CommitAfter);
    }
    Ok(())
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

    use super::MIGRATIONS;
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
    async fn payments_of_an_older_schema_are_kept_and_filed_and_a_copy_is_made() {
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
                "ATTACH '{}' AS newer; INSERT INTO rates SELECT * FROM newer.rates; \
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
        assert_eq!(store.read(|reader| reader.last_filed_payment()).unwrap(), 5);
        assert_eq!(listed(&store), listed(&Store::open(&newer).unwrap()));
        assert!(folder.path().join("gateway.db.before-schema-2").exists());
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
