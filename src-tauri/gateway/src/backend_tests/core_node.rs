//! Tests of the Bitcoin Core backend: signing in, the cost of a look, answers that were not stored,
//! and old blocks.

use std::cell::RefCell;
use std::collections::HashSet;

use bitcoin::{Transaction, Txid};
use tillgate_chain::core::{CoreChain, Credentials};
use tillgate_chain::{
    Chain, ChainDown, Fact, LookAnswer, LookRequest, TxPosition, WatchList, no_scripts,
};
use tillgate_domain::payment::PaymentState::{Confirmed, Unconfirmed};
use tillgate_nodes::{CoreFault, core as node};
use tillgate_sandbox::{Replace, ReplaceTo};
use tokio::runtime::Handle;
use zeroize::Zeroizing;

use crate::testing::World;
use crate::testing::stage::{AT_LEISURE, Backend, Stage, options};

/// Watches transactions that pay these scripts, and the unsettled ones.
#[derive(Default)]
struct Watched {
    scripts: HashSet<bitcoin::ScriptBuf>,
    unsettled: RefCell<Vec<Transaction>>,
    known: Vec<Txid>,
}

impl WatchList for Watched {
    fn concerns(&self, tx: &Transaction) -> bool {
        tx.output.iter().any(|output| self.scripts.contains(&output.script_pubkey))
    }

    fn txids(&self) -> &[Txid] {
        &self.known
    }

    fn unsettled(&self, _: u32) -> Vec<Transaction> {
        self.unsettled.borrow().clone()
    }
}

fn ask(
    chain: &dyn Chain,
    token: Option<&[u8]>,
    birth_height: Option<u32>,
    watch: &Watched,
) -> LookAnswer {
    try_ask(chain, token, birth_height, watch).unwrap()
}

fn try_ask(
    chain: &dyn Chain,
    token: Option<&[u8]>,
    birth_height: Option<u32>,
    watch: &Watched,
) -> Result<LookAnswer, ChainDown> {
    let request =
        LookRequest { token, birth_height, watch, scripts: no_scripts(), is_woken: false };
    // `look` blocks, and the connections live on the test's runtime.
    tokio::task::block_in_place(|| chain.look(&request))
}

fn now(world: &World) -> i64 {
    world.now_ms()
}

#[tokio::test]
async fn a_renewed_cookie_is_read_and_a_missing_one_stops_requests() {
    let stage = Stage::new(Backend::Core).await;
    stage.node().renew_cookie().unwrap();
    stage.world().look().await;
    let cookie = std::fs::read(stage.node().cookie_file()).unwrap();
    let asked = stage.node().requests();
    let refused = async || stage.world().app.watcher.look().await.unwrap_err().to_string();
    std::fs::write(stage.node().cookie_file(), "nonsense").unwrap();
    assert!(refused().await.contains("is no cookie file"));
    std::fs::remove_file(stage.node().cookie_file()).unwrap();
    let sentence = refused().await;
    assert!(sentence.contains("cookie file") && sentence.contains("start the node"), "{sentence}");
    assert_eq!(stage.node().requests(), asked, "a stranger may hold the port of a stopped node");
    std::fs::write(stage.node().cookie_file(), cookie).unwrap();
    stage.world().look().await;
}

#[tokio::test]
async fn only_a_user_with_the_right_password_signs_in() {
    let stage = Stage::unlooked(Backend::Core).await;
    for (password, may) in [(node::PASSWORD, true), ("guessed", false)] {
        let password = Zeroizing::new(password.to_owned());
        let credentials = Credentials::Password { user: node::USER.to_owned(), password };
        let options = options(stage.node(), credentials, AT_LEISURE);
        let chain = CoreChain::new(&options, Handle::current()).unwrap();
        let asked = tokio::task::spawn_blocking(move || chain.identity()).await.unwrap();
        match asked {
            Ok(_) => assert!(may),
            Err(error) => assert!(!may && error.to_string().contains("backendPassword"), "{error}"),
        }
    }
}

#[tokio::test]
async fn a_look_costs_the_same_however_many_addresses_are_watched() {
    let stage = Stage::new(Backend::Core).await;
    let world = stage.world();
    let mut costs = Vec::new();
    for payments in [1, 60] {
        let mut last = world.payment().await;
        for _ in 1..payments {
            last = world.payment().await;
        }
        world.look().await;
        let before = stage.node().requests();
        world.look().await;
        let idle = stage.node().requests() - before;
        world.pay(&last, last.payment.amount_sats).await;
        costs.push((idle, stage.node().requests() - before - idle));
        world.mine(1).await;
    }
    assert_eq!(costs[0], costs[1]);
    assert!(costs[0].0 <= 3, "an idle look: {costs:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_not_stored_is_repeated() {
    let stage = Stage::unlooked(Backend::Core).await;
    let world = stage.world();
    let payment = world.payment().await;
    let watch = Watched { scripts: [payment.script.clone()].into(), ..Watched::default() };
    let chain = world.gateway.backend.chain.as_ref();
    let first = ask(chain, None, None, &watch);
    let txid = world.customer_pays(&payment, 10_000);
    let told = |view: &LookAnswer| {
        view.txs.iter().map(|facts| facts.tx.compute_txid()).collect::<Vec<_>>()
    };
    let second = ask(chain, Some(&first.token), None, &watch);
    assert_eq!(told(&second), [txid]);
    assert_eq!(
        told(&ask(chain, Some(&first.token), None, &watch)),
        [txid],
        "the same question, the same answer"
    );
    let third = ask(chain, Some(&first.token), None, &watch);
    let fourth = ask(chain, Some(&third.token), None, &watch);
    assert_eq!(told(&fourth), [], "nothing changed");
    assert_eq!(fourth.token, third.token);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_begins_at_the_birth_height_and_names_a_pruned_block() {
    let stage = Stage::unlooked(Backend::Core).await;
    let world = stage.world();
    let payment = world.payment().await;
    let watch = Watched { scripts: [payment.script.clone()].into(), ..Watched::default() };
    world.customer_pays(&payment, 10_000);
    world.sandbox().mine(300, false, now(world)).unwrap();
    let chain = world.gateway.backend.chain.as_ref();
    let tip = world.sandbox().tip().unwrap().height;
    stage.node().misbehave(CoreFault::Pruned(tip - 150));
    let view = ask(chain, None, Some(tip - 20), &watch);
    assert!(view.from_start && view.more && view.txs.is_empty());
    let view = ask(chain, Some(&view.token), Some(tip - 20), &watch);
    assert!(!view.from_start && !view.more && view.txs.is_empty());
    assert_eq!(
        stage.node().asked("getblock"),
        120,
        "a hundred blocks below the birth height, for reorganisations"
    );
    let error = try_ask(chain, None, Some(100), &watch).unwrap_err();
    assert!(error.to_string().contains("has pruned block 101,"), "names the first missing block");
    assert_eq!(tokio::task::block_in_place(|| chain.first_block()).unwrap(), tip - 150);
    stage.node().misbehave(CoreFault::Pruned(tip - 30));
    let asked = stage.node().asked("getblock");
    let view = ask(chain, None, Some(tip - 20), &watch);
    assert!(view.from_start && !view.more && view.txs.is_empty());
    assert_eq!(stage.node().asked("getblock") - asked, 31, "down to the oldest block of the node");

    // With birth height 0 no block is skipped.
    stage.node().misbehave(None);
    let (mut token, mut found, mut answers) = (None, Vec::new(), 0);
    loop {
        let view = ask(chain, token.as_deref(), Some(0), &watch);
        found.extend(view.txs);
        answers += 1;
        token = Some(view.token);
        if !view.more {
            break;
        }
    }
    assert_eq!(found.len(), 1);
    assert!(answers > 5, "{answers} answers hold {tip} blocks");
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_that_come_and_go_during_a_look_are_followed() {
    let stage = Stage::unlooked(Backend::Core).await;
    let world = stage.world();
    world.sandbox().mine(300, true, now(world)).unwrap();
    let chain = world.gateway.backend.chain.as_ref();
    let watch = Watched::default();
    let mut view = ask(chain, None, Some(0), &watch);
    for (lost, found) in [(0, 3), (0, 1), (2, 3)] {
        assert_eq!((view.more, view.median_time), (true, None), "the best block is not read yet");
        if lost > 0 {
            world.sandbox().reorg(lost, true, now(world)).unwrap();
        }
        world.sandbox().mine(found, true, now(world)).unwrap();
        view = ask(chain, Some(&view.token), Some(0), &watch);
        let tip = world.sandbox().tip().unwrap();
        assert_eq!(
            (view.from_start, view.tip.hash, view.tip.height),
            (false, tip.hash, tip.height)
        );
    }
    while view.more {
        view = ask(chain, Some(&view.token), Some(0), &watch);
    }
    let mut times: Vec<u32> = (view.tip.height - 10..=view.tip.height)
        .map(|at| world.sandbox().block(at).unwrap().unwrap().header.time)
        .collect();
    times.sort_unstable();
    assert_eq!(view.median_time.unwrap().ms(), i64::from(times[5]) * 1_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reorganisation_during_a_look_is_no_forgery() {
    let stage = Stage::unlooked(Backend::Core).await;
    let world = stage.world();
    // A request holds two thousand headers.
    for _ in 0..2 {
        world.sandbox().mine(1_000, true, now(world)).unwrap();
    }
    let (chain, watch) = (world.gateway.backend.chain.as_ref(), Watched::default());
    let why = |token: Option<&[u8]>| try_ask(chain, token, Some(0), &watch).unwrap_err();
    stage.node().misbehave(CoreFault::Reorganises { asked: 2_000, replaced: 1_999 });
    let sentence = why(None);
    assert!(sentence.is_tip_changed(), "the tip changed while headers were linked: {sentence}");
    assert_eq!(ask(chain, None, Some(0), &watch).tip.hash, world.sandbox().tip().unwrap().hash);

    let token = ask(chain, None, None, &watch).token;
    let height = world.sandbox().tip().unwrap().height;
    world.sandbox().mine(1, true, now(world)).unwrap();
    stage.node().misbehave(CoreFault::Reorganises { asked: height + 1, replaced: height });
    let sentence = why(Some(&token));
    assert!(sentence.is_tip_changed(), "the tip changed while a block was read: {sentence}");
    assert_eq!(
        ask(chain, Some(&token), None, &watch).tip.hash,
        world.sandbox().tip().unwrap().hash
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknowable_fact_of_a_missing_transaction_is_unknown() {
    let stage = Stage::unlooked(Backend::Core).await;
    let world = stage.world();
    let payment = world.payment().await;
    let txid = world.customer_pays(&payment, 10_000);
    let tx = world.sandbox().transaction(txid).unwrap().unwrap().tx;
    let replace = Replace { fee_rate_sat_vb: None, to: ReplaceTo::Customer };
    let rival = world.sandbox().replace(txid, replace, now(world)).unwrap()[0];
    let watch = Watched { unsettled: RefCell::new(vec![tx.clone()]), ..Watched::default() };
    let chain = world.gateway.backend.chain.as_ref();

    let view = ask(chain, None, None, &watch);
    let facts = &view.txs[0];
    assert_eq!((facts.position, facts.conflict_in_mempool), (TxPosition::Absent, Fact::Yes));
    assert_eq!(facts.conflicts, [rival]);

    // A look sees the rival in a block: the transaction is ruled out at that height.
    world.sandbox().mine(1, false, now(world)).unwrap();
    let height = world.sandbox().tip().unwrap().height;
    let view = ask(chain, Some(&view.token), None, &watch);
    assert_eq!(
        (view.txs[0].conflict_in_chain, view.txs[0].conflict_height),
        (Fact::Yes, Some(height))
    );

    // A later look without any memory: the transaction's input is spent, and the node does not name
    // the spender.
    world.sandbox().mine(30, false, now(world)).unwrap();
    let later = ask(chain, None, None, &watch);
    let facts = &later.txs[0];
    assert_eq!(
        (facts.conflict_in_chain, facts.conflict_height, facts.conflict_in_mempool),
        (Fact::Unknown, None, Fact::Unknown)
    );
}

#[tokio::test]
async fn a_node_shows_a_payment_waiting_confirmed_and_reversed() {
    let stage = Stage::new(Backend::Core).await;
    let world = stage.world();
    let payment = world.payment().await;
    world.pay(&payment, payment.payment.amount_sats).await;
    assert_eq!(world.state(&payment), Unconfirmed);
    world.mine(1).await;
    assert_eq!(world.state(&payment), Confirmed);
    world.sandbox().reorg(1, false, now(world)).unwrap();
    world.look().await;
    assert_eq!(world.state(&payment), tillgate_domain::payment::PaymentState::Invalid);
}
