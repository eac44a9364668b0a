//! A real GNOME Keyring on its own D-Bus session, for tests. An outer test starts the keyring, and
//! then the inner test in another process, so that no user's keyring is touched.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "only tests call this")]

use std::process::{Command, Output, Stdio};

/// Set on machines without GNOME Keyring.
const NO_DAEMON: &str = "TILLGATE_TEST_NO_KEYRING";

/// Password of the keyring. The daemon takes the end of the line as a part of it.
pub const PASSWORD: &str = "test\n";

/// Starts an unlocked keyring. Its password is not empty, because an empty password would make no
/// keyring.
pub const WITH_KEYRING: &str = r#"
    printf "test\n" | gnome-keyring-daemon --unlock --components=secrets >/dev/null || exit 97
    exec "$0" --exact --ignored --nocapture "$1""#;

/// Starts a daemon that has no collection to store in, and no person to ask.
pub const WITH_LOCKED_KEYRING: &str = r#"
    gnome-keyring-daemon --start --components=secrets >/dev/null || exit 97
    exec "$0" --exact --ignored --nocapture "$1""#;

fn run_on_a_bus(script: &str, test: &str) -> Option<Output> {
    if std::env::var_os(NO_DAEMON).is_some() {
        println!("skipped: {NO_DAEMON} says that there is no GNOME Keyring to test with");
        return None;
    }
    let home = tempfile::tempdir().unwrap();
    let output = Command::new("dbus-run-session")
        .args(["--", "bash", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .arg(test)
        .env_remove("DBUS_SESSION_BUS_ADDRESS")
        .env_remove("DISPLAY")
        .env("HOME", home.path())
        .env("XDG_RUNTIME_DIR", home.path())
        .env("XDG_DATA_HOME", home.path().join("data"))
        .stdin(Stdio::null())
        .output()
        .expect("dbus-run-session and gnome-keyring-daemon are needed; TILLGATE_TEST_NO_KEYRING=1 skips the test");
    Some(output)
}

/// Runs the ignored test of this path within a session that the script starts. It must pass.
///
/// # Panics
/// The test failed.
pub fn passes(script: &str, test: &str) {
    let Some(output) = run_on_a_bus(script, test) else { return };
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}\n{errors}");
}

/// Calls the keyring's daemon over D-Bus, as any program of the session can.
pub fn dbus(method: &str, argument: &str) {
    let sent = Command::new("dbus-send")
        .args([
            "--session",
            "--print-reply",
            "--dest=org.freedesktop.secrets",
            "/org/freedesktop/secrets",
        ])
        .args([format!("org.freedesktop.Secret.Service.{method}"), argument.to_owned()])
        .output()
        .unwrap();
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
}

/// Unlocks the login keyring through the daemon's control socket, as a sign-in does. A prompt would
/// need a screen.
pub fn unlock(password: &str) {
    use std::io::{Read as _, Write as _};

    let folder = std::env::var_os("XDG_RUNTIME_DIR").unwrap();
    let socket = std::path::Path::new(&folder).join("keyring/control");
    let mut control = std::os::unix::net::UnixStream::connect(socket).unwrap();
    let text = |text: &str| {
        [&u32::try_from(text.len()).unwrap().to_be_bytes()[..], text.as_bytes()].concat()
    };
    // The socket passes the caller's credentials with this byte.
    control.write_all(&[0]).unwrap();
    let (unlock, argument) = (1u32, text(password));
    let length = u32::try_from(8 + argument.len()).unwrap();
    control
        .write_all(&[&length.to_be_bytes(), &unlock.to_be_bytes(), argument.as_slice()].concat())
        .unwrap();
    let mut answer = [0; 8];
    control.read_exact(&mut answer).unwrap();
    assert_eq!(answer, [0, 0, 0, 8, 0, 0, 0, 0], "the daemon must report success");
}
