//! The payment page as a customer reads it and as proxies forward it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use axum::http::{Method, StatusCode};

use crate::harness::Scene;

/// The sentence that keeps a customer from paying twice.
const NOT_AGAIN: &str = "Please contact the shop; do not pay again.";

async fn page(s: &Scene, id: &str) -> String {
    s.get(&format!("/pay/{id}")).await.text()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_tells_a_late_payer_not_to_pay_again() {
    let s = Scene::open().await;
    let bill = s.bill("10.00").await;
    s.pass_deadline().await;
    s.expect(&bill, "EXPIRED").await;
    let nothing = page(&s, &bill.id).await;
    assert!(nothing.contains("Nothing was received in time"), "{nothing}");
    s.pay(&bill.id).await;
    let late = page(&s, &bill.id).await;
    assert!(
        late.contains("We did not see your payment in time.") && late.contains(NOT_AGAIN),
        "{late}"
    );
    assert!(!late.contains("Nothing was received"), "{late}");
    s.mine(2).await;
    s.expect_anomalies(&bill, &[("LATE_PAYMENT", "OPEN")]).await;
    assert!(page(&s, &bill.id).await.contains(NOT_AGAIN));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_reports_a_wrong_sum_and_says_not_to_pay_again() {
    let s = Scene::open_with(&[("overpayment", "invalidate")]).await;
    let (little, much) = (s.bill("10.00").await, s.bill("10.00").await);
    s.pay_sats(&little.id, 5_000).await;
    s.pay_sats(&much.id, much.amount_sats + 3_000).await;
    s.mine(1).await;
    s.pass_deadline().await;
    s.expect(&little, "INVALID").await;
    s.expect(&much, "INVALID").await;
    let (little, much) = (page(&s, &little.id).await, page(&s, &much.id).await);
    assert!(
        little.contains("We received less than the amount.") && little.contains(NOT_AGAIN),
        "{little}"
    );
    assert!(little.contains("0.00005000 BTC"), "{little}");
    assert!(
        much.contains("We received more than the amount.") && much.contains(NOT_AGAIN),
        "{much}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_a_confirmed_payment_reports_an_overpayment() {
    let s = Scene::open().await;
    let (at_once, twice) = (s.bill("10.00").await, s.confirmed_bill().await);
    s.pay_sats(&at_once.id, at_once.amount_sats + 3_000).await;
    s.send_to(&twice.address, 7_000).await;
    s.mine(1).await;
    for bill in [&at_once, &twice] {
        s.expect(bill, "CONFIRMED").await;
        let shown = page(&s, &bill.id).await;
        assert!(
            shown.contains("We received more than the amount.") && shown.contains("Paid"),
            "{shown}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_reports_a_reversal_and_says_not_to_pay_again() {
    let s = Scene::open().await;
    let bill = s.confirmed_bill().await;
    s.double_spend_by_reorg(1).await;
    s.expect(&bill, "INVALID").await;
    let shown = page(&s, &bill.id).await;
    assert!(
        shown.contains("of your payment were taken back") && shown.contains(NOT_AGAIN),
        "{shown}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customer_gives_the_address_of_a_refund_on_the_page() {
    let s = Scene::open().await;
    let bill = s.bill("10.00").await;
    s.pay_sats(&bill.id, bill.amount_sats + 30_000).await;
    s.mine(2).await;
    s.expect_anomalies(&bill, &[("OVERPAYMENT", "OPEN")]).await;
    let anomaly = s.anomalies(&bill.id).await[0]["anomalyId"].as_str().unwrap().to_owned();
    let asked = s.gateway.program().json(&["anomalies", "ask", &anomaly]);
    assert!(asked["paymentPageUrl"].as_str().unwrap().ends_with(&bill.id), "{asked}");
    assert!(page(&s, &bill.id).await.contains("Where should the shop send your refund?"));
    let address = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";
    let form = s
        .request(Method::POST, &format!("/pay/{}", bill.id))
        .body(format!("address={address}").into())
        .unwrap();
    assert_eq!(s.send(form).await.status, StatusCode::SEE_OTHER);
    assert!(page(&s, &bill.id).await.contains("The shop has your address"));
    assert_eq!(
        s.gateway.program().json(&["anomalies", "show", &anomaly])["question"]["address"],
        address
    );
    let elsewhere = "bcrt1qqyqszqgpqyqszqgpqyqszqgpqyqszqgpvxat9t";
    for (paid, is_told) in [(elsewhere, false), (address, true)] {
        let payout =
            s.gateway.program().json(&["anomalies", "refund", &anomaly, "--address", paid]);
        s.expect_anomalies(&bill, &[("OVERPAYMENT", "REFUNDING")]).await;
        assert_eq!(
            page(&s, &bill.id).await.contains("The shop has your address"),
            is_told,
            "{paid}"
        );
        s.gateway.program().json(&["payouts", "reject", payout["payoutId"].as_str().unwrap()]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_uses_the_browsers_language() {
    let s = Scene::open().await;
    let bill = s.bill("10.00").await;
    s.pass_deadline().await;
    s.pay(&bill.id).await;
    for (asked, lang, sentence) in [
        ("de-AT,de;q=0.9,en;q=0.8", "de", "zahlen Sie nicht noch einmal"),
        ("fr", "fr", "ne payez pas une seconde fois"),
        ("ca,es-MX;q=0.7,en;q=0.3", "es", "no pague otra vez"),
        ("pt-BR", "pt", "não pague de novo"),
        ("ja,en;q=0.5", "ja", "もう一度支払わないでください"),
        ("nl,*;q=0.1", "en", "do not pay again"),
        ("en-GB;q=0.4,de;q=0", "en", "do not pay again"),
    ] {
        let request = s.request(axum::http::Method::GET, &format!("/pay/{}", bill.id));
        let request =
            request.header("accept-language", asked).body(axum::body::Body::empty()).unwrap();
        let shown = s.send(request).await.text();
        assert!(
            shown.contains(&format!("<html lang=\"{lang}\"")) && shown.contains(sentence),
            "{asked}: {shown}"
        );
        assert!(shown.len() < 60_000, "{} bytes", shown.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_names_the_pages_language() {
    let s = Scene::open().await;
    let bill = s.bill("1234.50").await;
    for (query, lang, price) in [
        ("?lang=de", "de", "1.234,50 USD"),
        ("?from=mail&lang=pt-BR", "pt", "1.234,50 USD"),
        ("?lang=xx", "fr", "1\u{202f}234,50 USD"),
        ("?lang=%ff", "fr", "1\u{202f}234,50 USD"),
    ] {
        let request = s.request(Method::GET, &format!("/pay/{}{query}", bill.id));
        let request =
            request.header("accept-language", "fr").body(axum::body::Body::empty()).unwrap();
        let shown = s.send(request).await.text();
        assert!(
            shown.contains(&format!("<html lang=\"{lang}\"")) && shown.contains(price),
            "{query}: {shown}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_gets_the_picture_of_the_tab() {
    let s = Scene::open().await;
    let icon = s.get("/favicon.ico").await;
    assert_eq!(icon.status, StatusCode::OK);
    assert_eq!(icon.headers["content-type"], "image/png");
}

#[tokio::test(flavor = "multi_thread")]
async fn page_events_are_unbuffered_and_have_a_heartbeat() {
    let s = Scene::open().await;
    let bill = s.bill("10.00").await;
    let address = s.base().trim_start_matches("http://").to_owned();
    let path = format!("/pay/{}/events", bill.id);
    let lines = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(&address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(9))).unwrap();
        let mut heard: Vec<String> = Vec::new();
        // The first event, and then a heartbeat. It has data, because browsers ignore events
        // without data.
        for line in BufReader::new(stream).lines() {
            heard.push(line.expect("an event within nine seconds"));
            if heard.ends_with(&["event: alive".to_owned(), "data: 1".to_owned()]) {
                break;
            }
        }
        heard
    });
    let lines = lines.await.unwrap();
    let has = |wanted: &str| lines.iter().any(|line| line.eq_ignore_ascii_case(wanted));
    assert!(has("x-accel-buffering: no") && has("cache-control: no-cache"), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("event: payment")), "{lines:?}");
}
