//! A sale at the till.

use crate::app::{App, tillgate, until};
use crate::display::Display;
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
        app.waits_for("//button[normalize-space()='Charge $4.50'][not(@disabled)]").await;
        app.presses(ENTER).await;
        app.sees("Scan the code with your Bitcoin wallet.").await;
        let drawn = "const qr = document.querySelector('dialog img');\
                     return qr.complete && qr.naturalWidth > 0 && qr.clientWidth >= 480;";
        until("the QR code is large", async || (app.script(drawn).await == true).then_some(()))
            .await;

        // The simulated customer pays, and the network confirms. Neither is an act of the cashier.
        app.clicks("Let the simulated customer pay").await;
        app.waits_for("//dialog[@open]//h1[normalize-space()='Received, please wait']").await;
        app.clicks("Mine 1 block").await;
        app.waits_for("//dialog[@open]//h1[normalize-space()='Paid']").await;

        app.escapes().await;
        app.waits_for("//output[@data-total][normalize-space()='0.00']").await;
        let payments = tillgate(data.path(), &["payments", "list"]);
        assert_eq!(payments["items"][0]["state"], "CONFIRMED");
        assert_eq!(payments["items"][0]["price"]["text"], "4.50");
        quits(&app, data.path()).await;
    });
}

#[test]
fn a_sale_that_waits_stays_in_sight_until_it_is_paid() {
    inside("till::a_sale_that_waits_stays_in_sight_until_it_is_paid", async || {
        let data = tempfile::tempdir().unwrap();
        let app = App::start(data.path()).await;
        app.clicks("Till").await;
        app.waits_for("//output[@data-total]").await;
        app.presses("4,5").await;
        app.clicks("Charge $4.50").await;
        app.clicks("Let the simulated customer pay").await;
        app.waits_for("//dialog[@open]//h1[normalize-space()='Received, please wait']").await;
        app.clicks("New sale").await;

        let sale = |words: &str| {
            format!(
                "//ul[@aria-label='Sales that wait']//button[contains(., 'No. 1')][contains(., '{words}')]"
            )
        };
        app.waits_for(&sale("Received, block 0 of 1")).await;
        quits(&app, data.path()).await;

        let app = App::start(data.path()).await;
        app.clicks("Till").await;
        app.waits_for(&sale("Received, block 0 of 1")).await.click().await.unwrap();
        app.clicks("Mine 1 block").await;
        app.waits_for("//dialog[@open]//h1[normalize-space()='Paid']").await;
        app.escapes().await;
        app.waits_for(&sale("Paid")).await;
        quits(&app, data.path()).await;
    });
}

#[test]
fn a_sale_is_shown_on_a_second_display_while_the_panel_shows_something_else() {
    let name = "till::a_sale_is_shown_on_a_second_display_while_the_panel_shows_something_else";
    inside(name, async || {
        let data = tempfile::tempdir().unwrap();
        let app = App::start(data.path()).await;
        app.clicks("Till").await;
        app.clicks("Open the second display").await;
        let display = Display::open();
        let title = "Customer display";
        until("the second display is open", async || display.shows_titled(title).then_some(()))
            .await;

        // By touch: only the buttons of the keypad.
        for key in ["1", "2", ".", "5", "0"] {
            app.waits_for(&format!("//main//button[normalize-space()='{key}']"))
                .await
                .click()
                .await
                .unwrap();
        }
        app.clicks("Charge $12.50").await;
        app.sees("The customer sees this sale").await;
        app.clicks("Payments").await;
        let row = "//tr[contains(., '12.50')]//a";
        app.waits_for(row).await;
        assert!(display.shows_titled(title), "the customer still sees the sale");
        app.waits_for(row).await.click().await.unwrap();
        app.clicks("Pay exactly").await;
        app.sees_state("UNCONFIRMED").await;
        app.clicks("Till").await;
        app.clicks("Mine 1 block").await;
        app.waits_for("//output[@data-total]").await;
        app.clicks("Close the second display").await;
        until("the second display is closed", async || {
            (!display.shows_titled(title)).then_some(())
        })
        .await;
        quits(&app, data.path()).await;
    });
}

#[test]
fn the_shops_name_and_logo_are_chosen_in_the_window_and_shown_to_the_customer() {
    inside(
        "till::the_shops_name_and_logo_are_chosen_in_the_window_and_shown_to_the_customer",
        async || {
            let data = tempfile::tempdir().unwrap();
            let app = App::start(data.path()).await;
            app.clicks("Settings").await;
            app.types_labelled("Name", " Bakery\t").await;
            // A photo, which is much larger than a logo may be.
            let photo = data.path().join("logo.png");
            std::fs::write(&photo, noise(1_200, 800)).unwrap();
            app.script("document.querySelector('[data-logo]').hidden = false").await;
            let file = app.waits_for("//main//input[@data-logo]").await;
            file.send_keys(photo.to_str().unwrap()).await.unwrap();
            app.waits_for("//main//img[@alt='Your logo']").await;
            let logo = tillgate(data.path(), &["settings", "get", "merchantLogo"])["value"].clone();
            assert!(logo.as_str().unwrap().starts_with("data:image/"), "{logo}");

            app.clicks("Till").await;
            app.waits_for("//main//button[normalize-space()='7']").await.click().await.unwrap();
            app.clicks("Charge $7.00").await;
            app.waits_for("//dialog[@data-sale]//p[contains(., 'Merchant Bakery')]/img").await;
            let drawn = "const logo = document.querySelector('dialog .shop img');
                     return logo.naturalWidth === 300 && logo.naturalHeight === 200;";
            until("the logo is drawn", async || (app.script(drawn).await == true).then_some(()))
                .await;
            app.clicks_in_dialog("Cancel sale").await;
            app.clicks_in_dialog("Cancel payment").await;
            app.waits_for("//output[@data-total]").await;
            quits(&app, data.path()).await;
        },
    );
}

/// A PNG in which no two pixels are alike, so that it does not become small.
fn noise(width: u32, height: u32) -> Vec<u8> {
    let mut state = 1_u32;
    let pixels: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    })
    .take((width * height * 3) as usize)
    .collect();
    let mut picture = Vec::new();
    let mut encoder = png::Encoder::new(&mut picture, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    picture
}

#[test]
fn a_sale_is_cancelled_after_the_customer_left() {
    inside("till::a_sale_is_cancelled_after_the_customer_left", async || {
        let data = tempfile::tempdir().unwrap();
        let app = App::start(data.path()).await;
        app.clicks("Till").await;
        app.waits_for("//main//button[normalize-space()='7']").await.click().await.unwrap();
        app.clicks("Charge $7.00").await;
        app.sees("Scan the code with your Bitcoin wallet.").await;
        app.clicks_in_dialog("Cancel sale").await;
        app.clicks_in_dialog("Cancel payment").await;
        app.waits_for("//output[@data-total][normalize-space()='0.00']").await;
        let payment = &tillgate(data.path(), &["payments", "list"])["items"][0];
        assert_eq!(payment["isCancelled"], true);
        quits(&app, data.path()).await;
    });
}

/// The key Enter in WebDriver.
const ENTER: &str = "\u{e007}";
