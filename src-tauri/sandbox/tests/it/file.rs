//! The sandbox's file: permissions, upgrade, copies, and the files that are refused.

use tillgate_sandbox::{BroadcastFault, Sandbox, SandboxError};

use crate::common::{Fixture, NOW_MS};

#[test]
fn a_newer_schema_is_refused() {
    let Fixture { folder, sandbox, .. } = Fixture::new();
    drop(sandbox);
    let file = folder.path().join("sandbox.db");
    rusqlite::Connection::open(&file).unwrap().pragma_update(None, "user_version", 3).unwrap();
    assert!(matches!(
        Sandbox::open(&file, NOW_MS),
        Err(SandboxError::NewerSchema { found: 3, supported: 2 })
    ));
}

#[test]
fn other_databases_and_other_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.db");
    rusqlite::Connection::open(&other)
        .unwrap()
        .execute_batch("CREATE TABLE payments (id INTEGER)")
        .unwrap();
    assert!(matches!(Sandbox::open(&other, NOW_MS), Err(SandboxError::NotASandbox)));
    let text = folder.path().join("text.db");
    std::fs::write(
        &text,
        "no database at all, but long enough to be looked at as if it were one. ".repeat(20),
    )
    .unwrap();
    assert!(matches!(Sandbox::open(&text, NOW_MS), Err(SandboxError::Storage(_))));
    assert!(matches!(
        Sandbox::open(&folder.path().join("no/such.db"), NOW_MS),
        Err(SandboxError::File(_))
    ));
}

#[test]
fn a_clock_before_the_chain_is_refused_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sandbox.db");
    assert!(matches!(Sandbox::open(&file, 0), Err(SandboxError::ClockTooFarBehind { .. })));
    Sandbox::open(&file, NOW_MS).unwrap().mine(1, false, NOW_MS).unwrap();
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_file_and_its_log() {
    use std::os::unix::fs::PermissionsExt;
    let f = Fixture::new();
    f.pay(50_000, 0);
    for name in ["sandbox.db", "sandbox.db-wal", "sandbox.db-shm"] {
        let mode = std::fs::metadata(f.folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn an_older_copy_of_the_file_does_not_know_later_blocks() {
    let f = Fixture::new();
    f.pay(50_000, 1);
    let (file, copy) = (f.folder.path().join("sandbox.db"), f.folder.path().join("copy.db"));
    let Fixture { sandbox, .. } = f;
    drop(sandbox);
    std::fs::copy(&file, &copy).unwrap();
    let at = |sandbox: &Sandbox| {
        let tip = sandbox.tip().unwrap();
        (sandbox.changes_since(0, 10_000).unwrap().cursor, tip.height, tip.hash)
    };
    let (sandbox, copy) =
        (Sandbox::open(&file, NOW_MS).unwrap(), Sandbox::open(&copy, NOW_MS).unwrap());
    sandbox.mine(1, false, NOW_MS).unwrap();
    let (cursor, height, hash) = at(&sandbox);
    assert!(sandbox.was_at(cursor, height, hash).unwrap());
    assert_eq!(copy.identity(), sandbox.identity());
    assert!(!copy.was_at(cursor, height, hash).unwrap());
    // The same holds after the copy mined other blocks and reached the same change number.
    copy.mine(3, false, NOW_MS + 1_000_000).unwrap();
    assert!(at(&copy).0 >= cursor);
    assert!(!copy.was_at(cursor, height, hash).unwrap());
}

#[test]
fn each_new_file_has_its_own_identity() {
    let (one, other) = (Fixture::new(), Fixture::new());
    assert_ne!(one.sandbox.identity(), other.sandbox.identity());
}

#[test]
fn a_file_of_version_one_is_upgraded_with_its_content() {
    let f = Fixture::new();
    let paid = f.pay(50_000, 1);
    let Fixture { folder, sandbox, shop } = f;
    drop(sandbox);
    rusqlite::Connection::open(folder.path().join("sandbox.db"))
        .unwrap()
        .execute_batch(
            "ALTER TABLE meta ADD COLUMN broadcast_rejects INTEGER NOT NULL DEFAULT 1
                CHECK (broadcast_rejects IN (0, 1));
             ALTER TABLE meta DROP COLUMN broadcast;
             ALTER TABLE meta DROP COLUMN keys_locked;
             ALTER TABLE meta DROP COLUMN fee_rate_sat_vb;
             DROP INDEX outputs_by_script;
             PRAGMA user_version = 1;",
        )
        .unwrap();
    let sandbox = Sandbox::open(&folder.path().join("sandbox.db"), NOW_MS).unwrap();
    let f = Fixture { folder, sandbox, shop }.reopen();
    let faults = f.sandbox.faults().unwrap();
    assert_eq!((faults.broadcast, faults.keys_locked), (BroadcastFault::Reject, false));
    assert_eq!(faults.fee_estimate_sat_vb(), 2);
    assert_eq!(f.sandbox.outputs_to(&f.shop.script).unwrap()[0].outpoint.txid, paid);
    f.pay(60_000, 1);
}
