//! The program at a real terminal, with a person who types.

use std::io::{Read, Write as _};
use std::process::{Command, Stdio};

use crate::harness::Program;

const ZOO: &str = "zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo wrong";

/// Runs a command at a terminal of its own, types each text once the one before it shows up, and gives all that the terminal
/// showed, the exit status and how the terminal is left included.
fn shown(program: &Program, args: &[&str], typed: &[(&str, &str)]) -> String {
    let asked = program.command(args);
    let words = asked.get_args().map(|arg| format!("'{}'", arg.to_str().unwrap())).collect::<Vec<_>>().join(" ");
    let line = format!("'{}' {words}; echo status $?; stty -a; echo end", asked.get_program().to_str().unwrap());
    let mut script = Command::new("script");
    script.args(["-qefc", &line, "/dev/null"]);
    program.isolate(&mut script);
    let mut script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut keys, mut terminal) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
    let mut all = String::new();
    for (awaited, text) in typed.iter().chain(&[("end\r\n", "")]) {
        let from = all.len();
        let mut some = [0; 4_096];
        while !all[from..].contains(awaited) {
            let count = terminal.read(&mut some).unwrap();
            assert_ne!(count, 0, "it ended before {awaited:?}: {all}");
            all.push_str(std::str::from_utf8(&some[..count]).unwrap());
        }
        keys.write_all(text.as_bytes()).unwrap();
    }
    drop(keys);
    script.wait().unwrap();
    all
}

/// Whether the terminal shows what is typed, as `stty -a` tells it.
fn shows_what_is_typed(terminal: &str) -> bool {
    let tokens: Vec<&str> = terminal.split_whitespace().collect();
    tokens.contains(&"echo") && tokens.contains(&"isig")
}

#[test]
fn words_that_are_typed_are_not_shown_and_what_follows_is() {
    let program = Program::new();
    let halves = ZOO.split_at(20);
    let (first, second) = (format!("{}\n", halves.0), format!("{}\n", halves.1));
    let typed = [("in their order", first.as_str()), ("5 words so far", &second), ("12 words so far", "\n")];
    let all = shown(&program, &["wallet", "restore"], &typed);
    assert!(!all.contains("zoo") && !all.contains("wrong"), "{all}");
    assert!(all.contains("The wallet is there.") && all.contains("status 0"), "{all}");
    assert!(shows_what_is_typed(&all), "{all}");
}

#[test]
fn words_that_are_pasted_in_several_lines_are_all_read() {
    let program = Program::new();
    let halves = ZOO.split_at(20);
    let pasted = format!("{}\n{}\n\n", halves.0, halves.1);
    let all = shown(&program, &["wallet", "restore"], &[("in their order", pasted.as_str())]);
    assert!(!all.contains("zoo") && !all.contains("wrong"), "{all}");
    assert!(all.contains("The wallet is there.") && all.contains("status 0"), "{all}");
}

#[test]
fn a_password_of_the_backend_is_asked_for_and_not_shown() {
    let program = Program::new();
    program.make();
    let typed = [("Password of the Bitcoin backend", "correct horse\n")];
    let all = shown(&program, &["settings", "set", "backendPassword", "-"], &typed);
    assert!(!all.contains("correct") && all.contains("status 0"), "{all}");
    assert!(std::fs::read_to_string(program.env_dir().join("secrets.json")).unwrap().contains("correct horse"));
}

#[test]
fn the_words_that_are_told_back_are_not_shown() {
    let program = Program::new();
    let typed = [("(it is not shown): ", "abracadabra\n"), ("(it is not shown): ", "abracadabra\u{3}")];
    let all = shown(&program, &["wallet", "create"], &typed);
    assert!(!all.contains("abracadabra") && all.contains("status 130"), "{all}");
    assert!(shows_what_is_typed(&all), "{all}");
    assert!(!program.data_dir().exists(), "a making that was broken off is in the way of a restore");
}

#[test]
fn a_terminal_shows_again_what_is_typed_after_a_question_was_broken_off() {
    let program = Program::new();
    let words = shown(&program, &["wallet", "restore"], &[("in their order", "zoo zoo\u{3}")]);
    let passphrase = shown(&program, &["backup", "--set-passphrase"], &[("New passphrase", "correct\u{3}")]);
    for all in [words, passphrase] {
        assert!(!all.contains("zoo") && !all.contains("correct"), "{all}");
        assert!(all.contains("status 130"), "it is no end by Ctrl-C: {all}");
        assert!(shows_what_is_typed(&all), "{all}");
    }
    assert!(!program.data_dir().exists(), "something was made");
}
