//! Reads the output of `strace`: the bytes written to the database's WAL, its syncs, and the bytes
//! sent over the network. Only the order of system calls counts.

use std::collections::{HashMap, HashSet};

/// Length of an id in the database, in bytes.
const ID_BYTES: usize = 20;
/// Length of an id's hex text on the wire.
const ID_TEXT: usize = 40;

/// One line of the trace: the start of a system call, its end, or both.
#[derive(Debug, PartialEq, Eq)]
struct Event {
    thread: u32,
    name: String,
    /// Present if the call starts in this line: its file or connection, and its bytes.
    begins: Option<(String, Vec<u8>)>,
    /// Present if the call ends in this line.
    result: Option<i64>,
}

/// The findings from a trace.
#[derive(Debug, Default)]
pub struct Findings {
    /// Responses with status 200 and a payment id.
    pub answers: usize,
    /// Notifications sent.
    pub notifications: usize,
    /// Successful syncs of the database's WAL.
    pub syncs: usize,
    /// Messages that were sent before their id was durable.
    pub too_early: Vec<String>,
}

/// Examines a trace. The id in a sent message must be in a part of the WAL that was synced before.
/// The id is the payment id of a response with 200, or the `webhook-id` of a notification.
pub fn examine(trace: &str) -> Findings {
    let events: Vec<Event> = trace.lines().filter_map(parse).collect();
    let wanted: HashSet<[u8; ID_BYTES]> =
        events.iter().filter_map(sent).map(|(_, id)| id).collect();
    let mut findings = Findings::default();
    let (mut written, mut durable) = (HashSet::new(), HashSet::new());
    let mut writing: HashMap<u32, HashSet<[u8; ID_BYTES]>> = HashMap::new();
    let mut syncing: HashMap<u32, HashSet<[u8; ID_BYTES]>> = HashMap::new();
    for event in &events {
        if let Some((file, bytes)) = &event.begins {
            if let Some((what, id)) = sent(event) {
                match what {
                    Sent::Answer => findings.answers += 1,
                    Sent::Notification => findings.notifications += 1,
                }
                if !durable.contains(&id) {
                    let fate =
                        if written.contains(&id) { "written, not synced" } else { "not written" };
                    findings.too_early.push(format!("{what:?} with {}: {fate}", hex::encode(id)));
                }
            } else if file.ends_with("tillgate.db-wal") {
                match event.name.as_str() {
                    "pwrite64" | "write" => {
                        drop(writing.insert(event.thread, ids_in(bytes, &wanted)))
                    }
                    "fdatasync" | "fsync" => drop(syncing.insert(event.thread, written.clone())),
                    _ => {}
                }
            }
        }
        let Some(result) = event.result else { continue };
        if let Some(ids) = writing.remove(&event.thread)
            && result > 0
        {
            written.extend(ids);
        }
        if let Some(ids) = syncing.remove(&event.thread)
            && result == 0
        {
            findings.syncs += 1;
            durable.extend(ids);
        }
    }
    findings
}

#[derive(Debug, Clone, Copy)]
enum Sent {
    Answer,
    Notification,
}

/// The kind and id of the message in a call, if it must be durable before it is sent.
fn sent(event: &Event) -> Option<(Sent, [u8; ID_BYTES])> {
    let (to, bytes) = event.begins.as_ref()?;
    if !to.starts_with("TCP") {
        return None;
    }
    let text = String::from_utf8_lossy(bytes);
    if text.starts_with("POST ") {
        return Some((Sent::Notification, id_after(&text, "webhook-id: ")?));
    }
    if text.starts_with("HTTP/1.1 200") {
        return Some((Sent::Answer, id_after(&text, "\"paymentId\":\"")?));
    }
    None
}

fn id_after(text: &str, name: &str) -> Option<[u8; ID_BYTES]> {
    let start = text.find(name)? + name.len();
    hex::decode(text.get(start..start + ID_TEXT)?).ok()?.try_into().ok()
}

fn ids_in(bytes: &[u8], wanted: &HashSet<[u8; ID_BYTES]>) -> HashSet<[u8; ID_BYTES]> {
    let windows =
        bytes.windows(ID_BYTES).filter_map(|window| <[u8; ID_BYTES]>::try_from(window).ok());
    windows.filter(|window| wanted.contains(window)).collect()
}

/// Reads a line such as `123 pwrite64(6<\x2f…>, "\x00…", 8, 0) = 8`, or one half of an interrupted
/// call. `strace` pads short lines before the result.
fn parse(line: &str) -> Option<Event> {
    let (thread, call) = line.split_once(' ')?;
    let thread = thread.parse().ok()?;
    let call = call.trim_start();
    let result =
        || call.rsplit_once(" = ").and_then(|(_, result)| result.split(' ').next()?.parse().ok());
    if let Some(resumed) = call.strip_prefix("<... ") {
        let name = resumed.split(' ').next()?.to_owned();
        return Some(Event { thread, name, begins: None, result: Some(result()?) });
    }
    let (name, arguments) = call.split_once('(')?;
    let file = arguments.split_once('<')?.1;
    let end = file.find(['>', ',']).filter(|end| !file[..*end].contains("TCP"));
    let file = match end {
        Some(end) => String::from_utf8_lossy(&unescape(&file[..end])).into_owned(),
        None => file.split(']').next()?.to_owned(),
    };
    let bytes = arguments.split('"').skip(1).step_by(2).flat_map(unescape).collect();
    let result = if call.ends_with("<unfinished ...>") { None } else { Some(result()?) };
    Some(Event { thread, name: name.to_owned(), begins: Some((file, bytes)), result })
}

fn unescape(text: &str) -> Vec<u8> {
    text.split("\\x")
        .skip(1)
        .filter_map(|byte| u8::from_str_radix(byte.get(..2)?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hexed(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect()
    }

    fn wal_write(thread: u32, id: u8, end: &str) -> String {
        let (file, page) =
            (hexed(b"/data/tillgate.db-wal"), hexed(&[&[0, 1][..], &[id; 20], &[2]].concat()));
        format!("{thread} pwrite64(9<{file}>, \"{page}\", 4096, 32{end}\n")
    }

    fn sync(thread: u32, end: &str) -> String {
        format!("{thread} fdatasync(9<{}>{end}\n", hexed(b"/data/tillgate.db-wal"))
    }

    fn answer(id: u8) -> String {
        let body =
            format!("HTTP/1.1 200 OK\r\n\r\n{{\"paymentId\":\"{}\"}}", hex::encode([id; 20]));
        let address = "12<TCP:[127.0.0.1:7421->127.0.0.1:50000]>";
        format!(
            "3 sendto({address}, \"{}\", 90, MSG_NOSIGNAL, NULL, 0) = 90\n",
            hexed(body.as_bytes())
        )
    }

    #[test]
    fn an_answer_after_the_sync_is_in_order() {
        let findings =
            examine(&[wal_write(2, 7, ") = 4096"), sync(2, ") = 0"), answer(7)].concat());
        assert_eq!((findings.answers, findings.syncs, findings.too_early), (1, 1, vec![]));
    }

    #[test]
    fn an_answer_before_the_sync_is_too_early() {
        for trace in [
            [wal_write(2, 7, ") = 4096"), answer(7), sync(2, ") = 0")].concat(),
            [answer(7), wal_write(2, 7, ") = 4096"), sync(2, ") = 0")].concat(),
            [wal_write(2, 7, ") = 4096"), sync(2, ") = -1 EIO (Input/output error)"), answer(7)]
                .concat(),
            [wal_write(2, 8, ") = 4096"), sync(2, ") = 0"), answer(7)].concat(),
        ] {
            assert_eq!(examine(&trace).too_early.len(), 1, "{trace}");
        }
    }

    #[test]
    fn a_sync_covers_only_what_was_written_before_it_began() {
        let resumed = "2 <... fdatasync resumed>)            = 0\n".to_owned();
        let began = sync(2, " <unfinished ...>");
        let early =
            [began.clone(), wal_write(5, 7, ") = 4096"), resumed.clone(), answer(7)].concat();
        assert_eq!(examine(&early).too_early.len(), 1);
        let in_order = [wal_write(5, 7, ") = 4096"), began, resumed, answer(7)].concat();
        assert_eq!(examine(&in_order).too_early, Vec::<String>::new());
    }
}
