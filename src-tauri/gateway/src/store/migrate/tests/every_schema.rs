//! Databases of each released schema, as their programs left them, opened by this program. All rows survive, and the
//! sums agree.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bitcoin::hashes::Hash as _;
use bitcoin::{ScriptBuf, Txid};
use rusqlite::Connection;
use tillgate_domain::anomaly::{AnomalyKind, Resolution};
use tillgate_domain::notification::NotificationState;
use tillgate_domain::payment::PaymentState::{self, Confirmed, Expired, Invalid, New, Unconfirmed, Underpaid};
use tillgate_domain::payout::PayoutState;
use tillgate_domain::restore::RestoreState;
use tillgate_domain::time::Timestamp;

use super::super::{MIGRATIONS, migrate_by};
use crate::rates::certificate;
use crate::store::anomalies::AnomalyFilter;
use crate::store::backups::BackupState;
use crate::store::coins::Coin;
use crate::store::keychains::Keychain;
use crate::store::payment_lists::PaymentFilter;
use crate::store::payments::PaymentRow;
use crate::store::payout_lists::PayoutFilter;
use crate::store::restore::RestoreSource;
use crate::store::scripts::{RoundPart, RoundPlace};
use crate::store::{Store, StoreError};
use crate::testing::World;

/// The last released schema: the rows below are a shop's under this schema and all before it.
const RELEASED: i64 = 27;

/// The first and last schema under which programs wrote the rows of each file, in the order of the files.
const ROWS: &[(i64, i64, &str)] = &[
    (1, RELEASED, include_str!("../fixtures/from-01.sql")),
    (1, 2, include_str!("../fixtures/in-01-to-02.sql")),
    (1, 5, include_str!("../fixtures/in-01-to-05.sql")),
    (2, RELEASED, include_str!("../fixtures/from-02.sql")),
    (3, RELEASED, include_str!("../fixtures/from-03.sql")),
    (4, RELEASED, include_str!("../fixtures/from-04.sql")),
    (5, RELEASED, include_str!("../fixtures/from-05.sql")),
    (6, RELEASED, include_str!("../fixtures/from-06.sql")),
    (7, RELEASED, include_str!("../fixtures/from-07.sql")),
    (8, RELEASED, include_str!("../fixtures/from-08.sql")),
    (9, RELEASED, include_str!("../fixtures/from-09.sql")),
    (10, RELEASED, include_str!("../fixtures/from-10.sql")),
    (11, RELEASED, include_str!("../fixtures/from-11.sql")),
    (12, RELEASED, include_str!("../fixtures/from-12.sql")),
    (13, RELEASED, include_str!("../fixtures/from-13.sql")),
    (14, RELEASED, include_str!("../fixtures/from-14.sql")),
    (15, RELEASED, include_str!("../fixtures/from-15.sql")),
    (16, RELEASED, include_str!("../fixtures/from-16.sql")),
    (17, RELEASED, include_str!("../fixtures/from-17.sql")),
    (18, RELEASED, include_str!("../fixtures/from-18.sql")),
    (19, RELEASED, include_str!("../fixtures/from-19.sql")),
    (20, RELEASED, include_str!("../fixtures/from-20.sql")),
    (21, RELEASED, include_str!("../fixtures/from-21.sql")),
    (22, RELEASED, include_str!("../fixtures/from-22.sql")),
    (23, RELEASED, include_str!("../fixtures/from-23.sql")),
    (24, RELEASED, include_str!("../fixtures/from-24.sql")),
    (25, RELEASED, include_str!("../fixtures/from-25.sql")),
    (26, RELEASED, include_str!("../fixtures/from-26.sql")),
    (27, RELEASED, include_str!("../fixtures/from-27.sql")),
];

/// The first schema with payouts.
const PAYOUTS: i64 = 9;

/// The first schemas with script states, restored copies, and backups.
const SCRIPTS: i64 = 15;
const RESTORES: i64 = 16;
const BACKUPS: i64 = 17;

/// The first schemas with ancestors, heights of given addresses, mined twins, folder marks, and receipts set aside.
const ANCESTORS: i64 = 18;
const GIVEN_ABOVE: i64 = 19;
const WAS_IN_BLOCK: i64 = 21;
const FOLDER: i64 = 23;
const SET_ASIDE: i64 = 24;

/// The first schemas with forward steps of the clock, and with the missing mark of a folder.
const SET_FORWARD: i64 = 25;
const MISSING_MARK: i64 = 27;

/// Approval of the payout that waits.
const APPROVED_AT: Timestamp = Timestamp::from_ms(1_795_362_472_378);

/// Customers' mined coins.
const CUSTOMERS_SATS: i64 = 938_155;

/// Customers' mined coins minus the payouts and their cost.
const BALANCE_SATS: i64 = 857_280;

/// A time before all rows.
const BEFORE_ALL: Timestamp = Timestamp::from_ms(1_795_000_000_000);

/// Creates the database of a schema, with rows in each of its tables.
fn make(schema: i64, file: &Path) {
    let connection = crate::store::open::for_writing(file).unwrap();
    let migrations = &MIGRATIONS[..usize::try_from(schema).unwrap()];
    migrate_by(migrations, &connection, file, 0).unwrap();
    for (_, _, rows) in ROWS.iter().filter(|(first, last, _)| (*first..=*last).contains(&schema)) {
        connection.execute_batch(&format!("BEGIN; PRAGMA defer_foreign_keys = 1; {rows} COMMIT;")).unwrap();
    }
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let mut tables = connection.prepare(tables).unwrap();
    let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    for table in tables {
        let rows: i64 = connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
        assert!(rows > 0, "schema {schema}: there are no rows in {table}");
    }
}

/// A database in its own folder.
struct Old {
    _folder: tempfile::TempDir,
    file: PathBuf,
}

fn old(schema: i64) -> Old {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.db");
    make(schema, &file);
    Old { _folder: folder, file }
}

/// Content that every schema holds, read by the program's own readers.
#[derive(Debug, PartialEq)]
struct Told {
    payments: Vec<PaymentRow>,
    history: Vec<String>,
    receipts: Vec<String>,
    anomalies: Vec<(AnomalyKind, u64, String)>,
    deliveries: Vec<(String, u32, Option<u16>, NotificationState)>,
    coins: Vec<Coin>,
    keys: Vec<(String, [u8; 32], bool, bool)>,
    rates: Vec<(String, Vec<(String, String)>)>,
    rest: Vec<String>,
}

fn told(store: &Store) -> Told {
    store
        .read(|reader| {
            let payments = reader.payments(&PaymentFilter::default(), 100, 0)?;
            let (mut history, mut receipts, mut rates) = (Vec::new(), Vec::new(), Vec::new());
            for payment in &payments {
                history.push(format!("{:?}", reader.payment_history(payment.seq)?));
                for receipt in reader.receipts(payment.seq)? {
                    let (txid, in_block) = (receipt.txid, receipt.is_in_block());
                    let (sats, counted, gone) = (receipt.amount_sats, receipt.counted_sats, receipt.gone);
                    let rivals = &receipt.conflicts_with;
                    receipts.push(format!("{txid} {sats} {counted} {in_block} {gone} {rivals:?}"));
                    assert!(reader.stored_transaction(&txid)?.is_some_and(|tx| tx.compute_txid() == txid));
                }
                let rate = reader.rate_of_payment(payment.seq)?.expect("each payment has its rate");
                let parts = certificate::read(&rate.sources);
                let parts = parts.into_iter().map(|part| (part.name, part.rate)).collect();
                rates.push((rate.rate.format(), parts));
            }
            let anomalies = reader.anomalies(&AnomalyFilter::default(), 100, 0)?;
            let anomalies =
                anomalies.iter().map(|row| (row.anomaly.kind, row.anomaly.paid_sats, row.anomaly.id.to_string()));
            let news = reader.deliveries(false, 500, 0)?;
            let of_payments = news.iter().filter(|row| payments.iter().any(|one| one.payment.id == row.subject_id));
            let deliveries =
                of_payments.map(|row| (row.url.clone(), row.attempt, row.status_code, row.notification_state));
            let keys = reader.api_keys()?;
            let keys = keys.iter().map(|key| {
                (key.name.clone(), key.secret_sha256, key.revoked_at.is_some(), key.notification_url_optional)
            });
            let coins = reader.coins()?.into_iter().map(|coin| coin.coin).filter(|coin| coin.payment_seq.is_some());
            let rest = vec![
                format!("{:?}", reader.installation()?),
                format!("{:?}", reader.settings()?),
                format!("{:?}", reader.hmac_key_id()?),
                format!("{:?}", reader.keychain(Keychain::External)?),
                format!("{:?}", reader.stored_answer(1, "/v2/payments/new", "order-1", BEFORE_ALL)?),
                format!("{:?}", reader.watched_chain()?.map(|chain| (chain.tip.height, chain.looked_at))),
            ];
            Ok::<_, StoreError>(Told {
                history,
                receipts,
                anomalies: anomalies.collect(),
                deliveries: deliveries.collect(),
                coins: coins.collect(),
                keys: keys.collect(),
                rates,
                rest,
                payments,
            })
        })
        .unwrap()
}

/// The states of the payouts, newest first. Checks that SENT payouts have their transactions.
fn payouts(store: &Store) -> Vec<PayoutState> {
    store
        .read(|reader| {
            let rows = reader.payouts(&PayoutFilter::default(), 100, 0)?;
            for row in rows.iter().filter(|row| row.state == PayoutState::Sent) {
                let versions = reader.versions(row.batch_seq.expect("it was sent"))?;
                assert!(versions.iter().any(|version| Some(version.txid) == row.txid));
                assert!(reader.rate_of_payout(row.seq)?.is_some());
            }
            Ok::<_, StoreError>(rows.iter().map(|row| row.state).collect())
        })
        .unwrap()
}

#[test]
fn a_database_of_every_schema_opens_with_all_that_it_held() {
    let newest = old(RELEASED);
    let newest = told(&Store::open(&newest.file).unwrap());
    let states: Vec<PaymentState> = newest.payments.iter().map(|row| row.payment.state).collect();
    assert_eq!(
        states,
        [New, Unconfirmed, Underpaid, New, Confirmed, Expired, Invalid, Confirmed, Confirmed, Confirmed]
    );
    assert_eq!((newest.receipts.len(), newest.coins.len(), newest.anomalies.len(), newest.keys.len()), (10, 10, 3, 2));
    assert!(newest.deliveries.len() > 10 && newest.history.iter().any(|changes| changes.contains("Confirmed")));
    assert!(newest.rates.iter().all(|(_, parts)| parts.len() == 1), "{:?}", newest.rates);
    for schema in 1..=RELEASED {
        let old = old(schema);
        let store = Store::open(&old.file).unwrap();
        assert_eq!(told(&store), newest, "schema {schema}");
        let expected: &[PayoutState] = if schema < PAYOUTS {
            &[]
        } else {
            use PayoutState::{Expired, Failed, New, Queued, Sent};
            &[New, Queued, New, Expired, Failed, Expired, Sent, Sent]
        };
        assert_eq!(payouts(&store), expected, "schema {schema}");
    }
}

#[test]
fn money_adds_up_in_a_database_of_every_schema() {
    for schema in 1..=RELEASED {
        let old = old(schema);
        let store = Store::open(&old.file).unwrap();
        let sums = store.read(|reader| {
            let booked = (reader.ledger_sats()?, reader.added_up_ledger_sats()?);
            Ok::<_, StoreError>((booked, reader.reckoned_balance_sats()?, reader.coin_sums()?.pending_sats))
        });
        let balance = if schema < PAYOUTS { CUSTOMERS_SATS } else { BALANCE_SATS };
        assert_eq!(sums.unwrap(), ((balance, balance), balance, 32_616), "schema {schema}");
        let unbooked = store.read(|reader| {
            let seqs = reader.payments(&PaymentFilter::default(), 100, 0)?.into_iter().map(|row| row.seq);
            seqs.map(|seq| reader.unbooked_receipts(seq)).collect::<Result<Vec<_>, StoreError>>()
        });
        assert!(unbooked.unwrap().iter().all(Vec::is_empty), "schema {schema}: a look would book something again");
    }
}

#[test]
fn scripts_restores_and_backups_survive_from_each_schema() {
    for schema in SCRIPTS..=RELEASED {
        let old = old(schema);
        let store = Store::open(&old.file).unwrap();
        let (asked, restored, backups) = store
            .read(|reader| {
                let script = ScriptBuf::from_hex("00142fd47d80730aa32599884f214d9e32c199760fb9").unwrap();
                let asked = (reader.script_state(&script)?.map(|state| state.len()), reader.round_place()?);
                let restored = reader.restore()?.map(|restore| (restore.source, restore.state, restore.first_given));
                let failed = reader.last_backup(BackupState::Failed)?.and_then(|backup| backup.failure);
                let backups = (reader.nightly_backups()?.len(), failed, reader.backup_passphrase_set_at()?.is_some());
                Ok::<_, StoreError>((asked, restored, backups))
            })
            .unwrap();
        assert_eq!(asked, (Some(33), RoundPlace { part: RoundPart::Change, next: 2 }), "schema {schema}");
        let looked = (RestoreSource::Backup, RestoreState::Looked, Some(5));
        assert_eq!(restored, (schema >= RESTORES).then_some(looked), "schema {schema}");
        let why = "there is no room left on the disk".to_owned();
        let other = "the folder is another one".to_owned();
        let told = match schema {
            _ if schema < BACKUPS => (0, None, false),
            _ if schema < MISSING_MARK => (1, Some(why), true),
            _ => (1, Some(other), true),
        };
        assert_eq!(backups, told, "schema {schema}");
        let failed = store.read(|reader| reader.last_nightly_backup(BackupState::Failed)).unwrap();
        let mark = (schema >= MISSING_MARK).then(|| ".tillgate-test".to_owned());
        assert_eq!(failed.and_then(|backup| backup.missing_mark), mark, "schema {schema}");
    }
}

#[test]
fn customers_and_twins_survive_from_each_schema() {
    let txid = |hex: &str| Txid::from_byte_array(hex::decode(hex).unwrap().try_into().unwrap());
    let paid = txid("62ad930187903a95eaa2f67a956c31edcea69677977a4999dc192ff574990960");
    let twin = txid("1d101dc4bb455f5fe94a660f4de7240c4e558765f42a22805af7b4d4b8e01458");
    let other = txid("816d80ee2b5aae90f318a0b74834e4cb7facf31ef58b762b552e8a9675270fc7");
    let replaced = txid("13416851d4abe215deeca830250e51743fef7e6daca94448a09eb5f495f02d8d");
    for schema in PAYOUTS..=RELEASED {
        let old = old(schema);
        let store = Store::open(&old.file).unwrap();
        let (ancestors, given_above, was_in_block) = store
            .read(|reader| {
                let twin = reader.twin(&twin)?.expect("another copy sent it");
                let ancestors = reader.kept_ancestors(&paid)?.len();
                Ok::<_, StoreError>((ancestors, reader.given_above(1)?, twin.is_matched))
            })
            .unwrap();
        assert_eq!(ancestors, usize::from(schema >= ANCESTORS), "schema {schema}");
        assert_eq!(given_above, (schema >= GIVEN_ABOVE).then_some(248), "schema {schema}");
        assert_eq!(was_in_block, schema >= WAS_IN_BLOCK, "schema {schema}");
        let (alarms, folder, gone) = store
            .read(|reader| {
                let folder = reader.backup_folder()?.map(|folder| (folder.path, folder.mark));
                Ok::<_, StoreError>((reader.alarms()?.len(), folder, reader.receipt_facts(4, &replaced)?))
            })
            .unwrap();
        assert_eq!(alarms, 0, "schema {schema}: nobody but a copy of the wallet sends its payouts");
        // A payout is given up a day after its approval, and a minute later if the clock was set forward by that
        // minute.
        let overdue = |ms| store.read(|reader| reader.overdue_payouts(Timestamp::from_ms(ms), 10)).unwrap().len();
        let approved = APPROVED_AT.ms();
        let is_late = usize::from(schema < SET_FORWARD);
        assert_eq!((overdue(approved), overdue(approved + 60_000)), (is_late, 1), "schema {schema}");
        let is_twin = |txid| store.read(|reader| reader.is_twin(txid)).unwrap();
        assert_eq!((is_twin(&twin), is_twin(&other)), (true, false), "schema {schema}");
        let mark = ("/backups".to_owned(), ".tillgate-test".to_owned());
        assert_eq!(folder, (schema >= FOLDER).then_some(mark), "schema {schema}");
        let gone = gone.map(|receipt| (receipt.amount_sats, receipt.gone));
        assert_eq!(gone, (schema >= SET_ASIDE).then_some((9_000, true)), "schema {schema}");
    }
}

#[test]
fn a_database_of_any_schema_is_copied_before_a_change() {
    for schema in 1..=RELEASED {
        let old = old(schema);
        let rows = |file: &Path| -> BTreeMap<String, i64> {
            let connection = Connection::open(file).unwrap();
            let mut tables = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
            let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
            let count = |table: &String| {
                connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
            };
            tables.iter().map(|table| (table.clone(), count(table))).collect()
        };
        let before = rows(&old.file);
        drop(Store::open(&old.file).unwrap());
        let copy = PathBuf::from(format!("{}.before-schema-{}", old.file.display(), schema + 1));
        if schema == MIGRATIONS.len() as i64 {
            assert!(!copy.exists(), "nothing was to be changed");
            continue;
        }
        assert_eq!(rows(&copy), before, "schema {schema}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
        }
        // If the old program is needed again, it continues with the copy.
        let connection = Connection::open(&copy).unwrap();
        let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!((pragma("user_version"), pragma("application_id")), (schema, super::super::APPLICATION_ID));
    }
}

/// A gateway in a fresh folder with the database of a schema.
async fn gateway_with(schema: i64) -> World {
    let (gateway, folder) = World::opened(tempfile::tempdir().unwrap()).await.into_gateway();
    let file = gateway.data_dir.database();
    drop(gateway);
    std::fs::remove_file(&file).unwrap();
    make(schema, &file);
    World::opened(folder).await
}

#[tokio::test]
async fn a_gateway_goes_on_with_a_database_of_every_schema() {
    for schema in 1..=RELEASED {
        let world = gateway_with(schema).await;
        world.look().await;
        world.look().await;
        let listed = world.gateway.store.read(|reader| reader.payments(&PaymentFilter::default(), 100, 0)).unwrap();
        let confirmed: Vec<&PaymentRow> = listed.iter().filter(|row| row.payment.state == Confirmed).collect();
        assert_eq!(confirmed.len(), 4, "schema {schema}: what was paid stays paid");
        world.check_ledger();

        // Given addresses are watched, and not given again.
        let next = world.payment_to_wallet().await;
        assert!(next.derivation_index >= 10, "schema {schema}");
        world.pay(&next, next.payment.amount_sats).await;
        world.customer_pays(confirmed[0], 20_000);
        world.mine(2).await;
        assert_eq!(world.state(&next), Confirmed, "schema {schema}");
        let anomalies = world.gateway.store.read(|reader| reader.anomalies_of_payment(confirmed[0].seq)).unwrap();
        let extra = anomalies.iter().find(|row| row.anomaly.kind == AnomalyKind::ExtraPayment).unwrap();
        assert_eq!((extra.anomaly.resolution, extra.anomaly.paid_sats), (Resolution::Open, 20_000));
        assert_eq!(world.notified_field(&extra.anomaly.id, "resolution"), ["OPEN"]);
        world.check_ledger();
    }
}
