//! The wallet on the command line: created, restored from its words, verified. The tests run these
//! commands before the first start, with a running gateway, and with an abort at each fail point.

use std::io::{Read, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::harness::client::text;
use crate::harness::program::serve;
use crate::harness::{Program, Scene, Tillgate};

const ZOO: &str = "zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo wrong";

/// Runs a command that reads words; returns its exit status, stdout and stderr.
fn with_words(program: &Program, args: &[&str], words: &str) -> (Option<i32>, String, String) {
    let output = program.output_with_stdin(program.command(args), &format!("{words}\n"));
    let read = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), read(output.stdout), read(output.stderr))
}

fn restore(program: &Program, args: &[&str], words: &str) -> Value {
    let (code, stdout, stderr) =
        with_words(program, &[&["wallet", "restore", "--json"], args].concat(), words);
    assert_eq!(code, Some(0), "{stderr}");
    serde_json::from_str(&stdout).unwrap()
}

fn verifies(program: &Program, words: &str) -> bool {
    let (code, stdout, stderr) = with_words(program, &["wallet", "verify-backup", "--json"], words);
    let told: Value =
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
    assert_eq!(told["fits"], Value::Bool(code == Some(0)), "{stdout}");
    assert!(!stdout.contains("zoo") && !stderr.contains("zoo"), "the output repeats the words");
    code == Some(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wallet_made_before_the_first_start_is_used() {
    let program = Program::new();
    let made = program.json(&["wallet", "create", "--words", "24"]);
    assert_eq!(made.as_object().unwrap().keys().collect::<Vec<_>>(), ["words"]);
    let words = text(&made["words"]);
    assert_eq!(words.split(' ').count(), 24);
    assert!(program.refusal(&["wallet", "create", "--json"]).contains("there is a wallet already"));
    let descriptors = program.json(&["wallet", "descriptor"]);
    let mut gateway = Tillgate::start_on(program).await;
    let payment = gateway.client.new_payment("10.00", "http://127.0.0.1:9/").await;
    let program = gateway.program();
    assert_eq!(program.json(&["wallet", "descriptor"]), descriptors);
    let shown = program.json(&["payments", "show", &text(&payment["paymentId"])]);
    assert_eq!(
        (&shown["addressPath"], &shown["addressIndex"]),
        (&"m/84'/1'/0'/0/0".into(), &0.into())
    );
    assert!(verifies(program, &words), "its own words, with a running gateway");
    assert!(!verifies(program, ZOO));
    assert!(!verifies(program, &words.replacen(' ', " nonsense ", 1)));
    assert!(gateway.stop().await.success());
    assert!(verifies(gateway.program(), &words), "its own words, without a gateway");
}

#[tokio::test(flavor = "multi_thread")]
async fn bdk_reads_the_descriptors_and_derives_the_addresses() {
    for (address_type, function) in [("bip84", "wpkh"), ("bip86", "tr")] {
        let program = Program::new();
        program.set("addressType", address_type);
        program.json(&["wallet", "create"]);
        let told = program.json(&["wallet", "descriptor"]);
        let of = |name: &str| text(&told[name]);
        assert_eq!(
            told.as_object().unwrap().keys().collect::<Vec<_>>(),
            ["descriptor", "external", "internal"]
        );
        let both = of("descriptor");
        assert!(
            both.starts_with(&format!("{function}([")) && both.contains("h/1h/0h]tpub"),
            "{both}"
        );
        assert!(both.contains("/<0;1>/*)#"), "{both}");
        let bdk = bdk_wallet::Wallet::create_from_two_path_descriptor(both)
            .network(bitcoin::Network::Regtest)
            .create_wallet_no_persist()
            .unwrap();
        let single = bdk_wallet::Wallet::create(of("external"), of("internal"))
            .network(bitcoin::Network::Regtest)
            .create_wallet_no_persist()
            .unwrap();
        for keychain in [bdk_wallet::KeychainKind::External, bdk_wallet::KeychainKind::Internal] {
            assert_eq!(
                bdk.peek_address(keychain, 7).address,
                single.peek_address(keychain, 7).address
            );
        }
        let gateway = Tillgate::start_on(program).await;
        for index in 0..3 {
            let payment = gateway.client.new_payment("10.00", "http://127.0.0.1:9/").await;
            let theirs =
                bdk.peek_address(bdk_wallet::KeychainKind::External, index).address.to_string();
            assert_eq!(text(&payment["address"]), theirs, "{address_type} {index}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wallet_restored_from_words_skips_addresses() {
    let old = Program::new();
    let words = text(&old.json(&["wallet", "create"])["words"]);
    let descriptors = old.json(&["wallet", "descriptor"]);
    let program = Program::new();
    program.set("restoreSkip", "70");
    let restored = restore(&program, &["--birthday", "0"], &words);
    assert_eq!(
        (&restored["made"], &restored["restore"]["state"]),
        (&true.into(), &"AWAITED".into())
    );
    assert_eq!(
        restored["restore"]["looksAhead"],
        2 * 70 + 500,
        "the longest unused run of restoreSkip plus 500, and restoreSkip of an earlier restored copy"
    );
    assert_eq!(program.json(&["wallet", "descriptor"]), descriptors);
    assert_eq!(program.json(&["wallet", "info"])["looked"], false);
    let gateway = Tillgate::start_on(program).await;
    let payment = gateway.client.new_payment("10.00", "http://127.0.0.1:9/").await;
    let program = gateway.program();
    let shown = program.json(&["payments", "show", &text(&payment["paymentId"])]);
    assert_eq!(shown["addressPath"], "m/84'/1'/0'/0/70");
    assert_eq!(program.json(&["wallet", "info"])["looked"], true);
    assert_eq!(program.json(&["wallet", "restore", "--show"])["restore"]["state"], "LOOKED");
    assert_eq!(
        program.json(&["status"])["senderHold"],
        Value::Null,
        "the scan found no other copy"
    );
}

#[test]
fn wrong_words_are_named_by_position_and_create_no_wallet() {
    let program = Program::new();
    for (words, part) in [
        ("zoo zoo zoo", "3 were given"),
        ("zoo zoo zoo zoo zzz zoo zoo zoo zoo zoo zoo wrong", "word 5"),
        ("zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo wrong zoo", "checksum"),
    ] {
        for args in [&["wallet", "restore"][..], &["wallet", "restore", "--json"]] {
            let (code, stdout, stderr) = with_words(&program, args, words);
            assert_eq!(
                (code, stdout.as_str(), stderr.lines().last().unwrap().contains(part)),
                (Some(1), "", true),
                "{stderr}"
            );
            assert!(!stderr.contains("zoo") && !stderr.contains("zzz"), "{stderr}");
        }
    }
    assert!(!program.data_dir().exists());
}

/// Reads until the text ends with `end`; returns the text with `end`.
fn read_until(stream: &mut impl Read, end: &str) -> String {
    let (mut text, mut byte) = (String::new(), [0]);
    while !text.ends_with(end) {
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "the stream ended with {text:?}");
        text.push(char::from(byte[0]));
    }
    text
}

#[test]
fn wallet_create_shows_the_words_and_asks_for_two_of_them() {
    let program = Program::new();
    let nobody = program.output(&["wallet", "create"]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&nobody.stderr).contains("no wallet was made"));

    assert!(!program.data_dir().exists(), "a data directory would block a restore");
    program.create_data_dir();
    assert!(!has_wallet(&program));
    let (mut stdin, mut child) = {
        let mut command = program.command(&["wallet", "create"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        (child.stdin.take().unwrap(), child)
    };
    let shown = read_until(child.stdout.as_mut().unwrap(), "\n\n   1  ")
        + &read_until(child.stdout.as_mut().unwrap(), "\n\n");
    let words: Vec<&str> = shown
        .split("\n\n")
        .nth(1)
        .unwrap()
        .lines()
        .map(|line| line.split_whitespace().last().unwrap())
        .collect();
    assert_eq!(words.len(), 12, "{shown}");
    for _ in 0..2 {
        let asked = read_until(child.stderr.as_mut().unwrap(), ": ");
        let place: usize =
            asked.trim_start_matches("Word ").trim_end_matches(": ").parse().unwrap();
        writeln!(stdin, "{}", words[place - 1]).unwrap();
    }
    assert!(child.wait().unwrap().success());
    assert!(verifies(&program, &words.join(" ")));
}

/// Whether the program has a wallet. Waits for another command that uses the data directory.
fn has_wallet(program: &Program) -> bool {
    program.output(&["wallet", "descriptor", "--json"]).status.success()
}

/// A gateway of the production environment with a secrets file.
struct Production {
    program: Program,
    child: Option<Child>,
    api: String,
}

impl Production {
    fn command(program: &Program, args: &[&str]) -> Command {
        let file = program.data_dir().parent().unwrap().join("secrets");
        let mut command = program.command(&[args, &["--environment", "production"]].concat());
        command
            .env("TILLGATE_SECRETS_FILE", file)
            .env("TILLGATE_PASSPHRASE", "a passphrase of the test");
        command
    }

    fn start(program: Program) -> Self {
        let (child, api) = serve(Self::command(&program, &["serve", "--listen", "127.0.0.1:0"]));
        Self { program, child: Some(child), api }
    }

    fn json(&self, args: &[&str], typed: &str) -> Value {
        let output = self
            .program
            .output_with_stdin(Self::command(&self.program, &[args, &["--json"]].concat()), typed);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

impl Drop for Production {
    fn drop(&mut self) {
        self.stop();
    }
}

#[test]
fn a_wallet_made_while_production_runs_is_used_at_once() {
    let mut gateway = Production::start(Program::new());
    assert!(gateway.api.starts_with("http://127.0.0.1:"));
    let refused = gateway.program.output_with_stdin(
        Production::command(&gateway.program, &["wallet", "descriptor", "--json"]),
        "",
    );
    assert!(String::from_utf8_lossy(&refused.stderr).contains("no wallet yet"));
    let words = text(&gateway.json(&["wallet", "create"], "")["words"]);
    let descriptors = gateway.json(&["wallet", "descriptor"], "");
    assert!(text(&descriptors["external"]).contains("/84h/0h/0h]xpub"), "{descriptors}");
    assert_eq!(gateway.json(&["wallet", "info"], "")["network"], "bitcoin");
    gateway.stop();
    assert_eq!(gateway.json(&["wallet", "descriptor"], ""), descriptors, "also without a gateway");

    let elsewhere = Production::start(Program::new());
    let restored = elsewhere.json(&["wallet", "restore"], &format!("{words}\n"));
    assert_eq!(restored["restore"]["birthHeight"], 481_823, "the block before SegWit was active");
    assert_eq!(elsewhere.json(&["wallet", "descriptor"], ""), descriptors);
    assert_eq!(elsewhere.json(&["wallet", "info"], "")["looked"], false);
    let status = elsewhere.json(&["status"], "");
    assert_eq!(status["senderHoldCause"], "RESTORED");
    assert_eq!(elsewhere.json(&["wallet", "restore", "--stop"], "")["state"], "STOPPED");
    assert_eq!(elsewhere.json(&["status"], "")["senderHoldCause"], "RESTORE_STOPPED");
    for asked in ["status", "doctor"] {
        let told = elsewhere
            .program
            .output_with_stdin(Production::command(&elsewhere.program, &[asked]), "");
        let told = String::from_utf8_lossy(&told.stdout);
        let data_dir = elsewhere.program.data_dir().display();
        let remedy = format!("--data-dir {data_dir} wallet restore --continue` continues it");
        assert!(told.contains(&remedy), "the remedy repeats --data-dir: {told}");
        assert!(!told.contains("by itself"), "{told}");
    }
    assert_eq!(elsewhere.json(&["wallet", "restore", "--continue"], "")["state"], "AWAITED");
}

#[test]
fn a_restored_wallet_without_a_backend_says_how_to_set_one() {
    let program = Program::new();
    let run = |args: &[&str], typed: &str| {
        let output = program.output_with_stdin(Production::command(&program, args), typed);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let remedy = format!("--data-dir {} settings set backend=core", program.data_dir().display());
    let restored = run(&["wallet", "restore"], &format!("{ZOO}\n"));
    for told in [restored, run(&["wallet", "restore", "--show"], ""), run(&["wallet", "info"], "")]
    {
        assert!(
            told.contains(&remedy) && told.contains("the scan waits for a Bitcoin backend"),
            "{told}"
        );
        assert!(
            !told.contains("asked about"),
            "it is not known yet whether the backend is asked about addresses: {told}"
        );
    }
    // The remedy names the environment, so that a copied command does not change another one.
    let doctor = program.output_with_stdin(Production::command(&program, &["doctor"]), "");
    let told = String::from_utf8(doctor.stdout).unwrap();
    let chain = told.lines().find(|line| line.contains("no Bitcoin backend is set")).unwrap();
    assert!(
        chain.contains("settings set backendUrl") && chain.contains("--environment production"),
        "{chain}"
    );
    let shown = || {
        serde_json::from_str::<Value>(&run(&["wallet", "restore", "--show", "--json"], "")).unwrap()
    };
    assert_eq!(
        (&shown()["restore"]["awaitsBackend"], &shown()["restore"]["toAsk"]),
        (&true.into(), &0.into())
    );
    run(&["settings", "set", "backend=electrum", "backendUrl=tcp://127.0.0.1:9"], "");
    assert_eq!(shown()["restore"]["awaitsBackend"], false);
    assert!(
        !run(&["wallet", "restore", "--show"], "").contains("the scan waits for a Bitcoin backend")
    );
}

#[test]
fn production_without_keyring_or_secrets_file_does_not_start() {
    let program = Program::new();
    let output =
        program.output(&["serve", "--environment", "production", "--listen", "127.0.0.1:0"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("keyring") && said.contains("--secrets-file"), "{said}");
    let made = program.output(&["wallet", "create", "--environment", "production", "--json"]);
    assert!(
        !made.status.success() && made.stdout.is_empty(),
        "words were shown that are stored nowhere"
    );
    assert!(
        !program.data_dir().join("production").exists(),
        "a data directory would block a restore"
    );
}

#[test]
fn an_interrupted_wallet_creation_is_completed_by_the_next() {
    for restores in [false, true] {
        for point in ["commit.before", "commit.after", "wallet.before", "wallet.after"] {
            for count in 1..=3 {
                let program = Program::new();
                program.create_data_dir();
                let args: &[&str] = if restores {
                    &["wallet", "restore", "--json"]
                } else {
                    &["wallet", "create", "--json"]
                };
                let mut command = program.command(args);
                command.env("TILLGATE_FAIL_POINT", format!("{point}:{count}"));
                let cut = program.output_with_stdin(command, &format!("{ZOO}\n"));
                let case = format!("{point}:{count}, restores: {restores}");
                assert!(cut.status.success() || cut.status.signal().is_some(), "{case}");
                assert!(
                    count > 1 || cut.status.signal().is_some(),
                    "{case}: the command was not aborted"
                );
                let told = serde_json::from_slice::<Value>(&cut.stdout).ok();
                let words = if restores {
                    restore(&program, &[], ZOO);
                    ZOO.to_owned()
                } else if has_wallet(&program) {
                    text(&told.expect("the words of an existing wallet were shown")["words"])
                } else {
                    text(&program.json(&["wallet", "create"])["words"])
                };
                assert!(verifies(&program, &words), "{case}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wallet_info_tells_the_gap_limit_for_other_programs() {
    let scene = Scene::open().await;
    for _ in 0..3 {
        scene.bill("10.00").await;
    }
    let paid = scene.bill("10.00").await;
    scene.gateway.client.pay(&paid.id).await;
    scene.gateway.client.mine(1).await;
    let info = scene.gateway.program().json(&["wallet", "info"]);
    assert_eq!(
        (&info["longestUnused"], &info["gapLimit"], &info["nextIndex"]),
        (&3.into(), &20.into(), &4.into())
    );
}

#[test]
fn a_birthday_as_a_date_needs_a_reachable_backend() {
    let program = Program::new();
    let secrets = program.data_dir().with_file_name("secrets");
    let restore = |birthday: &str, more: &[(&str, &str)]| {
        let mut command =
            Production::command(&program, &["wallet", "restore", "--birthday", birthday]);
        command.envs(more.iter().copied());
        let output = program.output_with_stdin(command, &format!("{}wrong\n", "zoo ".repeat(11)));
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let refused = restore("2024-05-31", &[]);
    assert!(
        refused.contains("set backendUrl first") && !refused.contains("made the data directory"),
        "{refused}"
    );
    assert!(restore("yesterday", &[]).contains("the height of a block, or a date"));
    assert!(!program.data_dir().exists() && !secrets.exists());
    // Port 1 has no listener, but no command learns that, because only a gateway connects to the
    // backend.
    let backend =
        [("TILLGATE_BACKEND_URL", "http://127.0.0.1:1"), ("TILLGATE_BACKEND_USER", "ada")];
    let refused = restore("2024-05-31", &backend);
    assert!(refused.contains("name a height"), "{refused}");
    assert!(!program.data_dir().exists() && !secrets.exists(), "{refused}");
}
