//! The rules for every misbehaving server: nothing is decided by it, a sentence reports it, and the
//! next good look catches up.

use std::time::Duration;

use tillgate_domain::payment::PaymentState::{Confirmed, New, Unconfirmed};

use super::HALF_AN_HOUR_MS;
use super::stage::{AT_LEISURE, Backend, Stage};

pub const TOO_LATE: &str = "did not answer in time";

/// Checks a server that misbehaves from `begin` to `end`: the look fails with `words` and changes
/// no state. `what` names the fault in messages.
pub async fn judges_nothing(
    backend: Backend,
    what: &str,
    words: &str,
    begin: impl Fn(&Stage),
    end: impl AsyncFn(&Stage),
) {
    let stage = Stage::new(backend).await;
    let world = stage.world();
    let (paid, unpaid) = (world.payment().await, world.payment().await);
    world.pay(&paid, paid.payment.amount_sats).await;
    assert_eq!(world.state(&paid), Unconfirmed, "{what}");
    let before = world.gateway.store.read(|reader| reader.watched_chain()).unwrap();

    world.customer_pays(&unpaid, unpaid.payment.amount_sats);
    world.sandbox().mine(1, false, world.now_ms()).unwrap();
    begin(&stage);
    world.advance_clock_ms(HALF_AN_HOUR_MS + 60_000);
    if words == TOO_LATE {
        stage.wait(Duration::from_millis(300));
    }
    let looked = world.app.watcher.look().await;
    let sentence =
        looked.map_err(|error| error.to_string()).expect_err(&format!("{what} was accepted"));
    assert!(sentence.contains(words), "{what}: {sentence}");
    assert_eq!(
        world.gateway.backend.last_look.status().error.map(|error| error.message),
        Some(sentence)
    );
    assert_eq!((world.state(&paid), world.state(&unpaid)), (Unconfirmed, New), "{what}");
    assert_eq!(
        world.gateway.store.read(|reader| reader.watched_chain()).unwrap(),
        before,
        "{what}"
    );

    end(&stage).await;
    stage.wait(AT_LEISURE);
    // The second look finds anything that the server has not noticed at the first.
    world.look().await;
    world.look().await;
    assert_eq!((world.state(&paid), world.state(&unpaid)), (Confirmed, Confirmed), "{what}");
}
