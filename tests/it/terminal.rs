//! The program at a real terminal, with a person who types.

use std::io::{Read, Write as _};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::Program;

const ZOO: &str = "zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo wrong";

/// A shell's line at a terminal of its own. It is ended after two minutes, so that a question that never appears fails
/// the test.
fn at_a_terminal(program: &Program, line: &str) -> Command {
    let mut script = Command::new("timeout");
    script.args(["120", "script", "-qefc", line, "/dev/null"]);
    program.isolate(&mut script);
    script.stdin(Stdio::piped()).stdout(Stdio::piped());
    script
}

/// Runs a command at a terminal of its own, and types each text once the text before it appears. Returns all that the
/// terminal showed, with the exit status and the final state of the terminal.
fn shown(program: &Program, args: &[&str], typed: &[(&str, &str)]) -> String {
    shown_with(program, &[], args, typed)
}

/// The same with these environment variables.
fn shown_with(program: &Program, variables: &[(&str, &str)], args: &[&str], typed: &[(&str, &str)]) -> String {
    let asked = program.command(args);
    let words = asked.get_args().map(|arg| format!("'{}'", arg.to_str().unwrap())).collect::<Vec<_>>().join(" ");
    let line = format!("'{}' {words}; echo status $?; stty -a; echo end", asked.get_program().to_str().unwrap());
    let mut script = at_a_terminal(program, &line);
    script.envs(variables.iter().copied());
    let mut script = script.spawn().unwrap();
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

/// Whether the terminal echoes typed text, by the output of `stty -a`.
fn shows_what_is_typed(terminal: &str) -> bool {
    let tokens: Vec<&str> = terminal.split_whitespace().collect();
    tokens.contains(&"echo") && tokens.contains(&"isig")
}

/// The same, but a signal ends the command as soon as its question appears.
fn shown_when_ended_by(program: &Program, args: &[&str], question: &str, signal: Signal) -> String {
    let asked = program.command(args);
    let words = asked.get_args().map(|arg| format!("'{}'", arg.to_str().unwrap())).collect::<Vec<_>>().join(" ");
    let program_file = asked.get_program().to_str().unwrap();
    let line =
        format!(r#"sh -c 'echo pid $$; exec "$@"' sh '{program_file}' {words}; echo status $?; stty -a; echo end"#);
    let mut script = at_a_terminal(program, &line).spawn().unwrap();
    let (keys, mut terminal) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
    let (mut all, mut some) = (String::new(), [0; 4_096]);
    for awaited in [question, "end\r\n"] {
        while !all.contains(awaited) {
            let count = terminal.read(&mut some).unwrap();
            assert_ne!(count, 0, "it ended before {awaited:?}: {all}");
            all.push_str(std::str::from_utf8(&some[..count]).unwrap());
        }
        if awaited == question {
            let pid = all.split("pid ").nth(1).unwrap().split_whitespace().next().unwrap();
            kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), signal).unwrap();
        }
    }
    drop(keys);
    script.wait().unwrap();
    all
}

/// Whether the parent of the tests made them ignore a signal, as `nohup` does; the program then ignores it too.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal.as_raw() - 1) & 1 == 1
}

#[test]
fn a_terminal_echoes_again_after_a_signal_ended_the_question() {
    let program = Program::new();
    for (signal, status) in [(Signal::TERM, "status 143"), (Signal::HUP, "status 129"), (Signal::QUIT, "status 131")] {
        if is_ignored(signal) {
            continue;
        }
        let restoring = shown_when_ended_by(&program, &["wallet", "restore"], "in their order", signal);
        let sealing = shown_when_ended_by(&program, &["backup", "--set-passphrase"], "New passphrase", signal);
        for all in [restoring, sealing] {
            assert!(all.contains(status) && shows_what_is_typed(&all), "{all}");
        }
    }
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
fn twenty_four_words_pasted_in_two_lines_are_all_read() {
    let program = Program::new();
    // The second line is not complete when the first is read.
    let pasted = format!("{ZOO}\nabandon abandon abandon abandon abandon abandon ");
    let typed =
        [("in their order", pasted.as_str()), ("12 words so far", "abandon abandon abandon abandon abandon about\n")];
    let all = shown(&program, &["wallet", "restore"], &typed);
    assert!(!all.contains("zoo") && !all.contains("abandon"), "{all}");
    // These 24 words fail the checksum, so the first 12 were not taken for a wallet's words.
    assert!(all.contains("checksum") && all.contains("status 1"), "{all}");
    assert!(!program.data_dir().exists(), "something was made");
}

#[test]
fn twelve_words_in_one_line_are_all_once_a_person_says_so() {
    let program = Program::new();
    let line = format!("{ZOO}\n");
    let all = shown(&program, &["wallet", "restore"], &[("in their order", line.as_str()), ("12 words so far", "\n")]);
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
fn a_terminal_asks_for_the_backup_passphrase_despite_an_export() {
    let program = Program::new();
    program.make();
    let typed = [("New passphrase", "correct horse\n"), ("The same passphrase again", "correct horse\n")];
    let exported = [("TILLGATE_PASSPHRASE", "of the secrets file")];
    let all = shown_with(&program, &exported, &["backup", "--set-passphrase"], &typed);
    assert!(all.contains("status 0") && !all.contains("TILLGATE_PASSPHRASE"), "{all}");
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
fn a_terminal_echoes_again_after_an_interrupted_question() {
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
