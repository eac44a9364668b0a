//! The invariants of `docs/architecture.md`, checked on the sources and the dependency tree.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Limit for the lines of a source file.
const MAX_LINES: usize = 500;

/// Crates that `domain` may use: values, numbers, times as numbers, errors. Crates with IO or a
/// clock are excluded.
const DOMAIN_MAY_USE: &[&str] = &[
    "bitcoin",
    "rust_decimal",
    "chrono",
    "serde",
    "serde_json",
    "thiserror",
    "percent-encoding",
    "ts-rs",
    "tillgate-told",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources_below(folder: &str, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !["node_modules", "dist", "gen", "icons"].contains(&name.as_str()) {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|ending| extensions.iter().any(|one| ending == *one))
            {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty(), "{folder} holds no sources");
    found
}

/// The code of a source file without comments.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Whether `code` names the crate: as a path (`axum::`) or in a `use`.
fn names_crate(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = &code[at + name.len()..];
        before.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':')
            && (after.starts_with("::") || after.starts_with(';') || after.starts_with(" as "))
    })
}

#[test]
fn the_domain_crate_uses_no_io_and_no_clock() {
    for line in dependencies("domain").lines().filter(|line| !line.trim().is_empty()) {
        let name = line.split(['.', '=', ' ']).next().unwrap();
        assert!(DOMAIN_MAY_USE.contains(&name), "domain depends on {name}");
    }
    for path in sources_below("src-tauri/domain/src", &["rs"]) {
        let code = code(&path);
        let io = [
            "std::fs",
            "std::net",
            "std::io",
            "std::env",
            "std::process",
            "std::thread",
            "SystemTime",
            "Instant",
            "Utc::now",
        ];
        for forbidden in io {
            assert!(!code.contains(forbidden), "{} names {forbidden}", path.display());
        }
    }
}

/// The section `[dependencies]` of a crate's manifest.
fn dependencies(krate: &str) -> String {
    let manifest = root().join("src-tauri").join(krate).join("Cargo.toml");
    let manifest = fs::read_to_string(manifest).unwrap();
    manifest.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap().to_owned()
}

#[test]
fn only_http_depends_on_axum_and_only_the_store_on_a_database() {
    for krate in ["machine", "store", "chain", "gateway", "http", "console", "cli"] {
        let dependencies = dependencies(krate);
        assert_eq!(dependencies.contains("axum"), krate == "http", "{krate}");
        assert_eq!(dependencies.contains("rusqlite"), krate == "store", "{krate}");
    }
}

#[test]
fn only_the_shell_uses_tauri() {
    for krate in [
        "domain", "machine", "store", "chain", "sandbox", "gateway", "http", "console", "cli",
        "nodes",
    ] {
        for path in sources_below(&format!("src-tauri/{krate}"), &["rs"]) {
            assert!(!names_crate(&code(&path), "tauri"), "{} names tauri", path.display());
        }
    }
}

#[test]
fn http_console_and_cli_contain_no_sql() {
    let verbs = ["SELECT ", "INSERT ", "UPDATE ", "DELETE FROM", "PRAGMA "];
    for shell in ["http", "console", "cli"] {
        for path in sources_below(&format!("src-tauri/{shell}/src"), &["rs"]) {
            let code = code(&path);
            for verb in verbs {
                assert!(!code.contains(verb), "{} holds SQL: {verb}", path.display());
            }
        }
    }
}

#[test]
fn source_files_have_at_most_500_lines() {
    let rust =
        ["src-tauri", "tests"].into_iter().flat_map(|folder| sources_below(folder, &["rs", "sql"]));
    for path in rust.chain(sources_below("ui/src", &["svelte", "ts", "css"])) {
        // Migrations are exempt, because a schema is read table by table. So are generated files.
        let exempt = ["generated", "bindings.ts", "migrations"];
        let is_exempt =
            path.components().any(|part| exempt.iter().any(|name| part.as_os_str() == *name));
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(is_exempt || lines <= MAX_LINES, "{} has {lines} lines", path.display());
    }
}

#[test]
fn the_headless_program_links_no_window_library() {
    let tree = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--locked",
            "--offline",
            "--package",
            "tillgate-desktop",
            "--edges",
            "normal,build",
        ])
        .args(["--prefix", "none", "--format", "{p}"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    for name in tree.lines().filter_map(|line| line.split(' ').next()) {
        let window = ["tauri", "wry", "tao", "gtk", "webkit2gtk"]
            .iter()
            .any(|krate| name.starts_with(krate));
        assert!(!window, "the program without a window links {name}");
    }
}
