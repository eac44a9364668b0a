//! Payouts as staff handle them on the command line, while shops request them over HTTP.

use bitcoin::hashes::Hash as _;
use bitcoin::{Address, Network, ScriptBuf, WPubkeyHash};
use serde_json::{Value, json};

use crate::harness::client::text;
use crate::harness::sandbox::{btc, sats};
use crate::harness::scene::Bill;
use crate::harness::{Scene, Tillgate, wait_for};

/// An address outside this wallet, different for each number.
fn address(number: u8) -> String {
    let script = ScriptBuf::new_p2wpkh(&WPubkeyHash::from_byte_array([number; 20]));
    Address::from_script(&script, Network::Regtest).unwrap().to_string()
}

/// A gateway whose wallet holds half a Bitcoin.
async fn with_coins(settings: &[(&str, &str)]) -> Scene {
    let s = Scene::open_with(settings).await;
    let bill = s.bill("10.00").await;
    s.pay_sats(&bill.id, 50_000_000).await;
    s.mine(2).await;
    s
}

/// A shop's program requests a payout; returns its id.
async fn offer(s: &Scene, number: u8, amount_sats: u64) -> String {
    let request =
        json!({"address": address(number), "btcAmount": btc(amount_sats), "currency": "USD"});
    let record = s.post("/v2/payouts", &request).await.ok();
    assert_eq!(record["status"], "NEW", "{record}");
    text(&record["payoutId"])
}

/// Runs a command that prints JSON.
fn json_of(s: &Scene, args: &[&str]) -> Value {
    s.gateway.program().json(args)
}

/// The payout's state on the command line.
fn status(s: &Scene, id: &str) -> String {
    text(&json_of(s, &["payouts", "show", id])["status"])
}

/// The text output of a command that must succeed.
fn shown(s: &Scene, args: &[&str]) -> String {
    let output = s.gateway.program().output(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The sum of the statement's rows; checks that it is the wallet's balance.
fn balance(s: &Scene) -> i64 {
    let statement = json_of(s, &["statement", "--currency", "USD"]);
    let items = statement["items"].as_array().unwrap();
    let sum: i64 = items.iter().map(|item| sats(&item["btcAmount"])).sum();
    assert_eq!(sum, sats(&json_of(s, &["wallet", "info"])["balanceBtc"]), "{statement}");
    for period in ["byDay", "byMonth"] {
        let totals = statement["totals"][period].as_array().unwrap();
        assert_eq!(
            totals.iter().map(|total| sats(&total["btcAmount"])).sum::<i64>(),
            sum,
            "{statement}"
        );
    }
    sum
}

/// The acts of the command line in the audit log.
fn cli_acts(s: &Scene) -> Vec<String> {
    let database = rusqlite::Connection::open(s.gateway.program().database()).unwrap();
    let mut query =
        database.prepare("SELECT act FROM audit WHERE actor LIKE 'cli:%' ORDER BY rowid").unwrap();
    query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// A closed payment with late coins, and the id of its anomaly.
async fn late_anomaly(s: &Scene) -> (Bill, String) {
    let bill = s.bill("10.00").await;
    s.advance_clock(2 * 60 * 60).await;
    s.pay_sats(&bill.id, 100_000).await;
    s.mine(2).await;
    let anomaly = s.expect_anomalies(&bill, &[("LATE_PAYMENT", "OPEN")]).await.remove(0);
    (bill, text(&anomaly["anomalyId"]))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shops_payout_is_approved_sent_and_listed_in_the_statement() {
    let s = with_coins(&[("batchSeconds", "0")]).await;
    assert_eq!(balance(&s), 50_000_000);
    let id = offer(&s, 1, 10_000_000).await;
    assert_eq!(json_of(&s, &["status"])["offersWaiting"], 1);
    let remedy = format!(
        "`tillgate --data-dir {} payouts approve {id}`",
        s.gateway.program().data_dir().display()
    );
    assert!(
        shown(&s, &["payouts", "show", &id]).contains(&remedy),
        "the remedy repeats --data-dir"
    );

    let approved = json_of(&s, &["payouts", "approve", &id]);
    assert!(text(&approved["approvedBy"]).starts_with("cli:"), "{approved}");
    let again = s.gateway.program().refusal(&["payouts", "approve", &id]);
    assert!(again.contains("waits for no approval"), "{again}");
    // This call returns only after all due payouts were broadcast.
    s.advance_clock(1).await;
    s.mine(1).await;
    assert_eq!(status(&s, &id), "SENT");
    assert_eq!(s.outputs_to(&address(1)).await.len(), 1, "the payout is paid once");

    let record = s.get(&format!("/v2/payouts/{id}")).await;
    let printed = s.gateway.program().output(&["payouts", "show", &id, "--json"]).stdout;
    assert_eq!(
        String::from_utf8(printed).unwrap().trim(),
        record.text(),
        "the record is the same as over HTTP"
    );
    let listed = json_of(&s, &["payouts", "list", "--status", "SENT"]);
    assert_eq!((&listed["items"][0]["payoutId"], &listed["itemsCount"]), (&json!(id), &json!(1)));

    let left = balance(&s);
    assert!((39_900_000..40_000_000).contains(&left), "{left}");
    let info = json_of(&s, &["wallet", "info"]);
    assert_eq!((sats(&info["spendableBtc"]), sats(&info["lockedBtc"])), (left, 0), "{info}");
    let rows = json_of(&s, &["statement", "--currency", "EUR"]);
    let kinds: Vec<String> =
        rows["items"].as_array().unwrap().iter().map(|item| text(&item["kind"])).collect();
    assert!(
        ["PAYMENT", "PAYOUT", "FEE"].iter().all(|kind| kinds.iter().any(|it| it == kind)),
        "{rows}"
    );
    assert!(
        rows["items"].as_array().unwrap().iter().all(|item| item["fiatAmount"].is_number()),
        "{rows}"
    );
    let limit = json_of(&s, &["limits", "show"]);
    assert_eq!((sats(&limit["used"]), &limit["currency"]), (10_000_000, &json!("BTC")));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_statement_is_exported_as_csv_and_json() {
    let s = with_coins(&[]).await;
    let csv = shown(&s, &["statement", "--currency", "USD", "--format", "csv"]);
    let mut lines = csv.split("\r\n");
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(header[..5], ["time", "kind", "btcAmount", "currency", "fiatAmount"]);
    let rows: Vec<Vec<&str>> =
        lines.filter(|line| !line.is_empty()).map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 1, "{csv}");
    assert!(
        rows.iter().all(|row| row.len() == header.len() && row[3] == "USD" && !row[4].is_empty()),
        "{csv}"
    );
    let parsed: Value =
        serde_json::from_str(&shown(&s, &["statement", "--currency", "USD", "--format", "json"]))
            .unwrap();
    assert_eq!(parsed, json_of(&s, &["statement", "--currency", "USD"]));
    let none = json_of(&s, &["statement", "--currency", "USD", "--to", "2020-01-01"]);
    assert_eq!(none["items"], json!([]));
    for args in [["--currency", "NONE"], ["--from", "yesterday"]] {
        let args = [
            &["statement", "--currency", "USD"][if args[0] == "--currency" { 0..1 } else { 0..3 }],
            &args,
        ]
        .concat();
        let line = s.gateway.program().refusal(&args);
        assert!(line.contains("must be"), "{line}");
    }
    let labels = shown(&s, &["wallet", "labels"]);
    let kinds: Vec<String> = labels
        .lines()
        .map(|line| text(&serde_json::from_str::<Value>(line).unwrap()["type"]))
        .collect();
    assert_eq!(kinds, ["tx", "addr", "output"], "{labels}");
    let descriptors = json_of(&s, &["wallet", "descriptor"]);
    for chain in ["external", "internal"] {
        assert!(text(&descriptors[chain]).contains("/*)#"), "{descriptors}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_of_another_wallet_are_imported_all_or_none() {
    let s = with_coins(&[]).await;
    let labels = json_of(&s, &["wallet", "labels"]);
    let of_tx =
        labels["items"].as_array().unwrap().iter().find(|label| label["type"] == "tx").unwrap();
    let (txid, own) = (text(&of_tx["ref"]), text(&of_tx["label"]));
    let payment = own.split([' ', ':']).nth(1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sparrow-labels.jsonl");
    let path = file.to_str().unwrap();
    let import = ["wallet", "labels", "--import", path];
    std::fs::write(
        &file,
        format!(
            "{{\"type\":\"tx\",\"ref\":\"{txid}\",\"label\":\"Dinner\"}}\n{{\"type\":\"tx\"}}\n"
        ),
    )
    .unwrap();
    let refusal = s.gateway.program().refusal(&import);
    assert!(
        refusal.contains("line 2 has no text `ref`") && refusal.contains("Nothing was imported"),
        "{refusal}"
    );
    assert_eq!(json_of(&s, &["wallet", "labels"]), labels, "the good line was not imported either");
    std::fs::write(&file, format!("{{\"type\":\"tx\",\"ref\":\"{txid}\",\"label\":\"Dinner\"}}\n"))
        .unwrap();
    assert_eq!(shown(&s, &import), "1 label was imported.\n");
    assert_eq!(shown(&s, &import), "0 labels were imported.\n1 label was there before.\n");
    assert!(shown(&s, &["wallet", "labels"]).contains(r#""label":"Dinner""#));
    assert_eq!(json_of(&s, &["payments", "show", payment])["labels"], json!(["Dinner"]));
    assert!(shown(&s, &["payments", "show", payment]).contains("\"Dinner\""));
}

/// Checks that the statement in JSON, the statement in CSV and the coins' labels name the anomaly.
fn check_anomaly_is_named(s: &Scene, bill: &Bill, anomaly: &str) {
    let statement = json_of(s, &["statement", "--currency", "USD"]);
    let is_its = |row: &&Value| row["kind"] == "ANOMALY" && row["paymentId"] == bill.id;
    let row = statement["items"].as_array().unwrap().iter().find(is_its).unwrap();
    assert_eq!(row["anomalyId"], anomaly, "{statement}");
    let csv = shown(s, &["statement", "--currency", "USD", "--format", "csv"]);
    let is_its = |line: &&str| line.contains(",ANOMALY,") && line.contains(&bill.id);
    assert!(csv.lines().find(is_its).unwrap().ends_with(anomaly), "{csv}");
    let labels = json_of(s, &["wallet", "labels"]);
    let of_anomaly = labels["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| text(&one["label"]).contains(anomaly));
    let kinds: Vec<String> = of_anomaly.map(|one| text(&one["type"])).collect();
    assert!(kinds.contains(&"tx".to_owned()) && kinds.contains(&"output".to_owned()), "{labels}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_anomaly_is_refunded_after_approval_or_at_once() {
    let s = Scene::open_with(&[("batchSeconds", "0")]).await;
    for (number, at_once) in [(1, false), (2, true)] {
        // The merchant pays the network fee of a refund, so the wallet needs another coin.
        let paid = s.bill("10.00").await;
        s.pay_sats(&paid.id, paid.amount_sats).await;
        let (bill, anomaly) = late_anomaly(&s).await;
        let to = address(number);
        let args = ["anomalies", "refund", &anomaly, "--address", &to, "--approve"];
        let record = json_of(&s, if at_once { &args } else { &args[..5] });
        let id = text(&record["payoutId"]);
        assert_eq!(sats(&record["btcAmount"]), 100_000);
        assert_eq!(
            (&record["anomalyId"], &record["status"] == "QUEUED"),
            (&json!(anomaly), at_once),
            "{record}"
        );
        s.expect_anomalies(&bill, &[("LATE_PAYMENT", "REFUNDING")]).await;
        let twice = s.gateway.program().refusal(&args);
        assert!(twice.contains("waits for no decision"), "{twice}");
        if !at_once {
            json_of(&s, &["payouts", "approve", &id]);
        }
        // This call returns only after all due payouts were broadcast.
        s.advance_clock(1).await;
        s.mine(1).await;
        assert_eq!(status(&s, &id), "SENT");
        s.expect_anomalies(&bill, &[("LATE_PAYMENT", "REFUNDED")]).await;
        assert_eq!(s.outputs_to(&to).await.len(), 1);
        check_anomaly_is_named(&s, &bill, &anomaly);
    }
    balance(&s);
    let acts = cli_acts(&s);
    for act in
        ["anomalies refund", "payouts request", "payouts approve", "payouts request and approve"]
    {
        assert!(acts.iter().any(|one| one == act), "{act} in {acts:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_may_be_as_small_as_the_dust_limit() {
    let s = Scene::open_with(&[("batchSeconds", "0")]).await;
    let bill = s.confirmed_bill().await;
    s.send_to(&bill.address, 3_000).await;
    s.send_to(&bill.address, 400).await;
    s.mine(2).await;
    let anomalies =
        s.expect_anomalies(&bill, &[("EXTRA_PAYMENT", "OPEN"), ("EXTRA_PAYMENT", "OPEN")]).await;
    let of = |sum| {
        text(&anomalies.iter().find(|one| sats(&one["paidBtc"]) == sum).unwrap()["anomalyId"])
    };
    let refund =
        json_of(&s, &["anomalies", "refund", &of(3_000), "--address", &address(1), "--approve"]);
    s.advance_clock(1).await;
    assert_eq!(status(&s, &text(&refund["payoutId"])), "SENT");
    // An output to a legacy address must hold at least 546 satoshis.
    let old = "mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn";
    let refusal = s.gateway.program().refusal(&["anomalies", "refund", &of(400), "--address", old]);
    assert!(refusal.contains("0.00000546 BTC") && refusal.contains("dust"), "{refusal}");
    let least =
        json_of(&s, &["anomalies", "refund", &of(400), "--address", &address(2), "--approve"]);
    s.advance_clock(1).await;
    assert_eq!(status(&s, &text(&least["payoutId"])), "SENT", "a SegWit output may hold 294");
}

#[tokio::test(flavor = "multi_thread")]
async fn payouts_are_bumped_and_abandoned_and_refusals_are_one_line() {
    let s = with_coins(&[]).await;
    let (alone, first, second) =
        (offer(&s, 1, 100_000).await, offer(&s, 2, 100_000).await, offer(&s, 3, 100_000).await);
    let program = s.gateway.program();
    for (args, said) in [
        (["payouts", "bump", &first], "never approved"),
        (["payouts", "abandon", &first], "never approved"),
        (["payouts", "show", "abc"], "40 lower-case"),
    ] {
        let line = program.refusal(&args);
        assert!(line.contains(said) && line.lines().count() == 1, "{line}");
    }
    json_of(&s, &["payouts", "approve", &alone]);
    let waits = shown(&s, &["payouts", "show", &alone]);
    assert!(
        waits.contains("it is sent at about") && !waits.contains("with others"),
        "no other payout shares its transaction: {waits}"
    );
    let gone = json_of(&s, &["payouts", "abandon", &alone]);
    assert_eq!(gone["status"], "FAILED", "no transaction was signed");
    for id in [&first, &second] {
        json_of(&s, &["payouts", "approve", id]);
    }
    s.advance_clock(31).await;
    let sent = json_of(&s, &["payouts", "show", &first]);
    assert_eq!(
        (&sent["status"], &sent["btcTxId"]),
        (&json!("SENT"), &json_of(&s, &["payouts", "show", &second])["btcTxId"])
    );
    let bumped = json_of(&s, &["payouts", "bump", &first, "--fee-rate", "20"]);
    assert_ne!(bumped["btcTxId"], sent["btcTxId"]);
    let again = shown(&s, &["payouts", "bump", &first, "--fee-rate", "1"]);
    assert!(
        again.contains("The fee is raised to") && again.contains("the least that nodes take"),
        "{again}"
    );
    let whole = shown(&s, &["payouts", "show", &first]);
    assert!(whole.contains("shares its transaction with") && whole.contains("bumped"), "{whole}");

    let line = program.refusal(&["payouts", "abandon", &first]);
    assert!(line.contains(&second) && line.contains("--all"), "{line}");
    assert_eq!(json_of(&s, &["payouts", "abandon", &first, "--all"])["status"], "SENT");
    assert!(shown(&s, &["payouts", "list"]).contains("it is being cancelled"));
    let line = program.refusal(&["payouts", "bump", &second]);
    assert!(line.contains("cancelled already"), "{line}");
    s.mine(6).await;
    for (id, number) in [(&first, 2), (&second, 3)] {
        assert_eq!(status(&s, id), "FAILED");
        assert_eq!(s.outputs_to(&address(number)).await, Vec::<Value>::new());
    }
    let statement = json_of(&s, &["statement", "--currency", "USD"]);
    let fees = statement["items"].as_array().unwrap().iter().filter(|one| one["kind"] == "OTHER");
    assert!(
        fees.clone().count() == 1 && fees.clone().all(|one| one["feeBtc"].is_number()),
        "{statement}"
    );
    assert!(!shown(&s, &["payouts", "show", &first]).contains("it is being cancelled"));
    balance(&s);
    let acts = cli_acts(&s);
    for (act, times) in [("payouts approve", 3), ("payouts bump", 2), ("payouts abandon", 2)] {
        assert_eq!(acts.iter().filter(|one| one.as_str() == act).count(), times, "{acts:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_sender_is_reported_and_continues_once_released() {
    let mut s = with_coins(&[("batchSeconds", "0")]).await;
    assert!(s.gateway.stop().await.success());
    let database = rusqlite::Connection::open(s.gateway.program().database()).unwrap();
    database
        .execute("INSERT INTO sender_hold (one, since, reason) VALUES (1, 0, 'a test')", [])
        .unwrap();
    database.close().unwrap();
    s.gateway.start_again();
    let id = offer(&s, 1, 100_000).await;
    json_of(&s, &["payouts", "approve", &id]);
    s.mine(1).await;
    assert_eq!(status(&s, &id), "QUEUED");
    let remedy = format!(
        "`tillgate --data-dir {} payouts release`",
        s.gateway.program().data_dir().display()
    );
    for told in [shown(&s, &["payouts", "show", &id]), shown(&s, &["payouts", "list"])] {
        assert!(
            told.contains("the sender is on hold: a test") && told.contains(&remedy),
            "the remedy repeats --data-dir: {told}"
        );
    }
    assert_eq!(json_of(&s, &["status"])["senderHold"], "a test");
    let doctor: Value =
        serde_json::from_slice(&s.gateway.program().output(&["doctor", "--json"]).stdout).unwrap();
    let check = doctor["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["name"] == "payouts")
        .unwrap();
    assert!(
        check["ok"] == false && text(&check["message"]).contains("payouts release"),
        "{doctor}"
    );

    assert_eq!(json_of(&s, &["payouts", "release"])["released"], true);
    assert_eq!(json_of(&s, &["payouts", "release"])["released"], false);
    s.mine(1).await;
    assert_eq!(status(&s, &id), "SENT");
    assert!(cli_acts(&s).contains(&"payouts release".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_keyring_is_reported_until_payouts_retry() {
    let s = with_coins(&[("batchSeconds", "0")]).await;
    s.set_faults(json!({ "keysLocked": true })).await;
    let id = offer(&s, 1, 100_000).await;
    json_of(&s, &["payouts", "approve", &id]);
    s.mine(1).await;
    let waits = text(&json_of(&s, &["status"])["senderWaitsFor"]);
    assert!(shown(&s, &["payouts", "show", &id]).contains(&waits), "{waits}");
    s.set_faults(json!({ "keysLocked": false })).await;
    assert_eq!(status(&s, &id), "QUEUED", "the keyring is asked again only after a minute");
    json_of(&s, &["payouts", "retry"]);
    wait_for("the payout", async || (status(&s, &id) == "SENT").then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_approved_without_a_gateway_is_sent_at_its_start() {
    let mut s = with_coins(&[("batchSeconds", "0")]).await;
    let id = offer(&s, 1, 100_000).await;
    assert!(s.gateway.stop().await.success());
    assert_eq!(json_of(&s, &["payouts", "approve", &id])["status"], "QUEUED");
    assert!(shown(&s, &["payouts", "show", &id]).contains("serve` starts one"));
    let to = address(2);
    let args = [
        "payouts",
        "request",
        "--address",
        &to,
        "--fiat",
        "50",
        "--currency",
        "USD",
        "--comment",
        "rent",
    ];
    let asked = json_of(&s, &args);
    assert_eq!(
        (&asked["status"], &asked["fiatAmount"].to_string()),
        (&json!("NEW"), &"50.00".to_owned()),
        "{asked}"
    );
    s.gateway.start_again();
    wait_for("the payout", async || (status(&s, &id) == "SENT").then_some(())).await;
    assert_eq!(status(&s, &text(&asked["payoutId"])), "NEW");
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_are_set_together_or_not_at_all() {
    let gateway = Tillgate::start().await;
    let program = gateway.program();
    let set = program.json(&["limits", "set", "--daily", "0.5", "--minimum", "0.001"]);
    assert_eq!((sats(&set["available"]), sats(&set["minPayoutAmount"])), (50_000_000, 100_000));
    let line = program.refusal(&["limits", "set", "--daily", "0.7", "--minimum", "0"]);
    assert!(line.contains("minPayoutBtc must be"), "{line}");
    let line = program.refusal(&["limits", "set", "--daily", "0.02", "--minimum", "0.5"]);
    assert!(line.contains("would be 0.5 above 0.02"), "{line}");
    assert_eq!(
        sats(&program.json(&["limits", "show"])["available"]),
        50_000_000,
        "nothing changed"
    );
    let usd = program.json(&["limits", "show", "--currency", "USD"]);
    assert_eq!((&usd["currency"], usd["used"].to_string()), (&json!("USD"), "0.00".to_owned()));
    assert_eq!(program.output(&["limits", "set"]).status.code(), Some(2));
}
