use tillgate_domain::id::Id;
use tillgate_domain::time::Timestamp;

use super::*;
use crate::Store;
use crate::deliveries::NewDelivery;

const NOW: Timestamp = Timestamp::from_ms(1_700_000_000_000);
const URL: &str = "https://shop.example/hook";

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("gateway.db")).unwrap();
    (folder, store)
}

fn id(n: u32) -> Id {
    let mut bytes = [0; 20];
    bytes[..4].copy_from_slice(&n.to_be_bytes());
    Id::from_bytes(bytes)
}

async fn queue(store: &Store, n: u32, subject: u32, url: &str, at: Timestamp) {
    let new = NewNotification {
        id: id(n),
        subject_kind: SubjectKind::Payment,
        subject_id: id(subject),
        key_id: 0,
        url: url.to_owned(),
        body: format!("body {n}").into_bytes(),
        is_resend: false,
        at,
    };
    store.write(move |tx| tx.queue_notification(&new)).await.unwrap();
}

async fn record(store: &Store, due: &DueNotification, outcome: Outcome, at: Timestamp) {
    let delivery = NewDelivery {
        id: id(1_000_000 + u32::try_from(due.seq).unwrap() * 100 + due.attempts),
        attempt: due.attempts + 1,
        started_at: at,
        duration_ms: 5,
        status_code: None,
        error: (outcome != Outcome::Delivered).then(|| tillgate_told::Telling::of_text("no")),
        answer: None,
    };
    let seq = due.seq;
    store.write(move |tx| tx.record_attempt(seq, &delivery, outcome, at)).await.unwrap();
}

fn firsts(store: &Store, url: &str) -> Vec<DueNotification> {
    store.read(|reader| reader.attempts_at(Turn::First, (0, &server_of(url)), NOW, 100)).unwrap()
}

fn repeats(store: &Store, url: &str, now: Timestamp) -> Vec<DueNotification> {
    store.read(|reader| reader.attempts_at(Turn::Again, (0, &server_of(url)), now, 100)).unwrap()
}

fn state_of(store: &Store, n: u32) -> NotificationState {
    store
        .read::<_, StoreError>(|reader| {
            let mut query =
                reader.connection.prepare("SELECT state FROM notifications WHERE id = ?1")?;
            let mut rows = query.query([id(n).as_bytes()])?;
            values::parsed(rows.next()?.unwrap(), "state")
        })
        .unwrap()
}

#[tokio::test]
async fn notifications_of_a_record_take_turns_in_order() {
    let (_folder, store) = store();
    for n in 1..=3 {
        queue(&store, n, 7, URL, NOW).await;
    }
    for n in 1..=3 {
        let due = firsts(&store, URL);
        assert_eq!(due.iter().map(|due| due.id).collect::<Vec<_>>(), [id(n)]);
        record(&store, &due[0], Outcome::Delivered, NOW).await;
        assert_eq!(state_of(&store, n), NotificationState::Delivered);
    }
    assert_eq!(store.read(|reader| reader.count_waiting_notifications()).unwrap(), 0);
}

#[tokio::test]
async fn records_and_urls_do_not_wait_for_each_other() {
    let (_folder, store) = store();
    queue(&store, 1, 7, URL, NOW).await;
    queue(&store, 2, 8, URL, NOW).await;
    queue(&store, 3, 7, "https://shop.example/other", NOW).await;
    assert_eq!(firsts(&store, URL).len(), 3);
}

#[tokio::test]
async fn a_notification_is_superseded_only_after_an_attempt() {
    let (_folder, store) = store();
    queue(&store, 1, 7, URL, NOW).await;
    queue(&store, 2, 7, URL, NOW).await;
    queue(&store, 3, 7, URL, NOW).await;
    assert_eq!(state_of(&store, 1), NotificationState::Waiting, "it was never attempted");

    let later = NOW.plus_ms(9);
    record(&store, &firsts(&store, URL)[0], Outcome::RetryAt(NOW.plus_ms(10_000)), later).await;
    assert_eq!(state_of(&store, 1), NotificationState::Superseded);
    let next = firsts(&store, URL);
    assert_eq!(next[0].id, id(2), "each is attempted, the second before the third");
    assert_eq!(next[0].first_due_at, later, "its schedule starts with its turn");
    assert_eq!(state_of(&store, 3), NotificationState::Waiting);
}

#[tokio::test]
async fn a_newer_notification_supersedes_a_waiting_repeat_at_once() {
    let (_folder, store) = store();
    queue(&store, 1, 7, URL, NOW).await;
    let retry_at = NOW.plus_ms(10_000);
    record(&store, &firsts(&store, URL)[0], Outcome::RetryAt(retry_at), NOW).await;
    assert!(firsts(&store, URL).is_empty());
    assert!(repeats(&store, URL, retry_at.plus_ms(-1)).is_empty());
    assert_eq!(repeats(&store, URL, retry_at).len(), 1);

    queue(&store, 2, 7, URL, NOW.plus_ms(1)).await;
    assert_eq!(state_of(&store, 1), NotificationState::Superseded);
    assert_eq!(firsts(&store, URL)[0].id, id(2));
    assert!(repeats(&store, URL, retry_at).is_empty());
}

#[tokio::test]
async fn an_attempt_superseded_under_way_is_still_recorded() {
    let (_folder, store) = store();
    queue(&store, 1, 7, URL, NOW).await;
    record(&store, &firsts(&store, URL)[0], Outcome::RetryAt(NOW), NOW).await;
    let under_way = repeats(&store, URL, NOW).remove(0);
    queue(&store, 2, 7, URL, NOW).await;
    record(&store, &under_way, Outcome::RetryAt(NOW.plus_ms(1)), NOW).await;
    assert_eq!(state_of(&store, 1), NotificationState::Superseded);
    assert_eq!(firsts(&store, URL)[0].id, id(2), "the newer one keeps its turn");
    assert_eq!(store.read(|reader| reader.count_deliveries(true)).unwrap(), 2);
}

#[tokio::test]
async fn a_given_up_notification_counts_until_a_resend() {
    let (_folder, store) = store();
    queue(&store, 1, 7, URL, NOW).await;
    record(&store, &firsts(&store, URL)[0], Outcome::GiveUp, NOW).await;
    assert_eq!(store.read(|reader| reader.count_given_up()).unwrap(), 1);
    queue(&store, 2, 7, URL, NOW).await;
    assert_eq!(firsts(&store, URL)[0].id, id(2));
    assert_eq!(state_of(&store, 1), NotificationState::GivenUp);
    assert_eq!(store.read(|reader| reader.count_given_up()).unwrap(), 0, "the resend replaces it");
}

#[tokio::test]
async fn attempts_are_listed_newest_first_and_waiting_ones_on_top() {
    let (_folder, store) = store();
    queue(&store, 1, 7, URL, NOW).await;
    queue(&store, 2, 8, URL, NOW).await;
    for due in firsts(&store, URL) {
        let outcome = if due.id == id(1) { Outcome::RetryAt(NOW) } else { Outcome::Delivered };
        record(&store, &due, outcome, NOW).await;
    }
    queue(&store, 3, 7, URL, NOW).await;
    let shown = |failed, limit, offset| -> Vec<_> {
        let rows = store.read(|reader| reader.deliveries(failed, limit, offset)).unwrap();
        rows.into_iter().map(|row| (row.notification_id, row.attempt)).collect()
    };
    assert_eq!(shown(false, 10, 0), [(id(2), 1), (id(1), 1)]);
    assert_eq!(shown(false, 1, 1), [(id(1), 1)]);
    assert_eq!(shown(true, 10, 0), [(id(1), 1)]);
    assert_eq!(store.read(|reader| reader.count_deliveries(false)).unwrap(), 2);
    assert_eq!(store.read(|reader| reader.count_deliveries(true)).unwrap(), 1);

    let of = store.read(|reader| reader.deliveries_of(&id(7), 10)).unwrap();
    let brief: Vec<_> = of.iter().map(|row| (row.notification_id, row.attempt)).collect();
    assert_eq!(brief, [(id(3), 0), (id(1), 1)]);
    for row in of {
        let subject = store.read(|reader| reader.subject_of_delivery(&row.id)).unwrap();
        assert_eq!(subject, Some((SubjectKind::Payment, id(7))));
    }
    assert_eq!(store.read(|reader| reader.subject_of_delivery(&id(999))).unwrap(), None);
}

#[tokio::test]
async fn bodies_are_deleted_when_old_but_never_while_waiting() {
    let (_folder, store) = store();
    queue(&store, 1, 7, URL, NOW).await;
    queue(&store, 2, 8, URL, NOW).await;
    queue(&store, 3, 9, URL, NOW).await;
    let due = firsts(&store, URL);
    record(&store, &due[0], Outcome::Delivered, NOW).await;
    record(&store, &due[1], Outcome::Delivered, NOW.plus_ms(5)).await;
    let strip = |before| store.write::<_, StoreError>(move |tx| tx.strip_bodies(before, 100));
    assert_eq!(strip(NOW.plus_ms(1)).await.unwrap(), 1);
    assert_eq!(strip(NOW.plus_ms(6)).await.unwrap(), 1);
    assert_eq!(firsts(&store, URL)[0].body, b"body 3");
}

#[tokio::test]
async fn servers_with_waiting_notifications_are_found_in_order() {
    let (_folder, store) = store();
    queue(&store, 1, 1, "http://a.example/x", NOW).await;
    queue(&store, 2, 2, "http://A.example:80/y", NOW).await;
    queue(&store, 3, 3, "http://a.example:81/y", NOW).await;
    queue(&store, 4, 4, "no url", NOW).await;
    let mut servers = vec![String::new()];
    let next = |after: &String| {
        store.read(|reader| reader.server_with_attempts(Turn::First, 0, after)).unwrap()
    };
    while let Some(next) = next(servers.last().unwrap()) {
        servers.push(next);
    }
    assert_eq!(servers, ["", "http://a.example:80", "http://a.example:81", "unreadable"]);
    assert_eq!(firsts(&store, "http://a.example/").len(), 2);
}

/// Each query searches an index and sorts nothing, so that its time does not grow with the waiting
/// notifications.
#[test]
fn due_notifications_are_found_by_index_alone() {
    let (_folder, store) = store();
    for sql in [
        "SELECT key_id FROM notifications WHERE head = 1 AND attempts = 0 AND key_id > 5 ORDER BY key_id LIMIT 1",
        "SELECT key_id FROM notifications WHERE head = 1 AND attempts > 0 AND key_id > 5 ORDER BY key_id LIMIT 1",
        "SELECT server FROM notifications WHERE head = 1 AND attempts = 0 AND key_id = 5 AND server > 'a'
         ORDER BY server LIMIT 1",
        "SELECT server FROM notifications WHERE head = 1 AND attempts > 0 AND key_id = 5 AND server > 'a'
         ORDER BY server LIMIT 1",
        "SELECT next_attempt_at FROM notifications WHERE head = 1 AND attempts > 0 AND next_attempt_at > 5
         ORDER BY next_attempt_at LIMIT 1",
        "SELECT 1 FROM notifications WHERE head = 1 AND attempts > 0 AND next_attempt_at <= 5 LIMIT 1",
        "SELECT * FROM notifications WHERE head = 1 AND attempts = 0 AND key_id = 5 AND server = 'a'
         ORDER BY seq LIMIT 8",
        "SELECT * FROM notifications WHERE head = 1 AND attempts > 0 AND key_id = 5 AND server = 'a'
         AND next_attempt_at <= 5 ORDER BY next_attempt_at LIMIT 8",
    ] {
        let plan: Vec<String> = store
            .read::<_, StoreError>(|reader| {
                let mut query = reader.connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
                Ok(query.query_map([], |row| row.get("detail"))?.collect::<Result<_, _>>()?)
            })
            .unwrap();
        assert_eq!(plan.len(), 1, "{plan:?}");
        assert!(plan[0].starts_with("SEARCH notifications USING"), "{plan:?}");
        assert!(plan[0].contains("(key_id") || plan[0].contains("(next_attempt_at"), "{plan:?}");
    }
}

#[tokio::test]
async fn only_repeats_scheduled_by_a_clock_ahead_are_due_at_once() {
    let (_folder, store) = store();
    queue(&store, 1, 1, URL, NOW).await;
    queue(&store, 2, 2, URL, NOW).await;
    let (before, ahead) = (NOW.plus_ms(-1_000), NOW.plus_ms(7_200_000));
    for (due, at) in firsts(&store, URL).iter().zip([before, ahead]) {
        record(&store, due, Outcome::RetryAt(at.plus_ms(10_000)), at).await;
    }
    assert_eq!(repeats(&store, URL, NOW).len(), 0);
    store.write(|tx| tx.repeat_at_once(NOW.plus_ms(60_000), NOW)).await.unwrap();
    let due: Vec<_> = repeats(&store, URL, NOW).iter().map(|due| due.id).collect();
    assert_eq!(due, [id(2)]);
}
