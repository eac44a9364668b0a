//! The end of a restored copy's scan.

use tillgate_domain::restore::RestoreState::{Looked, Scanning};

use crate::testing::World;
use crate::watcher::restored::{self, Scanned};

#[tokio::test]
async fn a_backend_of_whole_blocks_ends_a_restore_once_it_covers_all() {
    let world = World::new().await;
    world.make_wallet().await;
    let (store, at) = (&world.gateway.store, world.gateway.time.now());
    let restore = world.begins_restore(30, 10).await;
    for (covers_all, state) in [(false, Scanning), (true, Looked)] {
        let scanned = Scanned {
            from_start: true,
            more: false,
            restore: Some(restore),
            asked: None,
            covers_all,
            height: 9,
            at,
            skip: 10,
        };
        store.write(move |tx| restored::note(tx, &scanned)).await.unwrap();
        assert_eq!(store.read(|reader| reader.restore()).unwrap().unwrap().state, state);
    }
}
