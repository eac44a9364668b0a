//! schemathesis, a stranger's program, compares the API with its description.

use std::path::Path;
use std::process::Command;

use crate::harness::{Program, Tillgate};

/// Requests for each call, besides those for each of its fields. The whole test takes seconds.
const REQUESTS: &str = "10";

#[tokio::test(flavor = "multi_thread")]
async fn the_description_is_as_strict_as_the_server() {
    let program = Program::new();
    program.set("currencies", "USD,EUR,JPY");
    let key = program.create_key("shop", &["--permissions", "full", "--notification-url-optional"]);
    let gateway = Tillgate::start_with_key(program, key);

    let folder = tempfile::tempdir().unwrap();
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/openapi");
    let mut schemathesis = Command::new("schemathesis");
    schemathesis.arg("--config-file").arg(config.join("schemathesis.toml"));
    schemathesis.args([
        "run",
        &format!("{}/v2/openapi.json", gateway.client.base()),
        "--checks",
        "all",
    ]);
    schemathesis.args(["--seed", "1", "--max-examples", REQUESTS, "--warnings", "off"]);
    let key = gateway.client.key();
    schemathesis.args(["--auth", &format!("{}:{}", key.name, key.secret)]);
    schemathesis.env("PYTHONPATH", config).env("PYTHONDONTWRITEBYTECODE", "1").current_dir(&folder);
    let output =
        schemathesis.output().expect("schemathesis is missing: run scripts/install-tools.sh");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
