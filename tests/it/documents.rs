//! The pages in `docs/` say what the program does.

use std::fs;
use std::path::Path;

use crate::harness::Program;

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
