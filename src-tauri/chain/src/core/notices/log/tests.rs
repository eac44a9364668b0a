use super::*;

const NO_PATIENCE: Duration = Duration::ZERO;
const PATIENCE: Duration = Duration::from_secs(3_600);

fn txid(number: u8) -> Txid {
    Txid::from_byte_array([number; 32])
}

fn entered(number: u64) -> Notice {
    Notice::Mempool(Change::Entered(txid(number.to_le_bytes()[0])), number)
}

/// A connected log that took these changes, one by one.
fn heard(numbers: &[u64]) -> NoticeLog {
    let mut heard = NoticeLog::default();
    heard.begin();
    for (number, count) in numbers.iter().zip(5..) {
        heard.take(entered(*number), count);
    }
    heard
}

fn listed(mark: Mark, number: u64, before: Option<(Mark, u64)>) -> Listed {
    Listed { mark, number, before, is_same_tip: true }
}

fn numbers(changes: Option<Vec<Change>>) -> Option<Vec<u8>> {
    let number = |change: Change| match change {
        Change::Entered(txid) | Change::Left(txid) => txid.to_byte_array()[0],
    };
    changes.map(|changes| changes.into_iter().map(number).collect())
}

#[test]
fn only_messages_in_bitcoin_cores_format_are_read() {
    let count = 9u32.to_le_bytes().to_vec();
    let hash = |label: u8| [&(1..=32).collect::<Vec<u8>>()[..], &[label]].concat();
    let with_number = |label: u8| [hash(label), 770u64.to_le_bytes().to_vec()].concat();
    let read = |topic: &[u8], body: Vec<u8>| Notice::read(&[topic.to_vec(), body, count.clone()]);
    let mut bytes: Vec<u8> = (1..=32).collect();
    bytes.reverse();
    let txid = Txid::from_slice(&bytes).unwrap();
    assert_eq!(read(TOPIC, hash(b'C')), Some((Notice::Block, 9)));
    assert_eq!(read(TOPIC, hash(b'D')), Some((Notice::Block, 9)));
    assert_eq!(
        read(TOPIC, with_number(b'A')),
        Some((Notice::Mempool(Change::Entered(txid), 770), 9))
    );
    assert_eq!(read(TOPIC, with_number(b'R')), Some((Notice::Mempool(Change::Left(txid), 770), 9)));
    for (topic, body) in [
        (&b"hashtx"[..], hash(b'C')),
        (TOPIC, hash(b'A')),
        (TOPIC, hash(b'X')),
        (TOPIC, with_number(b'C')),
        (TOPIC, with_number(b'X')),
        (TOPIC, [with_number(b'A'), vec![0]].concat()),
        (TOPIC, vec![0; 32]),
        (TOPIC, Vec::new()),
    ] {
        assert_eq!(read(topic, body.clone()), None, "{body:?}");
    }
    assert_eq!(Notice::read(&[TOPIC.to_vec(), hash(b'C')]), None);
    assert_eq!(Notice::read(&[TOPIC.to_vec(), hash(b'C'), vec![0; 3]]), None);
}

#[test]
fn changes_since_a_list_come_once_and_without_gaps() {
    let mut heard = heard(&[7, 8, 9, 10]);
    let mark = heard.mark();
    assert_eq!(numbers(heard.since(&mark, 9)), Some(vec![9, 10]), "lower numbers were in the list");
    assert_eq!(numbers(heard.since(&mark, 11)), Some(Vec::new()));
    heard.take(entered(11), 9);
    heard.take(entered(13), 10);
    assert_eq!(
        numbers(heard.since(&mark, 11)),
        None,
        "change 12 has no notice: a block removed it, or it was lost"
    );
    assert_eq!(numbers(heard.since(&mark, 13)), Some(vec![13]), "a newer list holds 12");
}

#[test]
fn a_gap_a_new_connection_or_too_many_changes_need_a_new_list() {
    for what in ["lost", "again", "ended", "many"] {
        let mut heard = heard(&[1]);
        let mark = heard.mark();
        assert!(heard.since(&mark, 1).is_some());
        match what {
            "lost" => assert!(heard.take(entered(2), 7)),
            "again" => heard.begin(),
            "ended" => assert!(
                heard.end(NoticeFault::Disconnected("it hung up".to_owned())),
                "notices fitted"
            ),
            _ => {
                for (number, count) in (2..).zip(6..).take(FOLLOWED_MAX + 1) {
                    heard.take(entered(number), count);
                }
            }
        }
        assert_eq!(heard.since(&mark, 2), None, "{what}");
    }
}

#[test]
fn the_publishers_count_may_wrap_around() {
    let mut heard = heard(&[]);
    let mark = heard.mark();
    heard.take(entered(1), u32::MAX);
    heard.take(entered(2), 0);
    assert_eq!(numbers(heard.since(&mark, 1)), Some(vec![1, 2]));
}

#[test]
fn waiting_changes_are_bounded() {
    let mut heard = heard(&[]);
    for (number, count) in (1..).zip(0..).take(WAITING_MAX * 3 + 5) {
        heard.take(entered(number), count);
    }
    assert!(heard.changes.len() <= WAITING_MAX);
}

#[test]
fn blocks_and_entries_wake_a_look_and_removals_do_not() {
    let mut heard = heard(&[]);
    assert!(heard.take(Notice::Block, 0));
    assert!(heard.take(entered(1), 1));
    assert!(!heard.take(Notice::Mempool(Change::Left(txid(1)), 2), 2));
}

#[test]
fn a_node_that_changes_without_a_notice_is_silent() {
    let mut heard = heard(&[]);
    let mark = heard.mark();
    assert!(!heard.compare(&listed(mark, 5, None), NO_PATIENCE));
    assert!(!heard.compare(&listed(mark, 5, Some((mark, 5))), NO_PATIENCE), "nothing changed");
    assert!(
        !heard.compare(&listed(mark, 6, Some((mark, 5))), NO_PATIENCE),
        "the notice may still arrive"
    );
    assert!(!heard.compare(&listed(mark, 6, Some((mark, 6))), PATIENCE));
    assert_eq!(heard.fault(), None);
    assert!(heard.compare(&listed(mark, 6, Some((mark, 6))), NO_PATIENCE));
    assert_eq!(heard.fault(), Some(&NoticeFault::Silent));
    // The fault lasts until a notice of the next connection fits.
    heard.end(NoticeFault::Disconnected("it was given up".to_owned()));
    heard.begin();
    assert_eq!(heard.fault(), Some(&NoticeFault::Silent));
    let mark = heard.mark();
    heard.take(entered(6), 0);
    assert!(heard.since(&mark, 6).is_some());
    assert_eq!(heard.fault(), None);
}

#[test]
fn a_block_notice_may_come_after_or_before_its_list() {
    let mut heard = heard(&[]);
    let mark = heard.mark();
    let new_block = |mark| Listed { is_same_tip: false, ..listed(mark, 9, Some((mark, 5))) };
    assert!(!heard.compare(&new_block(mark), NO_PATIENCE));
    heard.take(Notice::Block, 0);
    let told = heard.mark();
    assert!(
        !heard.compare(&listed(told, 9, Some((mark, 9))), NO_PATIENCE),
        "the notice came after the list"
    );
    assert!(
        !heard.compare(
            &Listed { is_same_tip: false, ..listed(told, 9, Some((mark, 9))) },
            NO_PATIENCE
        )
    );
    assert!(!heard.compare(&listed(told, 9, Some((told, 9))), NO_PATIENCE), "no notice is missing");
    assert_eq!(heard.fault(), None);
}

#[test]
fn a_notice_of_a_future_change_is_from_another_node() {
    let mut heard = heard(&[40]);
    let mark = heard.mark();
    assert!(!heard.compare(&listed(mark, 41, None), NO_PATIENCE));
    assert!(
        heard.compare(&listed(mark, 40, None), PATIENCE),
        "change 40 was announced, but is still to come"
    );
    assert_eq!(heard.fault(), Some(&NoticeFault::OtherNode));
    assert_eq!(heard.since(&mark, 40), None);
    assert!(!heard.distrust(), "the connection is given up already");
}
