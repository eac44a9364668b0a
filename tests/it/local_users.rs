//! Another user of the same machine made a folder, a socket or a link in place of this user's data.
//! Only root can make another user's files; other users skip the tests that need them.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, getuid, kill_process};

use crate::harness::{Program, wait_for};

const NOBODY: u32 = 65_534;

/// The secret in a forged response.
const FORGED: &str = "SECRET-OF-THE-ATTACKER";

fn is_root() -> bool {
    let is_root = getuid().is_root();
    if !is_root {
        eprintln!("skipped: only root can make another user's files");
    }
    is_root
}

/// Listens in the gateway's place, and answers every command with the attacker's secret.
fn forge(socket: &Path) {
    let listener = UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while let Some(Ok(_)) = lines.next() {
                let answer = format!(
                    "{{\"ok\":{{\"name\":\"shop\",\"secret\":\"{FORGED}\",\"permissions\":[]}}}}\n"
                );
                if (&stream).write_all(answer.as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
}

fn expect_forgery_refused(program: &Program) {
    let output = program.output(&["keys", "create", "shop"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        !String::from_utf8_lossy(&output.stdout).contains(FORGED),
        "the attacker's secret is shown"
    );
    assert!(said.contains("--data-dir"), "the remedy is named: {said}");
}

#[test]
fn a_forged_control_socket_is_refused() {
    if !is_root() {
        return;
    }
    let program = Program::new();
    program.create_data_dir();
    let socket = program.env_dir().join("control.sock");
    forge(&socket);
    // First only the socket belongs to another user, as it may in a folder that others can write
    // to.
    chown(&socket, Some(NOBODY), None).unwrap();
    expect_forgery_refused(&program);
    // Then the whole folder belongs to the other user.
    chown(program.env_dir(), Some(NOBODY), None).unwrap();
    expect_forgery_refused(&program);
    let line = program.refusal(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(line.contains("another user (uid 65534)"), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_of_another_user_is_refused() {
    if !is_root() {
        return;
    }
    let program = Program::new();
    for path in [program.data_dir().parent().unwrap(), program.data_dir()] {
        fs::create_dir_all(path).unwrap();
        chown(path, Some(NOBODY), None).unwrap();
    }
    // The user `nobody` may lack access to the build folder, and needs a copy of the program.
    let own = tempfile::TempDir::new().unwrap();
    fs::set_permissions(own.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = own.path().join("tillgate");
    // A copy by this process could still be open for writing in a child of another test, and would
    // not start.
    let copied =
        Command::new("cp").arg(env!("CARGO_BIN_EXE_tillgate")).arg(&copy).status().unwrap();
    assert!(copied.success());
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
    wait_for("the end of the gateway", async || child.try_wait().unwrap()).await;
}

#[test]
fn symbolic_links_in_the_data_directory_are_not_followed() {
    let program = Program::new();
    let target = program.data_dir().with_file_name("target");
    for name in ["tillgate.db", "sandbox.db", "lock", "control.sock"] {
        fs::create_dir_all(program.env_dir()).unwrap();
        symlink(&target, program.env_dir().join(name)).unwrap();
        let line = program.refusal(&["serve", "--listen", "127.0.0.1:0"]);
        assert!(line.contains(name) && line.contains("symbolic link"), "{line}");
        assert!(!target.exists(), "the link {name} was followed");
        fs::remove_dir_all(program.env_dir()).unwrap();
    }
    fs::create_dir_all(&target).unwrap();
    symlink(&target, program.env_dir()).unwrap();
    let line = program.refusal(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(line.contains("symbolic link"), "{line}");
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0, "the link of the folder was followed");
}

#[test]
fn a_world_writable_data_directory_is_refused() {
    let program = Program::new();
    fs::create_dir_all(program.data_dir()).unwrap();
    fs::set_permissions(program.data_dir(), fs::Permissions::from_mode(0o777)).unwrap();
    let line = program.refusal(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(line.contains("chmod o-w"), "{line}");
    assert_eq!(fs::read_dir(program.data_dir()).unwrap().count(), 0);
}
