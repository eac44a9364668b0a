//! The program at a real terminal, with a person who types.

use std::io::{Read, Write as _};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::Program;

const ZOO: &str = "zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo wrong";

/// Runs a shell's line at a terminal of its own. It is killed after two minutes, so that a test
/// fails if a prompt never appears.
fn at_a_terminal(program: &Program, line: &str) -> Command {
    let mut script = Command::new("timeout");
    script.args(["120", "script", "-qefc", line, "/dev/null"]);
    program.isolate(&mut script);
    script.stdin(Stdio::piped()).stdout(Stdio::piped());
    script
}

/// Runs a command at a terminal of its own. `typed` holds pairs: a text to wait for, and the text
/// to type then. Returns the terminal's whole output, the exit status and the output of `stty -a`.
fn run_at_terminal(program: &Program, args: &[&str], typed: &[(&str, &str)]) -> String {
    run_at_terminal_with(program, &[], args, typed)
}

/// `run_at_terminal` with environment variables.
fn run_at_terminal_with(
    program: &Program,
    variables: &[(&str, &str)],
    args: &[&str],
    typed: &[(&str, &str)],
) -> String {
    let asked = program.command(args);
    let words = asked
        .get_args()
        .map(|arg| format!("'{}'", arg.to_str().unwrap()))
        .collect::<Vec<_>>()
        .join(" ");
    let line = format!(
        "'{}' {words}; echo status $?; stty -a; echo end",
        asked.get_program().to_str().unwrap()
    );
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
            assert_ne!(count, 0, "the command ended before {awaited:?}: {all}");
            all.push_str(std::str::from_utf8(&some[..count]).unwrap());
        }
        keys.write_all(text.as_bytes()).unwrap();
    }
    drop(keys);
    script.wait().unwrap();
    all
}

/// Whether the terminal echoes typed text, by the output of `stty -a`.
fn echoes_input(terminal: &str) -> bool {
    let tokens: Vec<&str> = terminal.split_whitespace().collect();
    tokens.contains(&"echo") && tokens.contains(&"isig")
}

/// Runs a command at a terminal of its own, and sends it a signal as soon as its prompt appears.
fn run_until_signal(program: &Program, args: &[&str], question: &str, signal: Signal) -> String {
    let asked = program.command(args);
    let words = asked
        .get_args()
        .map(|arg| format!("'{}'", arg.to_str().unwrap()))
        .collect::<Vec<_>>()
        .join(" ");
    let program_file = asked.get_program().to_str().unwrap();
    let line = format!(
        r#"sh -c 'echo pid $$; exec "$@"' sh '{program_file}' {words}; echo status $?; stty -a; echo end"#
    );
    let mut script = at_a_terminal(program, &line).spawn().unwrap();
    let (keys, mut terminal) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
    let (mut all, mut some) = (String::new(), [0; 4_096]);
    for awaited in [question, "end\r\n"] {
        while !all.contains(awaited) {
            let count = terminal.read(&mut some).unwrap();
            assert_ne!(count, 0, "the command ended before {awaited:?}: {all}");
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

/// Whether the tests ignore a signal, for example under `nohup`; the program then inherits that.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal.as_raw() - 1) & 1 == 1
}

#[test]
fn a_terminal_echoes_again_after_a_signal_at_a_prompt() {
    let program = Program::new();
    for (signal, status) in
        [(Signal::TERM, "status 143"), (Signal::HUP, "status 129"), (Signal::QUIT, "status 131")]
    {
        if is_ignored(signal) {
            continue;
        }
        let restoring =
            run_until_signal(&program, &["wallet", "restore"], "in their order", signal);
        let sealing =
            run_until_signal(&program, &["backup", "--set-passphrase"], "New passphrase", signal);
        for all in [restoring, sealing] {
            assert!(all.contains(status) && echoes_input(&all), "{all}");
        }
    }
}

#[test]
fn typed_words_are_hidden_and_echo_returns_afterwards() {
    let program = Program::new();
    let halves = ZOO.split_at(20);
    let (first, second) = (format!("{}\n", halves.0), format!("{}\n", halves.1));
    let typed = [
        ("in their order", first.as_str()),
        ("5 words so far", &second),
        ("12 words so far", "\n"),
    ];
    let all = run_at_terminal(&program, &["wallet", "restore"], &typed);
    assert!(!all.contains("zoo") && !all.contains("wrong"), "{all}");
    assert!(all.contains("The wallet is there.") && all.contains("status 0"), "{all}");
    assert!(echoes_input(&all), "{all}");
}

#[test]
fn words_pasted_in_several_lines_are_all_read() {
    let program = Program::new();
    let halves = ZOO.split_at(20);
    let pasted = format!("{}\n{}\n\n", halves.0, halves.1);
    let all =
        run_at_terminal(&program, &["wallet", "restore"], &[("in their order", pasted.as_str())]);
    assert!(!all.contains("zoo") && !all.contains("wrong"), "{all}");
    assert!(all.contains("The wallet is there.") && all.contains("status 0"), "{all}");
}

#[test]
fn twenty_four_words_pasted_in_two_lines_are_all_read() {
    let program = Program::new();
    // The second line is incomplete when the program reads the first.
    let pasted = format!("{ZOO}\nabandon abandon abandon abandon abandon abandon ");
    let typed = [
        ("in their order", pasted.as_str()),
        ("12 words so far", "abandon abandon abandon abandon abandon about\n"),
    ];
    let all = run_at_terminal(&program, &["wallet", "restore"], &typed);
    assert!(!all.contains("zoo") && !all.contains("abandon"), "{all}");
    // The error proves that all 24 words were read, because the first 12 alone have a valid
    // checksum.
    assert!(all.contains("checksum") && all.contains("status 1"), "{all}");
    assert!(!program.data_dir().exists(), "a data directory was created");
}

#[test]
fn an_empty_line_ends_the_input_after_twelve_words() {
    let program = Program::new();
    let line = format!("{ZOO}\n");
    let all = run_at_terminal(
        &program,
        &["wallet", "restore"],
        &[("in their order", line.as_str()), ("12 words so far", "\n")],
    );
    assert!(all.contains("The wallet is there.") && all.contains("status 0"), "{all}");
}

#[test]
fn the_backend_password_is_prompted_for_and_not_echoed() {
    let program = Program::new();
    program.create_data_dir();
    let typed = [("Password of the Bitcoin backend", "correct horse\n")];
    let all = run_at_terminal(&program, &["settings", "set", "backendPassword", "-"], &typed);
    assert!(!all.contains("correct") && all.contains("status 0"), "{all}");
    assert!(
        std::fs::read_to_string(program.env_dir().join("secrets.json"))
            .unwrap()
            .contains("correct horse")
    );
}

#[test]
fn an_exported_passphrase_does_not_replace_the_backup_prompt() {
    let program = Program::new();
    program.create_data_dir();
    let typed =
        [("New passphrase", "correct horse\n"), ("The same passphrase again", "correct horse\n")];
    let exported = [("TILLGATE_PASSPHRASE", "of the secrets file")];
    let all = run_at_terminal_with(&program, &exported, &["backup", "--set-passphrase"], &typed);
    assert!(all.contains("status 0") && !all.contains("TILLGATE_PASSPHRASE"), "{all}");
}

#[test]
fn words_typed_for_confirmation_are_not_echoed() {
    let program = Program::new();
    let typed =
        [("(it is not shown): ", "abracadabra\n"), ("(it is not shown): ", "abracadabra\u{3}")];
    let all = run_at_terminal(&program, &["wallet", "create"], &typed);
    assert!(!all.contains("abracadabra") && all.contains("status 130"), "{all}");
    assert!(echoes_input(&all), "{all}");
    assert!(!program.data_dir().exists(), "a data directory would block a restore");
}

#[test]
fn a_terminal_echoes_again_after_ctrl_c_at_a_prompt() {
    let program = Program::new();
    let words =
        run_at_terminal(&program, &["wallet", "restore"], &[("in their order", "zoo zoo\u{3}")]);
    let passphrase = run_at_terminal(
        &program,
        &["backup", "--set-passphrase"],
        &[("New passphrase", "correct\u{3}")],
    );
    for all in [words, passphrase] {
        assert!(!all.contains("zoo") && !all.contains("correct"), "{all}");
        assert!(all.contains("status 130"), "Ctrl-C did not end the command: {all}");
        assert!(echoes_input(&all), "{all}");
    }
    assert!(!program.data_dir().exists(), "a data directory was created");
}
