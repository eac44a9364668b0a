//! Tests of the sandbox's chain as the gateway sees it, with and without faults.

use std::str::FromStr as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bitcoin::absolute::LockTime;
use bitcoin::opcodes::all::OP_PUSHNUM_1;
use bitcoin::{
    Address, Amount, FeeRate, Network, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxOut,
    Txid, Witness, transaction,
};
use tillgate_chain::chain_wrapper::ChainWrapper;
use tillgate_chain::{Broadcast, Chain, ChainDown, Fact, LookAnswer, LookRequest, no_scripts};

use super::*;

/// A script that anyone can spend.
fn anybodys() -> ScriptBuf {
    ScriptBuf::builder().push_opcode(OP_PUSHNUM_1).into_script()
}

fn address(script: &ScriptBuf) -> String {
    Address::from_script(script, Network::Regtest).unwrap().to_string()
}

/// A mined output of this amount that anyone can spend. Returns its outpoint and amount.
async fn coin(world: &World, sats: u64) -> (OutPoint, u64) {
    let script = anybodys().to_p2wsh();
    let amount = tillgate_domain::money::format_btc(sats);
    let body = json!({"address": address(&script), "btcAmount": amount});
    let sent = ok(world, "POST", "/sandbox/send", body).await;
    let txid = Txid::from_str(sent["btcTxIds"][0].as_str().unwrap()).unwrap();
    ok(world, "POST", "/sandbox/blocks", Value::Null).await;
    let paid = world.sandbox().outputs_to(&script).unwrap();
    (paid.iter().find(|output| output.outpoint.txid == txid).unwrap().outpoint, sats)
}

/// A transaction that spends a coin of [`coin`], with this fee, to a script that anyone can spend.
fn spend(coin: (OutPoint, u64), fee_sats: u64) -> Transaction {
    Transaction {
        version: transaction::Version::TWO,
        lock_time: LockTime::ZERO,
        input: vec![TxIn {
            previous_output: coin.0,
            script_sig: ScriptBuf::new(),
            sequence: Sequence::ENABLE_RBF_NO_LOCKTIME,
            witness: Witness::from_slice(&[anybodys().as_bytes()]),
        }],
        output: vec![TxOut {
            value: Amount::from_sat(coin.1 - fee_sats),
            script_pubkey: anybodys().to_p2wsh(),
        }],
    }
}

fn output(tx: &Transaction) -> (OutPoint, u64) {
    (OutPoint { txid: tx.compute_txid(), vout: 0 }, tx.output[0].value.to_sat())
}

/// Broadcasts a package as the gateway does.
fn broadcast(world: &World, package: &[Transaction]) -> Result<Broadcast, ChainDown> {
    world.gateway.backend.chain.broadcast(package)
}

async fn mempool(world: &World) -> Value {
    ok(world, "GET", "/sandbox", Value::Null).await["mempool"].clone()
}

async fn fault(world: &World, fault: Value) -> Value {
    ok(world, "PUT", "/sandbox/faults", fault).await["faults"].clone()
}

#[tokio::test]
async fn faults_that_are_not_named_are_kept_and_survive_a_restart() {
    let world = World::new().await;
    let honest = json!({
        "chainDown": false, "broadcast": "ok", "broadcastRejects": false, "keysLocked": false, "feeRate": null,
        "latencyMs": 0,
    });
    assert_eq!(ok(&world, "GET", "/sandbox", Value::Null).await["faults"], honest);
    fault(&world, json!({"broadcast": "timeout"})).await;
    fault(&world, json!({"keysLocked": true})).await;
    let set = fault(&world, json!({"feeRate": 250})).await;
    let world = world.reopen().await;
    assert_eq!(ok(&world, "GET", "/sandbox", Value::Null).await["faults"], set);
    assert_eq!(
        (&set["broadcast"], &set["broadcastRejects"], &set["keysLocked"], &set["feeRate"]),
        (&json!("timeout"), &json!(false), &json!(true), &json!(250))
    );
    assert!(
        world.sandbox().faults().unwrap().keys_locked,
        "the sandbox should report the locked keyring"
    );
    // The shown faults can be sent back. Sending the first ones back ends all faults.
    assert_eq!(fault(&world, set.clone()).await, set);
    assert_eq!(fault(&world, honest.clone()).await, honest);
}

#[tokio::test]
async fn broadcast_and_the_older_flag_never_contradict() {
    let world = World::new().await;
    for (given, word, flag) in [
        (json!({"broadcastRejects": true}), "reject", true),
        (json!({"broadcast": "forget"}), "forget", false),
        (json!({"broadcast": "reject"}), "reject", true),
        (json!({"broadcastRejects": false}), "ok", false),
        (json!({"broadcast": "timeout", "broadcastRejects": false}), "timeout", false),
        (json!({"latencyMs": 0}), "timeout", false),
        (json!({"broadcastRejects": false}), "ok", false),
    ] {
        let shown = fault(&world, given.clone()).await;
        assert_eq!(
            (&shown["broadcast"], &shown["broadcastRejects"]),
            (&json!(word), &json!(flag)),
            "{given}"
        );
    }
    for contradiction in [
        json!({"broadcast": "ok", "broadcastRejects": true}),
        json!({"broadcast": "timeout", "broadcastRejects": true}),
        json!({"broadcast": "reject", "broadcastRejects": false}),
    ] {
        assert_eq!(
            field_errors(&world, "PUT", "/sandbox/faults", contradiction).await,
            ["broadcastRejects"]
        );
    }
}

#[tokio::test]
async fn broadcast_faults_affect_the_gateway_and_not_the_customer() {
    let world = World::new().await;
    let parent = spend(coin(&world, 50_000).await, 500);
    let child = spend(output(&parent), 500);
    let package = [parent.clone(), child.clone()];

    fault(&world, json!({"broadcast": "reject"})).await;
    assert!(matches!(broadcast(&world, &package), Ok(Broadcast::Refused(_))));
    fault(&world, json!({"broadcast": "forget"})).await;
    assert_eq!(broadcast(&world, &package), Ok(Broadcast::Accepted));
    assert_eq!(mempool(&world).await, json!([]));
    fault(&world, json!({"broadcast": "timeout"})).await;
    assert!(broadcast(&world, &package).is_err());
    let both = json!([parent.compute_txid().to_string(), child.compute_txid().to_string()]);
    assert_eq!(
        mempool(&world).await,
        both,
        "the transactions are accepted, although the answer is missing"
    );
    fault(&world, json!({"broadcast": "ok"})).await;
    assert_eq!(broadcast(&world, &package), Ok(Broadcast::AlreadyKnown));

    let payment = world.payment().await;
    for word in ["reject", "timeout", "forget"] {
        fault(&world, json!({"broadcast": word})).await;
        let pay = format!("/sandbox/payments/{}/pay", payment.payment.id);
        let paid = ok(&world, "POST", &pay, json!({"btcAmount": "0.00010000"})).await;
        let waiting = mempool(&world).await;
        assert!(
            waiting.as_array().unwrap().contains(&paid["btcTxIds"][0]),
            "{word}: the customer's transaction is in the mempool"
        );
    }
}

#[tokio::test]
async fn the_fee_estimate_is_set_by_a_fault_and_restored_by_null() {
    let world = World::new().await;
    let estimate =
        |world: &World| world.gateway.backend.chain.fee_rates(6).unwrap().estimate.unwrap();
    assert_eq!(estimate(&world), FeeRate::from_sat_per_vb(2).unwrap());
    fault(&world, json!({"feeRate": 321})).await;
    assert_eq!(estimate(&world), FeeRate::from_sat_per_vb(321).unwrap());
    fault(&world, json!({"chainDown": false})).await;
    let world = world.reopen().await;
    assert_eq!(estimate(&world), FeeRate::from_sat_per_vb(321).unwrap());
    fault(&world, json!({"feeRate": null})).await;
    assert_eq!(estimate(&world), FeeRate::from_sat_per_vb(2).unwrap());
}

#[tokio::test]
async fn an_address_shows_all_its_outputs_also_spent_ones() {
    let world = World::new().await;
    let ours = address(&anybodys().to_p2wsh());
    let path = format!("/sandbox/addresses/{ours}");
    assert_eq!(ok(&world, "GET", &path, Value::Null).await, json!({"outputs": []}));
    let coin = coin(&world, 50_000).await;
    let tx = spend(coin, 500);
    broadcast(&world, std::slice::from_ref(&tx)).unwrap();
    let shown = ok(&world, "GET", &path, Value::Null).await;
    assert_eq!(shown["outputs"].as_array().unwrap().len(), 2, "a spent output is shown too");
    let first = &shown["outputs"][0];
    assert_eq!(
        (&first["btcTxId"], &first["vout"]),
        (&json!(coin.0.txid.to_string()), &json!(coin.0.vout))
    );
    assert_eq!(
        (first["btcAmount"].to_string().as_str(), &first["confirmations"]),
        ("0.00050000", &json!(1))
    );
    assert_eq!(shown["outputs"][1]["confirmations"], 0);
    ok(&world, "POST", "/sandbox/blocks", json!({"count": 3})).await;
    // An address in capitals is the same address.
    let shown =
        ok(&world, "GET", &format!("/sandbox/addresses/{}", ours.to_uppercase()), Value::Null)
            .await;
    let confirmations =
        [&shown["outputs"][0]["confirmations"], &shown["outputs"][1]["confirmations"]];
    assert_eq!(confirmations, [&json!(4), &json!(3)]);
    for bad in ["bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", "bcrt1qnonsense", "abc"] {
        assert_eq!(
            field_errors(&world, "GET", &format!("/sandbox/addresses/{bad}"), Value::Null).await,
            ["address"]
        );
    }
}

#[tokio::test]
async fn the_customer_shows_an_address_for_refunds() {
    let world = World::new().await;
    let told = ok(&world, "GET", "/sandbox", Value::Null).await;
    let address = told["customerAddress"].as_str().unwrap();
    ok(&world, "POST", "/sandbox/send", json!({"address": address, "btcAmount": "0.00012345"}))
        .await;
    let received = ok(&world, "GET", &format!("/sandbox/addresses/{address}"), Value::Null).await;
    let outputs = received["outputs"].to_string();
    assert!(outputs.contains("\"btcAmount\":0.00012345"), "{outputs}");
}

#[tokio::test]
async fn a_block_leaves_out_transactions_below_its_minimum_fee_rate() {
    let world = World::new().await;
    let tx = spend(coin(&world, 50_000).await, 500);
    let rate_kvb = 500_000 / u64::try_from(tx.vsize()).unwrap();
    broadcast(&world, std::slice::from_ref(&tx)).unwrap();
    let waiting = json!([tx.compute_txid().to_string()]);
    let over = format!("{}.{:03}", (rate_kvb + 1) / 1_000, (rate_kvb + 1) % 1_000);
    let status = ok(&world, "POST", "/sandbox/blocks", json!({"minFeeRate": over})).await;
    assert_eq!(status["mempool"], waiting);
    let status =
        ok(&world, "POST", "/sandbox/blocks", json!({"minFeeRate": 100, "count": 2})).await;
    assert_eq!(status["mempool"], waiting);
    let status =
        ok(&world, "POST", "/sandbox/blocks", json!({"minFeeRate": 0, "empty": true})).await;
    assert_eq!(status["mempool"], waiting);
    let just = format!("{}.{:03}", rate_kvb / 1_000, rate_kvb % 1_000);
    let status = ok(&world, "POST", "/sandbox/blocks", json!({"minFeeRate": just})).await;
    assert_eq!(status["mempool"], json!([]));
}

#[tokio::test]
async fn a_double_spend_reorg_returns_our_transactions_to_the_mempool() {
    let world = World::new().await;
    let tx = spend(coin(&world, 50_000).await, 500);
    assert_eq!(broadcast(&world, std::slice::from_ref(&tx)), Ok(Broadcast::Accepted));
    let payment = world.payment().await;
    world.pay(&payment, payment.payment.amount_sats).await;
    ok(&world, "POST", "/sandbox/blocks", json!({"count": 2})).await;
    assert_eq!(world.state(&payment), Confirmed);
    let status =
        ok(&world, "POST", "/sandbox/reorg", json!({"depth": 2, "keepTransactions": false})).await;
    assert_eq!(status["mempool"], json!([tx.compute_txid().to_string()]));
    assert_eq!(world.state(&payment), tillgate_domain::payment::PaymentState::Invalid);
    // The deeper reorganisation also removes the coin that `tx` spends, so `tx` cannot return to
    // the mempool.
    let status =
        ok(&world, "POST", "/sandbox/reorg", json!({"depth": 4, "keepTransactions": false})).await;
    assert_eq!(status["mempool"], json!([]));
}

#[tokio::test]
async fn packages_that_core_refuses_are_refused() {
    let world = World::new().await;
    let mut last = coin(&world, 1_000_000).await;
    let line: Vec<Transaction> = (0..26)
        .map(|_| {
            let tx = spend(last, 500);
            last = output(&tx);
            tx
        })
        .collect();
    assert_eq!(broadcast(&world, &line[..25]), Ok(Broadcast::Accepted));
    assert!(matches!(broadcast(&world, &line[25..]), Ok(Broadcast::Refused(_))));
}

/// The sandbox's chain. It counts its looks.
struct Counted {
    chain: Arc<dyn Chain>,
    looks: Arc<AtomicU32>,
}

impl ChainWrapper for Counted {
    fn chain(&self) -> &dyn Chain {
        self.chain.as_ref()
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<LookAnswer, ChainDown> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        self.chain.look(request)
    }
}

#[tokio::test]
async fn exactly_one_look_follows_each_change_and_none_a_question() {
    let looks = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&looks);
    let world = World::new().await.with_chain(|chain| Arc::new(Counted { chain, looks: counter }));
    let payment = world.payment().await;
    let somebody = address(&anybodys().to_p2wsh());
    let payments = format!("/sandbox/payments/{}/pay", payment.payment.id);
    for (method, path, body, expected) in [
        ("GET", "/sandbox", Value::Null, 0),
        ("GET", &format!("/sandbox/addresses/{somebody}"), Value::Null, 0),
        ("POST", "/sandbox/send", json!({"address": somebody, "btcAmount": "0.001"}), 1),
        ("POST", &payments, json!({"parts": 2, "confirmations": 3}), 1),
        ("POST", "/sandbox/blocks", json!({"count": 5, "minFeeRate": "2.5"}), 1),
        ("POST", "/sandbox/reorg", json!({"depth": 2}), 1),
        ("PUT", "/sandbox/faults", json!({"broadcast": "forget", "keysLocked": true}), 1),
        ("POST", "/sandbox/clock", json!({"advanceSeconds": 60}), 1),
    ] {
        let before = looks.load(Ordering::SeqCst);
        ok(&world, method, path, body).await;
        assert_eq!(looks.load(Ordering::SeqCst) - before, expected, "{method} {path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_chain_port_reports_a_conflicts_height_and_its_end() {
    let world = World::new().await;
    let coin = coin(&world, 50_000).await;
    let (ours, twin) = (spend(coin, 500), spend(coin, 900));
    broadcast(&world, std::slice::from_ref(&ours)).unwrap();
    let mut token = None;
    let mut told = || {
        let view = world.ask(token.as_deref(), no_scripts()).unwrap();
        let facts = view
            .txs
            .into_iter()
            .find(|facts| facts.tx == ours)
            .expect("the look reports our transaction");
        token = Some(view.token);
        (facts.conflict_in_chain, facts.conflict_height)
    };
    assert_eq!(told(), (Fact::No, None));
    world.sandbox().mine_transactions(&[twin], world.now_ms()).unwrap();
    let height = world.sandbox().tip().unwrap().height;
    assert_eq!(told(), (Fact::Yes, Some(height)));
    world.sandbox().reorg(1, true, world.now_ms()).unwrap();
    assert_eq!(told(), (Fact::No, None));
    world.sandbox().mine(1, false, world.now_ms()).unwrap();
    assert_eq!(told(), (Fact::Yes, Some(height + 2)));
}
