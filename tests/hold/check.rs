//! The checks of a gateway after its restart: records, states and notifications against the
//! promises and the chain.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::expected_records::{self, Chain};
use crate::harness::TIMEOUT;
use crate::harness::client::text;
use crate::installation::Installation;
use crate::ledger::Ledger;
use crate::random::Random;

/// Interval between two checks of a condition.
const POLL: Duration = Duration::from_millis(50);

/// Time limit for agreement with the chain. A look starts each second, and sees the broadcasts of
/// the previous look.
const AGREED_WITHIN: Duration = Duration::from_secs(10);

/// Number of answered idempotency keys that one check uses again.
const KEYS_TRIED: usize = 12;

/// Fields of an acknowledged payment that never change.
const FIXED: &[&str] = &[
    "paymentId",
    "address",
    "amount",
    "fiatAmount",
    "currency",
    "exchangeRate",
    "creationTime",
    "expirationTime",
    "label",
    "message",
    "merchantTransactionId",
    "notificationUrl",
];

/// The folder of the gateway's environment.
pub fn folder(site: &Installation) -> PathBuf {
    site.program.env_dir()
}

/// SQLite's integrity check passes, and some payments are indexed.
pub fn database_is_intact(folder: &Path) {
    let (database, _copied) = expected_records::open(&folder.join("tillgate.db"));
    let verdict: String =
        database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    let indexed: u32 = database
        .query_row("SELECT count(*) FROM payments WHERE is_indexed = 1", [], |row| row.get(0))
        .unwrap();
    assert!(indexed > 0, "no payment was indexed");
}

/// All checks. `folder` holds the files of the gateway's environment.
pub async fn everything(site: &Installation, ledger: &Ledger, folder: &Path, random: &mut Random) {
    promises_are_kept(site, ledger, folder, random).await;
    every_change_was_notified(site, folder).await;
}

/// All checks except that of notifications, which may still be on their way.
pub async fn promises_are_kept(
    site: &Installation,
    ledger: &Ledger,
    folder: &Path,
    random: &mut Random,
) {
    assert_eq!(ledger.lock().complaints, Default::default(), "{}", site.log());
    keys_repeat_their_answers(site, ledger, random).await;
    // Each call runs a look: the first sees the chain's changes, the second sees the broadcasts of
    // the first.
    site.client.advance_clock(0).await;
    site.client.advance_clock(0).await;
    let payments = states_agree_with_the_chain(site, ledger, folder).await;
    let by_reference =
        payments.iter().fold(HashMap::<String, Vec<&Value>>::new(), |mut all, payment| {
            all.entry(text(&payment["merchantTransactionId"])).or_default().push(payment);
            all
        });
    let addresses: HashSet<&str> =
        payments.iter().map(|payment| payment["address"].as_str().unwrap()).collect();
    assert_eq!(addresses.len(), payments.len(), "an address belongs to two payments");
    let promises = ledger.lock();
    for (reference, asked) in &promises.asked {
        let found = by_reference.get(reference).map_or(&[][..], Vec::as_slice);
        assert!(found.len() <= 1, "one request made {} payments: {found:?}", found.len());
        let Some(answer) = &asked.answer else { continue };
        let answer: Value = serde_json::from_slice(answer).unwrap();
        let stored =
            found.first().unwrap_or_else(|| panic!("an acknowledged payment is lost: {answer}"));
        for name in FIXED {
            assert_eq!(stored[name], answer[name], "{name} of an acknowledged payment changed");
        }
    }
    for reference in by_reference.keys() {
        assert!(promises.asked.contains_key(reference), "no request has the reference {reference}");
    }
}

/// Checks that the same request under the same key gets the first response, byte for byte. A
/// request that got no answer before the restart gets one now.
async fn keys_repeat_their_answers(site: &Installation, ledger: &Ledger, random: &mut Random) {
    let (open, mut answered): (Vec<_>, Vec<_>) = {
        let promises = ledger.lock();
        let keyed = promises.asked.iter().filter(|(_, asked)| asked.key.is_some());
        keyed
            .map(|(reference, asked)| (reference.clone(), asked.clone()))
            .partition(|(_, asked)| asked.answer.is_none())
    };
    while answered.len() > KEYS_TRIED {
        answered.swap_remove(usize::try_from(random.below(answered.len() as u64)).unwrap());
    }
    for (reference, asked) in open.into_iter().chain(answered) {
        let answer = site.client.send(asked.request(&site.client)).await;
        assert_eq!(answer.status, 200, "{reference}: {}", answer.text());
        ledger.answered(&reference, &answer.body);
    }
    assert_eq!(ledger.lock().complaints, Default::default());
}

/// Compares payments and chain until they agree, because only the next look sees a new broadcast.
/// Returns the payments.
async fn states_agree_with_the_chain(
    site: &Installation,
    ledger: &Ledger,
    folder: &Path,
) -> Vec<Value> {
    let mut wrong = String::new();
    let agreed = async {
        loop {
            match compare_once(site, ledger, folder).await {
                Ok(payments) => return payments,
                Err(contradiction) => wrong = contradiction,
            }
            tokio::time::sleep(POLL).await;
        }
    };
    match tokio::time::timeout(AGREED_WITHIN, agreed).await {
        Ok(payments) => payments,
        Err(_) => panic!("a state contradicts the chain: {wrong}\n{}", site.log()),
    }
}

/// The payments, if each agrees with the chain; else the first contradiction.
async fn compare_once(
    site: &Installation,
    ledger: &Ledger,
    folder: &Path,
) -> Result<Vec<Value>, String> {
    let chain = Chain::read(&folder.join("sandbox.db"));
    let payments = items(site, "/v2/payments/500/").await;
    let anomalies = items(site, "/v2/anomalies?limit=500&offset=").await;
    let mut of_payment: HashMap<&str, Vec<&Value>> = HashMap::new();
    for anomaly in &anomalies {
        of_payment.entry(anomaly["paymentId"].as_str().unwrap()).or_default().push(anomaly);
    }
    let state = site.client.sandbox_state().await;
    for txid in &ledger.lock().txids {
        assert!(
            chain.knows(txid),
            "the sandbox acknowledged {txid}, but its file lacks the transaction"
        );
    }
    let clock = state["clock"].as_str().unwrap();
    for payment in &payments {
        let anomalies =
            of_payment.get(payment["paymentId"].as_str().unwrap()).map_or(&[][..], Vec::as_slice);
        let compared = chain.contradiction(payment, anomalies, clock);
        compared.map_err(|wrong| format!("{wrong}\n{payment}\n{anomalies:?}"))?;
    }
    Ok(payments)
}

/// All items of a list, whose path must end with the offset.
pub async fn items(site: &Installation, path: &str) -> Vec<Value> {
    let mut all = Vec::new();
    loop {
        let page = site.client.get(&format!("{path}{}", all.len())).await.ok();
        let items = page["items"].as_array().unwrap();
        all.extend(items.iter().cloned());
        if items.is_empty() || page["paginationInfo"]["itemsCount"] == json!(all.len()) {
            return all;
        }
    }
}

/// Checks that each change in the payments' history was notified with its own time, state and sum.
/// The latest notification of each record must equal the record from GET.
pub async fn every_change_was_notified(site: &Installation, folder: &Path) {
    let mut missing = String::new();
    let heard = async {
        while let Some(unheard) = first_unnotified_change(site, folder).await {
            missing = unheard;
            tokio::time::sleep(POLL).await;
        }
    };
    if tokio::time::timeout(TIMEOUT, heard).await.is_err() {
        panic!("a change was never notified: {missing}\n{}", site.log());
    }
}

async fn first_unnotified_change(site: &Installation, folder: &Path) -> Option<String> {
    let mut heard: HashMap<(String, String), Value> = HashMap::new();
    let mut latest: HashMap<String, String> = HashMap::new();
    for received in site.shop.received() {
        let record = received.json();
        let name = match record["notificationType"].as_str() {
            // Notifications of payouts are checked in `payouts`.
            Some("PAYOUT") => continue,
            Some("ANOMALY") => "anomalyId",
            _ => "paymentId",
        };
        let (id, time) = (text(&record[name]), text(&record["currentTime"]));
        let newest = latest.entry(id.clone()).or_default();
        if time > *newest {
            newest.clone_from(&time);
        }
        heard.insert((id, time), record);
    }
    for (id, time, state, paid) in history(&folder.join("tillgate.db")) {
        let Some(record) = heard.get(&(id.clone(), time.clone())) else {
            return Some(format!("{id} became {state} at {time}"));
        };
        assert_eq!(
            (&text(&record["status"]), record["paidBtc"].to_string()),
            (&state, paid),
            "{record}"
        );
    }
    let payments = items(site, "/v2/payments/500/").await;
    let anomalies = items(site, "/v2/anomalies?limit=500&offset=").await;
    for (records, name, told) in
        [(payments, "paymentId", "status"), (anomalies, "anomalyId", "resolution")]
    {
        for record in records {
            let id = text(&record[name]);
            let Some(newest) = latest.get(&id) else {
                if name == "paymentId" && record["status"] == "NEW" {
                    continue;
                }
                return Some(format!("no notification of {record}"));
            };
            if record["currentTime"] != *newest {
                return Some(format!(
                    "{id} changed last at {}, but its latest notification tells of {newest}",
                    record["currentTime"]
                ));
            }
            let newest = &heard[&(id, newest.clone())];
            assert_eq!(
                (&newest[told], &newest["paidBtc"]),
                (&record[told], &record["paidBtc"]),
                "{newest} / {record}"
            );
        }
    }
    None
}

/// The changes that must be notified: payment id, time, state and paid sum, each as in the record.
fn history(database: &Path) -> Vec<(String, String, String, String)> {
    let (database, _copied) = expected_records::open(database);
    let mut query = database
        .prepare(
            "SELECT lower(hex(p.id)), strftime('%Y-%m-%dT%H:%M:', h.at / 1000, 'unixepoch')
                 || printf('%02d.%03dZ', h.at / 1000 % 60, h.at % 1000),
                 h.to_state, printf('%d.%08d', h.paid_sats / 100000000, h.paid_sats % 100000000)
             FROM payment_history h JOIN payments p ON p.seq = h.payment_seq",
        )
        .unwrap();
    let rows = query
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}
