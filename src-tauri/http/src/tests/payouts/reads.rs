//! Lists, the limit and resends of payouts.

use serde_json::{Value, json};
use tillgate_domain::payout::PayoutState;
use tillgate_store::StoreError;

use super::{ADDRESS, Desk, PAYOUTS, wish, wish_with};

impl Desk {
    /// The ids that a list answers.
    async fn listed(&self, query: &str) -> Vec<String> {
        let page = self.get(&format!("{PAYOUTS}{query}")).await.ok();
        let items = page["items"].as_array().unwrap();
        items.iter().map(|item| item["payoutId"].as_str().unwrap().to_owned()).collect()
    }

    /// Brings a payout into FAILED, as the sender would.
    async fn fail(&self, id: &str) {
        let id = id.parse().unwrap();
        let store = &self.shop.world.gateway.store;
        let fail = move |tx: &tillgate_store::Tx<'_>| {
            let mut row = tx.payout(&id)?.unwrap();
            row.state = PayoutState::Failed;
            row.failure_reason = Some(tillgate_told::Telling::of_text("cancelled by staff"));
            tx.update_payout(&row)
        };
        store.write::<_, StoreError>(fail).await.unwrap();
    }
}

#[tokio::test]
async fn lists_are_filtered_counted_and_newest_first() {
    let desk = Desk::open().await;
    let first = desk.offer("0.001").await;
    let second = desk.offer("0.002").await;
    let mut yen = wish_with("currency", "JPY");
    yen["address"] = "bcrt1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqc8gma6".into();
    let yen = desk.ask(&yen).await.ok();
    let third = yen["payoutId"].as_str().unwrap().to_owned();
    desk.approve(&second).await.ok();
    let all = [third.clone(), second.clone(), first.clone()];
    assert_eq!(desk.listed("").await, all);
    assert_eq!(desk.listed("?limit=2").await, all[..2]);
    assert_eq!(desk.listed("?limit=2&offset=2").await, all[2..]);
    let page = desk.get(&format!("{PAYOUTS}?limit=1")).await.ok();
    assert_eq!(page["paginationInfo"], json!({ "itemsCount": 3, "limit": 1, "offset": 0 }));
    assert_eq!(desk.get(PAYOUTS).await.ok()["paginationInfo"]["limit"], 50);
    let record = desk.get_payout(&first).await;
    let time = record["time"].as_str().unwrap();
    let merchant = record["merchantId"].as_str().unwrap();
    let total = yen["fiatTotalAmount"].to_string();
    let nothing = "0".repeat(64);
    for (query, expected) in [
        ("?status=QUEUED".to_owned(), &all[1..2]),
        ("?status=NEW&status=QUEUED&status=NEW".to_owned(), &all[..]),
        ("?status=SENT".to_owned(), &[]),
        (format!("?address={ADDRESS}"), &all[1..]),
        (format!("?address={}", ADDRESS.to_uppercase()), &all[1..]),
        ("?btcAmount=0.0020".to_owned(), &all[1..2]),
        ("?btcAmount=2e-3&status=NEW".to_owned(), &[]),
        (format!("?fiatTotalAmount={total}"), &all[..1]),
        (format!("?fiatTotalAmount={total}.000"), &all[..1]),
        ("?fiatTotalAmount=65.190".to_owned(), &all[2..]),
        ("?fiatTotalAmount=65.191".to_owned(), &[]),
        (format!("?merchantId={merchant}"), &all[..]),
        (format!("?merchantId={nothing}&status=NEW"), &[]),
        (format!("?btcTxId={nothing}"), &[]),
        (format!("?timeTo={time}"), &[]),
        ("?timeFrom=2026-01-01T00:00:00Z".to_owned(), &all[..]),
        ("?timeFrom=2100-01-01T00:00:00Z".to_owned(), &[]),
    ] {
        assert_eq!(desk.listed(&query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn invalid_filters_are_refused_by_name() {
    let desk = Desk::open().await;
    let txid = "0".repeat(64);
    for (query, fields) in [
        ("?timeFrom=yesterday&timeTo=2026-01-12", vec!["timeFrom", "timeTo"]),
        ("?btcAmount=x&fiatTotalAmount=1,5", vec!["btcAmount", "fiatTotalAmount"]),
        ("?btcAmount=0.000000001", vec!["btcAmount"]),
        ("?fiatTotalAmount=1.2345", vec!["fiatTotalAmount"]),
        ("?status=PAID&address=x&btcTxId=x", vec!["status", "address", "btcTxId"]),
        ("?limit=0&offset=-1", vec!["limit", "offset"]),
        ("?limit=501", vec!["limit"]),
        (&format!("?btcTxId={txid}&transactionId={txid}"), vec!["transactionId"]),
    ] {
        assert_eq!(desk.get(&format!("{PAYOUTS}{query}")).await.fields(), fields, "{query}");
    }
}

#[tokio::test]
async fn the_older_name_of_a_filter_works_and_is_deprecated() {
    let desk = Desk::open().await;
    let txid = "0".repeat(64);
    let old = desk.get(&format!("{PAYOUTS}?transactionId={txid}")).await;
    assert_eq!(old.ok()["items"], json!([]));
    assert!(old.headers.contains_key("deprecation"));
    assert!(
        desk.get(&format!("{PAYOUTS}?transactionId=x")).await.headers.contains_key("deprecation")
    );
    assert!(
        !desk.get(&format!("{PAYOUTS}?btcTxId={txid}")).await.headers.contains_key("deprecation")
    );
}

#[tokio::test]
async fn the_limit_is_shown_in_btc_and_the_merchants_currencies() {
    let desk = Desk::open().await;
    desk.post("/v2/payouts?autoApprove=1", &wish_with("btcAmount", "0.12345678")).await.ok();
    let in_btc = r#"{"used":0.12345678,"available":0.87654322,"minPayoutAmount":0.00010000,"currency":"BTC"}"#;
    for query in ["", "?currency=BTC"] {
        assert_eq!(desk.get(&format!("/v2/payouts/limit{query}")).await.text(), in_btc);
    }
    // 8,024.6907 USD are rounded up, 56,975.3093 down.
    let usd = desk.get("/v2/payouts/limit?currency=USD").await.text();
    assert_eq!(
        usd,
        r#"{"used":8024.70,"available":56975.30,"minPayoutAmount":6.50,"currency":"USD"}"#
    );
    for query in [
        "?currency=XXX",
        "?currency=usd",
        "?currency=",
        "?currency=USD&currency=EUR",
        "?currency=CHF",
    ] {
        assert_eq!(
            desk.get(&format!("/v2/payouts/limit{query}")).await.fields(),
            ["currency"],
            "{query}"
        );
    }
}

#[tokio::test]
async fn a_failed_payout_uses_nothing_of_the_daily_limit() {
    let desk = Desk::open().await;
    let offer = desk.offer("0.4").await;
    desk.approve(&offer).await.ok();
    desk.fail(&offer).await;
    assert_eq!(desk.get("/v2/payouts/limit").await.ok()["used"].to_string(), "0.00000000");
    assert_eq!(desk.approve(&offer).await.codes(409), ["PAYOUT_NOT_PENDING"]);
    let record = desk.get_payout(&offer).await;
    assert_eq!(
        (&record["status"], &record["failureReason"]),
        (&json!("FAILED"), &json!("cancelled by staff"))
    );
}

#[tokio::test]
async fn a_resend_answers_whether_there_is_a_notification() {
    let desk = Desk::open().await;
    let offer = desk.offer("0.001").await;
    let silent = desk.ask(&wish_with("notificationUrl", Value::Null)).await.ok()["payoutId"]
        .as_str()
        .unwrap()
        .to_owned();
    let resend = async |id: &str| desk.notify_as(&desk.key, id).await.ok()["value"].clone();
    assert_eq!(resend(&offer).await, 402);
    for id in [&offer, &silent] {
        desk.approve(id).await.ok();
        assert_eq!(resend(id).await, 402);
        desk.fail(id).await;
    }
    let before = desk.get_payout(&offer).await;
    assert_eq!((resend(&offer).await, resend(&silent).await), (json!(200), json!(402)));
    let told = desk.shop.world.notified(&offer.parse().unwrap());
    assert_eq!(told, [desk.get_payout(&offer).await], "the notification is what GET shows");
    assert!(told[0]["currentTime"].as_str() > before["currentTime"].as_str());
    let gateway = &desk.shop.world.gateway;
    let any = tillgate_gateway::notifications::resend::resend_any(gateway, offer.parse().unwrap())
        .await
        .unwrap();
    assert_eq!(any, Some(1), "staff can resend a record of any kind by its id");
    desk.ask(&wish()).await.ok();
}
