//! The guide for going live, and the wallet's page. Production needs a keyring; the test sessions
//! have one.

use std::net::TcpListener;

use serde_json::Value;

use crate::app::{App, tillgate, until};
use crate::session::inside;
use crate::stories::quits;

/// The wallet's words on the page.
async fn words(app: &App) -> Vec<String> {
    let script =
        "return [...document.querySelectorAll('.words li .mono')].map(word => word.textContent)";
    serde_json::from_value(app.script(script).await).unwrap()
}

/// The positions, from 1, of the two words that the page asks for.
async fn asked(app: &App) -> [usize; 2] {
    let script =
        "return [...document.querySelectorAll('form label')].map(label => label.textContent)";
    let labels: Vec<String> = serde_json::from_value(app.script(script).await).unwrap();
    let places: Vec<usize> =
        labels.iter().map(|label| label.trim_start_matches("Word ").parse().unwrap()).collect();
    places.try_into().unwrap()
}

async fn html(app: &App) -> String {
    app.script("return document.documentElement.outerHTML").await.as_str().unwrap().to_owned()
}

fn in_production(data: &std::path::Path, arguments: &[&str]) -> Value {
    tillgate(data, &[arguments, &["--environment", "production"]].concat())
}

#[test]
fn the_guide_asks_for_two_words_and_explains_a_silent_server() {
    let name = "golive::the_guide_asks_for_two_words_and_explains_a_silent_server";
    inside(name, async || {
        let data = tempfile::tempdir().unwrap();
        let app = App::start(data.path()).await;
        app.clicks("Production").await;
        app.sees("Take real money").await;
        app.clicks("Create a new wallet").await;
        app.clicks("I have paper and am alone").await;
        app.sees("The words are hidden.").await;
        app.clicks("Show the words").await;
        app.waits_for("//ol[@aria-label=\"The wallet's words\"]").await;
        let words = words(&app).await;
        assert_eq!(words.len(), 12);

        app.clicks("I wrote them down").await;
        app.sees("Read two of them from your paper").await;
        let [first, second] = asked(&app).await;
        let wrong = if words[second - 1] == "zoo" { "zone" } else { "zoo" };
        app.types("word-first", &words[first - 1]).await;
        app.types("word-second", wrong).await;
        app.clicks("Make the wallet").await;
        app.sees(&format!("Word {second} does not match.")).await;
        assert_eq!(in_production(data.path(), &["status"])["hasWallet"], false);

        let field = app.waits_for("//input[@name='word-second']").await;
        field.clear().await.unwrap();
        app.types("word-second", &words[second - 1]).await;
        app.clicks("Make the wallet").await;
        app.sees("Where Tillgate sees the Bitcoin network").await;
        assert_eq!(in_production(data.path(), &["status"])["hasWallet"], true);
        let told = verifies(data.path(), &words.join(" "));
        assert!(told.contains("restore this wallet"), "{told}");
        let page = html(&app).await;
        assert!(
            !words.windows(3).any(|three| page.contains(&three.join(" "))),
            "the words are still in the page"
        );

        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let url = app.waits_for("//input[@name='backend-url']").await;
        url.clear().await.unwrap();
        app.types("backend-url", &format!("http://{closed}")).await;
        app.types("cookie-file", "/nowhere/.cookie").await;
        app.clicks("Test the connection").await;
        app.sees("The cookie file cannot be read.").await;
        assert_eq!(setting(data.path(), "backendUrl"), "");
        app.clicks("Save without an answer").await;
        app.sees("What 1 Bitcoin costs now").await;
        assert_eq!(setting(data.path(), "backendUrl"), format!("http://{closed}"));

        // A user who returns is led to the next open step.
        app.clicks("API keys").await;
        app.sees("No API keys yet").await;
        app.clicks("Go live").await;
        app.sees("Where Tillgate sees the Bitcoin network").await;

        app.clicks("First backup").await;
        app.types("backup-folder", data.path().to_str().unwrap()).await;
        app.types("passphrase", "tram lamp river stone oak").await;
        app.types("passphrase-again", "tram lamp river stone oak").await;
        app.clicks("Back up now").await;
        app.sees("and was read back whole").await;
        let backups = in_production(data.path(), &["backup", "--show"]);
        assert!(backups["last"]["checkedAt"].is_string(), "{backups}");
        quits(&app, data.path()).await;
    });
}

#[test]
fn the_wallets_page_shows_the_balance_after_a_payment() {
    inside("golive::the_wallets_page_shows_the_balance_after_a_payment", async || {
        let data = tempfile::tempdir().unwrap();
        let app = App::start(data.path()).await;
        app.clicks("Wallet").await;
        app.sees("Nothing received yet").await;
        crate::stories::makes_a_payment(&app).await;
        app.clicks("Pay exactly").await;
        app.sees_state("UNCONFIRMED").await;
        app.clicks("Mine 1 block").await;
        app.sees_state("CONFIRMED").await;
        app.clicks("Wallet").await;
        let info = tillgate(data.path(), &["wallet", "info"]);
        let balance = info["balanceBtc"].to_string();
        assert_ne!(balance, "0.00000000", "{info}");
        until("the balance is shown", async || {
            let shown = app
                .script("return document.querySelector('[data-sum=balance]')?.textContent")
                .await;
            (shown == format!("{balance} BTC")).then_some(())
        })
        .await;
        let folded = "//summary[contains(., 'in another program')]";
        app.waits_for(folded).await.click().await.unwrap();
        // The driver does not scroll a button from below the status bar.
        app.script("document.querySelector('details.other').scrollIntoView()").await;
        app.clicks("Show the descriptors").await;
        let descriptors = tillgate(data.path(), &["wallet", "descriptor"]);
        let (_, checksum) = descriptors["external"].as_str().unwrap().split_once('#').unwrap();
        app.sees(&format!("#{checksum}")).await;
        quits(&app, data.path()).await;
    });
}

fn setting(data: &std::path::Path, name: &str) -> String {
    in_production(data, &["settings", "get", name])["value"].as_str().unwrap().to_owned()
}

/// The output of `tillgate wallet verify-backup` for these words.
fn verifies(data: &std::path::Path, words: &str) -> String {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    let mut command = Command::new(crate::app::TILLGATE);
    command
        .args(["wallet", "verify-backup", "--environment", "production", "--data-dir"])
        .arg(data);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(words.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
