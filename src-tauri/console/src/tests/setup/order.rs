//! A server that is asked about single scripts returns the transactions of a history in any order.
//! The restored wallet must not depend on that order.

use bitcoin::hashes::Hash as _;
use bitcoin::{FeeRate, ScriptBuf, Transaction, Txid, WPubkeyHash};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};
use tillgate_domain::batch::Position;
use tillgate_store::StoreError;
use tillgate_store::coins::StoredCoin;
use tillgate_store::keychains::Keychain;

use super::*;
use tillgate_gateway::testing::stage::{Backend, Stage};
use tillgate_gateway::wallet::spend::{
    self, FeeWanted, FreshChange, Funding, Payee, SpendableCoin,
};

/// The number of random histories.
const CASES: u32 = 4;

/// The number of indices of each keychain. A backend is asked about their scripts in two parts of a
/// thousand.
const INDICES: u32 = 1_000;

/// The sum that a customer pays.
const COIN_SATS: u64 = 1_000_000;

/// The sum that the other copy pays.
const PAID_SATS: u64 = 300_000;

/// A customer pays an address of the other copy, which may spend the coin.
#[derive(Debug, Clone)]
struct Event {
    address: u32,
    spent: Option<Spent>,
}

/// A payment by the other copy, with change.
#[derive(Debug, Clone)]
struct Spent {
    /// The index of the payment's change.
    change: u32,
    /// The index of the change of a second payment, which spends this payment's change; `None` if
    /// there is none.
    then: Option<u32>,
    is_mined: bool,
}

/// A restored wallet.
#[derive(Debug, PartialEq)]
struct Brought {
    coins: Vec<StoredCoin>,
    balance_sats: i64,
    spendable_sats: u64,
    twins: Vec<(Txid, Position)>,
}

/// A random index. A few indices are drawn often, so that two payments put their change at the same
/// index.
fn index() -> impl Strategy<Value = u32> {
    prop_oneof![3 => 0..INDICES, 1 => 0..4u32]
}

fn event() -> impl Strategy<Value = Event> {
    let spent = (index(), prop::option::of(index()), any::<bool>())
        .prop_map(|(change, then, is_mined)| Spent { change, then, is_mined });
    (index(), prop::option::weighted(0.8, spent))
        .prop_map(|(address, spent)| Event { address, spent })
}

/// The other copy spends a coin.
fn spends(world: &World, coin: SpendableCoin, change: u32, salt: u8) -> Transaction {
    let wallet = world.gateway.wallet.get().unwrap();
    let script = wallet.keychains.script(Keychain::Internal, change).unwrap();
    let funding = Funding {
        required: &[coin],
        optional: &[],
        fee: FeeWanted::at(FeeRate::from_sat_per_vb_u32(3)),
        change: &FreshChange { script, index: change },
        address_type: wallet.keychains.address_type(),
        tip_height: 1,
    };
    let somebody = ScriptBuf::new_p2wpkh(&WPubkeyHash::from_byte_array([salt; 20]));
    let spend =
        spend::choose(&[Payee { script: somebody, amount_sats: PAID_SATS }], &funding, [7; 32])
            .unwrap();
    spend::sign(&spend, &words_of(world), &wallet.keychains).unwrap()
}

/// The coin that a transaction makes at an index of a keychain.
fn coin_of(world: &World, tx: &Transaction, keychain: Keychain, index: u32) -> SpendableCoin {
    let script = world.gateway.wallet.get().unwrap().keychains.script(keychain, index).unwrap();
    let (vout, output) =
        (0u32..).zip(&tx.output).find(|(_, output)| output.script_pubkey == script).unwrap();
    let outpoint = bitcoin::OutPoint { txid: tx.compute_txid(), vout };
    let amount_sats = output.value.to_sat();
    let (height, ancestors, ancestors_vsize, ancestors_fee_sats) = (Some(1), 0, 0, 0);
    SpendableCoin {
        outpoint,
        amount_sats,
        keychain,
        index,
        height,
        ancestors,
        ancestors_vsize,
        ancestors_fee_sats,
    }
}

/// Puts the events into the sandbox's chain and mempool.
fn happens(world: &World, events: &[Event]) {
    let sandbox = world.sandbox();
    let mut paid = Vec::new();
    for event in events {
        let script = world
            .gateway
            .wallet
            .get()
            .unwrap()
            .keychains
            .script(Keychain::External, event.address)
            .unwrap();
        let txid = sandbox.send(script, COIN_SATS, world.now_ms()).unwrap();
        sandbox.mine(1, false, world.now_ms()).unwrap();
        paid.push(sandbox.transaction(txid).unwrap().unwrap().tx);
    }
    sandbox.mine(2, false, world.now_ms()).unwrap();
    for ((event, paid), salt) in events.iter().zip(&paid).zip(1u8..) {
        let Some(Spent { change, then, is_mined }) = event.spent else { continue };
        let coin = coin_of(world, paid, Keychain::External, event.address);
        let first = spends(world, coin, change, salt);
        sandbox.broadcast(&first, world.now_ms()).unwrap();
        if is_mined {
            sandbox.mine(1, false, world.now_ms()).unwrap();
        }
        if let Some(then) = then {
            let second =
                spends(world, coin_of(world, &first, Keychain::Internal, change), then, salt);
            sandbox.broadcast(&second, world.now_ms()).unwrap();
        }
    }
}

/// Restores the wallet, and returns its state after the scan.
async fn brought(stage: &Stage, words: &Secret) -> Brought {
    let world = stage.world();
    restore(&world.gateway, request(words, 60), BY).await.unwrap();
    for _ in 0..30 {
        if stands(world).state == RestoreState::Looked {
            break;
        }
        world.look().await;
    }
    assert_eq!(stands(world).state, RestoreState::Looked, "the scan must end within 30 looks");
    world.check_ledger();
    let read = world.gateway.store.read(|reader| {
        let tip_height = reader.tip_height()?;
        let mut coins = reader.coins()?;
        coins.sort_by_key(|coin| coin.coin.outpoint);
        let twins = reader.pending_twins(tip_height)?.into_iter();
        let twins = twins.map(|txid| Ok((txid, reader.twin(&txid)?.unwrap().position)));
        Ok::<_, StoreError>(Brought {
            coins,
            balance_sats: reader.ledger_sats()?,
            spendable_sats: reader.unspent_sats(tip_height, 2)?,
            twins: twins.collect::<Result<_, StoreError>>()?,
        })
    });
    read.unwrap()
}

/// The wallets that are restored from one history with these backends.
async fn brought_by(events: &[Event], backends: [Backend; 2]) -> [Brought; 2] {
    let mut world = world_with_wallet().await;
    happens(&world, events);
    let words = words_of(&world);
    let mut found = Vec::new();
    for backend in backends {
        let stage = Stage::over(backend, beside(world).await).await;
        found.push(brought(&stage, &words).await);
        world = stage.into_world();
    }
    found.try_into().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coin_found_after_its_spender_is_known_as_spent() {
    // The script of the change is asked about first, so the spender is known before the coin.
    let spent = Spent { change: 3, then: None, is_mined: false };
    let events = [Event { address: 900, spent: Some(spent) }];
    let [all, by_script] = brought_by(&events, [Backend::Sandbox, Backend::Electrum]).await;
    let coin =
        by_script.coins.iter().find(|coin| coin.coin.keychain == Keychain::External).unwrap();
    assert_eq!((coin.spent_by, by_script.spendable_sats), (Some(by_script.twins[0].0), 0));
    assert_eq!(by_script, all);
}

#[tokio::test(flavor = "multi_thread")]
async fn change_enters_the_ledger_once_if_its_payer_is_a_twin() {
    // Both payments put their change at one index. The second seems to be a stranger's payment
    // until its spent coin is found.
    let spent = |is_mined| Some(Spent { change: 3, then: None, is_mined });
    let events =
        [Event { address: 1, spent: spent(true) }, Event { address: 900, spent: spent(true) }];
    let [all, by_script] = brought_by(&events, [Backend::Sandbox, Backend::Electrum]).await;
    assert_eq!(by_script, all);
}

#[test]
fn the_restored_wallet_does_not_depend_on_the_order_of_scripts() {
    let config = ProptestConfig {
        cases: CASES,
        max_shrink_iters: 20,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner = TestRunner::new(config);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let told = runner.run(&prop::collection::vec(event(), 1..6), |events| {
        let [all, by_script] =
            runtime.block_on(brought_by(&events, [Backend::Sandbox, Backend::Electrum]));
        prop_assert_eq!(by_script, all);
        Ok::<_, TestCaseError>(())
    });
    if let Err(broken) = told {
        panic!("{broken}");
    }
}
