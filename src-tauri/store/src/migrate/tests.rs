//! Files of older and newer schemas, and of other programs.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::{APPLICATION_ID, MIGRATIONS, migrate_by};
use crate::{Store, StoreError, open};

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

/// A made-up next schema.
const NEXT: &str = "ALTER TABLE settings ADD COLUMN note TEXT; UPDATE settings SET note = 'moved';";

/// The file of a shop with the present schema.
fn shop_file(folder: &Path) -> PathBuf {
    let file = folder.join("gateway.db");
    let connection = open::for_writing(&file).unwrap();
    migrate_by(MIGRATIONS, &connection, &file, 0).unwrap();
    connection.execute("INSERT INTO settings VALUES ('shop', 'Corner Bakery')", []).unwrap();
    file
}

/// Opens the file of a shop with a program that knows one more schema.
fn upgrade(file: &Path, next: &str) -> Result<(), StoreError> {
    let connection = open::for_writing(file).unwrap();
    migrate_by(&[MIGRATIONS, &[next]].concat(), &connection, file, MIGRATIONS.len() as i64)
}

fn copy_of(file: &Path) -> PathBuf {
    PathBuf::from(format!("{}.before-schema-{}", file.display(), MIGRATIONS.len() + 1))
}

/// Schema version, application id and the shop's settings.
fn content(file: &Path) -> (i64, i64, Vec<String>) {
    let connection = Connection::open(file).unwrap();
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get(0)).unwrap();
    let mut settings = connection.prepare("SELECT * FROM settings").unwrap();
    let columns = settings.column_count();
    let row =
        settings.query_row([], |row| (0..columns).map(|column| row.get(column)).collect()).unwrap();
    (pragma("user_version"), pragma("application_id"), row)
}

fn before() -> (i64, i64, Vec<String>) {
    (MIGRATIONS.len() as i64, APPLICATION_ID, vec!["shop".to_owned(), "Corner Bakery".to_owned()])
}

#[test]
fn a_file_is_copied_before_its_schema_changes() {
    let folder = tempfile::tempdir().unwrap();
    let file = shop_file(folder.path());
    upgrade(&file, NEXT).unwrap();
    let (version, application, settings) = content(&file);
    assert_eq!((version, application), (MIGRATIONS.len() as i64 + 1, APPLICATION_ID));
    assert_eq!(settings, ["shop", "Corner Bakery", "moved"]);
    // The old program can use the copy.
    assert_eq!(content(&copy_of(&file)), before());
    drop(Store::open(&copy_of(&file)).unwrap());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(copy_of(&file)).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn a_file_of_the_present_schema_is_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let file = shop_file(folder.path());
    drop(Store::open(&file).unwrap());
    assert!(!copy_of(&file).exists());
}

#[test]
fn a_failed_step_changes_nothing_and_can_be_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let file = shop_file(folder.path());
    upgrade(&file, &format!("{NEXT} UPDATE nothing SET x = 1;"))
        .expect_err("the last statement of the step fails");
    assert_eq!(content(&file), before());
    // A crash may leave a part of a copy.
    std::fs::write(copy_of(&file), [0x5a; 100]).unwrap();
    upgrade(&file, NEXT).unwrap();
    assert_eq!(content(&copy_of(&file)), before());
}

#[test]
fn a_file_that_cannot_be_copied_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = shop_file(folder.path());
    let connection = open::for_writing(&file).unwrap();
    connection
        .execute_batch("CREATE TABLE big (x); INSERT INTO big VALUES (zeroblob(1000000));")
        .unwrap();
    drop(connection);
    // The end of the file holds the blob.
    let mut bytes = std::fs::read(&file).unwrap();
    let damaged = bytes.len() - 4_096 * 100;
    bytes[damaged..].fill(0x5a);
    std::fs::write(&file, &bytes).unwrap();
    upgrade(&file, NEXT).expect_err("the file is damaged");
    assert_eq!(content(&file), before());
    assert!(!copy_of(&file).exists(), "the unfinished copy is removed");
}

/// A parent with a child that refers to it.
const PARENT_AND_CHILD: &str = "CREATE TABLE parent (id INTEGER PRIMARY KEY) STRICT; \
     CREATE TABLE child (id INTEGER PRIMARY KEY, of INTEGER NOT NULL REFERENCES parent (id)) STRICT; \
     INSERT INTO parent VALUES (7); INSERT INTO child VALUES (1, 7);";

#[test]
fn a_table_that_others_refer_to_can_be_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.db");
    let connection = open::for_writing(&file).unwrap();
    let rebuild = "CREATE TABLE new (id INTEGER PRIMARY KEY, more TEXT) STRICT; INSERT INTO new (id) SELECT id FROM parent; \
         DROP TABLE parent; ALTER TABLE new RENAME TO parent;";
    migrate_by(&[PARENT_AND_CHILD, rebuild], &connection, &file, 0).unwrap();
    assert_eq!(
        connection.query_row("SELECT of FROM child", [], |row| row.get::<_, i64>(0)).unwrap(),
        7
    );
    connection.execute("INSERT INTO child VALUES (2, 7)", []).unwrap();
    connection
        .execute("INSERT INTO child VALUES (3, 8)", [])
        .expect_err("references are enforced again");
}

#[test]
fn a_migration_that_breaks_a_reference_is_undone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.db");
    let connection = open::for_writing(&file).unwrap();
    let refused = migrate_by(&[PARENT_AND_CHILD, "DELETE FROM parent;"], &connection, &file, 0);
    assert!(
        matches!(&refused, Err(StoreError::Corrupt(why)) if why.contains("child")),
        "{refused:?}"
    );
    drop(connection);
    let connection = Connection::open(&file).unwrap();
    let left = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!((left("SELECT count(*) FROM parent"), left("PRAGMA user_version")), (1, 1));
}

#[test]
fn another_programs_database_is_refused() {
    let opened = open_with("CREATE TABLE theirs (x)");
    assert!(matches!(opened, Err(StoreError::NotOurs { .. })));
}

#[test]
fn no_insert_needs_a_temporary_table_for_its_constraints() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.db");
    drop(Store::open(&file).unwrap());
    // The connection may write: constraints are only checked on such a connection.
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
        let mut steps =
            connection.prepare(&format!("EXPLAIN INSERT INTO {table} VALUES ({values})")).unwrap();
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
    Connection::open(&file)
        .unwrap()
        .execute_batch(&format!("PRAGMA user_version = {newer}"))
        .unwrap();
    let Err(refusal) = Store::open(&file) else { panic!("a newer schema was opened") };
    assert!(refusal.to_string().contains("install the newer Tillgate"), "{refusal}");
}

#[test]
fn a_damaged_file_is_reported_as_corrupt() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.db");
    std::fs::write(&file, [0x5a; 8192]).unwrap();
    let Err(refusal) = Store::open(&file) else { panic!("garbage was opened") };
    assert!(matches!(refusal, StoreError::Corrupt(_)), "{refusal:?}");
}

#[test]
#[cfg(unix)]
fn only_the_owner_can_read_and_write_the_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.db");
    let _store = Store::open(&file).unwrap();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(
            entry.metadata().unwrap().permissions().mode() & 0o777,
            0o600,
            "{:?}",
            entry.path()
        );
    }
}
