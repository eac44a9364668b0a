//! Runs each test in its own desktop session. The test starts itself again inside the session.

use std::process::Command;

/// Set by `scripts/window-session.sh`.
const INSIDE: &str = "TILLGATE_WINDOW_SESSION";

/// Runs `story` inside a session; `name` is the test's full name.
pub fn inside<F: Future<Output = ()>>(name: &str, story: impl FnOnce() -> F) {
    if std::env::var_os(INSIDE).is_some() {
        tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(story());
        return;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/window-session.sh");
    let status = Command::new(script)
        .arg(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--include-ignored"])
        .status()
        .unwrap();
    assert!(status.success(), "{name} failed inside its session; its output is above");
}
