//! A sale at the till.

use crate::app::{App, tillgate, until};
use crate::session::inside;
use crate::stories::quits;

#[test]
fn a_sale_at_the_till_is_made_by_keyboard_alone() {
    inside("till::a_sale_at_the_till_is_made_by_keyboard_alone", async || {
        let data = tempfile::tempdir().unwrap();
        let app = App::start(data.path()).await;
        app.sees("Test environment").await;
        app.waits_for("//nav[@aria-label='Screens']").await;

        app.presses("t").await;
        app.waits_for("//output[@data-total]").await;
        app.presses("4,5").await;
        app.waits_for("//button[normalize-space()='Charge 4.50 USD'][not(@disabled)]").await;
        app.presses(ENTER).await;
        app.sees("Scan the code with your Bitcoin wallet.").await;
        let drawn = "const qr = document.querySelector('dialog img');\
                     return qr.complete && qr.naturalWidth > 0 && qr.clientWidth >= 480;";
        until("the QR code is large", async || (app.script(drawn).await == true).then_some(())).await;

        // The simulated customer pays, and the network confirms. Neither is an act of the cashier.
        app.clicks("Let the simulated customer pay").await;
        app.waits_for("//dialog[@open]//h1[normalize-space()='Paid, waiting for the network']").await;
        app.clicks("Mine 1 block").await;
        app.waits_for("//dialog[@open]//h1[normalize-space()='Paid']").await;

        app.escapes().await;
        app.waits_for("//output[@data-total][normalize-space()='0']").await;
        let payments = tillgate(data.path(), &["payments", "list"]);
        assert_eq!(payments["items"][0]["state"], "CONFIRMED");
        assert_eq!(payments["items"][0]["price"]["text"], "4.50");
        quits(&app, data.path()).await;
    });
}

/// The key Enter in WebDriver.
const ENTER: &str = "\u{e007}";
