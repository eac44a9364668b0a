//! All screens: whether they can be used with a screen reader, and their pictures.

use std::path::{Path, PathBuf};

use fantoccini::actions::{InputSource, MouseActions, PointerAction};
use serde_json::{Value, json};

use crate::app::{App, tillgate, until};
use crate::display::Display;
use crate::session::inside;
use crate::shop::Shop;

/// The address of the recipient of payouts: the example address of BIP173.
const RECIPIENT: &str = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";

/// The prices of the orders, which are paid on several days.
const PRICES: [&str; 26] = [
    "38.00", "41.20", "64.90", "12.50", "88.00", "23.70", "55.10", "71.40", "9.90", "33.30",
    "102.00", "47.60", "29.90", "81.50", "18.20", "66.00", "93.40", "35.80", "120.50", "54.00",
    "42.00", "35.50", "22.50", "18.00", "26.80", "44.10",
];

/// The order that is paid too much, and the last one of yesterday.
const OVERPAID: u32 = 1003;

/// The order after which a supplier is paid.
const PAYS_OUT: u32 = 1002;

const DAY_SECONDS: u32 = 86_400;

/// The most seconds that an approved payout waits for others.
const BATCH_SECONDS: u32 = 60;

const THEMES: [&str; 2] = ["light", "dark"];

/// Widths and heights of the window in pictures.
const SIZES: [(u32, u32); 4] = [(1920, 1080), (1280, 800), (1024, 720), (800, 600)];

/// The only size in which dialogs are drawn, because their width does not depend on it.
const SIZE_OF_DIALOGS: (u32, u32) = (1280, 800);

/// Finds faults of the page, for those who cannot see it or its colours.
const FINDS_FAULTS: &str = "
    const done = arguments[arguments.length - 1];
    axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => done(violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`)));";

/// Waits until the page has drawn a whole frame with its present contents, which appear in 120 ms.
const WAITS_FOR_THE_DRAWING: &str = "
    const done = arguments[arguments.length - 1];
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 150)));";

/// A day of a shop: payments in several states, payouts, and coins that need a decision.
struct Day {
    paid: String,
    sent: String,
    overpaid: String,
    new: String,
    payout: String,
    shop: Shop,
    /// The URL of the server that takes the notifications.
    told: String,
}

impl Day {
    async fn passes(app: &App, data: &Path) -> Self {
        tillgate(data, &["settings", "set", "merchantName", "Café Sonne"]);
        let key = tillgate(data, &["keys", "create", "webshop", "--permissions", "full"]);
        let shop = Shop::new(app.api().await, "webshop", key["secret"].as_str().unwrap());
        let told = takes_notifications().await;
        let pays_later = asks_for_a_payment(&shop, "979", "15.00", &told).await;
        let pays_a_part = asks_for_a_payment(&shop, "980", "28.40", &told).await;
        shop.posts(
            &format!("/sandbox/payments/{pays_a_part}/pay"),
            &json!({ "btcAmount": "0.0002" }),
        )
        .await;
        let (mut last, mut overpaid, mut sent) = (String::new(), String::new(), String::new());
        for (number, price) in (981..).zip(PRICES) {
            last = asks_for_a_payment(&shop, &number.to_string(), price, &told).await;
            let pays = if number == OVERPAID {
                overpaid.clone_from(&last);
                json!({ "btcAmount": "0.0006" })
            } else {
                json!({})
            };
            shop.posts(&format!("/sandbox/payments/{last}/pay"), &pays).await;
            shop.posts("/sandbox/blocks", &json!({ "count": 6 })).await;
            if number == PAYS_OUT {
                let offer = json!({"address": RECIPIENT, "btcAmount": "0.002", "currency": "USD",
                    "comment": "Coffee beans, invoice 44"});
                let asked = shop.posts("/payouts?autoApprove=true", &offer).await;
                asked["payoutId"].as_str().unwrap().clone_into(&mut sent);
                // It is sent with the next batch, on the day on which it was requested.
                shop.posts("/sandbox/clock", &json!({ "advanceSeconds": BATCH_SECONDS })).await;
                until("the payout is sent", async || {
                    (tillgate(data, &["payouts", "show", &sent])["status"] == "SENT").then_some(())
                })
                .await;
            }
            if number % 2 == 1 && number <= OVERPAID {
                shop.posts("/sandbox/clock", &json!({ "advanceSeconds": DAY_SECONDS })).await;
            }
        }
        shop.posts(&format!("/sandbox/payments/{pays_later}/pay"), &json!({})).await;
        shop.posts("/sandbox/blocks", &json!({ "count": 6 })).await;
        let offer = json!({"address": RECIPIENT, "btcAmount": "0.001", "currency": "USD", "comment": "Flour, invoice 88"});
        let payout = shop.posts("/payouts", &offer).await["payoutId"].as_str().unwrap().to_owned();
        let new = asks_for_a_payment(&shop, "1007", "12.80", &told).await;
        Self { paid: last, sent, overpaid, new, payout, shop, told }
    }

    /// The network takes back a payment that was paid.
    async fn is_reversed(&self) {
        let reversed = asks_for_a_payment(&self.shop, "1008", "30.00", &self.told).await;
        self.shop.posts(&format!("/sandbox/payments/{reversed}/pay"), &json!({})).await;
        self.shop.posts("/sandbox/blocks", &json!({ "count": 1 })).await;
        self.shop.posts("/sandbox/reorg", &json!({ "depth": 1, "keepTransactions": false })).await;
        self.shop.posts("/sandbox/blocks", &json!({ "count": 6 })).await;
    }

    /// Each screen, with the name of its picture.
    fn screens(&self) -> Vec<(&'static str, String)> {
        let screens = [
            "home",
            "till",
            "payments",
            "new",
            "payouts",
            "new-payout",
            "anomalies",
            "wallet",
            "books",
            "acts",
            "keys",
            "sandbox",
            "settings",
        ];
        let mut all: Vec<_> = screens.map(|screen| (screen, format!("test/{screen}"))).into();
        all.push(("payment-paid", format!("test/payment/{}", self.paid)));
        all.push(("payment-overpaid", format!("test/payment/{}", self.overpaid)));
        all.push(("payment-new", format!("test/payment/{}", self.new)));
        all.push(("payout", format!("test/payout/{}", self.payout)));
        all.push(("payout-sent", format!("test/payout/{}", self.sent)));
        for group in ["money", "network", "reach", "look"] {
            all.push((group, format!("test/settings/{group}")));
        }
        all.push(("go-live", "production/go-live".to_owned()));
        all
    }

    /// Dialogs: the name of the picture, the screen, and the path of the button that opens the
    /// dialog.
    fn dialogs(&self) -> [(&'static str, String, &'static str); 3] {
        [
            ("refund", format!("test/payment/{}", self.overpaid), "//main//button[@data-stop]"),
            (
                "payout-approve",
                format!("test/payout/{}", self.payout),
                "(//*[@aria-labelledby='acts']//button)[1]",
            ),
            (
                "payout-reject",
                format!("test/payout/{}", self.payout),
                "(//*[@aria-labelledby='acts']//button)[2]",
            ),
        ]
    }
}

async fn asks_for_a_payment(shop: &Shop, order: &str, price: &str, told: &str) -> String {
    let asked = json!({
        "amount": price, "currency": "USD", "message": format!("Order {order}"), "merchantTransactionId": order,
        "notificationUrl": told, "anomalyNotificationUrl": told,
    });
    shop.posts("/payments/new", &asked).await["paymentId"].as_str().unwrap().to_owned()
}

/// A shop's server that takes all notifications. Returns its URL.
async fn takes_notifications() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/notified", listener.local_addr().unwrap());
    let server = axum::Router::new().fallback(async || "");
    tokio::spawn(async { axum::serve(listener, server).await });
    url
}

/// Shows a screen, and waits until its contents have arrived.
async fn shows(app: &App, screen: &str) {
    app.script(&format!("document.activeElement.blur(); location.hash = '#/{screen}'")).await;
    until(&format!("{screen} is drawn"), async || {
        let drawn = "const main = document.querySelector('main');
            return main?.querySelector('h1') != null && !main.innerText.includes('Reading…')";
        (app.script(drawn).await == true).then_some(())
    })
    .await;
}

#[test]
fn no_screen_has_a_serious_fault_for_a_screen_reader() {
    inside("screens::no_screen_has_a_serious_fault_for_a_screen_reader", async || {
        let data = tempfile::tempdir().unwrap();
        let app = App::start(data.path()).await;
        app.sees("Test environment").await;
        let day = Day::passes(&app, data.path()).await;
        let axe = concat!(env!("CARGO_MANIFEST_DIR"), "/ui/node_modules/axe-core/axe.min.js");
        app.script(&std::fs::read_to_string(axe).expect("run npm ci in ui first")).await;
        let mut faults = Vec::new();
        for theme in THEMES {
            app.script(&format!("document.documentElement.dataset.theme = '{theme}'")).await;
            for (name, screen) in day.screens() {
                shows(&app, &screen).await;
                faults.extend(finds_faults(&app, theme, name).await);
            }
            shows(&app, "test/home").await;
            for (button, close) in [("News", "Close"), ("Help", "Close")] {
                app.clicks(button).await;
                app.waits_for("//dialog[@open]").await;
                faults.extend(finds_faults(&app, theme, button).await);
                app.clicks_in_dialog(close).await;
            }
            for (screen, button) in [
                ("test/anomalies".to_owned(), "Accept the coins…"),
                (format!("test/payout/{}", day.payout), "Reject…"),
                (format!("test/payout/{}", day.payout), "Approve…"),
                (format!("test/payment/{}", day.paid), "Receipt…"),
                (format!("test/payment/{}", day.new), "Cancel payment…"),
                ("test/sandbox".to_owned(), "Take the tour"),
                ("test/books".to_owned(), "Print or save as PDF…"),
            ] {
                shows(&app, &screen).await;
                app.clicks(button).await;
                app.waits_for("//dialog[@open]").await;
                faults.extend(finds_faults(&app, theme, button).await);
                app.escapes().await;
                app.waits_for("//body[not(.//dialog[@open])]").await;
            }
            shows(&app, "test/books").await;
            app.clicks("Statement").await;
            app.waits_for("//main//table[@aria-label='Movements']").await;
            faults.extend(finds_faults(&app, theme, "statement").await);
            app.clicks("Takings").await;
            shows(&app, "test/till").await;
            app.waits_for("//main//button[normalize-space()='7']").await.click().await.unwrap();
            app.clicks("Charge $7.00").await;
            app.sees("Scan the code with your Bitcoin wallet.").await;
            faults.extend(finds_faults(&app, theme, "a sale").await);
            app.clicks_in_dialog("Cancel sale").await;
            app.clicks_in_dialog("Cancel payment").await;
        }
        assert_eq!(faults, [""; 0]);
    });
}

async fn finds_faults(app: &App, theme: &str, name: &str) -> Vec<String> {
    // Contents that still appear are paler than they will be.
    app.page.execute_async(WAITS_FOR_THE_DRAWING, vec![]).await.unwrap();
    let faults: Value = app.page.execute_async(FINDS_FAULTS, vec![]).await.unwrap();
    let faults = faults.as_array().cloned().unwrap_or_default();
    faults
        .iter()
        .map(|fault| format!("{theme} {name}: {}", fault.as_str().unwrap_or_default()))
        .collect()
}

/// Writes a picture of each screen to the folder that `SCREENS` names, in the language that
/// `SCREENS_LANGUAGE` names. `make screens` runs it.
#[test]
#[ignore = "writes pictures"]
fn each_screen_is_drawn_in_each_size_and_theme() {
    inside("screens::each_screen_is_drawn_in_each_size_and_theme", async || {
        let folder = PathBuf::from(std::env::var_os("SCREENS").expect("SCREENS names a folder"));
        let data = tempfile::tempdir().unwrap();
        let language =
            std::env::var_os("SCREENS_LANGUAGE").map(|language| ("TILLGATE_LANGUAGE", language));
        let app = App::start_with(data.path(), language.as_slice()).await;
        app.waits_for("//main//h1").await;
        let day = Day::passes(&app, data.path()).await;
        let display = Display::open();
        shows(&app, "test/new-payout").await;
        app.types("address", RECIPIENT).await;
        app.types("amount", "0.002").await;
        for theme in THEMES {
            app.script(&format!("document.documentElement.dataset.theme = '{theme}'")).await;
            for (width, height) in SIZES {
                app.page.set_window_size(width, height).await.unwrap();
                until("the window has its size", async || {
                    (display.size() == (width, height)).then_some(())
                })
                .await;
                let subfolder = folder.join(format!("{width}x{height}-{theme}"));
                std::fs::create_dir_all(&subfolder).unwrap();
                for (name, screen) in day.screens() {
                    shows(&app, &screen).await;
                    draws(&app, &display, &subfolder, name).await;
                }
                for (name, screen, button) in day.dialogs() {
                    if (width, height) != SIZE_OF_DIALOGS {
                        continue;
                    }
                    shows(&app, &screen).await;
                    app.waits_for(button).await.click().await.unwrap();
                    app.waits_for("//dialog[@open]").await;
                    draws(&app, &display, &subfolder, name).await;
                    app.escapes().await;
                    app.waits_for("//body[not(.//dialog[@open])]").await;
                }
                draws_a_sale(&app, &display, &subfolder).await;
            }
        }
        day.is_reversed().await;
        let (width, height) = SIZE_OF_DIALOGS;
        app.page.set_window_size(width, height).await.unwrap();
        until("the window has its size", async || {
            (display.size() == (width, height)).then_some(())
        })
        .await;
        for theme in THEMES {
            app.script(&format!("document.documentElement.dataset.theme = '{theme}'")).await;
            shows(&app, "test/anomalies").await;
            app.waits_for("//main//li[contains(., '1008')]").await;
            draws(&app, &display, &folder.join(format!("{width}x{height}-{theme}")), "reversed")
                .await;
        }
    });
}

/// Draws a sale at the till: the code, the payment that is seen, and the final payment.
async fn draws_a_sale(app: &App, display: &Display, folder: &Path) {
    shows(app, "test/till").await;
    app.presses("4,5").await;
    app.waits_for("//form//button[@type='submit'][not(@disabled)]").await.click().await.unwrap();
    // The first button is the act of the simulated customer, and then of the network.
    let acts = "(//dialog[@data-sale]//button)[1]";
    app.waits_for("//dialog[@data-sale]//img").await;
    draws(app, display, folder, "till-waiting").await;
    app.waits_for(acts).await.click().await.unwrap();
    app.waits_for("//dialog[@data-sale]//*[@data-outcome='waiting']").await;
    draws(app, display, folder, "till-unconfirmed").await;
    app.waits_for(acts).await.click().await.unwrap();
    app.waits_for("//dialog[@data-sale]//*[@data-outcome='paid']").await;
    draws(app, display, folder, "till-paid").await;
    app.escapes().await;
    app.waits_for("//output[@data-total]").await;
}

/// Writes a picture of the window.
async fn draws(app: &App, display: &Display, folder: &Path, name: &str) {
    // The pointer marks no button.
    let away = PointerAction::MoveTo { duration: None, x: 1.0, y: 1.0 };
    app.page.perform_actions(MouseActions::new("mouse".to_owned()).then(away)).await.unwrap();
    app.page.execute_async(WAITS_FOR_THE_DRAWING, vec![]).await.unwrap();
    std::fs::write(folder.join(format!("{name}.png")), display.picture()).unwrap();
}
