//! Writes `ui/src/lib/bindings.ts`: the types of all commands and answers, and the sentences of the
//! gateway, for the panel. A check fails where the committed file differs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ts_rs::{Config, TS};

use super::command::{Answers, Command};
use super::error::CommandError;
use super::payments::PaymentsNarrowing;
use super::sentences;

const HEAD: &str = "// Made from the Rust types by a test of the crate `tillgate-console`.\n";

#[test]
fn the_panels_types_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config::new().with_out_dir(folder.path());
    Command::export_all(&config).unwrap();
    Answers::export_all(&config).unwrap();
    CommandError::export_all(&config).unwrap();
    PaymentsNarrowing::export_all(&config).unwrap();
    // `export_all` writes a file for each type. The map orders them by name.
    let files = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let types: BTreeMap<_, _> =
        files.map(|file| (file.clone(), fs::read_to_string(file).unwrap())).collect();
    let mut written = String::from(HEAD);
    for text in types.values() {
        written.push('\n');
        written.push_str(without_imports(text));
    }
    written.push('\n');
    written.push_str(&sentences::in_typescript());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui/src/lib/bindings.ts");
    if fs::read_to_string(&file).ok().as_ref() != Some(&written) {
        fs::write(file, written).unwrap();
    }
}

/// The text from the documentation of the type on.
fn without_imports(text: &str) -> &str {
    let begin = text.find("\n/**").into_iter().chain(text.find("\nexport ")).min();
    begin.map_or(text, |begin| &text[begin + 1..])
}
