//! The file: who may read it, and which files are refused.

use tillgate_sandbox::{Sandbox, SandboxError};

use crate::common::{Fixture, NOW_MS};

#[test]
fn a_newer_schema_is_refused() {
    let Fixture { folder, sandbox, .. } = Fixture::new();
    drop(sandbox);
    let file = folder.path().join("sandbox.db");
    rusqlite::Connection::open(&file).unwrap().pragma_update(None, "user_version", 2).unwrap();
    assert!(matches!(Sandbox::open(&file, NOW_MS), Err(SandboxError::NewerSchema { found: 2, supported: 1 })));
}

#[test]
fn other_databases_and_other_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.db");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE payments (id INTEGER)").unwrap();
    assert!(matches!(Sandbox::open(&other, NOW_MS), Err(SandboxError::NotASandbox)));
    let text = folder.path().join("text.db");
    std::fs::write(&text, "no database at all, but long enough to be looked at as if it were one. ".repeat(20))
        .unwrap();
    assert!(matches!(Sandbox::open(&text, NOW_MS), Err(SandboxError::Storage(_))));
    assert!(matches!(Sandbox::open(&folder.path().join("no/such.db"), NOW_MS), Err(SandboxError::File(_))));
}

#[test]
fn a_clock_before_the_chain_is_refused_and_leaves_nothing_half_made() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sandbox.db");
    assert!(matches!(Sandbox::open(&file, 0), Err(SandboxError::ClockTooFarBehind { .. })));
    Sandbox::open(&file, NOW_MS).unwrap().mine(1, false, NOW_MS).unwrap();
}

#[cfg(unix)]
#[test]
fn the_file_and_its_log_are_for_the_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let f = Fixture::new();
    f.pay(50_000, 0);
    for name in ["sandbox.db", "sandbox.db-wal", "sandbox.db-shm"] {
        let mode = std::fs::metadata(f.folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}
