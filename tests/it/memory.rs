//! A running gateway keeps no secrets in its memory, and a crash leaves no core dump. Only root may
//! read the memory of a process; other users skip that test.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, getuid, kill_process};
use serde_json::{Value, json};

use crate::harness::client::{Client, text};
use crate::harness::program::serve;
use crate::harness::{Program, wait_for};

/// The passphrase of the secrets file.
const OF_FILE: &str = "quartz jumper of the file";

/// The passphrase of the backup.
const OF_BACKUP: &str = "velvet anchor of the backup";

/// An address outside this wallet.
const RENT: &str = "bcrt1qqyqszqgpqyqszqgpqyqszqgpqyqszqgpvxat9t";

/// Bytes of memory that are searched at once.
const PIECE: usize = 1 << 20;

/// The process of a gateway; it is killed when the test ends.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A command with the secrets file, whose passphrase comes as a systemd credential.
fn with_secrets(program: &Program, args: &[&str]) -> Command {
    let credentials = beside(program, "credentials");
    fs::create_dir_all(&credentials).unwrap();
    fs::write(credentials.join("passphrase"), format!("{OF_FILE}\n")).unwrap();
    let mut command = program.command(args);
    command
        .arg("--secrets-file")
        .arg(beside(program, "secrets"))
        .env("CREDENTIALS_DIRECTORY", credentials);
    command
}

fn beside(program: &Program, name: &str) -> PathBuf {
    program.data_dir().with_file_name(name)
}

/// A text to search for, and its name in a failure.
struct Wanted {
    name: String,
    bytes: Vec<u8>,
}

/// The names of the secrets that are in the writable memory of a process.
fn secrets_in_memory(process: Pid, secrets: &[Wanted]) -> Vec<String> {
    let longest = secrets.iter().map(|secret| secret.bytes.len()).max().unwrap();
    let folder = format!("/proc/{}", process.as_raw_nonzero());
    let maps = fs::read_to_string(format!("{folder}/maps")).unwrap();
    let mut memory = File::open(format!("{folder}/mem")).unwrap();
    let mut found = Vec::new();
    for map in
        maps.lines().filter(|map| map.split(' ').nth(1).is_some_and(|mode| mode.starts_with("rw")))
    {
        let (from, to) = map.split(' ').next().unwrap().split_once('-').unwrap();
        let [mut at, end] = [from, to].map(|address| u64::from_str_radix(address, 16).unwrap());
        while at < end {
            let mut piece = Vec::new();
            let wanted = (PIECE + longest).min(usize::try_from(end - at).unwrap());
            memory.seek(SeekFrom::Start(at)).unwrap();
            // The process may have unmapped this memory meanwhile.
            let _ = (&mut memory).take(wanted as u64).read_to_end(&mut piece);
            let there = secrets.iter().filter(|secret| contains(&piece, &secret.bytes));
            found.extend(there.map(|secret| secret.name.clone()));
            at += PIECE as u64;
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == wanted[0]) {
        rest = &rest[at..];
        if rest.starts_with(wanted) {
            return true;
        }
        rest = &rest[1..];
    }
    false
}

fn json_of(mut command: Command) -> Value {
    let output = command.arg("--json").output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Each run of three words, and both passphrases.
fn secrets_of(words: &str) -> Vec<Wanted> {
    let named = |name: &str, bytes: &[u8]| Wanted { name: name.to_owned(), bytes: bytes.to_vec() };
    let all: Vec<&str> = words.split(' ').collect();
    let mut secrets: Vec<Wanted> =
        all.windows(3).map(|run| run.join(" ")).map(|run| named(&run, run.as_bytes())).collect();
    secrets.extend([OF_FILE, OF_BACKUP].map(|passphrase| named(passphrase, passphrase.as_bytes())));
    secrets
}

/// Makes a payout, for which the gateway must read its words to sign.
async fn pay_out(program: &Program, api: &str) {
    program.set("batchSeconds", "0");
    let client = Client::new(api, program.create_key("shop", &["--permissions", "full"]));
    let payment = client.new_payment("10.00", "http://127.0.0.1:9").await;
    client.pay_with(&text(&payment["paymentId"]), json!({ "confirmations": 3 })).await;
    let request = json!({ "btcAmount": "0.00010000", "currency": "USD", "address": RENT });
    let payout = client.post("/v2/payouts?autoApprove=true", &request).await.ok();
    let path = format!("/v2/payouts/{}", text(&payout["payoutId"]));
    wait_for("the payout", async || {
        (client.get(&path).await.ok()["status"] == "SENT").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_gateway_keeps_no_words_or_passphrase_in_memory() {
    if !getuid().is_root() {
        eprintln!("skipped: only root can read the memory of a gateway");
        return;
    }
    let program = Program::new();
    let words = text(&json_of(with_secrets(&program, &["wallet", "create"]))["words"]);
    let (child, api) = serve(with_secrets(&program, &["serve", "--listen", "127.0.0.1:0"]));
    let serving = Serving(child);
    let (process, secrets) = (Pid::from_child(&serving.0), secrets_of(&words));
    let known = Wanted { name: api.clone(), bytes: api.clone().into_bytes() };
    assert_eq!(
        secrets_in_memory(process, &[known]),
        [api.as_str()],
        "the search must find a text that is in memory"
    );
    // The gateway may erase a secret a moment after its response arrives.
    let expect_none_left = |after: &str| {
        let mut left = Vec::new();
        for _ in 0..5 {
            left = secrets_in_memory(process, &secrets);
            if left.is_empty() {
                break;
            }
        }
        assert_eq!(left, Vec::<String>::new(), "in the memory after {after}");
    };
    expect_none_left("the start");
    let proved = program
        .output_with_stdin(program.command(&["wallet", "verify-backup"]), &format!("{words}\n"));
    assert!(proved.status.success(), "{}", String::from_utf8_lossy(&proved.stderr));
    expect_none_left("the verification of the words");
    let file = beside(&program, "till.backup");
    for args in [&["backup"][..], &["wallet", "verify-backup"]] {
        let mut command = program.command(&[args, &[file.to_str().unwrap()]].concat());
        command.env("TILLGATE_BACKUP_PASSPHRASE", OF_BACKUP);
        json_of(command);
        expect_none_left(args[args.len() - 1]);
    }
    program.output(&["doctor"]);
    expect_none_left("the doctor");
    pay_out(&program, &api).await;
    expect_none_left("a payout");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_crashes_leaves_no_core_dump() {
    let program = Program::new();
    let serve_it = program.command(&["serve", "--listen", "127.0.0.1:0"]);
    program.create_data_dir();
    let mut unlimited = Command::new("sh");
    unlimited.args(["-c", r#"ulimit -c unlimited && exec "$@""#, "sh"]);
    unlimited.arg(serve_it.get_program()).args(serve_it.get_args());
    program.isolate(&mut unlimited);
    unlimited.current_dir(program.data_dir()).stdin(Stdio::null());
    let (child, _) = serve(unlimited);
    let mut serving = Serving(child);
    kill_process(Pid::from_child(&serving.0), Signal::ABORT).unwrap();
    let ended = wait_for("the end of the gateway", async || serving.0.try_wait().unwrap()).await;
    assert_eq!(ended.signal(), Some(Signal::ABORT.as_raw()));
    assert!(!ended.core_dumped() && !is_dumped(program.data_dir()), "a core dump was written");
}

fn is_dumped(folder: &Path) -> bool {
    fs::read_dir(folder)
        .unwrap()
        .any(|entry| entry.unwrap().file_name().to_string_lossy().starts_with("core"))
}
