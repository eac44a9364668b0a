//! The pages in `docs/` say what the program does.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::harness::{Program, Tillgate};

#[tokio::test(flavor = "multi_thread")]
async fn the_first_payment_of_the_readme_ends_confirmed() {
    let gateway = Tillgate::start().await;
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let lines = readme.split("```bash\n").nth(1).unwrap().split("```").next().unwrap();
    // The page assumes the usual port and data directory; the test has its own.
    let script = lines.replace("localhost:7421", gateway.client.base().trim_start_matches("http://"));
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", &script]);
    gateway.program().isolate(&mut shell);
    let programs = Path::new(env!("CARGO_BIN_EXE_tillgate")).parent().unwrap().display().to_string();
    shell.env("PATH", format!("{programs}:{}", std::env::var("PATH").unwrap()));
    shell.env("TILLGATE_DATA_DIR", gateway.program().data_dir());
    let output = shell.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(printed.contains("\"status\":\"CONFIRMED\""), "{printed}");
}

#[test]
fn the_page_on_operation_lists_every_setting_with_its_default() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operation.md")).unwrap();
    let listed = Program::new().json(&["settings", "list"]);
    let settings = listed["items"].as_array().unwrap();
    for setting in settings {
        let (name, default) = (setting["name"].as_str().unwrap(), setting["default"].as_str().unwrap());
        let shown = if default.is_empty() { String::new() } else { format!("`{default}` ") };
        let row = format!("| `{name}` | {shown}|");
        assert!(page.contains(&row), "docs/operation.md lacks {row}");
    }
    let section = page.split("## Settings").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, settings.len(), "docs/operation.md lists a setting that does not exist");
}
