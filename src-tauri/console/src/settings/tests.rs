//! Tests of the two settings with a part outside the table: the password with the secrets, and the
//! backup folder.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use tillgate_gateway::testing::World;
use tillgate_machine::secrets::{Purpose, SecretError, SecretStore};

use super::*;
use crate::{Actor, ask};

/// Changes several settings at once.
async fn change(world: &World, changes: &[(&str, &str)]) -> Result<(), CommandError> {
    let one = |(name, value): &(&str, &str)| SettingChange {
        name: (*name).into(),
        value: Some((*value).into()),
    };
    let asked = ChangeSettings { changes: changes.iter().map(one).collect() };
    ask(&world.app, asked, &Actor::command_line()).await.map(drop)
}

async fn set(world: &World, name: &str, value: &str) -> Result<SettingItem, CommandError> {
    ask(&world.app, SetSetting { name: name.to_owned(), value: value.to_owned() }, &Actor::panel())
        .await
}

fn password_in_effect(world: &World) -> String {
    let entry = world.gateway.settings.snapshot().backend_password;
    let password = world.gateway.machine.secrets.get(entry.purpose()).unwrap();
    password.map(|password| password.reveal().to_owned()).unwrap_or_default()
}

/// The number of entries that hold a password.
fn passwords(world: &World) -> usize {
    let is_set = |purpose: &Purpose| {
        world
            .gateway
            .machine
            .secrets
            .get(*purpose)
            .unwrap()
            .is_some_and(|text| !text.reveal().is_empty())
    };
    [Purpose::BackendPassword, Purpose::SecondBackendPassword]
        .iter()
        .filter(|purpose| is_set(purpose))
        .count()
}

#[tokio::test]
async fn a_refused_change_keeps_the_former_password() {
    let world = World::new().await;
    world.make_wallet().await;
    let is_set = async || {
        let shown =
            ask(&world.app, GetSetting { name: "backendPassword".to_owned() }, &Actor::panel())
                .await
                .unwrap();
        assert_eq!(shown.value, "", "the password must not be shown");
        shown.is_set
    };
    assert_eq!(is_set().await, Some(false));
    set(&world, "backendUser", "ada").await.unwrap();
    assert_eq!(is_set().await, Some(false));
    set(&world, "backendPassword", "the former").await.unwrap();
    assert_eq!(is_set().await, Some(true));
    let other = ("backendPassword", "the other");
    for (changes, why) in [
        ([("network", "regtest"), other], "fixed"),
        ([other, ("addressType", "bip86")], "fixed"),
        ([other, other], "twice"),
        ([other, ("batchSeconds", "x")], "batchSeconds"),
    ] {
        let refused = change(&world, &changes).await.unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
        assert_eq!(password_in_effect(&world), "the former", "{changes:?}");
    }
    change(&world, &[other, ("batchSeconds", "7")]).await.unwrap();
    assert_eq!(
        (password_in_effect(&world).as_str(), passwords(&world)),
        ("the other", 1),
        "only the new password is stored"
    );
    ask(&world.app, UnsetSetting { name: "backendPassword".to_owned() }, &Actor::panel())
        .await
        .unwrap();
    assert_eq!((password_in_effect(&world).as_str(), passwords(&world)), ("", 0));
    assert_eq!(is_set().await, Some(false));
}

#[tokio::test]
async fn whether_a_password_is_set_survives_a_restart() {
    let world = World::new().await;
    let settings = &world.gateway.settings;
    assert_eq!(
        settings.show("backendUser").unwrap().is_set,
        None,
        "only the password has this field"
    );
    set(&world, "backendPassword", "").await.unwrap();
    assert_eq!(settings.show("backendPassword").unwrap().is_set, Some(false));
    set(&world, "backendPassword", "the former").await.unwrap();
    assert_eq!(
        world.reopen().await.gateway.settings.show("backendPassword").unwrap().is_set,
        Some(true)
    );
}

/// A secret store that fails after it stored `left` more entries, as if the machine had lost power.
struct Failing {
    secrets: Arc<dyn SecretStore>,
    left: AtomicUsize,
}

impl SecretStore for Failing {
    fn get(&self, purpose: Purpose) -> Result<Option<Secret>, SecretError> {
        self.secrets.get(purpose)
    }

    fn set(&self, purpose: Purpose, secret: &Secret) -> Result<(), SecretError> {
        self.secrets.set(purpose, secret)?;
        let is_last = self.left.fetch_sub(1, Ordering::SeqCst) == 1;
        if is_last { Err(SecretError("the power fails".to_owned())) } else { Ok(()) }
    }

    fn describe(&self) -> String {
        self.secrets.describe()
    }
}

#[tokio::test]
async fn user_and_password_stay_a_pair_after_a_power_failure() {
    let in_effect = |world: &World| {
        let user = world.gateway.settings.snapshot().backend_user.clone();
        (user.unwrap_or_default(), password_in_effect(world))
    };
    let pair = |name: &str| (name.to_owned(), format!("{name}'s"));
    let of = |name: &'static str, password: &'static str| {
        [("backendPassword", password), ("backendUser", name)]
    };
    let mut world = World::new().await;
    change(&world, &of("ada", "ada's")).await.unwrap();
    // The power fails once after the new password is stored, and once after the former one is
    // removed.
    for (kept, expected) in [(1, "ada"), (2, "bob")] {
        let failing = |secrets| {
            Arc::new(Failing { secrets, left: AtomicUsize::new(kept) }) as Arc<dyn SecretStore>
        };
        let cut_off = world.with_secrets(failing);
        let changed = change(&cut_off, &of("bob", "bob's")).await;
        assert_eq!(
            changed.is_ok(),
            expected == "bob",
            "a former password that stays stored is no failure: {changed:?}"
        );
        world = cut_off.reopen().await;
        assert_eq!(in_effect(&world), pair(expected));
    }
    // The next change works, even if the unused entry still holds a password.
    change(&world, &of("eve", "eve's")).await.unwrap();
    assert_eq!((in_effect(&world), passwords(&world)), (pair("eve"), 1));
    assert_eq!(in_effect(&world.reopen().await), pair("eve"));
}

#[tokio::test]
async fn a_backup_folder_must_exist_only_when_it_is_set() {
    let (world, base) = (World::new().await, tempfile::tempdir().unwrap());
    let nas = base.path().join("nas");
    let nas_text = nas.to_str().unwrap();
    let refused = set(&world, "backupFolder", nas_text).await.unwrap_err();
    assert!(
        refused.message.contains("there is no folder") && refused.field.as_deref() == Some("value"),
        "{refused}"
    );
    let relative = set(&world, "backupFolder", "nas").await.unwrap_err();
    assert!(relative.message.contains("absolute path"), "{relative}");
    let several = [("backupKeep", "3"), ("backupFolder", nas_text)];
    let refused = change(&world, &several).await.unwrap_err();
    assert_eq!(refused.field.as_deref(), Some("backupFolder"), "{refused}");
    let settings = world.gateway.settings.snapshot();
    assert_eq!(
        (settings.backup_folder.as_deref(), settings.backup_keep),
        (None, 14),
        "a refused change stores no setting"
    );

    fs::create_dir(&nas).unwrap();
    change(&world, &several).await.unwrap();
    fs::remove_dir_all(&nas).unwrap();
    let world = world.reopen().await;
    assert_eq!(
        world.gateway.settings.snapshot().backup_folder.as_deref().map(Path::new),
        Some(nas.as_path())
    );
    set(&world, "backupKeep", "5").await.unwrap();
    ask(&world.app, UnsetSetting { name: "backupFolder".to_owned() }, &Actor::panel())
        .await
        .unwrap();
}
