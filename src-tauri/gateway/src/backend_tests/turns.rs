//! Moves of the chain, the miner and the payer that affect a payment, through every backend. The
//! result is always the one that the interface defines.

use bitcoin::{Sequence, Txid};
use tillgate_domain::anomaly::{AnomalyKind, Resolution};
use tillgate_domain::payment::PaymentState::{
    self, Confirmed, Expired, Invalid, New, Unconfirmed, Underpaid,
};
use tillgate_domain::payout::PayoutState;
use tillgate_sandbox::{Pay, Replace, ReplaceTo};
use tillgate_store::payments::PaymentRow;

use crate::testing::payer::{Kind, Payer, through_every_backend};
use crate::testing::{HALF_AN_HOUR_MS, World};

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// Below the dust limit of every kind of output.
const DUST_SATS: u64 = 100;

const SIGNALS: Sequence = Sequence::ENABLE_RBF_NO_LOCKTIME;

fn price(payment: &PaymentRow) -> u64 {
    payment.payment.amount_sats
}

fn stands(world: &World, payment: &PaymentRow) -> (PaymentState, u64) {
    let row = world.reload_payment(&payment.payment.id).payment;
    (row.state, row.paid_sats)
}

fn told(world: &World, payment: &PaymentRow) -> Vec<String> {
    let bodies = world.notified(&payment.payment.id);
    let transactions = bodies.last().unwrap()["btcTransactions"].as_array().unwrap().clone();
    transactions.iter().map(|one| one["btcTxId"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_transaction_malleated_before_its_block_pays_once() {
    through_every_backend(async |stage| {
        for wait_ms in [0, HALF_AN_HOUR_MS + 4 * HOUR_MS] {
            let world = stage.world();
            let payer = Payer::with_coin(world, Kind::Legacy).await;
            let payment = world.payment().await;
            let tx = payer.pays(&[(&payment.script, price(&payment))], 1, SIGNALS);
            world.hears(&tx).await;
            assert_eq!(stands(world, &payment), (Unconfirmed, price(&payment)));
            world.pass_ms(wait_ms).await;

            let other = payer.malleated(&tx);
            assert_ne!(other.compute_txid(), tx.compute_txid());
            assert_eq!(other.output, tx.output);
            world.finds_mined(std::slice::from_ref(&other)).await;
            assert_eq!(stands(world, &payment), (Confirmed, price(&payment)), "after {wait_ms} ms");
            assert_eq!(told(world, &payment), [other.compute_txid().to_string()]);
            world.mine(6).await;
            assert_eq!(stands(world, &payment), (Confirmed, price(&payment)));
            assert_eq!(world.anomalies_of(&payment), []);
            let gone: Vec<Txid> =
                world.receipts_of(&payment).iter().filter(|it| it.gone).map(|it| it.txid).collect();
            assert_eq!(gone, [tx.compute_txid()]);
            world.check_money();
        }
    })
    .await;
}

#[tokio::test]
async fn another_signature_under_the_same_id_changes_nothing() {
    through_every_backend(async |stage| {
        let world = stage.world();
        let payer = Payer::with_coin(world, Kind::Segwit).await;
        let payment = world.payment().await;
        let tx = payer.pays(&[(&payment.script, price(&payment))], 1, SIGNALS);
        world.hears(&tx).await;
        let other = payer.malleated(&tx);
        assert_eq!(other.compute_txid(), tx.compute_txid());
        assert_ne!(other.compute_wtxid(), tx.compute_wtxid());
        world.finds_mined(&[other]).await;
        world.mine(2).await;
        assert_eq!(
            world.notified_field(&payment.payment.id, "status"),
            ["UNCONFIRMED", "CONFIRMED"]
        );
        assert_eq!((world.receipts_of(&payment).len(), world.anomalies_of(&payment)), (1, vec![]));
        world.check_money();
    })
    .await;
}

#[tokio::test]
async fn a_transaction_without_the_rbf_signal_is_replaced_too() {
    through_every_backend(async |stage| {
        let world = stage.world();
        let payer = Payer::with_coin(world, Kind::Segwit).await;
        let payment = world.payment().await;
        let final_one = Sequence::MAX;
        let first = payer.pays(&[(&payment.script, price(&payment))], 1, final_one);
        assert!(!first.is_explicitly_rbf());
        world.hears(&first).await;
        assert_eq!(stands(world, &payment).0, Unconfirmed);
        world.hears(&payer.pays(&[], 2, final_one)).await;
        assert_eq!(stands(world, &payment), (New, 0), "the coins went back to the payer");
        let third = payer.pays(&[(&payment.script, price(&payment))], 4, final_one);
        world.hears(&third).await;
        assert_eq!(stands(world, &payment), (Unconfirmed, price(&payment)));
        world.mine(2).await;
        assert_eq!(stands(world, &payment), (Confirmed, price(&payment)));
        assert_eq!(told(world, &payment), [third.compute_txid().to_string()]);
        assert_eq!(world.anomalies_of(&payment), []);
        world.check_money();
    })
    .await;
}

#[tokio::test]
async fn a_dropped_transaction_counts_when_it_is_seen_again_or_mined() {
    through_every_backend(async |stage| {
        // A stranger broadcasts the transaction again, a miner who kept it mines it, or it is mined
        // after 14 days.
        for (days, is_mined) in [(0, false), (13, true), (15, true)] {
            let world = stage.world();
            let payer = Payer::with_coin(world, Kind::Segwit).await;
            let payment = world.payment().await;
            let tx = payer.pays(&[(&payment.script, price(&payment))], 1, SIGNALS);
            world.hears(&tx).await;
            world.takes_broadcasts(false);
            world.sandbox().evict(tx.compute_txid(), world.now_ms()).unwrap();
            world.look().await;
            assert_eq!(
                stands(world, &payment),
                (Unconfirmed, price(&payment)),
                "a dropped transaction may come back"
            );
            world.sandbox().mine(1, true, world.now_ms()).unwrap();
            world.look().await;
            world.pass_ms(days * DAY_MS).await;
            let (state, paid_sats) =
                if days < 14 { (Unconfirmed, price(&payment)) } else { (Invalid, 0) };
            assert_eq!(stands(world, &payment), (state, paid_sats), "after {days} days");
            if is_mined {
                world.finds_mined(&[tx]).await;
            } else {
                world.takes_broadcasts(true);
                world.hears(&tx).await;
                assert_eq!(stands(world, &payment), (Unconfirmed, price(&payment)));
                world.mine(1).await;
            }
            world.takes_broadcasts(true);
            assert_eq!(stands(world, &payment), (Confirmed, price(&payment)), "after {days} days");
            world.mine(2).await;
            let open: Vec<_> = world
                .anomalies_of(&payment)
                .into_iter()
                .filter(|(_, state, _)| *state == Resolution::Open)
                .collect();
            assert_eq!(open, []);
            world.check_money();
        }
    })
    .await;
}

#[tokio::test]
async fn two_outputs_are_one_sum_for_the_shop_and_two_coins() {
    through_every_backend(async |stage| {
        let world = stage.world();
        world.make_wallet().await;
        let payment = world.payment_to_wallet().await;
        let (one, two) = (price(&payment) / 3, price(&payment) - price(&payment) / 3);
        let payees = [(payment.script.clone(), one), (payment.script.clone(), two)];
        let txid = world.sandbox().pay_many(&payees, world.now_ms()).unwrap();
        world.look().await;
        assert_eq!(stands(world, &payment), (Unconfirmed, price(&payment)));
        let told = world.notified(&payment.payment.id).remove(0);
        let transactions = told["btcTransactions"].as_array().unwrap();
        assert_eq!(
            (transactions.len(), &transactions[0]["btcTxId"]),
            (1, &serde_json::json!(txid.to_string()))
        );
        assert_eq!(transactions[0]["btcAmount"], told["amountBtc"]);
        world.mine(2).await;
        let coins = world.gateway.store.read(|reader| reader.coins()).unwrap();
        let mut sums: Vec<u64> = coins.iter().map(|coin| coin.coin.amount_sats).collect();
        sums.sort_unstable();
        assert_eq!(sums, [one, two]);
        // One coin is not enough for this payout.
        let payout = world.approved_payout(two + 1_000).await;
        world.send().await;
        world.mine_and_pass(1).await;
        assert_eq!(
            (world.payout_state(&payout), world.outputs_of(&payout)),
            (PayoutState::Sent, 1)
        );
        world.check_money();
    })
    .await;
}

#[tokio::test]
async fn dust_counts_but_no_payout_spends_it() {
    through_every_backend(async |stage| {
        let world = stage.world();
        world.make_wallet().await;
        let (payment, untouched) =
            (world.payment_to_wallet().await, world.payment_to_wallet().await);
        let payer = Payer::with_coin(world, Kind::Segwit).await;
        let outputs = [(&payment.script, DUST_SATS), (&payment.script, 0), (&untouched.script, 0)];
        let dust = payer.pays(&outputs, 1, SIGNALS);
        world.finds_mined(std::slice::from_ref(&dust)).await;
        assert_eq!(stands(world, &payment), (Underpaid, DUST_SATS));
        assert_eq!(stands(world, &untouched), (New, 0));
        assert_eq!(world.receipts_of(&untouched), []);
        assert_eq!(world.notified_field(&payment.payment.id, "status"), ["UNDERPAID"]);
        world.customer_pays(&payment, price(&payment) - DUST_SATS);
        world.customer_pays(&untouched, 900_000);
        world.mine(2).await;
        assert_eq!(stands(world, &payment), (Confirmed, price(&payment)));

        let payout = world.approved_payout(800_000).await;
        world.send().await;
        let sent = world.sandbox().transaction(world.txid_of(&payout)).unwrap().unwrap().tx;
        assert!(sent.input.iter().all(|input| input.previous_output.txid != dust.compute_txid()));
        world.mine_and_pass(1).await;
        assert_eq!(world.payout_state(&payout), PayoutState::Sent);
        world.check_money();
    })
    .await;
}

#[tokio::test]
async fn a_payment_in_fifty_transactions_is_one_payment() {
    through_every_backend(async |stage| {
        let world = stage.world();
        let payment = world.payment().await;
        let pay = |amount_sats, parts| Pay {
            script: payment.script.clone(),
            amount_sats,
            parts,
            fee_rate_sat_vb: None,
            confirmations: 0,
        };
        // All transactions but the last arrive before the first look.
        let part = price(&payment) / 50;
        world.sandbox().pay(pay(part * 49, 49), world.now_ms()).unwrap();
        world.look().await;
        assert_eq!(stands(world, &payment), (Underpaid, part * 49));
        world.pay(&payment, price(&payment) - part * 49).await;
        assert_eq!(stands(world, &payment), (Unconfirmed, price(&payment)));
        world.mine(3).await;
        assert_eq!(stands(world, &payment), (Confirmed, price(&payment)));
        assert_eq!(
            world.notified_field(&payment.payment.id, "status"),
            ["UNDERPAID", "UNCONFIRMED", "CONFIRMED"]
        );
        assert_eq!((told(world, &payment).len(), world.anomalies_of(&payment)), (50, vec![]));
        // The transactions leave the chain, and come back.
        world.sandbox().reorg(3, true, world.now_ms()).unwrap();
        world.look().await;
        assert_eq!(stands(world, &payment), (Confirmed, price(&payment)));
        world.mine(1).await;
        assert_eq!(
            world.notified(&payment.payment.id).len(),
            3,
            "the return causes no notification"
        );
        world.check_money();
    })
    .await;
}

#[tokio::test]
async fn an_address_paid_years_later_or_while_off_is_reported_late() {
    through_every_backend(async |mut stage| {
        let world = stage.world();
        let old = [world.payment().await, world.payment().await, world.payment().await];
        let paid = world.payment().await;
        world.pay(&paid, price(&paid)).await;
        world.mine(1).await;
        world.pass_ms(HALF_AN_HOUR_MS + 2 * HOUR_MS).await;
        assert!(old.iter().all(|payment| world.state(payment) == Expired));

        world.pass_ms(3 * 366 * DAY_MS).await;
        world.gateway.refresh_rates().await.unwrap();
        world.customer_pays(&old[0], 20_000);
        world.customer_pays(&paid, 30_000);
        world.mine(2).await;
        world
            .looks_until("a late payment is noticed after years", || {
                !world.anomalies_of(&old[0]).is_empty()
            })
            .await;
        world
            .looks_until("an extra payment is noticed after years", || {
                !world.anomalies_of(&paid).is_empty()
            })
            .await;

        // One address is paid while the gateway is down, another once it is back.
        let (down, again) = (&old[1], &old[2]);
        stage = stage
            .restart(|world| {
                world.customer_pays(down, 40_000);
                world.sandbox().mine(2, false, world.now_ms()).unwrap();
            })
            .await;
        let world = stage.world();
        world.look().await;
        world
            .looks_until("a payment while down is noticed", || !world.anomalies_of(down).is_empty())
            .await;
        world.pay(again, 50_000).await;
        world.mine(2).await;
        world
            .looks_until("a payment after the restart is noticed", || {
                !world.anomalies_of(again).is_empty()
            })
            .await;

        use AnomalyKind::{ExtraPayment, LatePayment};
        for (payment, kind, sats) in [
            (&old[0], LatePayment, 20_000),
            (&paid, ExtraPayment, 30_000),
            (down, LatePayment, 40_000),
            (again, LatePayment, 50_000),
        ] {
            assert_eq!(world.anomalies_of(payment), [(kind, Resolution::Open, sats)]);
            let rows = world
                .gateway
                .store
                .read(|reader| reader.anomalies_of_payment(payment.seq))
                .unwrap();
            assert_eq!(world.notified_field(&rows[0].anomaly.id, "resolution"), ["OPEN"]);
        }
        assert_eq!(stands(world, &paid), (Confirmed, price(&paid)));
        assert_eq!(stands(world, &old[0]), (Expired, 0));
        world.check_money();
    })
    .await;
}

#[tokio::test]
async fn a_replacement_or_drop_while_off_is_seen_by_the_first_look() {
    through_every_backend(async |stage| {
        let world = stage.world();
        let (replaced, dropped) = (world.payment().await, world.payment().await);
        let first = world.pay(&replaced, price(&replaced)).await;
        let second = world.pay(&dropped, price(&dropped)).await;
        let stage = stage
            .restart(|world| {
                let replace = Replace { fee_rate_sat_vb: None, to: ReplaceTo::Customer };
                world.sandbox().replace(first, replace, world.now_ms()).unwrap();
                world.sandbox().evict(second, world.now_ms()).unwrap();
            })
            .await;
        let world = stage.world();
        world.look().await;
        assert_eq!((world.state(&replaced), world.state(&dropped)), (New, Unconfirmed));
        assert!(
            world.receipts_of(&dropped)[0].position.is_absent(),
            "a missing transaction counts"
        );
    })
    .await;
}
