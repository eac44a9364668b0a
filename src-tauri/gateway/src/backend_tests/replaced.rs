//! A customer who replaces a payment again and again, through every backend.

use bitcoin::hashes::Hash as _;
use bitcoin::{ScriptBuf, Sequence, Transaction};
use tillgate_domain::payment::PaymentState::{Confirmed, Invalid, New, Unconfirmed};
use tillgate_domain::policy::{PolicySettings, PriceBound};
use tillgate_domain::receipt::Position;
use tillgate_store::payments::PaymentRow;

use super::steps::QUIET_SECONDS;
use crate::testing::World;
use crate::testing::payer::{Kind, Payer, through_every_backend};
use crate::testing::stage::{Backend, Stage};

const SIGNALS: Sequence = Sequence::ENABLE_RBF_NO_LOCKTIME;

/// More replacements than one look handles for a payment.
const OFTEN: u64 = 32;

/// A transaction that pays all these payments. With higher `fees` it replaces the one before.
fn pays_all(payer: &Payer, payments: &[PaymentRow], fees: u64) -> Transaction {
    let outputs: Vec<(&ScriptBuf, u64)> =
        payments.iter().map(|it| (&it.script, it.payment.amount_sats)).collect();
    payer.pays(&outputs, fees, SIGNALS)
}

async fn rows_for(world: &World, tx: &Transaction) -> u64 {
    let before = world.gateway.store.rows_written();
    world.hears(tx).await;
    world.gateway.store.rows_written() - before
}

fn conflicts(world: &World) -> usize {
    world.gateway.store.read(|reader| reader.rows_of("receipt_conflicts")).unwrap().len()
}

#[tokio::test]
async fn many_replacements_stay_cheap_and_any_may_be_mined() {
    through_every_backend(async |stage| {
        let world = stage.world();
        let payer = Payer::with_coin(world, Kind::Segwit).await;
        let payments = [world.payment().await, world.payment().await, world.payment().await];
        let first = pays_all(&payer, &payments, 1);
        world.hears(&first).await;
        let (mut early, mut late, mut noted) = (0, 0, 0);
        for fees in 2..OFTEN {
            let tx = pays_all(&payer, &payments, fees);
            let rows = rows_for(world, &tx).await;
            match fees {
                16..20 => early += rows,
                28..32 => late += rows,
                _ => {}
            }
            if fees == 16 {
                noted = conflicts(world);
            }
            for payment in &payments {
                assert_eq!(world.state(payment), Unconfirmed);
                assert!(world.receipts_of(payment).len() <= 12, "a look handles few of them");
            }
        }
        assert!(
            late <= early + 20,
            "{early} rows for four replacements, and {late} for four later ones"
        );
        assert!(
            conflicts(world) <= noted,
            "{noted} conflict rows at first, and later {}",
            conflicts(world)
        );

        // A miner mines the first transaction: it counts, and the last one no longer does.
        world.finds_mined(std::slice::from_ref(&first)).await;
        for payment in &payments {
            let row = world.reload_payment(&payment.payment.id).payment;
            assert_eq!((row.state, row.paid_sats), (Confirmed, payment.payment.amount_sats));
            let there: Vec<_> =
                world.receipts_of(payment).into_iter().filter(|it| !it.gone).collect();
            assert_eq!(there.iter().map(|it| it.txid).collect::<Vec<_>>(), [first.compute_txid()]);
            assert_eq!(world.anomalies_of(payment), []);
        }
        world.check_money();
    })
    .await;
}

#[tokio::test]
async fn a_replaced_zero_conf_payment_is_reversed_by_a_block() {
    through_every_backend(async |stage| {
        let world = stage.world();
        let payer = Payer::with_coin(world, Kind::Segwit).await;
        let policy = PolicySettings {
            zero_conf_up_to: PriceBound::usd(100),
            zero_conf_quiet_seconds: QUIET_SECONDS,
            ..PolicySettings::default()
        };
        let (at_once, other) = (world.payment_under(policy).await, world.payment().await);
        world
            .hears(&payer.pays(&[(&at_once.script, at_once.payment.amount_sats)], 5, SIGNALS))
            .await;
        world.pass_ms(i64::from(QUIET_SECONDS + 1) * 1_000).await;
        assert_eq!(world.state(&at_once), Confirmed);

        let others = [other];
        for fees in 6..6 + OFTEN {
            world.hears(&pays_all(&payer, &others, fees)).await;
        }
        assert_eq!(world.state(&at_once), Confirmed, "the mempool alone decides nothing");
        world.mine(1).await;
        assert_eq!((world.state(&at_once), world.state(&others[0])), (Invalid, Confirmed));
        world.check_money();
    })
    .await;
}

#[tokio::test]
async fn a_replaced_transaction_that_returns_is_seen_at_once() {
    through_every_backend(async |stage| {
        let world = stage.world();
        let payer = Payer::with_coin(world, Kind::Segwit).await;
        let payments = [world.payment().await];
        let all: Vec<Transaction> =
            (1..OFTEN).map(|fees| pays_all(&payer, &payments, fees)).collect();
        for tx in &all {
            world.hears(tx).await;
        }
        // The last look set the receipt of `back` aside (`Tx::set_gone_aside`), and the backend
        // still follows `back`.
        let looked_at = world.receipts_of(&payments[0]).iter().filter(|it| it.gone).count();
        let (last, back) = (all.last().unwrap(), &all[all.len() - 2 - looked_at]);
        world.sandbox().evict(last.compute_txid(), world.now_ms()).unwrap();
        world.hears(back).await;
        let receipts = world.receipts_of(&payments[0]);
        let found = receipts.iter().find(|it| it.txid == back.compute_txid());
        assert!(
            found.is_some_and(|it| !it.gone && it.position == Position::Mempool),
            "{receipts:?}"
        );
        assert_eq!(world.state(&payments[0]), Unconfirmed);
    })
    .await;
}

#[tokio::test]
async fn a_payment_paid_again_after_many_replacements_counts() {
    through_every_backend(async |stage| {
        let world = stage.world();
        let payer = Payer::with_coin(world, Kind::Segwit).await;
        let payments = [world.payment().await];
        for fees in 1..OFTEN {
            world.hears(&pays_all(&payer, &payments, fees)).await;
        }
        world.hears(&payer.pays(&[], OFTEN, SIGNALS)).await;
        assert_eq!(world.state(&payments[0]), New, "the coins went back to the payer");
        let again = pays_all(&payer, &payments, 2 * OFTEN);
        world.hears(&again).await;
        assert_eq!(world.state(&payments[0]), Unconfirmed);
        world.mine(2).await;
        assert_eq!(world.state(&payments[0]), Confirmed);
        assert_eq!(world.anomalies_of(&payments[0]), []);
    })
    .await;
}

#[tokio::test]
async fn large_replacements_fill_no_disk_and_any_may_be_mined() {
    let stage = Stage::new(Backend::Electrum).await;
    let world = stage.world();
    let payer = Payer::with_coin(world, Kind::Segwit).await;
    let customer = Payer::with_coin(world, Kind::Legacy).await;
    let payment = world.payment().await;
    let other = ScriptBuf::new_p2wpkh(&bitcoin::WPubkeyHash::from_byte_array([7; 20]));
    let mut outputs = vec![(&other, 330); 3_000];
    outputs.push((&payment.script, payment.payment.amount_sats));
    let all: Vec<Transaction> =
        (1..=60).map(|number| payer.pays(&outputs, 50 * number, SIGNALS)).collect();
    for tx in &all {
        world.hears(tx).await;
    }
    let (first, last) = (all.first().unwrap().compute_txid(), all.last().unwrap());
    let stored = |txid| {
        world.gateway.store.read(|reader| reader.stored_transaction(&txid)).unwrap().is_some()
    };
    assert!(stored(first) && !stored(last.compute_txid()));
    let bytes = world.gateway.store.read(|reader| reader.missing_bytes(payment.seq)).unwrap();
    assert!(bytes < 5_000_000, "{bytes} bytes of absent transactions are stored");
    world.hears(&payer.pays(&[], 50 * 61, SIGNALS)).await;
    assert_eq!(world.state(&payment), New, "the coins went back to the payer");

    // Despite the flood, the customer's own transaction counts, and so does its fee bump.
    let pays = |fee| customer.pays(&[(&payment.script, payment.payment.amount_sats)], fee, SIGNALS);
    for fee in [1, 2] {
        world.hears(&pays(fee)).await;
        assert_eq!(world.state(&payment), Unconfirmed);
    }
    world.hears(&customer.pays(&[], 3, SIGNALS)).await;
    world.finds_mined(std::slice::from_ref(last)).await;
    let row = world.reload_payment(&payment.payment.id).payment;
    assert_eq!((row.state, row.paid_sats), (Confirmed, payment.payment.amount_sats));
    world.check_money();
}
