//! An honest Esplora server whose chain changes while a look asks one question after the other.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tillgate_nodes::EsploraServer;
use tokio::runtime::Handle;

use super::esplora_server::Watched;
use super::stage::{AT_LEISURE, esplora_options};
use crate::chain::esplora::EsploraChain;
use crate::chain::{Chain, ChainDown, LookRequest, View, no_scripts};
use crate::testing::World;

/// More questions than a look asks here.
const QUESTIONS: u64 = 20;

fn look(server: &EsploraServer, token: Option<&[u8]>) -> Result<View, ChainDown> {
    let chain = EsploraChain::new(&esplora_options(server, AT_LEISURE), Handle::current()).unwrap();
    let request = LookRequest { token, birth_height: None, watch: &Watched::default(), scripts: no_scripts() };
    // A chain blocks, and its connections live on the runtime of the test.
    tokio::task::block_in_place(|| chain.look(&request))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_that_changes_behind_any_question_of_a_look_is_no_forgery() {
    let world = World::new().await;
    world.mine(20).await;
    let sandbox = Arc::clone(world.gateway.sandbox.as_ref().unwrap());
    for depth in [1, 2, 3] {
        let mut outcomes = HashSet::new();
        for question in 1..=QUESTIONS {
            // How many were asked of the look that counts, and one; 0 before it and behind it.
            let asked = Arc::new(AtomicU64::new(0));
            let (counted, clock) = (Arc::clone(&asked), Arc::clone(&world.gateway.clock));
            let changing = Arc::clone(&sandbox);
            let now = move || {
                let before = counted.load(Ordering::SeqCst);
                if before > 0 && counted.fetch_add(1, Ordering::SeqCst) == question {
                    changing.reorg(depth, true, clock.now().ms()).unwrap();
                }
                clock.now().ms()
            };
            let server = EsploraServer::start(Arc::clone(&sandbox), Box::new(now)).unwrap();
            let view = look(&server, None).unwrap();
            asked.store(1, Ordering::SeqCst);
            // After a restart of the gateway.
            let looked = look(&server, Some(&view.token));
            asked.store(0, Ordering::SeqCst);
            if let Err(why) = &looked {
                assert!(why.is_tip_changed(), "after question {question}, {depth} blocks: {why}");
            }
            outcomes.insert(looked.is_ok());
            look(&server, Some(&view.token)).unwrap();
        }
        assert_eq!(outcomes.len(), 2, "it changes behind the look, too");
    }
}
