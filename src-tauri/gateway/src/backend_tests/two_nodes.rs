//! Two nodes over the same chain; the second is asked while the first does not answer.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use bitcoin::hashes::Hash as _;
use bitcoin::{Network, ScriptBuf, WPubkeyHash};
use tempfile::TempDir;
use tillgate_chain::Chain;
use tillgate_chain::core::{CoreChain, CoreOptions, Credentials, NoticesOptions, NoticesPace};
use tillgate_chain::servers::Servers;
use tillgate_chain::waker::Active;
use tillgate_nodes::{CoreFault, CoreNode};
use tillgate_sandbox::Pay;
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

use crate::testing::World;
use crate::testing::stage::{AT_LEISURE, options};

/// Two nodes, the first of which publishes notices.
struct Two {
    world: World,
    first: CoreNode,
    second: CoreNode,
    heard: Arc<CoreChain>,
    both: Servers,
    _folders: [TempDir; 2],
}

impl Two {
    async fn new() -> Self {
        let world = World::new().await;
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [first, second] = [0, 1].map(|number: usize| {
            let sandbox = Arc::clone(world.gateway.backend.sandbox.as_ref().unwrap());
            let clock = Arc::clone(&world.gateway.time.clock);
            CoreNode::start(sandbox, folders[number].path(), Box::new(move || clock.now().ms()))
                .unwrap()
        });
        let active = Active::default();
        let of = |node: &CoreNode| {
            options(node, Credentials::CookieFile(node.cookie_file().to_owned()), AT_LEISURE)
        };
        let notices = NoticesOptions {
            url: first.zmq_url(),
            proxy: None,
            pace: NoticesPace::USUAL,
            waker: active.waker(0),
        };
        let hears = CoreOptions { notices: Some(notices), ..of(&first) };
        let heard = Arc::new(CoreChain::new(&hears, Handle::current()).unwrap());
        let other = Arc::new(CoreChain::new(&of(&second), Handle::current()).unwrap());
        let named: Vec<(String, Arc<dyn Chain>)> = vec![
            ("first".to_owned(), Arc::clone(&heard) as Arc<dyn Chain>),
            ("second".to_owned(), other),
        ];
        let both = Servers::new(named, Network::Regtest, active);
        Self { world, first, second, heard, both, _folders: folders }
    }

    /// Makes a payment between strangers, which the first node announces.
    fn pay(&self) {
        let script = ScriptBuf::new_p2wpkh(&WPubkeyHash::from_byte_array([7; 20]));
        let pay =
            Pay { script, amount_sats: 10_000, parts: 1, fee_rate_sat_vb: None, confirmations: 0 };
        self.world.sandbox().pay(pay, self.world.now_ms()).unwrap();
    }

    /// Waits until all notices of the first node are heard.
    async fn hear(&self) {
        let waited = timeout(AT_LEISURE, async {
            loop {
                let (subscriptions, count) = self.first.published().unwrap();
                if subscriptions > 0 && self.heard.last_notice() == count {
                    return;
                }
                sleep(Duration::from_millis(1)).await;
            }
        });
        waited.await.expect("the node's notices did not arrive");
    }

    /// Asks for the tip. The first node that does not fail answers.
    fn ask(&self) {
        tokio::task::block_in_place(|| self.both.tip()).unwrap();
    }

    fn is_woken(&self) -> bool {
        let woken = pin!(self.both.wake().unwrap().notified());
        woken.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    async fn wait_until_woken(&self) {
        timeout(AT_LEISURE, self.both.wake().unwrap().notified()).await.expect("no wake-up came");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nodes_notice_wakes_no_look_while_another_node_is_asked() {
    let two = Two::new().await;
    two.hear().await;
    two.ask();
    two.pay();
    two.wait_until_woken().await;

    two.first.misbehave(CoreFault::Closed);
    two.ask();
    two.hear().await;
    let _of_before = two.is_woken();
    for _ in 0..3 {
        two.pay();
        // A received notice proves that the notice before it has had its effect.
        two.hear().await;
    }
    assert!(!two.is_woken(), "each wake-up would make the second node list its mempool");

    two.first.misbehave(None);
    two.second.misbehave(CoreFault::Closed);
    two.ask();
    two.pay();
    two.wait_until_woken().await;
}
