//! Payouts in the window: offers, approvals and cancelling.

use std::path::Path;
use std::sync::mpsc;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::json;

use crate::app::{App, tillgate, until};
use crate::display::Display;
use crate::session::inside;
use crate::shop::Shop;
use crate::stories::makes_a_payment;

/// Keeps a PNG of the payment's QR code in the page, as a photograph of a customer's code would be.
const DRAWS_THE_CODE: &str = "
    const code = document.querySelector('main img');
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = 600;
    const context = canvas.getContext('2d');
    context.fillStyle = '#fff';
    context.fillRect(0, 0, 600, 600);
    context.drawImage(code, 50, 50, 500, 500);
    canvas.toBlob((png) => { window.picture = new File([png], 'code.png', { type: 'image/png' }); });";

const DROPS_THE_PICTURE: &str = "
    const dropped = new DataTransfer();
    dropped.items.add(window.picture);
    const field = document.querySelector(\"[name='address']\");
    field.dispatchEvent(new DragEvent('drop', { dataTransfer: dropped, bubbles: true, cancelable: true }));";

/// The example address of BIP173.
const RECIPIENT: &str = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";

#[test]
fn an_offer_is_approved_sent_and_confirmed() {
    inside("payouts::an_offer_is_approved_sent_and_confirmed", async || {
        let data = tempfile::tempdir().unwrap();
        let app = starts_with_coins(data.path()).await;
        let payout = offers(&app, "0.001").await;

        app.clicks("Approve…").await;
        app.waits_for(&format!("//dialog[@open]//*[@data-address='{RECIPIENT}']")).await;
        app.sees("cannot be taken back once a block holds it").await;
        shows_whole_even_a_transactions_id(&app).await;
        app.clicks("Approve 0.00100000 BTC").await;
        app.sees_state("QUEUED").await;

        app.clicks("Sandbox").await;
        app.clicks("+2 hours").await;
        shows(&app, "SENT").await;
        app.sees("Sent, waits for a block").await;
        app.clicks("Sandbox").await;
        app.clicks("Mine 1 block").await;
        shows(&app, "SENT").await;
        app.sees("Sent, 1 confirmation").await;
        app.sees("Its transaction is in a block").await;

        let record = tillgate(data.path(), &["payouts", "show", &payout]);
        assert_eq!((&record["status"], &record["address"]), (&"SENT".into(), &RECIPIENT.into()));
    });
}

#[test]
fn payouts_are_cancelled_before_and_after_they_were_signed() {
    inside("payouts::payouts_are_cancelled_before_and_after_they_were_signed", async || {
        let data = tempfile::tempdir().unwrap();
        let app = starts_with_coins(data.path()).await;
        offers(&app, "0.001").await;
        approves(&app).await;
        app.clicks("Cancel payout…").await;
        app.sees("Nothing has been sent yet, and nothing will be.").await;
        app.clicks_in_dialog("Cancel payout").await;
        app.sees_state("FAILED").await;

        offers(&app, "0.002").await;
        approves(&app).await;
        app.clicks("Sandbox").await;
        app.clicks("+2 hours").await;
        shows(&app, "SENT").await;
        app.clicks("Cancel payout…").await;
        app.sees("If the coins come back first").await;
        app.clicks_in_dialog("Cancel payout for a fee of").await;
        app.sees("Cancels the payout: pays your own wallet").await;
        app.clicks("Sandbox").await;
        for _ in 0..6 {
            app.clicks("Mine 1 block").await;
        }
        shows(&app, "FAILED").await;
    });
}

#[test]
fn an_address_is_read_from_a_dropped_picture_of_its_code() {
    inside("payouts::an_address_is_read_from_a_dropped_picture_of_its_code", async || {
        let data = tempfile::tempdir().unwrap();
        let app = App::start(data.path()).await;
        makes_a_payment(&app).await;
        let address = app.waits_for("//*[@data-address]").await.text().await.unwrap();
        app.script(DRAWS_THE_CODE).await;
        until("the picture is made", async || {
            (app.script("return window.picture != null").await == true).then_some(())
        })
        .await;

        app.clicks("Payouts").await;
        app.clicks("New payout").await;
        app.waits_for("//*[@name='address']").await;
        app.script(DROPS_THE_PICTURE).await;
        app.sees("The code asks for").await;
        // The answer about the address moves the button below it.
        app.waits_for(
            "//*[@name='address'][@aria-invalid='true'] | //*[text()='A valid address.']",
        )
        .await;
        let read = app.script("return document.querySelector(\"[name='address']\").value").await;
        assert_eq!(read.as_str().unwrap().to_lowercase(), address);
        app.clicks("Use this amount").await;
        let amount = app.script("return document.querySelector(\"[name='amount']\").value").await;
        assert!(amount.as_str().unwrap().starts_with("0.000"), "{amount}");
    });
}

#[test]
fn a_shops_offer_is_notified_once_and_shown_until_approved() {
    let name = "payouts::a_shops_offer_is_notified_once_and_shown_until_approved";
    inside(name, async || {
        let (heard, notes) = mpsc::channel();
        let _desktop = tokio::task::spawn_blocking(|| Desktop::serve(heard)).await.unwrap();
        let data = tempfile::tempdir().unwrap();
        let app = starts_with_coins(data.path()).await;
        let key = tillgate(data.path(), &["keys", "create", "webshop", "--permissions", "full"]);
        let shop = Shop::new(app.api().await, "webshop", key["secret"].as_str().unwrap());
        let asked = json!({"address": RECIPIENT, "btcAmount": "0.001", "currency": "USD", "comment": "<b>bill</b>"});
        let offer = shop.posts("/payouts", &asked).await;

        let display = Display::open();
        let titled = "the window's title counts the payout";
        until(titled, async || {
            display.title().ends_with(": 1 payout waits for approval").then_some(())
        })
        .await;
        let note = until("the desktop is notified", async || notes.try_recv().ok()).await;
        assert!(note.0.starts_with("Test: webshop asks for a payout of $"), "{}", note.0);
        assert!(note.1.contains(&format!("0.00100000 BTC to {RECIPIENT}")), "{}", note.1);

        app.clicks("Payouts").await;
        app.waits_for("//td//*[@data-state='NEW']").await;
        let row = format!("//td//a[@href='#/test/payout/{}']", offer["payoutId"].as_str().unwrap());
        app.waits_for(&row).await.click().await.unwrap();
        approves(&app).await;
        until("the title is as before", async || {
            display.title().ends_with("environment)").then_some(())
        })
        .await;
        assert!(notes.try_recv().is_err(), "an offer is notified once");
    });
}

#[test]
fn a_shops_offer_is_rejected_with_a_reason_that_the_shop_reads() {
    let name = "payouts::a_shops_offer_is_rejected_with_a_reason_that_the_shop_reads";
    inside(name, async || {
        let data = tempfile::tempdir().unwrap();
        let app = starts_with_coins(data.path()).await;
        let key = tillgate(data.path(), &["keys", "create", "webshop", "--permissions", "full"]);
        let shop = Shop::new(app.api().await, "webshop", key["secret"].as_str().unwrap());
        let asked = json!({"address": RECIPIENT, "btcAmount": "0.001", "currency": "USD"});
        let offer = shop.posts("/payouts", &asked).await;

        app.clicks("Payouts").await;
        let id = offer["payoutId"].as_str().unwrap();
        app.waits_for(&format!("//td//a[@href='#/test/payout/{id}']")).await.click().await.unwrap();
        app.clicks("Reject…").await;
        app.types_labelled("Reason (optional)", "The bill was paid in cash").await;
        app.clicks_in_dialog("Reject").await;
        app.sees_state("EXPIRED").await;
        app.sees("Rejected").await;
        let record = tillgate(data.path(), &["payouts", "show", id]);
        assert_eq!(record["status"], "EXPIRED");
        assert!(record.to_string().contains("The bill was paid in cash"), "{record}");
    });
}

#[test]
fn an_overpayment_is_refunded_to_the_customers_address() {
    inside("payouts::an_overpayment_is_refunded_to_the_customers_address", async || {
        let data = tempfile::tempdir().unwrap();
        let app = starts_with_coins(data.path()).await;
        app.clicks("Payments").await;
        app.clicks("New payment").await;
        app.types("amount", "100").await;
        app.clicks("Create payment").await;
        app.clicks("Pay too much").await;
        app.sees_state("UNCONFIRMED").await;
        app.clicks("Mine 6 blocks").await;

        app.clicks("Needs attention").await;
        app.sees("too much for").await;
        app.clicks("Refund…").await;
        app.clicks_in_dialog("Ask the customer by a link").await;
        app.sees("asks the customer for an address").await;
        answers_on_the_page(data.path(), RECIPIENT).await;
        app.clicks_in_dialog("Use this address").await;
        app.sees("A valid address.").await;
        app.clicks_in_dialog("Review refund").await;
        app.sees_state("NEW").await;
        approves(&app).await;
        app.clicks("Sandbox").await;
        app.clicks("+2 hours").await;
        app.clicks("Mine 1 block").await;
        app.clicks("Needs attention").await;
        app.sees("Nothing needs your attention").await;
    });
}

/// A customer gives the address of a refund on the page of the newest payment.
async fn answers_on_the_page(data: &Path, address: &str) {
    let payment =
        tillgate(data, &["payments", "list"])["items"][0]["paymentId"].as_str().unwrap().to_owned();
    let page = format!("{}/{payment}", tillgate(data, &["status"])["pages"].as_str().unwrap());
    let origin = page.split("/pay/").next().unwrap().to_owned();
    let form = Request::post(page).header("sec-fetch-site", "same-origin").header("origin", origin);
    let form = form.body(Body::from(format!("address={address}"))).unwrap();
    let answer = Client::builder(TokioExecutor::new()).build_http().request(form).await.unwrap();
    assert_eq!(answer.status(), StatusCode::SEE_OTHER);
}

/// Starts the program with a confirmed payment. Payouts wait an hour for their batch, so that the
/// tests decide when it is sent.
async fn starts_with_coins(data: &Path) -> App {
    tillgate(data, &["settings", "set", "batchSeconds", "3600"]);
    let app = App::start(data).await;
    app.clicks("New payment").await;
    app.types("amount", "1000").await;
    app.clicks("Create payment").await;
    app.clicks("Pay exactly").await;
    app.sees_state("UNCONFIRMED").await;
    app.clicks("Mine 6 blocks").await;
    app.sees_state("CONFIRMED").await;
    app
}

/// Makes an offer in the window and returns its id.
async fn offers(app: &App, btc: &str) -> String {
    app.clicks("Payouts").await;
    app.clicks("New payout").await;
    app.types("address", RECIPIENT).await;
    app.sees("A valid address.").await;
    app.types("amount", btc).await;
    // The button moves when the total appears, so the click waits for the total.
    app.sees("Total, about").await;
    app.clicks("Review payout").await;
    app.sees_state("NEW").await;
    let url = app.page.current_url().await.unwrap();
    url.fragment().unwrap().rsplit('/').next().unwrap().to_owned()
}

/// The reason why a payout waits may contain a transaction id, which has no break. The dialog must
/// show it in full.
async fn shows_whole_even_a_transactions_id(app: &App) {
    let widths = app.script(
        "const dialog = document.querySelector('dialog[open]'); \
         const said = document.createElement('p'); \
         said.textContent = `It has to wait: transaction ${'f'.repeat(64)} is in no block`; \
         dialog.querySelector('form').append(said); \
         const widths = [dialog.scrollWidth, dialog.clientWidth]; \
         said.remove(); \
         return widths;",
    );
    let widths = widths.await;
    assert!(widths[0].as_u64() <= widths[1].as_u64(), "needed and available width: {widths}");
}

/// Opens the newest payout and waits until it has this state.
async fn shows(app: &App, state: &str) {
    app.clicks("Payouts").await;
    app.waits_for("(//td//a[contains(@href, '/payout/')])[1]").await.click().await.unwrap();
    app.sees_state(state).await;
}

/// Approves the offer on the screen.
async fn approves(app: &App) {
    app.clicks("Approve…").await;
    let approve = "//dialog[@open]//button[@type='submit']";
    app.waits_for(approve).await.click().await.unwrap();
    app.sees_state("QUEUED").await;
}

/// A notification server on the session bus. It passes on the summary and body of each
/// notification.
struct Desktop(mpsc::Sender<(String, String)>);

#[zbus::interface(name = "org.freedesktop.Notifications")]
impl Desktop {
    #[expect(
        clippy::too_many_arguments,
        reason = "fixed by the Desktop Notifications Specification"
    )]
    fn notify(
        &self,
        _app: &str,
        _replaces: u32,
        _icon: &str,
        summary: String,
        body: String,
        _actions: Vec<String>,
        _hints: std::collections::HashMap<String, zbus::zvariant::OwnedValue>,
        _timeout: i32,
    ) -> u32 {
        self.0.send((summary, body)).unwrap();
        1
    }
}

impl Desktop {
    fn serve(heard: mpsc::Sender<(String, String)>) -> zbus::blocking::Connection {
        let server = zbus::blocking::connection::Builder::session().unwrap();
        let server = server.name("org.freedesktop.Notifications").unwrap();
        server.serve_at("/org/freedesktop/Notifications", Self(heard)).unwrap().build().unwrap()
    }
}
