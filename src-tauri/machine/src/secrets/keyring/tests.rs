//! Tests with a real GNOME Keyring.

use super::*;
use crate::keyring_session::{WITH_KEYRING, WITH_LOCKED_KEYRING, dbus, passes};
use crate::secrets::{Coins, SecretsLocation, open};

#[test]
fn a_real_keyring_keeps_secrets() {
    passes(WITH_KEYRING, "secrets::keyring::tests::under_a_keyring");
}

#[test]
fn only_a_slow_keyring_call_is_reported_as_waiting() {
    let (unlock, unlocked) = std::sync::mpsc::channel();
    // The report makes the person unlock the keyring.
    let waited = on_its_own_thread(
        move || unlocked.recv(),
        Duration::from_millis(1),
        || unlock.send(()).unwrap(),
    );
    assert_eq!(waited.unwrap(), Ok(()));
    let quick = on_its_own_thread(
        || 7,
        Duration::from_secs(3_600),
        || panic!("a quick call must not be reported"),
    );
    assert_eq!(quick.unwrap(), 7);
}

#[test]
fn a_locked_keyring_is_reported_as_locked() {
    passes(WITH_LOCKED_KEYRING, "secrets::keyring::tests::under_a_locked_keyring");
}

#[test]
#[ignore = "run by a_real_keyring_keeps_secrets, which starts a keyring for it"]
fn under_a_keyring() {
    let (ours, theirs) = (Id::from_bytes([1; 20]), Id::from_bytes([2; 20]));
    let folder = tempfile::tempdir().unwrap();
    let opened = |installation, coins| {
        open(&SecretsLocation::Keyring, coins, installation, folder.path()).unwrap()
    };
    let production = opened(&ours, Coins::Production);
    assert_eq!(production.describe(), "the OS keyring");
    assert!(production.get(Purpose::WalletMnemonic).unwrap().is_none());
    production.set(Purpose::WalletMnemonic, &Secret::new("words".to_owned())).unwrap();
    production.set(Purpose::HmacKeys, &Secret::new("old".to_owned())).unwrap();
    production.set(Purpose::HmacKeys, &Secret::new("new".to_owned())).unwrap();

    let again = opened(&ours, Coins::Production);
    assert_eq!(again.get(Purpose::WalletMnemonic).unwrap().unwrap().reveal(), "words");
    assert_eq!(again.get(Purpose::HmacKeys).unwrap().unwrap().reveal(), "new");
    for (installation, environment) in
        [(&theirs, Environment::Production), (&ours, Environment::Test)]
    {
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
    let refusal = open(&SecretsLocation::Keyring, Coins::Production, &installation, folder.path())
        .err()
        .unwrap()
        .to_string();
    assert!(refusal.contains("locked"), "{refusal}");
    assert!(refusal.contains("--secrets-file"), "{refusal}");
    let sandbox =
        open(&SecretsLocation::Keyring, Coins::Sandbox, &installation, folder.path()).unwrap();
    assert!(sandbox.describe().contains("secrets.json"), "{}", sandbox.describe());
}

#[test]
fn a_keyring_changed_by_others_is_seen_at_the_next_call() {
    passes(WITH_KEYRING, "secrets::keyring::tests::under_a_keyring_that_changes");
}

#[test]
#[ignore = "run by a_keyring_changed_by_others_is_seen_at_the_next_call, which starts a keyring for it"]
fn under_a_keyring_that_changes() {
    let (ours, folder) = (Id::from_bytes([1; 20]), tempfile::tempdir().unwrap());
    let opened = || open(&SecretsLocation::Keyring, Coins::Production, &ours, folder.path());
    let store = opened().unwrap();
    let words =
        || store.get(Purpose::WalletMnemonic).unwrap().map(|words| words.reveal().to_owned());
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
    let refusal =
        store.set(Purpose::HmacKeys, &Secret::new("keys".to_owned())).unwrap_err().to_string();
    assert!(!refusal.contains("keys\""), "{refusal}");
    let refusal = opened().err().unwrap().to_string();
    assert!(refusal.contains("are stored in the OS keyring"), "{refusal}");
}
