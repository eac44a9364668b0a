use std::convert::Infallible;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use axum::response::Sse;
use axum::response::sse::Event;
use tillgate_domain::money::format_btc;
use tillgate_domain::policy::{PolicySettings, PriceBound};
use tillgate_gateway::testing::{HALF_AN_HOUR_MS, World};
use tillgate_sandbox::{Replace, ReplaceTo};
use tillgate_store::payments::PaymentRow;

use super::load::read_view;
use super::texts::ENGLISH;
use super::view::{HeldBecause, PageState, View};
use super::*;
use crate::Limits;
use crate::read_permits::{Long, PAGES};
use crate::stream_permits::StreamPermits;

/// Limit of a page's size without the logo (interface, section 8).
const PAGE_MAX_BYTES: usize = 60_000;

fn view(world: &World, payment: &PaymentRow) -> View {
    read_view(&world.gateway, &payment.payment.id).unwrap().unwrap()
}

fn page_of(world: &World, payment: &PaymentRow) -> String {
    html::page(&view(world, payment), 0, "nonce", &ENGLISH)
}

#[tokio::test]
async fn the_page_shows_sum_and_address_and_escapes_foreign_text() {
    let world = World::new().await;
    let payment = world.payment().await;
    let page = page_of(&world, &payment);
    for text in [
        payment.address.as_str(),
        &format_btc(payment.payment.amount_sats),
        "10.00 USD",
        "A &lt;b&gt;cup&lt;/b&gt; &amp; saucer",
        "order-1",
        "<svg",
        "class=\"ribbon\"",
        "bitcoin:bcrt1",
    ] {
        assert!(page.contains(text), "{text} is not in {page}");
    }
    assert!(!page.contains("<b>cup"), "{page}");
}

#[tokio::test]
async fn the_page_is_small_and_shows_the_time_left_first() {
    let world = World::new().await;
    let payment = world.payment().await;
    let page = page_of(&world, &payment);
    assert!(page.len() < PAGE_MAX_BYTES, "{} bytes", page.len());
    let place = |what: &str| page.find(what).unwrap_or_else(|| panic!("{what} is not in {page}"));
    let [price, left, wallet, code] = [
        place("class=\"price\""),
        place("id=\"left\""),
        place("class=\"button wallet\""),
        place("<svg"),
    ];
    assert!(price < left && left < wallet && wallet < code, "{page}");
}

#[tokio::test]
async fn text_on_a_light_colour_is_dark() {
    let world = World::new().await;
    let payment = world.payment().await;
    let mut view = view(&world, &payment);
    for (color, style) in [
        ("#ffe066", ":root{--brand:#ffe066;--brand-ink:#1c1c1a}"),
        ("#1d6f42", "--brand-ink:#fff}"),
    ] {
        view.merchant.color = brand::Color::parse(color);
        let page = html::page(&view, 0, "nonce", &ENGLISH);
        assert!(page.contains(style), "{color}: {page}");
    }
}

#[tokio::test]
async fn the_page_loads_nothing_from_elsewhere() {
    let world = World::new().await;
    let payment = world.payment().await;
    let page = page_of(&world, &payment);
    let outside = page.replace("http://www.w3.org/2000/svg", "");
    for reference in ["http:", "https:", "src=", " style=", " onclick="] {
        assert!(!outside.contains(reference), "{reference} in {outside}");
    }
}

#[tokio::test]
async fn a_remainder_below_the_dust_limit_is_raised_to_it() {
    let world = World::new().await;
    let payment = world.payment().await;
    world.pay(&payment, payment.payment.amount_sats - 1).await;
    let PageState::Payable(payable) = view(&world, &payment).state else { panic!("not payable") };
    assert_eq!(payable.amount_btc, "0.00000294");
    assert!(payable.qr_uri.ends_with("amount=0.00000294"), "{}", payable.qr_uri);
    assert!(payable.paid_sats.is_some());
}

#[tokio::test]
async fn the_address_is_hidden_once_paid_or_past_the_deadline() {
    let world = World::new().await;
    let [paid, never] = [world.payment().await, world.payment().await];
    world.pay(&paid, paid.payment.amount_sats).await;
    assert!(matches!(
        view(&world, &paid).state,
        PageState::Unconfirmed { confirmations: Some(0), wanted: 1 }
    ));
    world.mine(1).await;
    assert_eq!(view(&world, &paid).state, PageState::Confirmed { too_much_sats: None });
    world.advance_clock_ms(HALF_AN_HOUR_MS);
    assert_eq!(view(&world, &never).state, PageState::TimeUp, "before the closing look");
    for payment in [&paid, &never] {
        let page = page_of(&world, payment);
        assert!(!page.contains(&payment.address) && !page.contains("<svg"), "{page}");
    }
    world.look().await;
    assert_eq!(view(&world, &never).state, PageState::Expired);
}

#[tokio::test]
async fn a_cancelled_payment_is_said_to_be_cancelled_until_coins_come() {
    let world = World::new().await;
    let payment = world.payment().await;
    world.app.watcher.cancel(payment.payment.id, "cli:ann").await.unwrap();
    assert_eq!(view(&world, &payment).state, PageState::Cancelled);
    assert!(page_of(&world, &payment).contains("The shop cancelled this payment"));
    world.look().await;
    assert_eq!(view(&world, &payment).state, PageState::Cancelled);
    world.pay(&payment, payment.payment.amount_sats).await;
    assert!(matches!(
        view(&world, &payment).state,
        PageState::Held { because: HeldBecause::Late, .. }
    ));
}

#[tokio::test]
async fn received_coins_are_shown_even_without_a_read_permit() {
    let world = World::new().await;
    let http = Http::new(Arc::clone(&world.app), Limits::with_descriptors(1_024));
    let payment = world.payment().await;
    world.pay(&payment, payment.payment.amount_sats).await;
    let _held = every_permit(&http);
    let view = load(&http, &payment.payment.id.to_string()).await.unwrap().unwrap();
    assert_eq!(view.state, PageState::Unconfirmed { confirmations: None, wanted: 1 });
    let page = html::page(&view, 0, "nonce", &ENGLISH);
    assert!(page.contains(ENGLISH.unconfirmed), "{page}");
}

#[tokio::test]
async fn a_busy_database_never_makes_the_page_say_nothing_came() {
    let world = World::new().await;
    let http = Http::new(Arc::clone(&world.app), Limits::with_descriptors(1_024));
    let payment = world.payment().await;
    world.advance_clock_ms(HALF_AN_HOUR_MS);
    world.look().await;
    world.pay(&payment, payment.payment.amount_sats).await;
    let _held = every_permit(&http);
    let view = load(&http, &payment.payment.id.to_string()).await.unwrap().unwrap();
    assert_eq!(view.state, PageState::Invalid);
    let page = html::page(&view, 0, "nonce", &ENGLISH);
    assert!(
        page.contains(ENGLISH.invalid_hint) && !page.contains("Nothing was received"),
        "{page}"
    );
}

/// Takes all permits to read the transactions of a payment.
fn every_permit(http: &Http) -> Vec<impl Sized + use<>> {
    let mut held = Vec::new();
    let mut context = Context::from_waker(Waker::noop());
    while let Poll::Ready(permit) =
        pin!(http.read_permits.take(Long::Record, PAGES)).poll(&mut context)
    {
        held.push(permit.unwrap());
    }
    held
}

#[tokio::test]
async fn an_unknown_payment_id_has_no_view() {
    let world = World::new().await;
    let http = Http::new(Arc::clone(&world.app), Limits::with_descriptors(1_024));
    for id in ["0".repeat(40), "0".repeat(39), "../../etc/passwd".to_owned(), String::new()] {
        assert_eq!(load(&http, &id).await.unwrap(), None, "{id}");
    }
}

#[tokio::test]
async fn an_event_is_sent_when_the_page_changes() {
    use tokio_stream::StreamExt as _;
    let world = World::new().await;
    let http = Http::new(Arc::clone(&world.app), Limits::with_descriptors(1_024));
    let payment = world.payment().await;
    let permit =
        Arc::new(StreamPermits::default()).take(payment.payment.id, [127, 0, 0, 1].into()).unwrap();
    let response =
        events::stream(Arc::clone(&http), payment.payment.id, &ENGLISH, permit).into_response();
    let mut events = response.into_body().into_data_stream();
    let mut heard = String::new();
    while !heard.contains("Waiting for your payment") {
        heard.push_str(std::str::from_utf8(&events.next().await.unwrap().unwrap()).unwrap());
    }
    world.pay(&payment, payment.payment.amount_sats).await;
    while !heard.contains("Payment received") {
        heard.push_str(std::str::from_utf8(&events.next().await.unwrap().unwrap()).unwrap());
    }
}

#[tokio::test]
async fn a_heartbeat_has_data_or_browsers_would_drop_it() {
    use tokio_stream::StreamExt as _;
    let silent = tokio_stream::pending::<Result<Event, Infallible>>();
    let response =
        Sse::new(silent).keep_alive(events::heartbeat(Duration::from_millis(1))).into_response();
    let heard = response.into_body().into_data_stream().next().await.unwrap().unwrap();
    assert_eq!(heard, "event: alive\ndata: 1\n\n");
}

#[tokio::test]
async fn a_confirmed_overpayment_shows_the_received_amount() {
    let world = World::new().await;
    let payment = world.payment().await;
    let sats = payment.payment.amount_sats + 3_000;
    world.pay(&payment, sats).await;
    world.mine(1).await;
    let page = page_of(&world, &payment);
    let received = format!("{} BTC received", format_btc(sats));
    assert!(page.contains("<h2>Paid</h2>") && page.contains(&received), "{page}");
    assert!(page.contains(ENGLISH.too_much), "{page}");
}

#[tokio::test]
async fn a_surplus_below_the_dust_limit_is_paid_without_a_hint() {
    let world = World::new().await;
    let payment = world.payment().await;
    world.pay(&payment, payment.payment.amount_sats + 293).await;
    world.mine(2).await;
    assert_eq!(view(&world, &payment).state, PageState::Confirmed { too_much_sats: None });
}

#[tokio::test]
async fn the_page_says_stop_while_the_money_is_taken_back() {
    let world = World::new().await;
    let up_to_50 =
        PolicySettings { zero_conf_up_to: PriceBound::usd(50), ..PolicySettings::default() };
    let payment = world.payment_under(up_to_50).await;
    let with_redirect = PaymentRow {
        redirect_urls: Some(r#"{"confirmed":"https://shop.test/"}"#.to_owned()),
        ..payment.clone()
    };
    let txid = world.pay(&payment, payment.payment.amount_sats).await;
    world.pass_ms(60_000).await;
    let green = page_of(&world, &payment);
    assert!(green.contains("<h2>Paid</h2>") && !green.contains("data-conflict"), "{green}");
    let to_customer = Replace { fee_rate_sat_vb: None, to: ReplaceTo::Customer };
    let rival = world.sandbox().replace(txid, to_customer, world.now_ms()).unwrap();
    world.look().await;
    let red = page_of(&world, &payment);
    assert!(
        red.contains(
            "<div class=\"state over\"><h2>Stop: the customer is taking the money back</h2>"
        ),
        "{red}"
    );
    assert!(
        red.contains("data-status=\"CONFIRMED\" data-conflict=\"true\"") && !red.contains("Paid"),
        "{red}"
    );
    let attacked =
        PaymentRow { payment: world.reload_payment(&payment.payment.id).payment, ..with_redirect };
    let settings = world.gateway.settings.snapshot();
    let view =
        View::new(&attacked, None, world.gateway.time.now(), world.gateway.environment, &settings);
    assert_eq!(
        (view.state, view.redirect),
        (PageState::TakingBack, None),
        "the shop's page of a paid order does not fit"
    );
    world.sandbox().evict(rival[0], world.now_ms()).unwrap();
    world.look().await;
    assert_eq!(page_of(&world, &payment), green);
}

#[tokio::test]
async fn coins_lost_in_a_reorg_are_shown() {
    let world = World::new().await;
    let payment = world.payment().await;
    world.pay(&payment, payment.payment.amount_sats).await;
    world.mine(1).await;
    world.sandbox().reorg(1, false, world.now_ms()).unwrap();
    world.look().await;
    let page = page_of(&world, &payment);
    let taken =
        format!("{} BTC of your payment were taken back", format_btc(payment.payment.amount_sats));
    assert!(page.contains("<h2>Payment taken back</h2>") && page.contains(&taken), "{page}");
}

#[tokio::test]
async fn coins_that_remain_after_a_reorg_are_shown_too() {
    let world = World::new().await;
    let payment = world.payment().await;
    let part = payment.payment.amount_sats / 2;
    world.pay(&payment, part).await;
    world.mine(1).await;
    let rest = payment.payment.amount_sats - part;
    world.pay(&payment, rest).await;
    world.mine(1).await;
    world.sandbox().reorg(1, false, world.now_ms()).unwrap();
    world.look().await;
    let page = page_of(&world, &payment);
    let title = format!("<h2>{} BTC received</h2>", format_btc(part));
    let taken = format!("{} BTC of your payment were taken back", format_btc(rest));
    assert!(page.contains(&title) && page.contains(&taken), "{page}");
}

#[tokio::test]
async fn the_page_asks_for_the_address_of_a_refund_and_then_shows_it() {
    let world = World::new().await;
    let payment = world.payment().await;
    world.pay(&payment, payment.payment.amount_sats + 3_000).await;
    world.mine(2).await;
    let page = page_of(&world, &payment);
    assert!(!page.contains("<form"), "nobody asked: {page}");
    let anomalies =
        world.gateway.store.read(|reader| reader.anomalies_of_payment(payment.seq)).unwrap();
    anomalies::ask(&world.gateway, anomalies[0].anomaly.id, "panel:ann").await.unwrap();
    let page = page_of(&world, &payment);
    assert!(
        page.contains(r#"<form method="post">"#) && page.contains("name=\"address\""),
        "{page}"
    );
    assert!(!page.contains("http-equiv=\"refresh\""), "a reload empties the form: {page}");
    assert!(!view(&world, &payment).moves_on(), "the question leaves before it is read");
    let address = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";
    anomalies::answer(&world.gateway, payment.payment.id, address).await.unwrap();
    let page = page_of(&world, &payment);
    assert!(
        page.contains(address) && page.contains(ENGLISH.refund_given) && !page.contains("<form"),
        "{page}"
    );
}

#[tokio::test]
async fn a_refused_address_is_escaped_and_can_be_corrected() {
    let world = World::new().await;
    let payment = world.payment().await;
    let page = html::wrong_address(&view(&world, &payment), "\"><script>", "nonce", &ENGLISH);
    assert!(
        page.contains("value=\"&quot;&gt;&lt;script&gt;\"") && page.contains(ENGLISH.refund_wrong),
        "{page}"
    );
    assert!(!page.contains("<script"), "a live page would empty the field: {page}");
}

#[tokio::test]
async fn without_scripts_no_button_is_dead() {
    let world = World::new().await;
    let page = page_of(&world, &world.payment().await);
    let (_, hidden) = page.split_once("<noscript>").unwrap();
    assert!(
        hidden.split_once("</noscript>").unwrap().0.contains("button[data-copy]{display:none}"),
        "{page}"
    );
    let buttons = page.matches("<button").count();
    assert_eq!(buttons, page.matches(" data-copy=").count(), "a button without a rule: {page}");
}

#[tokio::test]
async fn the_amount_to_copy_has_a_point_in_every_language() {
    let world = World::new().await;
    let payment = world.payment().await;
    for texts in texts::LANGUAGES {
        let page = html::page(&view(&world, &payment), 0, "nonce", texts);
        let copied =
            format!("<code id=\"amount\">{}</code>", format_btc(payment.payment.amount_sats));
        assert!(page.contains(&copied), "{page}");
    }
}
