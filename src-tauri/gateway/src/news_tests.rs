//! The events that the database tells, after what happened to payments and payouts.

use tillgate_domain::id::Id;
use tillgate_domain::policy::{PolicySettings, PriceBound};
use tillgate_sandbox::{Replace, ReplaceTo};
use tillgate_store::Tx;
use tillgate_store::news::NewsSubject;

use crate::testing::World;

fn subjects(world: &World) -> Vec<NewsSubject> {
    world
        .gateway
        .store
        .read(|reader| reader.news(50))
        .unwrap()
        .into_iter()
        .map(|row| row.subject)
        .collect()
}

async fn runs(world: &World, sql: String) {
    world.gateway.store.write(move |tx: &Tx<'_>| tx.run(&sql)).await.unwrap();
}

/// A new payout that a key approved.
async fn approved_by_key(world: &World) -> Id {
    let payout = world.offered_payout(20_000).await;
    let change = "approved_by = 'till', approved_at = created_at, state = 'QUEUED'";
    runs(world, format!("UPDATE payouts SET {change} WHERE id = x'{payout}'")).await;
    payout
}

#[tokio::test]
async fn a_payment_is_told_when_it_is_paid_and_when_it_is_reversed() {
    let world = World::new().await;
    let payment = world.payment().await;
    assert_eq!(subjects(&world), []);
    world.pay(&payment, payment.payment.amount_sats).await;
    assert_eq!(subjects(&world), [NewsSubject::Paid(payment.seq)]);
    world.mine(1).await;
    assert_eq!(
        subjects(&world),
        [NewsSubject::Paid(payment.seq)],
        "a confirmation is told to nobody"
    );
    world.sandbox().reorg(1, false, world.now_ms()).unwrap();
    world.look().await;
    let told = [NewsSubject::Reversed(payment.seq), NewsSubject::Paid(payment.seq)];
    assert_eq!(subjects(&world), told, "its anomaly is the same event");
}

#[tokio::test]
async fn coins_that_a_customer_withdraws_are_told() {
    let world = World::new().await;
    let payment = world.payment().await;
    let txid = world.customer_pays(&payment, payment.payment.amount_sats);
    world.look().await;
    let to_customer = Replace { fee_rate_sat_vb: None, to: ReplaceTo::Customer };
    world.sandbox().replace(txid, to_customer, world.now_ms()).unwrap();
    world.look().await;
    assert_eq!(
        subjects(&world),
        [NewsSubject::Withdrawn(payment.seq), NewsSubject::Paid(payment.seq)]
    );
}

#[tokio::test]
async fn an_attack_on_a_confirmed_payment_is_told_once() {
    let world = World::new().await;
    let up_to_50 =
        PolicySettings { zero_conf_up_to: PriceBound::usd(50), ..PolicySettings::default() };
    let payment = world.payment_under(up_to_50).await;
    let txid = world.pay(&payment, payment.payment.amount_sats).await;
    world.pass_ms(60_000).await;
    let to_customer = Replace { fee_rate_sat_vb: None, to: ReplaceTo::Customer };
    let rival = world.sandbox().replace(txid, to_customer, world.now_ms()).unwrap();
    world.look().await;
    world.look().await;
    let told = [NewsSubject::Attacked(payment.seq), NewsSubject::Paid(payment.seq)];
    assert_eq!(subjects(&world), told);
    world.sandbox().evict(rival[0], world.now_ms()).unwrap();
    world.look().await;
    assert_eq!(subjects(&world), told, "the end of an attack changes the item");
}

#[tokio::test]
async fn a_payout_that_fails_by_itself_is_told() {
    let world = World::new().await;
    let (failed, cancelled) =
        (world.offered_payout(20_000).await, world.offered_payout(20_000).await);
    for (payout, failed_at, given_up_by) in [(failed, 5, "NULL"), (cancelled, 6, "'panel:ann'")] {
        let approved = "approved_at = created_at, approved_by = 'panel:ann'";
        let ended =
            format!("failed_at = {failed_at}, failure_reason = 'x', given_up_by = {given_up_by}");
        runs(
            &world,
            format!(
                "UPDATE payouts SET state = 'FAILED', {approved}, {ended} WHERE id = x'{payout}'"
            ),
        )
        .await;
    }
    assert_eq!(subjects(&world), [NewsSubject::Failed(failed)]);
}

#[tokio::test]
async fn only_payouts_of_api_keys_are_told() {
    let world = World::new().await;
    world.offered_payout(20_000).await;
    assert_eq!(subjects(&world), []);
    let approved = approved_by_key(&world).await;
    assert_eq!(subjects(&world), [NewsSubject::Approved(approved)]);
}

#[tokio::test]
async fn many_requests_cannot_hide_an_approval() {
    let world = World::new().await;
    approved_by_key(&world).await;
    let key = "(key_id, name, secret_sha256, permissions, notification_url_optional, created_at)";
    runs(&world, format!("INSERT INTO api_keys {key} VALUES (1, 'shop', zeroblob(32), '', 0, 0)"))
        .await;
    for _ in 0..2 {
        let payout = world.offered_payout(20_000).await;
        runs(&world, format!("UPDATE payouts SET key_id = 1 WHERE id = x'{payout}'")).await;
    }
    let news = world.gateway.store.read(|reader| reader.news(1)).unwrap();
    let approvals =
        news.iter().filter(|row| matches!(row.subject, NewsSubject::Approved(_))).count();
    let requests =
        news.iter().filter(|row| matches!(row.subject, NewsSubject::Requested(_))).count();
    assert_eq!((approvals, requests), (1, 1));
}
