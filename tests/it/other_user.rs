//! Another user of the same machine prepared a folder, a socket or a link in the place of this user's data. Only root
//! can make another user's files; without root the tests that need them say so and prove nothing.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, getuid, kill_process};

use crate::harness::{Program, wait_for};

const NOBODY: u32 = 65_534;

/// The content of a forged answer.
const FORGED: &str = "SECRET-OF-THE-ATTACKER";

fn is_root() -> bool {
    let is_root = getuid().is_root();
    if !is_root {
        eprintln!("skipped: only root can make another user's files");
    }
    is_root
}

/// Listens in the gateway's place, and answers every command with a key of the attacker.
fn forge(socket: &Path) {
    let listener = UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while let Some(Ok(_)) = lines.next() {
                let answer = format!("{{\"ok\":{{\"name\":\"shop\",\"secret\":\"{FORGED}\",\"permissions\":[]}}}}\n");
                if (&stream).write_all(answer.as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
}

fn refuses_what_is_forged(program: &Program) {
    let output = program.output(&["keys", "create", "shop"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(!String::from_utf8_lossy(&output.stdout).contains(FORGED), "the attacker's secret is shown");
    assert!(said.contains("--data-dir"), "it says what to do: {said}");
}

#[test]
fn a_prepared_socket_shows_no_forged_secret() {
    if !is_root() {
        return;
    }
    let program = Program::new();
    program.make();
    let socket = program.env_dir().join("control.sock");
    forge(&socket);
    // In a folder that others can write to, the socket alone may be another user's.
    chown(&socket, Some(NOBODY), None).unwrap();
    refuses_what_is_forged(&program);
    // If they made the whole folder, all files are theirs.
    chown(program.env_dir(), Some(NOBODY), None).unwrap();
    refuses_what_is_forged(&program);
    let line = program.refusal(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(line.contains("another user (uid 65534)"), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_of_another_user_is_never_believed() {
    if !is_root() {
        return;
    }
    let program = Program::new();
    for path in [program.data_dir().parent().unwrap(), program.data_dir()] {
        fs::create_dir_all(path).unwrap();
        chown(path, Some(NOBODY), None).unwrap();
    }
    // A copy of the program that the user `nobody` can run, wherever it was built.
    let own = tempfile::TempDir::new().unwrap();
    fs::set_permissions(own.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = own.path().join("tillgate");
    fs::copy(env!("CARGO_BIN_EXE_tillgate"), &copy).unwrap();
    let mut serve = Command::new("setpriv");
    serve.args(["--reuid", "65534", "--clear-groups"]).arg(&copy);
    serve.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(program.data_dir());
    program.isolate(&mut serve);
    let mut child = serve.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    assert!(ready.contains("ready"), "{ready}");

    for path in [program.data_dir().to_owned(), program.env_dir()] {
        chown(&path, Some(0), None).unwrap();
    }
    for entry in fs::read_dir(program.env_dir()).unwrap() {
        chown(entry.unwrap().path(), Some(0), None).unwrap();
    }
    let line = program.refusal(&["status"]);
    assert!(line.contains("user 65534") && line.contains("not one of yours"), "{line}");
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    wait_for("its end", async || child.try_wait().unwrap()).await;
}

#[test]
fn a_prepared_link_fills_no_file_elsewhere() {
    let program = Program::new();
    let target = program.data_dir().with_file_name("target");
    for name in ["tillgate.db", "sandbox.db", "lock", "control.sock"] {
        fs::create_dir_all(program.env_dir()).unwrap();
        symlink(&target, program.env_dir().join(name)).unwrap();
        let line = program.refusal(&["serve", "--listen", "127.0.0.1:0"]);
        assert!(line.contains(name) && line.contains("symbolic link"), "{line}");
        assert!(!target.exists(), "{name} led elsewhere");
        fs::remove_dir_all(program.env_dir()).unwrap();
    }
    fs::create_dir_all(&target).unwrap();
    symlink(&target, program.env_dir()).unwrap();
    let line = program.refusal(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(line.contains("symbolic link"), "{line}");
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0, "the folder led elsewhere");
}

#[test]
fn a_folder_in_which_everybody_may_write_holds_no_data() {
    let program = Program::new();
    fs::create_dir_all(program.data_dir()).unwrap();
    fs::set_permissions(program.data_dir(), fs::Permissions::from_mode(0o777)).unwrap();
    let line = program.refusal(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(line.contains("chmod o-w"), "{line}");
    assert_eq!(fs::read_dir(program.data_dir()).unwrap().count(), 0);
}
