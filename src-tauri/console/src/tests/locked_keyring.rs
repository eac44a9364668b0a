//! A payout while a real keyring is locked.

use tillgate_gateway::gateway::WaitCause;
use tillgate_gateway::testing::World;
use tillgate_machine::keyring_session::{PASSWORD, WITH_KEYRING, dbus, passes, unlock};
use tillgate_machine::secrets::{Coins, Purpose, SecretsLocation, open};

use crate::payouts::RetrySender;
use crate::{Actor, ask};

#[test]
fn a_payout_waits_until_a_person_unlocks_the_keyring() {
    passes(WITH_KEYRING, "tests::locked_keyring::under_a_keyring_that_is_unlocked");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "run by a_payout_waits_until_a_person_unlocks_the_keyring, which starts a keyring for it"]
async fn under_a_keyring_that_is_unlocked() {
    let world = World::new().await;
    world.make_wallet().await;
    let words = world.gateway.machine.secrets.get(Purpose::WalletMnemonic).unwrap().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let installation = world.gateway.installation.installation_id;
    let keyring =
        open(&SecretsLocation::Keyring, Coins::Production, &installation, folder.path()).unwrap();
    keyring.set(Purpose::WalletMnemonic, &words).unwrap();
    let world = world.with_secrets(|_| keyring);
    for _ in 0..2 {
        let payment = world.payment_to_wallet().await;
        world.customer_pays(&payment, 1_000_000);
    }
    world.mine(3).await;
    let is_readable =
        || world.gateway.machine.secrets.get(Purpose::WalletMnemonic).map(|words| words.is_some());
    assert_eq!(is_readable(), Ok(true));
    for by_a_person in [false, true] {
        dbus("Lock", "array:objpath:/org/freedesktop/secrets/collection/login");
        let payout = world.approved_payout(300_000).await;
        world.send().await;
        let waits = world.gateway.sending.waits_for().unwrap();
        assert!(
            waits.cause == WaitCause::Keyring && waits.reason.message.contains("locked"),
            "{}",
            waits.reason
        );
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
        assert_eq!(
            world.outputs_of(&payout),
            1,
            "the payout must be sent once the keyring is unlocked"
        );
        assert_eq!(world.gateway.sending.waits_for(), None);
        world.mine(1).await;
    }
}
