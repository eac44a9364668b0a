//! One connection to a server: calls that go out side by side and are answered in any order, and notifications in between,
//! read by a task of its own. Lines and their sum are bounded; whatever makes no sense ends the connection. That somebody else chose a script of
//! which there is too much to tell does not.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bitcoin::block::Header;
use bitcoin::consensus::encode::deserialize_hex;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadHalf, WriteHalf};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::allowance::Allowance;
use super::call::{Answer, Call, Refused, SHORT, ScriptHash, Status, Subject, Whose, status};
use super::lines::{Line, Lines};
use crate::chain::ChainDown;
use crate::chain::bell::Bell;
use crate::chain::shown::quoted;

/// Answers that come too late and are waited for no more, at most.
const UNAWAITED_MAX: usize = 1_000;

/// Bytes that are read at a time at most, but for notices.
const BYTES_MAX: usize = 48 * 1_024 * 1_024;

/// A stream of bytes, secure or not.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A connection that ends when it is dropped.
pub(super) struct Session {
    shared: Arc<Shared>,
    writer: tokio::sync::Mutex<WriteHalf<Box<dyn Stream>>>,
    reading: JoinHandle<()>,
    next_id: AtomicU64,
    answered_within: Duration,
}

/// The best block as the server last told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ToldTip {
    pub height: u32,
    pub header: Header,
}

/// Shared by the reading task and the asking threads.
struct Shared {
    host: String,
    noted: Mutex<Noted>,
    /// Bytes of answers that may still be read before the next calls.
    budget: AtomicUsize,
    notices: Arc<Mutex<Allowance>>,
    bell: Bell,
}

#[derive(Default)]
struct Noted {
    pending: HashMap<u64, Pending>,
    /// Calls about what others chose whose answers nobody waits for any more. They may still come.
    unawaited: HashSet<u64>,
    tip: Option<ToldTip>,
    statuses: HashMap<ScriptHash, Status>,
    /// Scripts of which the status was told since somebody last asked which.
    changed: HashSet<ScriptHash>,
    /// Why the connection ended.
    closed: Option<String>,
}

struct Pending {
    subject: Subject,
    may_be_long: bool,
    answer_max: usize,
    answer: oneshot::Sender<Result<Answer, Refused>>,
}

/// A call's number, and what its answer comes by.
type Waiting = (u64, oneshot::Receiver<Result<Answer, Refused>>);

/// The fields of a line.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(default)]
    id: Option<u64>,
    #[serde(default)]
    method: Option<String>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct TipNote {
    height: u32,
    hex: String,
}

impl Session {
    /// Speaks over `stream`. `bell` is rung for every notice that says something new; `notices` bounds them.
    pub(super) fn over(
        stream: Box<dyn Stream>,
        host: String,
        answered_within: Duration,
        (bell, notices): (Bell, Arc<Mutex<Allowance>>),
        runtime: &Handle,
    ) -> Self {
        let budget = AtomicUsize::new(BYTES_MAX);
        let shared = Arc::new(Shared { host, noted: Mutex::default(), budget, notices, bell });
        let (reader, writer) = tokio::io::split(stream);
        let reading = runtime.spawn(read(reader, Arc::clone(&shared)));
        let writer = tokio::sync::Mutex::new(writer);
        Self { shared, writer, reading, next_id: AtomicU64::new(1), answered_within }
    }

    /// Why it ended, if it did.
    pub(super) fn closed(&self) -> Option<String> {
        self.shared.noted.lock().closed.clone()
    }

    /// The best block that was told last.
    pub(super) fn tip(&self) -> Option<ToldTip> {
        self.shared.noted.lock().tip
    }

    /// A script's status as it was told last; `None` where nobody subscribed to it.
    pub(super) fn status(&self, hash: &ScriptHash) -> Option<Status> {
        self.shared.noted.lock().statuses.get(hash).copied()
    }

    /// Scripts of which the status was told since the last call of this.
    pub(super) fn take_changed(&self) -> HashSet<ScriptHash> {
        std::mem::take(&mut self.shared.noted.lock().changed)
    }

    /// Listens no longer to what is told of a script, and answers whether anybody had subscribed to it.
    pub(super) fn forget(&self, hash: &ScriptHash) -> bool {
        let mut noted = self.shared.noted.lock();
        noted.changed.remove(hash);
        noted.statuses.remove(hash).is_some()
    }

    /// Whether the server is still at what nobody waits for any more.
    fn is_held_up(&self) -> bool {
        !self.shared.noted.lock().unawaited.is_empty()
    }

    /// Ends the connection where the server is still at what nobody waits for any more: what comes next would stand behind it.
    pub(super) fn end_if_it_is_held_up(&self) {
        if self.is_held_up() {
            let host = &self.shared.host;
            self.shared
                .close(&format!("the server at {host} is still at what it was asked about somebody else's script"));
        }
    }

    /// Makes calls side by side. The answers are in their order. Where all of them are about what others chose, those that are not
    /// answered in time are refused: the first is too slow, the next were not reached, and nothing is as long as the server is at it.
    pub(super) async fn ask(&self, calls: &[Call]) -> Result<Vec<Result<Answer, Refused>>, ChainDown> {
        let are_of_others = calls.iter().all(|call| call.whose == Whose::Others);
        if are_of_others && self.is_held_up() {
            return Ok(calls.iter().map(|_| Err(Refused::NotReached)).collect());
        }
        let now = Instant::now();
        let until = now.checked_add(self.answered_within).unwrap_or(now);
        let waiting = timeout_at(until, self.send(calls)).await.unwrap_or_else(|_| Err(self.too_late()))?;
        let mut answers = Vec::with_capacity(waiting.len());
        // One that asks for much may hold up all behind it.
        let mut is_first = true;
        for (id, answer) in waiting {
            match timeout_at(until, answer).await {
                Ok(Ok(answer)) => answers.push(answer),
                Ok(Err(_)) => return Err(ChainDown(self.closed().unwrap_or_default())),
                Err(_) if are_of_others && self.awaits_no_more(id) => {
                    answers.push(Err(if is_first { Refused::TooSlow } else { Refused::NotReached }));
                    is_first = false;
                }
                Err(_) => return Err(self.too_late()),
            }
        }
        Ok(answers)
    }

    fn too_late(&self) -> ChainDown {
        let why = format!("the server at {} did not answer in time", self.shared.host);
        self.shared.close(&why);
        ChainDown(why)
    }

    /// Waits no more for an answer; no where that was done too often.
    fn awaits_no_more(&self, id: u64) -> bool {
        let mut noted = self.shared.noted.lock();
        if noted.pending.remove(&id).is_some() {
            noted.unawaited.insert(id);
        }
        noted.unawaited.len() <= UNAWAITED_MAX
    }

    /// Sends calls, and answers what their answers come by.
    async fn send(&self, calls: &[Call]) -> Result<Vec<Waiting>, ChainDown> {
        self.shared.may_be_answered(calls);
        let (mut lines, mut waiting) = (String::new(), Vec::with_capacity(calls.len()));
        {
            let mut noted = self.shared.noted.lock();
            if let Some(why) = &noted.closed {
                return Err(ChainDown(why.clone()));
            }
            for call in calls {
                let id = self.next_id.fetch_add(1, Ordering::Relaxed);
                let line = json!({ "jsonrpc": "2.0", "id": id, "method": call.method, "params": call.params });
                lines.push_str(&line.to_string());
                lines.push('\n');
                let (answer, waits) = oneshot::channel();
                let pending = Pending {
                    subject: call.subject,
                    may_be_long: call.may_be_long(),
                    answer_max: call.answer_max(),
                    answer,
                };
                noted.pending.insert(id, pending);
                waiting.push((id, waits));
            }
        }
        let mut writer = self.writer.lock().await;
        let written = match writer.write_all(lines.as_bytes()).await {
            Ok(()) => writer.flush().await,
            Err(error) => Err(error),
        };
        drop(writer);
        if let Err(error) = written {
            self.shared.close(&format!("the connection to the server at {} broke: {error}", self.shared.host));
        }
        Ok(waiting)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

async fn read(mut stream: ReadHalf<Box<dyn Stream>>, shared: Arc<Shared>) {
    let mut lines = Lines::default();
    let mut chunk = vec![0; 64 * 1_024];
    let why = loop {
        let count = match stream.read(&mut chunk).await {
            Ok(0) if lines.is_empty() => break format!("the server at {} hung up", shared.host),
            Ok(0) => break format!("the server at {} hung up in the middle of an answer", shared.host),
            Ok(count) => count,
            Err(error) => break format!("the connection to the server at {} broke: {error}", shared.host),
        };
        // What is passed over takes no room.
        if !lines.is_skipping() && !shared.may_read(count) {
            break shared.sent("more than it was asked for");
        }
        let taken = lines.feed(chunk.get(..count).unwrap_or_default(), |line| match line {
            Line::Whole(line) => shared.take(line),
            Line::Overlong(id) => id
                .and_then(|id| shared.refuse(id))
                .ok_or_else(|| shared.sent("too long a line, which answers nothing that may be long")),
        });
        if let Err(why) = taken {
            break why;
        }
        let line_max = shared.line_max();
        if lines.is_longer_than(line_max) {
            if lines.is_skipping() {
                break shared.sent("a line of more than 512 MiB");
            }
            if !shared.may_skip() {
                break shared.sent(&format!("a line of more than {} KiB, which answers nothing", line_max / 1_024));
            }
            shared.give_back(lines.skip());
        }
        // A flood leaves others their turn.
        tokio::task::yield_now().await;
    };
    shared.close(&why);
}

impl Shared {
    fn may_read(&self, count: usize) -> bool {
        let take = |left: usize| left.checked_sub(count);
        self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    /// So many bytes were not kept.
    fn give_back(&self, count: usize) {
        self.budget.fetch_add(count, Ordering::Relaxed);
    }

    /// Bytes that a line may have just now: no more than the longest answer that is awaited.
    fn line_max(&self) -> usize {
        let noted = self.noted.lock();
        noted.pending.values().map(|pending| pending.answer_max).fold(SHORT, usize::max)
    }

    /// So many more bytes may be read as the answers to these calls have.
    fn may_be_answered(&self, calls: &[Call]) {
        let more = calls.iter().map(Call::answer_max).fold(0, usize::saturating_add);
        let add = |left: usize| Some(left.saturating_add(more).min(BYTES_MAX));
        // It never fails.
        let _ = self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }

    /// Whether what is too long may be the answer to a call that bears it.
    fn may_skip(&self) -> bool {
        let noted = self.noted.lock();
        !noted.unawaited.is_empty() || noted.pending.values().any(|pending| pending.may_be_long)
    }

    /// Answers a call whose answer was too long; `None` where that is borne of none.
    fn refuse(&self, id: u64) -> Option<()> {
        let mut noted = self.noted.lock();
        if noted.unawaited.remove(&id) {
            return Some(());
        }
        let pending = noted.pending.remove(&id).filter(|pending| pending.may_be_long)?;
        // Whoever asked may have given up.
        let _ = pending.answer.send(Err(Refused::TooLong));
        Some(())
    }

    /// Why the connection ends: the server sent what is taken of none.
    fn sent(&self, what: &str) -> String {
        format!("the server at {} sent {what}", self.host)
    }

    /// Ends the connection: whoever waits for an answer has none.
    fn close(&self, why: &str) {
        let mut noted = self.noted.lock();
        noted.closed.get_or_insert_with(|| why.to_owned());
        noted.pending.clear();
        drop(noted);
        self.bell.ring();
    }

    /// Takes one line; `Err` says why it is none.
    fn take(&self, line: &[u8]) -> Result<(), String> {
        let nonsense = |what: &str| {
            format!("what answers at {} does not speak the Electrum protocol: {}", self.host, quoted(what))
        };
        let message: Message<'_> = serde_json::from_slice(line).map_err(|error| nonsense(&error.to_string()))?;
        let Some(id) = message.id else {
            let (method, params) = (message.method.unwrap_or_default(), message.params.map_or("null", RawValue::get));
            if !self.notices.lock().take(line.len(), Instant::now()) {
                return Err(self.sent("more notices than 256 KiB a second"));
            }
            self.give_back(line.len().saturating_add(1));
            return self.note(&method, params).ok_or_else(|| nonsense("a notification that is none"));
        };
        let mut noted = self.noted.lock();
        if noted.unawaited.remove(&id) {
            return Ok(());
        }
        let pending = noted.pending.remove(&id).ok_or_else(|| nonsense("an answer to what was not asked"))?;
        let outcome = match message.error {
            Some(error) => Err(Refused::read(error.get())),
            None => Ok(message.result.map(RawValue::to_owned)),
        };
        if let Ok(result) = &outcome {
            let text = result.as_ref().map_or("null", |result| result.get());
            noted.news(pending.subject, text).ok_or_else(|| nonsense("an answer that makes no sense"))?;
        }
        // Whoever asked may have given up.
        let _ = pending.answer.send(outcome);
        Ok(())
    }

    /// Takes a notification; one of what nobody subscribed to is passed over.
    fn note(&self, method: &str, params: &str) -> Option<()> {
        let mut noted = self.noted.lock();
        let is_new = match method {
            "blockchain.headers.subscribe" => {
                let (note,): (&RawValue,) = serde_json::from_str(params).ok()?;
                noted.news(Subject::Tip, note.get())?
            }
            "blockchain.scripthash.subscribe" => {
                let (hash, status): (String, Option<&RawValue>) = serde_json::from_str(params).ok()?;
                let hash = ScriptHash::read(&hash)?;
                if !noted.statuses.contains_key(&hash) {
                    return Some(());
                }
                noted.news(Subject::Script(hash), status.map_or("null", RawValue::get))?
            }
            _ => false,
        };
        drop(noted);
        if is_new {
            self.bell.ring();
        }
        Some(())
    }
}

impl Noted {
    /// Takes what was told of a subject, and answers whether it is new; `None` where it makes no sense.
    fn news(&mut self, subject: Subject, text: &str) -> Option<bool> {
        Some(match subject {
            Subject::None => false,
            Subject::Tip => {
                let TipNote { height, hex } = serde_json::from_str(text).ok()?;
                let tip = ToldTip { height, header: deserialize_hex(&hex).ok()? };
                self.tip.replace(tip) != Some(tip)
            }
            Subject::Script(hash) => {
                let text: Option<String> = serde_json::from_str(text).ok()?;
                let status = status(text.as_deref())?;
                let is_new = self.statuses.insert(hash, status) != Some(status);
                if is_new {
                    self.changed.insert(hash);
                }
                is_new
            }
        })
    }
}
