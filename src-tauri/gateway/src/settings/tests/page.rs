//! The page of settings in the documentation. Its rows are written here; its headings and the
//! sentences between the tables are written by hand.

use std::collections::BTreeMap;
use std::path::Path;

use tillgate_machine::environment::Environment;

use super::super::setting::Setting;
use super::super::table::SETTINGS;
use super::super::values::Settings;

#[test]
fn the_page_says_what_the_settings_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/settings.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let mut rows: BTreeMap<&str, String> =
        SETTINGS.iter().map(|setting| (setting.name, row(setting))).collect();
    let written: String = page
        .lines()
        .filter_map(|line| match named(line) {
            Some(name) => rows.remove(name),
            None => Some(format!("{line}\n")),
        })
        .collect();
    let missing: Vec<&&str> = rows.keys().collect();
    assert!(
        missing.is_empty(),
        "add a row like | `NAME` | under a heading of {path:?}: {missing:?}"
    );
    if written != page {
        std::fs::write(&path, written).unwrap();
        panic!("the rows of {path:?} are written anew: look at them, and commit them");
    }
}

/// The setting that a row of the page names.
fn named(line: &str) -> Option<&str> {
    line.strip_prefix("| `")?.split('`').next()
}

fn row(setting: &Setting) -> String {
    let [test, production] = [Environment::Test, Environment::Production]
        .map(|environment| (setting.text)(&Settings::defaults(environment)));
    let mut defaults = Vec::new();
    if !test.is_empty() {
        defaults.push(format!("`{test}`"));
    }
    if production != test {
        defaults.push(format!("in production `{production}`"));
    }
    let Setting { name, about, form, .. } = setting;
    format!("| `{name}` | {} | {about} Must be {form}. |\n", defaults.join(", "))
}
