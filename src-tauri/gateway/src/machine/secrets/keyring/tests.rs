//! Tests with a real GNOME Keyring on its own D-Bus session. An outer test starts the keyring, and then the inner
//! test in another process, so that no user's keyring is touched.

use std::process::{Command, Output, Stdio};

use super::*;
use crate::machine::secrets::{Coins, SecretsLocation, open};

/// Set on machines without GNOME Keyring.
const NO_DAEMON: &str = "TILLGATE_TEST_NO_KEYRING";

/// Password of the keyring. The daemon takes the end of the line as a part of it.
const PASSWORD: &str = "test\n";

/// Starts an unlocked keyring. Its password is not empty, because an empty password would make no keyring.
const WITH_KEYRING: &str = r#"
    printf "test\n" | gnome-keyring-daemon --unlock --components=secrets >/dev/null || exit 97
    exec "$0" --exact --ignored --nocapture "$1""#;

/// Starts a daemon that has no collection to store in, and no person to ask.
const WITH_LOCKED_KEYRING: &str = r#"
    gnome-keyring-daemon --start --components=secrets >/dev/null || exit 97
    exec "$0" --exact --ignored --nocapture "$1""#;

fn run_on_a_bus(script: &str, test: &str) -> Option<Output> {
    if std::env::var_os(NO_DAEMON).is_some() {
        println!("skipped: {NO_DAEMON} says that there is no GNOME Keyring to test with");
        return None;
    }
    let home = tempfile::tempdir().unwrap();
    let output = Command::new("dbus-run-session")
        .args(["--", "bash", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .arg(format!("machine::secrets::keyring::tests::{test}"))
        .env_remove("DBUS_SESSION_BUS_ADDRESS")
        .env_remove("DISPLAY")
        .env("HOME", home.path())
        .env("XDG_RUNTIME_DIR", home.path())
        .env("XDG_DATA_HOME", home.path().join("data"))
        .stdin(Stdio::null())
        .output()
        .expect("dbus-run-session and gnome-keyring-daemon are needed; TILLGATE_TEST_NO_KEYRING=1 skips the test");
    Some(output)
}

fn passes(script: &str, test: &str) {
    let Some(output) = run_on_a_bus(script, test) else { return };
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}\n{errors}");
}

#[test]
fn a_real_keyring_keeps_secrets() {
    passes(WITH_KEYRING, "under_a_keyring");
}

#[test]
fn only_a_slow_keyring_call_is_reported_as_waiting() {
    let (unlock, unlocked) = std::sync::mpsc::channel();
    // The report makes the person unlock the keyring.
    let waited = on_its_own_thread(move || unlocked.recv(), Duration::from_millis(1), || unlock.send(()).unwrap());
    assert_eq!(waited.unwrap(), Ok(()));
    let quick = on_its_own_thread(|| 7, Duration::from_secs(3_600), || panic!("a quick call must not be reported"));
    assert_eq!(quick.unwrap(), 7);
}

#[test]
fn a_locked_keyring_is_reported_as_locked() {
    passes(WITH_LOCKED_KEYRING, "under_a_locked_keyring");
}

#[test]
#[ignore = "run by a_real_keyring_keeps_secrets, which starts a keyring for it"]
fn under_a_keyring() {
    let (ours, theirs) = (Id::from_bytes([1; 20]), Id::from_bytes([2; 20]));
    let folder = tempfile::tempdir().unwrap();
    let opened = |installation, coins| open(&SecretsLocation::Keyring, coins, installation, folder.path()).unwrap();
    let production = opened(&ours, Coins::Production);
    assert_eq!(production.describe(), "the OS keyring");
    assert!(production.get(Purpose::WalletMnemonic).unwrap().is_none());
    production.set(Purpose::WalletMnemonic, &Secret::new("words".to_owned())).unwrap();
    production.set(Purpose::HmacKeys, &Secret::new("old".to_owned())).unwrap();
    production.set(Purpose::HmacKeys, &Secret::new("new".to_owned())).unwrap();

    let again = opened(&ours, Coins::Production);
    assert_eq!(again.get(Purpose::WalletMnemonic).unwrap().unwrap().reveal(), "words");
    assert_eq!(again.get(Purpose::HmacKeys).unwrap().unwrap().reveal(), "new");
    for (installation, environment) in [(&theirs, Environment::Production), (&ours, Environment::Test)] {
        let other = Keyring::new(installation, environment);
        assert!(
            other.get(Purpose::WalletMnemonic).unwrap().is_none(),
            "another installation or environment must not see the secret"
        );
    }

    // The use cases call from a thread of the async runtime.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { assert!(again.get(Purpose::HmacKeys).unwrap().is_some()) });
}

#[test]
#[ignore = "run by a_locked_keyring_is_reported_as_locked, which starts a keyring for it"]
fn under_a_locked_keyring() {
    let folder = tempfile::tempdir().unwrap();
    let installation = Id::from_bytes([1; 20]);
    let refusal =
        open(&SecretsLocation::Keyring, Coins::Production, &installation, folder.path()).err().unwrap().to_string();
    assert!(refusal.contains("locked"), "{refusal}");
    assert!(refusal.contains("--secrets-file"), "{refusal}");
    let sandbox = open(&SecretsLocation::Keyring, Coins::Sandbox, &installation, folder.path()).unwrap();
    assert!(sandbox.describe().contains("secrets.json"), "{}", sandbox.describe());
}

#[test]
fn a_keyring_changed_by_others_is_seen_at_the_next_call() {
    passes(WITH_KEYRING, "under_a_keyring_that_changes");
}

/// Calls the keyring's daemon over D-Bus, as any program of the session can.
fn dbus(method: &str, argument: &str) {
    let sent = Command::new("dbus-send")
        .args(["--session", "--print-reply", "--dest=org.freedesktop.secrets", "/org/freedesktop/secrets"])
        .args([format!("org.freedesktop.Secret.Service.{method}"), argument.to_owned()])
        .output()
        .unwrap();
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
}

#[test]
#[ignore = "run by a_keyring_changed_by_others_is_seen_at_the_next_call, which starts a keyring for it"]
fn under_a_keyring_that_changes() {
    let (ours, folder) = (Id::from_bytes([1; 20]), tempfile::tempdir().unwrap());
    let opened = || open(&SecretsLocation::Keyring, Coins::Production, &ours, folder.path());
    let store = opened().unwrap();
    let words = || store.get(Purpose::WalletMnemonic).unwrap().map(|words| words.reveal().to_owned());
    store.set(Purpose::WalletMnemonic, &Secret::new("our words".to_owned())).unwrap();
    let behind = Keyring::new(&ours, Environment::Production);

    behind.set(Purpose::WalletMnemonic, &Secret::new("other words".to_owned())).unwrap();
    assert_eq!(words().as_deref(), Some("other words"), "an earlier read must not be cached");
    behind.with_entry(Purpose::WalletMnemonic.as_str(), |entry| entry.delete_credential()).unwrap();
    assert_eq!(words(), None);
    assert!(opened().is_ok(), "a keyring without the entry still opens");
    store.set(Purpose::WalletMnemonic, &Secret::new("our words".to_owned())).unwrap();

    dbus("Lock", "array:objpath:/org/freedesktop/secrets/collection/login");
    let refusal = store.get(Purpose::WalletMnemonic).unwrap_err().to_string();
    assert!(refusal.contains("locked") && !refusal.contains("words"), "{refusal}");
    let refusal = store.set(Purpose::HmacKeys, &Secret::new("keys".to_owned())).unwrap_err().to_string();
    assert!(!refusal.contains("keys\""), "{refusal}");
    let refusal = opened().err().unwrap().to_string();
    assert!(refusal.contains("are stored in the OS keyring"), "{refusal}");
}

/// Unlocks the login keyring through the daemon's control socket, as a sign-in does. A prompt would need a screen.
fn unlock(password: &str) {
    use std::io::{Read as _, Write as _};

    let folder = std::env::var_os("XDG_RUNTIME_DIR").unwrap();
    let socket = std::path::Path::new(&folder).join("keyring/control");
    let mut control = std::os::unix::net::UnixStream::connect(socket).unwrap();
    let text = |text: &str| [&u32::try_from(text.len()).unwrap().to_be_bytes()[..], text.as_bytes()].concat();
    // The socket passes the caller's credentials with this byte.
    control.write_all(&[0]).unwrap();
    let (unlock, argument) = (1u32, text(password));
    let length = u32::try_from(8 + argument.len()).unwrap();
    control.write_all(&[&length.to_be_bytes(), &unlock.to_be_bytes(), argument.as_slice()].concat()).unwrap();
    let mut answer = [0; 8];
    control.read_exact(&mut answer).unwrap();
    assert_eq!(answer, [0, 0, 0, 8, 0, 0, 0, 0], "the daemon must report success");
}

#[test]
fn a_payout_waits_until_a_person_unlocks_the_keyring() {
    passes(WITH_KEYRING, "under_a_keyring_that_is_unlocked");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "run by a_payout_waits_until_a_person_unlocks_the_keyring, which starts a keyring for it"]
async fn under_a_keyring_that_is_unlocked() {
    use crate::console::payouts::RetrySender;
    use crate::console::{Actor, ask};
    use crate::gateway::WaitCause;
    use crate::testing::World;

    let world = World::new().await;
    world.make_wallet().await;
    let words = world.gateway.secrets.get(Purpose::WalletMnemonic).unwrap().unwrap();
    let keyring = Keyring::new(&world.gateway.installation.installation_id, Environment::Test);
    keyring.set(Purpose::WalletMnemonic, &words).unwrap();
    let world = world.with_secrets(|_| Arc::new(keyring));
    for _ in 0..2 {
        let payment = world.payment_to_wallet().await;
        world.customer_pays(&payment, 1_000_000);
    }
    world.mine(3).await;
    let is_readable = || world.gateway.secrets.get(Purpose::WalletMnemonic).map(|words| words.is_some());
    assert_eq!(is_readable(), Ok(true));
    for by_a_person in [false, true] {
        dbus("Lock", "array:objpath:/org/freedesktop/secrets/collection/login");
        let payout = world.approved_payout(300_000).await;
        world.send().await;
        let waits = world.gateway.sending.waits_for().unwrap();
        assert!(waits.cause == WaitCause::Keyring && waits.reason.message.contains("locked"), "{}", waits.reason);
        assert_eq!(world.outputs_of(&payout), 0);

        unlock(PASSWORD);
        assert_eq!(is_readable(), Ok(true), "an unlocked keyring works at the next call");
        if by_a_person {
            ask(&world.app, RetrySender {}, &Actor::panel()).await.unwrap();
        } else {
            // The sender asks again by itself after a minute.
            world.pass_ms(61_000).await;
        }
        world.pass_sender().await;
        assert_eq!(world.outputs_of(&payout), 1, "the payout must be sent once the keyring is unlocked");
        assert_eq!(world.gateway.sending.waits_for(), None);
        world.mine(1).await;
    }
}
