//! The shipped program has no fail points.

use std::path::Path;
use std::process::Command;

const NAMES: &[&str] = &[
    "TILLGATE_FAIL_POINT",
    "TILLGATE_INJECTED_FAULTS",
    "TILLGATE_SYNCHRONOUS",
    "TILLGATE_CHECKPOINT_PAGES",
    "TILLGATE_INDEX_AFTER",
    "commit.before",
    "commit-fails",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The packages of a desktop build, each with its features.
fn features(edges: &str) -> String {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--locked",
            "--offline",
            "--package",
            "tillgate-desktop",
            "--features",
            "desktop,custom-protocol",
        ])
        .args(["--edges", edges, "--prefix", "none", "--format", "{p} {f}"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_shipped_program_has_no_fail_points() {
    assert!(!features("normal,build").contains("fail-points"));
    assert!(features("normal,build,dev").contains("fail-points"), "the build for tests has them");
}

#[test]
fn the_shipped_program_has_no_items_for_tests() {
    assert!(
        !features("normal,build").contains("testing"),
        "the feature is for the tests of other crates"
    );
}

/// Compiles the module `fail_points` alone with these features; returns the bytes of the library.
fn compiled(features: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("fail_points.rlib");
    let mut command = Command::new("rustc");
    command
        .args(["--edition", "2024", "--crate-type", "rlib", "--crate-name", "fail_points", "-o"])
        .arg(&library);
    for feature in features {
        command.args(["--cfg", &format!("feature=\"{feature}\"")]);
    }
    let status = command.arg(root().join("src-tauri/machine/src/fail_points.rs")).status().unwrap();
    assert!(status.success());
    std::fs::read(library).unwrap()
}

fn holds(program: &[u8], name: &str) -> bool {
    program.windows(name.len()).any(|window| window == name.as_bytes())
}

#[test]
fn without_the_feature_no_fail_point_is_compiled() {
    let (without, with) = (compiled(&[]), compiled(&["fail-points"]));
    for name in NAMES {
        assert!(!holds(&without, name), "{name} is compiled without the feature");
        assert!(
            holds(&with, name),
            "{name} is not found with the feature, so the search proves nothing"
        );
    }
}

#[test]
fn the_program_under_test_has_fail_points() {
    let program = std::fs::read(env!("CARGO_BIN_EXE_tillgate")).unwrap();
    assert!(holds(&program, "TILLGATE_FAIL_POINT"));
}
