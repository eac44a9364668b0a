//! Payments in the window, and its start, close and end.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use axum::body::{Body, Bytes, to_bytes};
use axum::http::Request;
use base64::Engine as _;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use crate::app::{App, DESKTOP, TILLGATE, terminate, tillgate, until};
use crate::display::Display;
use crate::session::inside;

/// Limit of bytes read from an answer.
const ANSWER_MAX: usize = 1024 * 1024;

#[test]
fn a_first_payment_is_confirmed_and_quitting_stops_cleanly() {
    inside("stories::a_first_payment_is_confirmed_and_quitting_stops_cleanly", async || {
        let data = tempfile::tempdir().unwrap();
        let app = App::start(data.path()).await;
        app.sees("Test environment").await;

        let secret = creates_a_key(&app).await;
        let payment = makes_a_payment(&app).await;
        app.clicks("Pay exactly").await;
        app.sees_state("UNCONFIRMED").await;
        app.clicks("Mine 1 block").await;
        app.sees_state("CONFIRMED").await;
        app.clicks("← All payments").await;
        app.waits_for("//td//*[@data-state='CONFIRMED']").await;

        // The shop sees the same record over the API.
        let record = shop_reads(&app.api().await, &secret, &payment).await;
        assert_eq!(record["status"], "CONFIRMED");
        assert_eq!(record["message"], "Two coffees");

        quits(&app, data.path()).await;
        let left = tillgate(data.path(), &["payments", "show", &payment]);
        assert_eq!(left["state"], "CONFIRMED");
    });
}

#[test]
fn the_window_draws_without_a_graphics_card_in_little_memory() {
    let name = "stories::the_window_draws_without_a_graphics_card_in_little_memory";
    inside(name, async || {
        let data = tempfile::tempdir().unwrap();
        let app = App::start(data.path()).await;
        app.sees("Test environment").await;
        let children = processes_of(data.path()).split_off(1);
        let variables = ["WEBKIT_DISABLE_DMABUF_RENDERER=1", "JSC_useJIT=0", "MALLOC_ARENA_MAX=2"];
        let saves_memory = |pid: &String| {
            let environment = read(pid, "environ");
            variables.iter().all(|variable| environment.contains(variable))
        };
        assert!(
            !children.is_empty() && children.iter().all(saves_memory),
            "the web view takes more memory"
        );
        let own_kb = memory_of_engine_kb(data.path());
        // The web view needs about 35 MB, but 85 MB if it draws with the graphics card.
        assert!(own_kb < 60_000, "{own_kb} kB");
        quits(&app, data.path()).await;
    });
}

#[test]
fn a_german_window_speaks_german() {
    inside("stories::a_german_window_speaks_german", async || {
        let data = tempfile::tempdir().unwrap();
        let app = App::start_with(data.path(), &[("TILLGATE_LANGUAGE", "de-AT".into())]).await;
        app.waits_for("//html[@lang='de']//nav[@aria-label='Seiten']//a[contains(., 'Kasse')]")
            .await;
        app.clicks("Neue Zahlung").await;
        app.waits_for("//h1[normalize-space()='Neue Zahlung']").await;
        app.clicks("Auszahlungen").await;
        app.clicks("Neue Auszahlung").await;
        app.types("address", "bc1q").await;
        app.sees("enthält einen Tippfehler").await;
        app.clicks("Kasse").await;
        app.waits_for("//output[@data-total][normalize-space()='0,00']").await;
        app.clicks("Tillgate beenden").await;
        app.sees("Tillgate beenden?").await;
        app.clicks_and_goes("Tillgate beenden").await;
    });
}

#[test]
fn a_reversed_payment_is_announced_until_it_is_dismissed() {
    let name = "stories::a_reversed_payment_is_announced_until_it_is_dismissed";
    inside(name, async || {
        let data = tempfile::tempdir().unwrap();
        let app = App::start(data.path()).await;
        let payment = makes_a_payment(&app).await;
        app.clicks("Pay exactly").await;
        app.sees_state("UNCONFIRMED").await;
        app.sees("Received, 0 of 1 confirmation").await;
        app.clicks("Mine 1 block").await;
        app.sees_state("CONFIRMED").await;

        app.clicks("Sandbox").await;
        app.clicks_option("The customer double-spends its own transactions").await;
        app.clicks("Reorganise").await;
        app.sees("1 confirmed payment was reversed").await;
        let display = Display::open();
        let titled = "the window's title counts the reversed payment";
        until(titled, async || display.title().ends_with("Test: 1 payment reversed").then_some(()))
            .await;

        app.clicks("Decide what to do").await;
        app.clicks("Dismiss").await;
        app.sees("The 15,385 sat were taken back").await;
        app.sees("No shop is notified").await;
        app.types_labelled("Why", "goods came back").await;
        app.clicks_in_dialog("Dismiss").await;
        app.sees("Nothing needs your attention").await;
        until("the title is as before", async || {
            display.title().ends_with("environment)").then_some(())
        })
        .await;
        let left = tillgate(data.path(), &["payments", "show", &payment]);
        assert_eq!((&left["state"], &left["whyInvalid"]), (&"INVALID".into(), &"REVERSED".into()));
    });
}

#[test]
fn the_tour_goes_from_a_payment_to_a_payout() {
    inside("stories::the_tour_goes_from_a_payment_to_a_payout", async || {
        let data = tempfile::tempdir().unwrap();
        let app = App::start(data.path()).await;
        app.clicks("Take the tour").await;
        app.clicks_in_dialog("Create the payment").await;
        app.clicks_in_dialog("Pay as the customer").await;
        app.sees("the payment is confirmed").await;
        app.clicks_in_dialog("Next").await;
        app.sees("✓ The signature is right").await;
        app.waits_for("//dialog[@open]//summary[contains(., 'CONFIRMED')]").await;
        app.clicks_in_dialog("Next").await;
        app.clicks_in_dialog("Pay out").await;
        app.clicks_in_dialog("Send it now").await;
        app.sees("the recipient has the coins").await;
        app.clicks_in_dialog("Open the till").await;
        app.waits_for("//button[normalize-space()='Type a price']").await;
        quits(&app, data.path()).await;
    });
}

#[test]
fn payments_are_saved_for_a_spreadsheet_and_their_pages_opened() {
    let name = "stories::payments_are_saved_for_a_spreadsheet_and_their_pages_opened";
    inside(name, async || {
        let data = tempfile::tempdir().unwrap();
        let opened = data.path().join("opened");
        let variables = [
            ("PATH", with_opener(data.path(), &opened)),
            ("TILLGATE_BACKUP_PASSPHRASE", "correct horse".into()),
        ];
        let app = App::start_with(data.path(), &variables).await;
        let payment = makes_a_payment(&app).await;
        app.clicks("Open").await;
        let page = tillgate(data.path(), &["payments", "show", &payment])["paymentPageUrl"]
            .as_str()
            .unwrap()
            .to_owned();
        let last_opened = || {
            std::fs::read_to_string(&opened)
                .ok()
                .and_then(|all| Some(all.lines().last()?.to_owned()))
        };
        until("the browser opens the page", async || (last_opened()? == page).then_some(())).await;
        let environment = std::fs::read_to_string(opened.with_extension("environment")).unwrap();
        assert!(
            environment.contains("PATH=") && !environment.contains("correct horse"),
            "{environment}"
        );
        assert!(!environment.contains("JSC_useJIT"), "{environment}");
        app.clicks("Mail…").await;
        app.sees("This page opens on this computer alone.").await;
        until("a mail begins", async || {
            last_opened()?.starts_with("mailto:?subject=Merchant").then_some(())
        })
        .await;

        app.clicks("← All payments").await;
        for number in ["", "-2"] {
            app.clicks("Save for a spreadsheet").await;
            let told = format!("//p[contains(text(), 'tillgate-test-payments{number}.csv')]");
            let told = app.waits_for(&told).await.text().await.unwrap();
            let file =
                told.strip_prefix("Saved as ").and_then(|rest| rest.strip_suffix('.')).unwrap();
            let table = std::fs::read_to_string(file).unwrap();
            let mode = std::fs::metadata(file).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "other users cannot read the file");
            assert!(table.starts_with('\u{feff}'), "{table}");
            assert!(table.lines().nth(1).is_some_and(|line| line.ends_with(&payment)), "{table}");
        }

        app.clicks("Books").await;
        app.clicks("Save for a spreadsheet").await;
        app.waits_for("//p[contains(text(), '-takings.csv')]").await;
        app.clicks("Statement").await;
        app.clicks("Save as JSON").await;
        let told = app.waits_for("//p[contains(text(), '-statement.json')]").await;
        let told = told.text().await.unwrap();
        let file = told.strip_prefix("Saved as ").and_then(|rest| rest.strip_suffix('.')).unwrap();
        let statement: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        assert_eq!((&statement["currency"], &statement["items"]), (&json!("USD"), &json!([])));
        quits(&app, data.path()).await;
    });
}

/// A search path with an `xdg-open` that notes each address in `opened`, and its variables beside
/// it.
fn with_opener(folder: &Path, opened: &Path) -> std::ffi::OsString {
    let programs = folder.join("programs");
    std::fs::create_dir(&programs).unwrap();
    let opener = programs.join("xdg-open");
    let script =
        format!("#!/bin/sh\nenv > '{0}.environment'\necho \"$1\" >> '{0}'\n", opened.display());
    std::fs::write(&opener, script).unwrap();
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
    let paths = std::env::var_os("PATH").unwrap();
    std::env::join_paths(std::iter::once(programs).chain(std::env::split_paths(&paths))).unwrap()
}

#[test]
fn a_data_directory_in_use_is_reported_and_opened_once_free() {
    inside("stories::a_data_directory_in_use_is_reported_and_opened_once_free", async || {
        let data = tempfile::tempdir().unwrap();
        let mut other = Command::new(TILLGATE);
        other.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data.path());
        let mut other = other.stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = String::new();
        std::io::BufRead::read_line(
            &mut std::io::BufReader::new(other.stdout.take().unwrap()),
            &mut ready,
        )
        .unwrap();
        assert!(ready.contains("ready"), "{ready}");

        let app = App::start(data.path()).await;
        app.sees("Tillgate is running already").await;
        app.sees("Shops are served as usual").await;
        app.clicks("Production").await;
        app.sees("Take real money").await;
        app.clicks("Test").await;
        terminate(&mut other);
        app.clicks("Try again").await;
        app.sees("No payments yet").await;
        quits(&app, data.path()).await;
    });
}

#[test]
fn a_closed_window_returns_at_a_second_start() {
    inside("stories::a_closed_window_returns_at_a_second_start", async || {
        let data = tempfile::tempdir().unwrap();
        let app = App::start(data.path()).await;
        app.sees("No payments yet").await;
        let api = app.api().await;
        let display = Display::open();

        // This display has no tray, so before the window closes, a dialog says that the program
        // keeps running.
        display.close_window();
        app.sees("Tillgate keeps running").await;
        app.clicks_and_goes("Close the window").await;
        until("the window is gone", async || (!display.shows_window()).then_some(())).await;
        let (status, _) = get(&format!("{api}/payments/1/0"), "Basic eDp4").await;
        assert_eq!(status, 401, "the gateway still runs, and refuses an unknown key");

        let second = Command::new(DESKTOP).arg("--data-dir").arg(data.path()).status().unwrap();
        assert!(second.success(), "a second start ends by itself: {second}");
        until("the window is back", async || display.shows_window().then_some(())).await;

        // The dialog is shown once, so this time the window closes without a question. A hidden
        // page does not answer its driver, so the test can only see that the window is gone.
        display.close_window();
        until("the window is gone again", async || (!display.shows_window()).then_some(())).await;
    });
}

/// Makes a key in the window and returns its secret, which is shown once.
async fn creates_a_key(app: &App) -> String {
    app.clicks("API keys").await;
    app.clicks("Create an API key").await;
    app.types("key-name", "webshop").await;
    app.clicks("Create the key").await;
    // A driver reads no text of a dialog that is still appearing.
    let secret = until("the secret is shown, 256 random bits", async || {
        let shown = app.waits_for("//code[@data-secret='true']").await.text().await.unwrap();
        (shown.len() >= 32).then_some(shown)
    })
    .await;
    app.escapes().await;
    app.sees("The secret was not copied yet").await;
    app.escapes().await;
    assert_eq!(
        app.waits_for("//code[@data-secret='true']").await.text().await.unwrap(),
        secret,
        "Esc does not remove the secret"
    );
    app.clicks("I have stored it").await;
    app.waits_for("//td[normalize-space()='webshop']").await;
    let left = app.page.source().await.unwrap();
    assert!(!left.contains(&secret), "the secret is shown once");
    secret
}

/// Makes a payment in the window and returns its id.
pub async fn makes_a_payment(app: &App) -> String {
    app.clicks("Payments").await;
    app.clicks("New payment").await;
    app.types("amount", "10,00").await;
    app.types("message", "Two coffees").await;
    app.clicks("Create payment").await;
    app.sees_state("NEW").await;
    let drawn =
        "const qr = document.querySelector('main img'); return qr.complete && qr.naturalWidth > 0;";
    until("the QR code is drawn", async || (app.script(drawn).await == true).then_some(())).await;
    let url = app.page.current_url().await.unwrap();
    url.fragment().unwrap().rsplit('/').next().unwrap().to_owned()
}

async fn shop_reads(api: &str, secret: &str, payment: &str) -> Value {
    let key = base64::engine::general_purpose::STANDARD.encode(format!("webshop:{secret}"));
    let (status, body) = get(&format!("{api}/payments/{payment}"), &format!("Basic {key}")).await;
    assert_eq!(status, 200);
    serde_json::from_slice(&body).unwrap()
}

/// The unshared memory of the web view's process, in kilobytes.
fn memory_of_engine_kb(data: &Path) -> u64 {
    let engine =
        processes_of(data).into_iter().find(|pid| read(pid, "comm").starts_with("WebKitWeb"));
    let rollup = read(&engine.expect("the web view's process runs"), "smaps_rollup");
    let own = figure(&rollup, "Pss_Anon:").expect("smaps_rollup names Pss_Anon");
    own.trim().trim_end_matches("kB").trim().parse().unwrap()
}

/// The ids of the program's process on this data directory, and of its web view's processes.
pub fn processes_of(data: &Path) -> Vec<String> {
    let pids = || {
        std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
    };
    let data = data.to_str().unwrap();
    let is_desktop = |pid: &str| {
        read(pid, "cmdline").starts_with(DESKTOP) && read(pid, "cmdline").contains(data)
    };
    let desktop = pids().find(|pid| is_desktop(pid)).expect("the desktop program runs");
    let is_child = |pid: &String| {
        figure(&read(pid, "status"), "PPid:").is_some_and(|parent| parent.trim() == desktop)
    };
    let children: Vec<String> = pids().filter(is_child).collect();
    std::iter::once(desktop.clone()).chain(children).collect()
}

/// A file of a process in `/proc`; empty if the process ended.
pub fn read(pid: &str, file: &str) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default()
}

/// The rest of the line that begins with this name.
pub fn figure(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
}

async fn get(url: &str, authorization: &str) -> (u16, Bytes) {
    let request =
        Request::get(url).header("authorization", authorization).body(Body::empty()).unwrap();
    let answer = Client::builder(TokioExecutor::new()).build_http().request(request).await.unwrap();
    let status = answer.status().as_u16();
    (status, to_bytes(Body::new(answer.into_body()), ANSWER_MAX).await.unwrap())
}

/// Quits from the window, and waits until the gateway has released its data.
pub async fn quits(app: &App, data: &Path) {
    app.clicks("Quit Tillgate").await;
    app.sees("Quit Tillgate?").await;
    app.clicks_and_goes("Quit Tillgate").await;
    until("the gateway has released its data", async || {
        // A killed gateway would leave its socket behind.
        (!socket_remains(data)).then_some(())
    })
    .await;
    assert_eq!(tillgate(data, &["status"])["serving"], false);
}

fn socket_remains(data: &Path) -> bool {
    std::fs::read_dir(data.join("test")).unwrap().any(|entry| {
        std::os::unix::fs::FileTypeExt::is_socket(&entry.unwrap().file_type().unwrap())
    })
}
