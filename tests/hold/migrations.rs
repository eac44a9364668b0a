//! The program ends, or the disk is full, while it upgrades the database of an older program. The next start goes on,
//! no data is lost, and a copy of the old file is kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::Connection;
use serde_json::Value;
use tempfile::TempDir;

use crate::full_disk::namespace;
use crate::harness::Program;
use crate::points::{armed, ended_itself};

/// The application id of the gateway's files.
const APPLICATION_ID: i64 = 0x5449_4c47;

/// The payments of the old database, and their confirmed sum.
const PAYMENTS: usize = 10;
const BALANCE: &str = "0.00938155";

/// Free space of the disk when the program starts, in KiB.
const ROOMS_KIB: &[u64] = &[0, 16, 64, 128, 256, 384, 512, 768, 1_024, 2_048];

/// A disk with room for little more than the data.
const DISK: &str = "16m";

/// A data directory with a database of the first program version.
fn first_program() -> Program {
    let program = Program::new();
    program.make();
    let file = program.database();
    fs::remove_file(&file).unwrap();
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("src-tauri/gateway/src/store");
    let database = Connection::open(&file).unwrap();
    database.pragma_update(None, "journal_mode", "WAL").unwrap();
    for sql in [
        "migrations/0001_initial.sql",
        "migrate/fixtures/from-01.sql",
        "migrate/fixtures/in-01-to-02.sql",
        "migrate/fixtures/in-01-to-05.sql",
    ] {
        database.execute_batch(&fs::read_to_string(store.join(sql)).unwrap()).unwrap();
    }
    database.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
    database.pragma_update(None, "user_version", 1).unwrap();
    program
}

/// A copy of the data directory.
fn copy_of(program: &Program) -> Program {
    let copy = Program::new();
    let status = Command::new("cp").arg("-a").arg(program.data_dir()).arg(copy.data_dir()).status().unwrap();
    assert!(status.success());
    copy
}

fn version(file: &Path) -> i64 {
    let database = Connection::open(file).unwrap();
    let verdict: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok", "{}", file.display());
    database.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

/// The copy made before the first step, which must be unchanged.
fn copy_before_the_first_step(file: &Path) -> PathBuf {
    let copy = PathBuf::from(format!("{}.before-schema-2", file.display()));
    assert_eq!(version(&copy), 1);
    let payments: usize =
        Connection::open(&copy).unwrap().query_row("SELECT count(*) FROM payments", [], |row| row.get(0)).unwrap();
    assert_eq!(payments, PAYMENTS);
    copy
}

fn check_all_there(payments: &Value, wallet: &Value) {
    assert_eq!(payments["items"].as_array().unwrap().len(), PAYMENTS);
    assert_eq!(wallet["balanceBtc"].to_string(), BALANCE);
}

#[test]
fn an_update_ended_at_any_step_goes_on_and_keeps_the_copy() {
    let first = first_program();
    let (payments, wallet) = (["payments", "list", "--json"], ["wallet", "info", "--json"]);
    for point in ["commit.before", "commit.after"] {
        let mut steps = 0;
        for count in 1.. {
            let program = copy_of(&first);
            let mut command = program.command(&payments);
            armed(&mut command, point, count);
            let output = command.output().unwrap();
            if output.status.success() {
                break;
            }
            assert!(ended_itself(output.status), "{}", String::from_utf8_lossy(&output.stderr));
            let done = if point == "commit.before" { count - 1 } else { count };
            assert_eq!(
                version(&program.database()),
                1 + i64::try_from(done).unwrap(),
                "each step is whole or not there"
            );
            copy_before_the_first_step(&program.database());
            check_all_there(&program.json(&payments[..2]), &program.json(&wallet[..2]));
            copy_before_the_first_step(&program.database());
            steps = count;
        }
        assert!(steps >= 13, "{point}: {steps} steps");
    }
}

/// The results of `payments list` on a disk with little room, and again with enough.
struct OnAFullDisk {
    first: Result<(), String>,
    /// Whether the first run left the database byte for byte the same.
    is_untouched: bool,
    /// The schema of the copy that the first run made, if it made one.
    copied: Option<i64>,
    payments: Value,
    wallet: Value,
}

fn on_a_full_disk(first: &Program, room_kib: u64) -> OnAFullDisk {
    let (disk, told) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let script = r#"
        set -e
        mount -t tmpfs -o size="$SIZE" tmpfs "$DISK"
        cp -a "$DATA" "$DISK/data"
        database="$DISK/data/test/tillgate.db"
        before=$(sha256sum < "$database")
        head -c 64m /dev/zero > "$DISK/filler" 2>/dev/null || true
        truncate -s "-${ROOM}K" "$DISK/filler"
        if "$PROGRAM" payments list --json --data-dir "$DISK/data" > "$TOLD/first" 2> "$TOLD/refusal"; then
            touch "$TOLD/done"
        fi
        if [ -e "$database.before-schema-2" ]; then cp "$database.before-schema-2" "$TOLD/copy"; fi
        if [ "$before" = "$(sha256sum < "$database")" ]; then touch "$TOLD/untouched"; fi
        rm "$DISK/filler"
        "$PROGRAM" payments list --json --data-dir "$DISK/data" > "$TOLD/payments"
        "$PROGRAM" wallet info --json --data-dir "$DISK/data" > "$TOLD/wallet"
    "#;
    let mut command = Command::new("unshare");
    command.args(namespace()).args(["sh", "-c", script]);
    first.isolate(&mut command);
    command.env("SIZE", DISK).env("ROOM", room_kib.to_string()).env("DATA", first.data_dir());
    command.env("DISK", disk.path()).env("TOLD", told.path()).env("PROGRAM", env!("CARGO_BIN_EXE_tillgate"));
    let output = command.output().unwrap();
    let refusal = fs::read_to_string(told.path().join("refusal")).unwrap_or_default();
    assert!(output.status.success(), "{room_kib} KiB: {} {refusal}", String::from_utf8_lossy(&output.stderr));
    let read = |name: &str| serde_json::from_slice(&fs::read(told.path().join(name)).unwrap()).unwrap();
    OnAFullDisk {
        first: if told.path().join("done").exists() { Ok(()) } else { Err(refusal) },
        is_untouched: told.path().join("untouched").exists(),
        copied: Some(told.path().join("copy")).filter(|copy| copy.exists()).map(|copy| version(&copy)),
        payments: read("payments"),
        wallet: read("wallet"),
    }
}

#[test]
fn a_full_disk_during_an_update_is_named_and_loses_nothing() {
    if !Command::new("unshare").args(namespace()).arg("true").status().is_ok_and(|status| status.success()) {
        println!("skipped: this machine permits no mount of a small disk");
        return;
    }
    let first = first_program();
    let mut refused = 0;
    for room_kib in ROOMS_KIB {
        let told = on_a_full_disk(&first, *room_kib);
        check_all_there(&told.payments, &told.wallet);
        if let Err(refusal) = told.first {
            refused += 1;
            assert!(refusal.contains("full"), "{room_kib} KiB: {refusal}");
            assert_eq!(refusal.trim().lines().count(), 1, "{refusal}");
            assert!(*room_kib > 0 || told.is_untouched, "nothing was begun");
            assert!(told.copied.is_none_or(|schema| schema == 1), "no half of a copy takes room");
        }
    }
    assert!((1..ROOMS_KIB.len()).contains(&refused), "refused {refused} times: other rooms are to be tried");
}
