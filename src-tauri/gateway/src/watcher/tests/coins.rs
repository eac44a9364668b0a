//! Coins as looks store them: their positions and spends.

use bitcoin::absolute::LockTime;
use bitcoin::hashes::Hash as _;
use bitcoin::{
    Amount, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Txid, WPubkeyHash, Witness,
    transaction,
};
use tillgate_chain::Broadcast;
use tillgate_domain::payment::PaymentState::Confirmed;
use tillgate_store::chain::{Cursor, WatchedChain};
use tillgate_store::coins::StoredCoin;
use tillgate_store::keychains::Keychain;
use tillgate_store::payments::PaymentRow;

use crate::open;
use crate::testing::World;

/// A script that anyone can spend, so that the tests need no key.
fn anybodys() -> ScriptBuf {
    ScriptBuf::from_bytes(vec![0x51])
}

fn coins(world: &World) -> Vec<StoredCoin> {
    world.gateway.store.read(|reader| reader.coins()).unwrap()
}

fn the_coin(world: &World) -> StoredCoin {
    let coins = coins(world);
    assert_eq!(coins.len(), 1, "{coins:?}");
    coins.into_iter().next().unwrap()
}

/// The output of `paid` that pays the payment.
fn outpoint(world: &World, payment: &PaymentRow, paid: Txid) -> OutPoint {
    let tx = {
        let all = world.sandbox().changes_since(0, 10_000).unwrap().txs;
        all.into_iter().find(|view| view.txid == paid).unwrap().tx
    };
    let vout = (0u32..)
        .zip(&tx.output)
        .find(|(_, output)| output.script_pubkey == payment.script)
        .unwrap()
        .0;
    OutPoint { txid: paid, vout }
}

/// Spends a coin of the [`anybodys`] script. A different `pays` gives a different txid.
fn spend(world: &World, coin: OutPoint, pays: u64) -> Txid {
    let witness = Witness::from_slice(&[anybodys().as_bytes()]);
    let tx = Transaction {
        version: transaction::Version::TWO,
        lock_time: LockTime::ZERO,
        input: vec![TxIn {
            previous_output: coin,
            script_sig: ScriptBuf::new(),
            sequence: Sequence::ENABLE_RBF_NO_LOCKTIME,
            witness,
        }],
        output: vec![TxOut {
            value: Amount::from_sat(pays),
            script_pubkey: ScriptBuf::new_p2wpkh(&WPubkeyHash::all_zeros()),
        }],
    };
    assert_eq!(
        world.gateway.backend.chain.broadcast(std::slice::from_ref(&tx)).unwrap(),
        Broadcast::Accepted
    );
    tx.compute_txid()
}

#[tokio::test]
async fn a_coin_follows_its_transaction_and_its_current_spend() {
    let world = World::new().await;
    let payment = world.payment_to(anybodys().to_p2wsh()).await;
    let paid = world.pay(&payment, payment.payment.amount_sats).await;
    let coin = the_coin(&world);
    assert_eq!(
        (coin.coin.outpoint, coin.coin.payment_seq),
        (outpoint(&world, &payment, paid), Some(payment.seq))
    );
    assert_eq!((coin.position.as_str(), coin.block_height, coin.spent_by), ("mempool", None, None));
    world.mine(1).await;
    let height = world.sandbox().tip().unwrap().height;
    assert_eq!(
        (the_coin(&world).position.as_str(), the_coin(&world).block_height),
        ("block", Some(height))
    );
    assert_eq!(world.state(&payment), Confirmed);

    let first = spend(&world, coin.coin.outpoint, 5_000);
    world.look().await;
    assert_eq!(the_coin(&world).spent_by, Some(first));
    let second = spend(&world, coin.coin.outpoint, 2_000);
    world.look().await;
    assert_eq!(the_coin(&world).spent_by, Some(second), "the first spend was replaced");
    world.sandbox().evict(second, world.now_ms()).unwrap();
    world.look().await;
    assert_eq!(the_coin(&world).spent_by, None, "an evicted spend is undone");
    world.mine(1).await;
    let third = spend(&world, coin.coin.outpoint, 3_000);
    world.mine(1).await;
    assert_eq!(the_coin(&world).spent_by, Some(third));

    // A look with an empty token reads the whole chain at once.
    let before = the_coin(&world);
    let watched = world.gateway.store.read(|reader| reader.watched_chain()).unwrap().unwrap();
    let cursor = Cursor { token: Vec::new(), ..watched.cursor.clone() };
    let from_start = WatchedChain { cursor, ..watched };
    world.gateway.store.write(move |tx| tx.save_watched_chain(&from_start)).await.unwrap();
    let world = world.reopen().await;
    world.look().await;
    assert_eq!(the_coin(&world), before);
}

#[tokio::test]
async fn a_coin_created_and_spent_before_its_first_look_is_spent() {
    let world = World::new().await;
    let payment = world.payment_to(anybodys().to_p2wsh()).await;
    let paid = world.customer_pays(&payment, payment.payment.amount_sats);
    let spender = spend(&world, outpoint(&world, &payment, paid), 5_000);
    world.look().await;
    assert_eq!(the_coin(&world).spent_by, Some(spender));
}

#[tokio::test]
async fn our_change_belongs_to_no_payment_and_follows_its_block() {
    let world = World::new().await;
    open::ensure_wallet(&world.gateway).await.unwrap();
    let wallet = world.gateway.wallet.get().unwrap();
    let script = wallet.change.script(3).unwrap();
    world.sandbox().send(script.clone(), 60_000, world.now_ms()).unwrap();
    world.look().await;
    let coin = the_coin(&world);
    assert_eq!(
        (coin.coin.keychain, coin.coin.index, coin.coin.payment_seq),
        (Keychain::Internal, 3, None)
    );
    assert_eq!((coin.coin.amount_sats, coin.position.as_str()), (60_000, "mempool"));
    world.mine(1).await;
    assert_eq!(the_coin(&world).position, "block");
    world.sandbox().reorg(1, false, world.now_ms()).unwrap();
    world.look().await;
    assert_eq!(
        (the_coin(&world).position.as_str(), the_coin(&world).block_height),
        ("absent", None)
    );
}

#[tokio::test]
async fn coins_of_a_lost_chain_are_absent_and_unspent() {
    let world = World::new().await;
    let payment = world.payment_to(anybodys().to_p2wsh()).await;
    let paid = world.pay(&payment, payment.payment.amount_sats).await;
    world.mine(1).await;
    spend(&world, outpoint(&world, &payment, paid), 5_000);
    world.mine(1).await;
    assert!(the_coin(&world).spent_by.is_some());
    let (gateway, folder) = world.into_gateway();
    let file = gateway.machine.data_dir.sandbox();
    drop(gateway);
    std::fs::remove_file(file).unwrap();
    let world = World::in_folder(folder).await;
    assert_eq!((the_coin(&world).position.as_str(), the_coin(&world).spent_by), ("absent", None));
}
