//! Figures of the window with 100,000 payments. They are printed, and nothing fails if they are
//! bad.

use std::path::Path;

use serde_json::Value;

use crate::app::App;
use crate::session::inside;
use crate::stories::{figure, makes_a_payment, processes_of, quits, read};

/// Payments in the database.
const PAYMENTS: u32 = 100_000;

/// Copies the only payment, as confirmed payments of the months before it.
const COPIES: &str = "
    INSERT INTO payments (id, state, amount_sats, price_minor, currency, rate, rate_id, derivation_index, script, address,
        key_id, label, message, merchant_transaction_id, created_at, expires_at, current_at, closed_at, confirmed_at,
        paid_sats, confirmations, zero_conf_quiet_ms, tolerance_per_mille, overpayment, anomaly_confirmations,
        offline_grace_ms, is_indexed)
    SELECT randomblob(20), 'CONFIRMED', amount_sats, price_minor + n % 5000, currency, rate, rate_id, 1000 + n,
        randomblob(22), 'bcrt1q' || lower(hex(randomblob(19))), key_id, label, 'Two coffees', 'order-' || n,
        created_at + n, expires_at + n, current_at + n, current_at + n, current_at + n - (?1 - n) * 30000, amount_sats,
        confirmations, zero_conf_quiet_ms, tolerance_per_mille, overpayment, anomaly_confirmations, offline_grace_ms, 1
    FROM payments, (WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?1)
        SELECT n FROM numbers)
    WHERE seq = 1";

/// Changes to the screen of `arguments[0]`, and returns the milliseconds until `arguments[1]` is in
/// the page and drawn. It begins half a second later, because the page may still draw the former
/// screen.
const CHANGES: &str = "
    const [hash, selector, done] = arguments;
    setTimeout(() => {
        const began = performance.now();
        location.hash = hash;
        const look = () => document.querySelector(selector)
            ? requestAnimationFrame(() => done(performance.now() - began)) : requestAnimationFrame(look);
        requestAnimationFrame(look);
    }, 500);";

/// Scrolls the list for three seconds. Returns the frames in a second, and the longest time between
/// two frames in milliseconds. The third figure is the percentage of frames in which the middle of
/// the list showed a row.
const SCROLLS: &str = "
    const done = arguments[arguments.length - 1];
    const main = document.querySelector('main');
    const { left, width, top, height } = main.getBoundingClientRect();
    const began = performance.now();
    let frames = 0, filled = 0, longest = 0, before = began;
    const step = (now) => {
        longest = Math.max(longest, now - before);
        before = now;
        frames += 1;
        const there = document.elementFromPoint(left + width / 2, top + height / 2);
        if (there?.closest('tr.link')) filled += 1;
        main.scrollTop += 40;
        if (now - began < 3000) requestAnimationFrame(step);
        else done([frames / (now - began) * 1000, longest, filled / frames * 100]);
    };
    requestAnimationFrame(step);";

#[test]
#[ignore = "measures"]
fn figures_with_a_hundred_thousand_payments() {
    inside("measures::figures_with_a_hundred_thousand_payments", async || {
        let data = tempfile::tempdir().unwrap();
        let app = App::start(data.path()).await;
        let payment = makes_a_payment(&app).await;
        quits(&app, data.path()).await;
        drop(app);
        let database = rusqlite::Connection::open(data.path().join("test/tillgate.db")).unwrap();
        database.execute("UPDATE payments SET is_indexed = 1", []).unwrap();
        database.execute(COPIES, [PAYMENTS]).unwrap();
        drop(database);

        let began = tokio::time::Instant::now();
        let app = App::start(data.path()).await;
        app.sees("Takings today").await;
        let started = began.elapsed();
        let paint = "return performance.getEntriesByType('paint').map((one) => one.startTime)";
        println!(
            "from the start to the takings: {started:?}; first paint: {} ms",
            app.script(paint).await
        );
        let record = format!("#/test/payment/{payment}");
        for (hash, selector) in [
            ("#/test/payments", "main tr.link"),
            (record.as_str(), "main h1 [data-state]"),
            ("#/test/payments", "main tr.link"),
            ("#/test/home", "main [data-testid=day]"),
            ("#/test/till", "main button"),
            ("#/test/payouts", "main meter"),
            ("#/test/wallet", "main [data-sum=balance]"),
            ("#/test/books", "main [data-testid=part]"),
            (record.as_str(), "main h1 [data-state]"),
            ("#/test/payments", "main tr.link"),
        ] {
            let arguments = vec![hash.into(), selector.into()];
            let ms = app.page.execute_async(CHANGES, arguments).await.unwrap();
            println!("change to {hash}: {ms} ms");
        }
        let scrolled: Value = app.page.execute_async(SCROLLS, vec![]).await.unwrap();
        println!(
            "scrolling: {} frames in a second, at most {} ms between two, {} % filled",
            scrolled[0], scrolled[1], scrolled[2]
        );
        for (name, kb, own_kb) in memory_kb(data.path()) {
            println!("memory of {name}: {} MB, without files {} MB", kb / 1_000, own_kb / 1_000);
        }
        quits(&app, data.path()).await;
    });
}

/// The memory of the program and of its web view's processes: their proportional set sizes, and the
/// part of each that no file backs.
fn memory_kb(data: &Path) -> Vec<(String, u64, u64)> {
    let of = |pid: &String| {
        let rollup = read(pid, "smaps_rollup");
        let kb = |name| {
            let text = figure(&rollup, name).unwrap_or_default();
            text.trim().trim_end_matches("kB").trim().parse().unwrap_or_default()
        };
        (read(pid, "comm").trim().to_owned(), kb("Pss:"), kb("Pss_Anon:"))
    };
    processes_of(data).iter().map(of).collect()
}
