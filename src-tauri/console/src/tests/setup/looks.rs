//! The scan after a restore: its range, its stop and its resumption.

use tillgate_chain::chain_wrapper::ChainWrapper;
use tillgate_chain::{Chain, ChainDown, LookAnswer, LookRequest};

use super::*;

/// Stops the look after its first answer.
struct StopsAfterOne(Arc<dyn Chain>, Arc<tillgate_store::Store>);

impl ChainWrapper for StopsAfterOne {
    fn chain(&self) -> &dyn Chain {
        self.0.as_ref()
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<LookAnswer, ChainDown> {
        let view = self.0.look(request)?;
        let runtime = tokio::runtime::Handle::current();
        runtime.block_on(self.1.write(|tx| tx.stop_restore(true))).unwrap();
        Ok(view)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_scan_ends_at_the_next_answer_of_its_look() {
    let world = world_with_wallet().await;
    // One answer cannot hold all these transactions.
    world.sandbox().mine(600, true, world.now_ms()).unwrap();
    let words = words_of(&world);
    restore(&world.gateway, request(&words, 20), BY).await.unwrap();
    let store = Arc::clone(&world.gateway.store);
    let world = world.with_chain(|chain| Arc::new(StopsAfterOne(chain, store)));
    let stopped = world.app.watcher.look().await.unwrap_err();
    assert!(matches!(stopped, tillgate_gateway::watcher::WatchError::Stopped), "{stopped}");
    assert_eq!(stands(&world).state, RestoreState::Stopped);
}

/// The sandbox as a node that pruned its first blocks and knows the times of blocks.
struct Pruned(Arc<dyn Chain>);

impl ChainWrapper for Pruned {
    fn chain(&self) -> &dyn Chain {
        self.0.as_ref()
    }

    fn first_block(&self) -> Result<u32, ChainDown> {
        Ok(50)
    }

    fn height_before(&self, at: Timestamp) -> Result<u32, ChainDown> {
        if at.ms() > 1_000_000 {
            Ok(60)
        } else {
            Err(ChainDown::of_text("the node does not answer".to_owned()))
        }
    }
}

#[tokio::test]
async fn an_impossible_restore_is_refused_before_words_are_kept() {
    let world = World::new().await.with_chain(|chain| Arc::new(Pruned(chain)));
    world.mine(100).await;
    let born = |birthday: Option<&str>| RestoreRequest {
        words: others(),
        birthday: birthday.map(|text| Birthday::parse(text).unwrap()),
        gap: Some(20),
        beside_another: false,
    };
    for (birthday, part) in [
        (None, "pruned all blocks below 50"),
        (Some("49"), "from block 49 on"),
        (Some("100000"), "not in the future"),
        (Some("2999-01-01"), "not in the future"),
        (Some("1970-01-01"), "name a height"),
    ] {
        let refused = restore(&world.gateway, born(birthday), BY).await.unwrap_err().to_string();
        assert!(refused.contains(part), "{birthday:?}: {refused}");
    }
    let gap = RestoreRequest { gap: Some(0), ..born(Some("60")) };
    assert!(matches!(restore(&world.gateway, gap, BY).await, Err(SetupError::Gap(_))));
    assert!(
        !has_wallet(&world)
            && world.gateway.machine.secrets.get(Purpose::WalletMnemonic).unwrap().is_none()
    );
    let restored = restore(&world.gateway, born(Some("2024-05-31")), BY).await.unwrap();
    assert!(
        matches!(restored, Restored::Made(Restore { birth_height: 59, looks_ahead: 1_020, .. })),
        "{restored:?}"
    );
}

#[test]
fn a_birthday_is_a_height_or_a_date() {
    assert_eq!(Birthday::parse("0"), Some(Birthday::Height(0)));
    assert_eq!(Birthday::parse("840000"), Some(Birthday::Height(840_000)));
    let date = Timestamp::parse_iso("2024-05-31T00:00:00Z").unwrap();
    assert_eq!(Birthday::parse("2024-05-31"), Some(Birthday::Date(date)));
    for wrong in [
        "",
        "-1",
        "+5",
        "99999999999",
        "20240531",
        "2024-13-01",
        "yesterday",
        "2024-05-31T00:00:00Z",
    ] {
        assert_eq!(Birthday::parse(wrong), None, "{wrong}");
    }
}

#[tokio::test]
async fn only_a_running_scan_is_stopped_and_only_a_stopped_resumed() {
    let world = world_with_wallet().await;
    assert!(matches!(stop(&world.gateway, BY).await, Err(SetupError::NotLooking)));
    let words = words_of(&world);
    restore(&world.gateway, request(&words, 20), BY).await.unwrap();
    assert_eq!(stop(&world.gateway, BY).await.unwrap().state, RestoreState::Stopped);
    assert!(matches!(stop(&world.gateway, BY).await, Err(SetupError::NotLooking)));
    assert!(world.app.watcher.look().await.is_err());
    assert_eq!(continue_restore(&world.gateway, BY).await.unwrap().state, RestoreState::Awaited);
    world.look().await;
    assert!(world.gateway.ready_wallet().is_ok());
}
