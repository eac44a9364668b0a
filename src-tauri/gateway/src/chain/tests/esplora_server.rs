//! What is an Esplora server's alone: how often it is asked, looks whose answer was not stored, long histories, and what it
//! says of fees.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bitcoin::hashes::{Hash as _, sha256};
use bitcoin::{FeeRate, ScriptBuf, Transaction, Txid};
use tillgate_domain::payment::PaymentState::{Confirmed, Invalid, Unconfirmed};
use tillgate_nodes::{EsploraFault, EsploraServer};
use tillgate_sandbox::{FaultsPatch, Pay};
use tokio::runtime::Handle;

use super::stage::{AT_LEISURE, Backend, Stage, esplora_options};
use crate::chain::esplora::{EsploraChain, EsploraOptions, Pace};
use crate::chain::hot::Urgency;
use crate::chain::token::Token;
use crate::chain::{
    AskedPayee, Chain, Covered, HotScripts, LookRequest, Scripts, TxPosition, View, WatchList, no_scripts,
};
use crate::testing::World;

/// Whatever pays these scripts.
#[derive(Default)]
pub struct Watched {
    pub scripts: HashSet<ScriptBuf>,
}

impl WatchList for Watched {
    fn concerns(&self, tx: &Transaction) -> bool {
        tx.output.iter().any(|output| self.scripts.contains(&output.script_pubkey))
    }

    fn txids(&self) -> &[Txid] {
        &[]
    }

    fn unsettled(&self, _: u32) -> Vec<Transaction> {
        Vec::new()
    }

    fn stored(&self, _: &Txid) -> Option<Transaction> {
        None
    }
}

/// A server over a sandbox, asked at a pace, with scripts that matter.
struct Asked {
    world: World,
    server: EsploraServer,
    chain: Arc<EsploraChain>,
    watched: Watched,
    hot: HotScripts,
}

impl Asked {
    async fn new(pace: Pace, scripts: &[(u32, Urgency)]) -> Self {
        let world = World::new().await;
        let sandbox = Arc::clone(world.gateway.sandbox.as_ref().unwrap());
        let clock = Arc::clone(&world.gateway.clock);
        let server = EsploraServer::start(sandbox, Box::new(move || clock.now().ms())).unwrap();
        let options = EsploraOptions { pace, ..esplora_options(&server, AT_LEISURE) };
        let chain = Arc::new(EsploraChain::new(&options, Handle::current()).unwrap());
        let (mut watched, hot) = (Watched::default(), HotScripts::default());
        let mark = hot.mark();
        hot.replace(
            scripts.iter().map(|(number, urgency)| (script(*number), *urgency)).collect::<HashMap<_, _>>(),
            mark,
        );
        watched.scripts.extend(scripts.iter().map(|(number, _)| script(*number)));
        Self { world, server, chain, watched, hot }
    }

    fn look(&self, token: Option<&[u8]>, must: &[ScriptBuf], cold: &[ScriptBuf]) -> View {
        self.look_about(token, Scripts { must, hot: &self.hot, cold, ..no_scripts() })
    }

    /// A round over all others came to its end with the look before.
    fn look_behind_a_round(&self, token: Option<&[u8]>) -> View {
        self.look_about(token, Scripts { hot: &self.hot, round_ended: true, ..no_scripts() })
    }

    fn look_about(&self, token: Option<&[u8]>, scripts: Scripts<'_>) -> View {
        let request = LookRequest { token, birth_height: None, watch: &self.watched, scripts };
        // A chain blocks, and its connections live on the runtime of the test.
        tokio::task::block_in_place(|| self.chain.look(&request)).unwrap()
    }

    /// The customer pays a script so many times.
    fn pay(&self, number: u32, parts: u32) -> Vec<Txid> {
        let amount_sats = 10_000 * u64::from(parts);
        let pay = Pay { script: script(number), amount_sats, parts, fee_rate_sat_vb: None, confirmations: 0 };
        self.world.sandbox().pay(pay, self.world.now_ms()).unwrap()
    }

    fn mine(&self) {
        self.world.sandbox().mine(1, false, self.world.now_ms()).unwrap();
    }
}

fn script(number: u32) -> ScriptBuf {
    let mut bytes = vec![0x00, 0x14];
    bytes.extend([7; 16]);
    bytes.extend(number.to_be_bytes());
    ScriptBuf::from_bytes(bytes)
}

fn txids(view: &View) -> Vec<Txid> {
    view.txs.iter().map(|facts| facts.tx.compute_txid()).collect()
}

fn covers(view: &View, number: u32) -> bool {
    match &view.covered {
        Covered::Everything => true,
        Covered::Scripts(scripts) => scripts.contains(&script(number)),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_asks_so_many_questions_however_many_old_payments_there_are() {
    // So slow that what is asked is asked at once.
    let pace = Pace { burst: 60, per_second: 0 };
    let mut old: Vec<(u32, Urgency)> = (10..10_010).map(|number| (number, Urgency::Possible)).collect();
    old.extend([(1, Urgency::Awaited), (2, Urgency::Awaited)]);
    let asked = Asked::new(pace, &old).await;
    let cold: Vec<ScriptBuf> = (20_000..20_100).map(script).collect();
    let view = asked.look(None, &[script(3), script(4)], &cold);
    assert!(asked.server.requests() <= 61, "{}", asked.server.requests());
    for number in [1, 2, 3, 4] {
        assert!(covers(&view, number), "{number} is more pressing than the others");
    }
    assert_eq!(view.cold_taken, 0);
    assert!(!covers(&view, 20_000), "what was not asked is not covered");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_look_asks_for_the_tip_and_once_for_each_script_that_matters() {
    let asked = Asked::new(Pace::HERE, &[(1, Urgency::Awaited), (2, Urgency::Possible)]).await;
    let view = asked.look(None, &[], &[]);
    let before = asked.server.requests();
    let again = asked.look(Some(&view.token), &[], &[]);
    assert_eq!(asked.server.requests() - before, 3);
    assert_eq!((again.token, again.txs.len(), again.states.len()), (view.token, 0, 0), "no news");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_stored_is_told_again() {
    let asked = Asked::new(Pace::HERE, &[(1, Urgency::Awaited)]).await;
    let first = asked.look(None, &[], &[]);
    let paid = asked.pay(1, 1);
    asked.mine();
    let second = asked.look(Some(&first.token), &[], &[]);
    assert_eq!(txids(&second), paid);
    assert!(matches!(second.txs[0].position, TxPosition::Block { .. }));
    let same = asked.look(Some(&first.token), &[], &[]);
    assert_eq!(txids(&same), paid, "the same question, the same answer");
    let third = asked.look(Some(&same.token), &[], &[]);
    assert_eq!(txids(&third), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_of_many_pages_is_read_to_its_end_and_then_by_its_first_page_alone() {
    let asked = Asked::new(Pace::HERE, &[(1, Urgency::Awaited)]).await;
    let mut view = asked.look(None, &[], &[]);
    let mut paid = HashSet::new();
    for _ in 0..3 {
        paid.extend(asked.pay(1, 20));
        asked.mine();
    }
    let mut told = HashSet::new();
    for _ in 0..2 {
        view = asked.look(Some(&view.token), &[], &[]);
        told.extend(txids(&view));
        assert!(covers(&view, 1));
    }
    assert_eq!(told, paid);
    let before = asked.server.asked("scripthash/txs");
    asked.look(Some(&view.token), &[], &[]);
    assert_eq!(asked.server.asked("scripthash/txs") - before, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_history_is_waited_for_where_few_questions_may_be_asked() {
    // The first page takes what there is.
    let asked = Asked::new(Pace { burst: 2, per_second: 20 }, &[(1, Urgency::Awaited)]).await;
    let mut paid = HashSet::new();
    for _ in 0..2 {
        paid.extend(asked.pay(1, 20));
        asked.mine();
    }
    let view = asked.look(None, &[script(1)], &[]);
    assert!(covers(&view, 1));
    assert_eq!(txids(&view).into_iter().collect::<HashSet<_>>(), paid);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_that_does_not_fit_into_one_look_is_read_on_by_the_next() {
    let asked = Asked::new(Pace::HERE, &[(1, Urgency::Possible)]).await;
    let mut paid = HashSet::new();
    for _ in 0..4 {
        paid.extend(asked.pay(1, 40));
        asked.mine();
    }
    let first = asked.look(None, &[], &[]);
    assert!(!covers(&first, 1) && !first.all_told, "it is read in parts, for nobody waits for it");
    // More comes meanwhile.
    paid.extend(asked.pay(1, 2));
    asked.mine();
    let second = asked.look(Some(&first.token), &[], &[]);
    assert!(covers(&second, 1) && second.all_told);
    let told: Vec<Txid> = txids(&first).into_iter().chain(txids(&second)).collect();
    assert_eq!(told.len(), paid.len(), "nothing is told twice");
    assert_eq!(told.into_iter().collect::<HashSet<_>>(), paid);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_has_enough_in_the_middle_of_a_look_leaves_the_rest_of_it_uncovered() {
    let asked = Asked::new(Pace::HERE, &[(1, Urgency::Awaited), (2, Urgency::Possible)]).await;
    let first = asked.look(None, &[], &[]);
    asked.server.misbehave(EsploraFault::BusyAfter { questions: 2, for_s: 60 });
    let second = asked.look(Some(&first.token), &[], &[]);
    assert!(covers(&second, 1) && !covers(&second, 2));
    asked.server.misbehave(None);
    let before = asked.server.requests();
    let request = LookRequest {
        token: Some(&second.token),
        birth_height: None,
        watch: &asked.watched,
        scripts: Scripts { hot: &asked.hot, ..no_scripts() },
    };
    let sentence = tokio::task::block_in_place(|| asked.chain.look(&request)).unwrap_err().to_string();
    assert!(sentence.contains("left alone"), "{sentence}");
    assert_eq!(asked.server.requests(), before, "it is not asked before its time");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_round_is_one_over_all_until_each_script_that_matters_was_told_of_in_it() {
    let asked = Asked::new(Pace::HERE, &[(1, Urgency::Awaited), (2, Urgency::Awaited)]).await;
    let whole_up_to = |view: &View| Token::read(&view.token).unwrap().whole_up_to;
    let refused = EsploraFault::EndlessHistory(format!("{:x}", sha256::Hash::hash(script(1).as_bytes())));
    let next = |view: &View| {
        asked.mine();
        asked.look_behind_a_round(Some(&view.token))
    };
    asked.server.misbehave(refused.clone());
    let began = asked.look_behind_a_round(None);
    let view = next(&began);
    assert!(covers(&view, 2) && !covers(&view, 1));
    assert_eq!(whole_up_to(&view), 0, "one was refused for its length");
    asked.server.misbehave(None);
    let told = next(&view);
    assert_eq!(whole_up_to(&told), began.tip.height, "each was told of since it began");

    asked.server.misbehave(refused);
    let view = next(&told);
    assert_eq!(whole_up_to(&view), told.tip.height);
    let mark = asked.hot.mark();
    asked.hot.replace(HashMap::from([(script(2), Urgency::Awaited)]), mark);
    let let_go = next(&view);
    assert_eq!(whole_up_to(&let_go), told.tip.height, "it mattered as the round passed it over, and was refused");
    asked.server.misbehave(None);
    assert_eq!(whole_up_to(&next(&let_go)), view.tip.height, "it was asked about all the same, until it was told of");
}

#[tokio::test]
async fn the_fee_rate_is_the_estimate_and_none_where_there_is_none() {
    let stage = Stage::new(Backend::Esplora).await;
    let world = stage.world();
    for (estimate, rate) in [(Some(37), Some(37)), (Some(0), None)] {
        world.sandbox().set_faults(FaultsPatch { fee_rate_sat_vb: Some(estimate), ..FaultsPatch::default() }).unwrap();
        let chain = Arc::clone(&world.gateway.chain);
        let named = tokio::task::spawn_blocking(move || chain.fee_rate(6)).await.unwrap().unwrap();
        assert_eq!(named, rate.map(FeeRate::from_sat_per_vb_u32));
    }
}

#[tokio::test]
async fn fee_rates_that_go_on_and_on_are_not_read() {
    let stage = Stage::new(Backend::Esplora).await;
    for (bytes, is_read) in [(60_000, true), (70_000, false)] {
        stage.esplora().misbehave(EsploraFault::ManyEstimates(bytes));
        let chain = Arc::clone(&stage.world().gateway.chain);
        let named = tokio::task::spawn_blocking(move || chain.fee_rate(6)).await.unwrap();
        assert_eq!(named.is_ok(), is_read, "{named:?}");
        assert!(is_read || named.unwrap_err().to_string().contains("longer than 64 KiB"));
    }
}

#[tokio::test]
async fn a_payment_is_seen_in_the_mempool_confirmed_and_reversed_through_a_server() {
    let stage = Stage::new(Backend::Esplora).await;
    let world = stage.world();
    let payment = world.payment().await;
    world.pay(&payment, payment.payment.amount_sats).await;
    assert_eq!(world.state(&payment), Unconfirmed);
    world.mine(1).await;
    assert_eq!(world.state(&payment), Confirmed);
    world.sandbox().reorg(1, false, world.now_ms()).unwrap();
    world.look().await;
    assert_eq!(world.state(&payment), Invalid);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_payee_no_page_is_read_from_before_the_payout() {
    let mut asked = Asked::new(Pace::HERE, &[(1, Urgency::Possible)]).await;
    for _ in 0..3 {
        asked.pay(2, 50);
        asked.mine();
    }
    let above = asked.world.sandbox().tip().unwrap().height;
    // What is ours and was paid before is not told either.
    asked.watched.scripts.insert(script(2));
    let view = asked.look(None, &[], &[]);
    asked.pay(2, 1);
    asked.mine();
    let waiting = asked.pay(2, 1);
    let looks = |above: u32, token: &[u8]| {
        let payees = [AskedPayee { script: script(2), above }];
        let before = asked.server.asked("scripthash/txs");
        let view = asked.look_about(Some(token), Scripts { payees: &payees, hot: &asked.hot, ..no_scripts() });
        assert!(covers(&view, 2));
        (asked.server.asked("scripthash/txs") - before, view)
    };
    let (pages, told) = looks(above, &view.token);
    // One about the script that matters.
    assert_eq!((pages, told.txs.len(), told.states.len()), (2, 2, 0));
    assert!(txids(&told).contains(&waiting[0]));
    let (pages, told) = looks(0, &told.token);
    assert_eq!((pages, told.txs.len()), (8, 150), "from further back it is read page by page");
}
