//! One connection to a server. Calls are sent concurrently and answered in any order; a task reads
//! answers and notifications. The bytes of each line and of all lines are limited. An invalid
//! message ends the connection, but an overlong history fails only its call. The server alone
//! decides how many notifications it sends, so their bytes are limited too.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bitcoin::block::Header;
use bitcoin::consensus::encode::deserialize_hex;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tillgate_machine::outgoing::begins_like_tls;
use tokio::io::{
    AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadHalf, WriteHalf,
};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::allowance::Allowance;
use super::lines::{Line, Lines};
use crate::checks::sanitized::quoted;
use crate::electrum::calls::{
    Answer, Call, Owner, Refused, SHORT, ScriptHash, Status, Subject, status,
};
use crate::port::ChainDown;
use crate::waker::Waker;

/// Limit of calls that timed out and whose answers may still arrive.
const ABANDONED_MAX: usize = 1_000;

/// The largest budget of unread answers, in bytes. Notifications do not count.
const BYTES_MAX: usize = 48 * 1_024 * 1_024;

/// A byte stream, with TLS or without.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A connection that ends when it is dropped.
pub struct Session {
    shared: Arc<Shared>,
    writer: tokio::sync::Mutex<WriteHalf<Box<dyn Stream>>>,
    reading: JoinHandle<()>,
    next_id: AtomicU64,
    answered_within: Duration,
}

/// The tip that the server last announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnnouncedTip {
    pub height: u32,
    pub header: Header,
}

/// Shared by the reading task and the asking threads.
struct Shared {
    host: String,
    state: Mutex<SessionState>,
    /// Bytes of answers that may still be read before the next calls.
    budget: AtomicUsize,
    notices: Arc<Mutex<Allowance>>,
    waker: Waker,
    /// Whether the server has sent anything.
    has_heard: AtomicBool,
}

#[derive(Default)]
struct SessionState {
    pending: HashMap<u64, Pending>,
    /// Calls about others' scripts that timed out. Their answers may still arrive.
    abandoned: HashSet<u64>,
    tip: Option<AnnouncedTip>,
    statuses: HashMap<ScriptHash, Status>,
    /// Scripts whose status changed since the last [`Session::take_changed`].
    changed: HashSet<ScriptHash>,
    closed: Option<String>,
}

struct Pending {
    subject: Subject,
    may_be_long: bool,
    answer_max: usize,
    answer: oneshot::Sender<Result<Answer, Refused>>,
}

/// A call's number, and the receiver of its answer.
type Waiting = (u64, oneshot::Receiver<Result<Answer, Refused>>);

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
    /// A session over `stream`. Each notification of a change starts a look through `waker`;
    /// `notices` limits their bytes.
    pub fn over(
        stream: Box<dyn Stream>,
        host: String,
        answered_within: Duration,
        (waker, notices): (Waker, Arc<Mutex<Allowance>>),
        runtime: &Handle,
    ) -> Self {
        let budget = AtomicUsize::new(BYTES_MAX);
        let shared = Arc::new(Shared {
            host,
            state: Mutex::default(),
            budget,
            notices,
            waker,
            has_heard: AtomicBool::new(false),
        });
        let (reader, writer) = tokio::io::split(stream);
        let reading = runtime.spawn(read_answers(reader, Arc::clone(&shared)));
        let writer = tokio::sync::Mutex::new(writer);
        Self { shared, writer, reading, next_id: AtomicU64::new(1), answered_within }
    }

    pub fn closed(&self) -> Option<String> {
        self.shared.state.lock().closed.clone()
    }

    pub fn has_heard(&self) -> bool {
        self.shared.has_heard.load(Ordering::Relaxed)
    }

    pub fn tip(&self) -> Option<AnnouncedTip> {
        self.shared.state.lock().tip
    }

    /// The last status of a script; `None` without a subscription.
    pub fn status(&self, hash: &ScriptHash) -> Option<Status> {
        self.shared.state.lock().statuses.get(hash).copied()
    }

    /// Scripts whose status changed since the last call of this function.
    pub fn take_changed(&self) -> HashSet<ScriptHash> {
        std::mem::take(&mut self.shared.state.lock().changed)
    }

    /// Ignores further notifications of a script. Returns whether the script was subscribed to.
    pub fn forget(&self, hash: &ScriptHash) -> bool {
        let mut state = self.shared.state.lock();
        state.changed.remove(hash);
        state.statuses.remove(hash).is_some()
    }

    /// Whether the server is still busy with a call that timed out.
    fn is_busy(&self) -> bool {
        !self.shared.state.lock().abandoned.is_empty()
    }

    /// Ends the connection if the server is still busy with a call that timed out. The next calls
    /// would queue behind it.
    pub fn close_if_busy(&self) {
        if self.is_busy() {
            let host = &self.shared.host;
            self.shared.close(&format!(
                "the server at {host} is still busy with a request about somebody else's script"
            ));
        }
    }

    /// Makes calls concurrently. The answers are in the order of the calls. If all calls are about
    /// others' scripts, late calls count as refused: the first as too slow, the rest as not
    /// reached. Such calls are refused at once while the server is busy with a call that timed out.
    pub async fn ask(&self, calls: &[Call]) -> Result<Vec<Result<Answer, Refused>>, ChainDown> {
        let are_of_others = calls.iter().all(|call| call.owner == Owner::Others);
        if are_of_others && self.is_busy() {
            return Ok(calls.iter().map(|_| Err(Refused::NotReached)).collect());
        }
        let now = Instant::now();
        let until = now.checked_add(self.answered_within).unwrap_or(now);
        let waiting = timeout_at(until, self.send(calls))
            .await
            .unwrap_or_else(|_| Err(self.close_timed_out()))?;
        let mut answers = Vec::with_capacity(waiting.len());
        // A slow call may delay all calls after it.
        let mut is_first = true;
        for (id, answer) in waiting {
            match timeout_at(until, answer).await {
                Ok(Ok(answer)) => answers.push(answer),
                Ok(Err(_)) => return Err(ChainDown::of_text(self.closed().unwrap_or_default())),
                Err(_) if are_of_others && self.stop_waiting(id) => {
                    answers.push(Err(if is_first {
                        Refused::TooSlow
                    } else {
                        Refused::NotReached
                    }));
                    is_first = false;
                }
                Err(_) => return Err(self.close_timed_out()),
            }
        }
        Ok(answers)
    }

    fn close_timed_out(&self) -> ChainDown {
        let why = format!("the server at {} did not answer in time", self.shared.host);
        self.shared.close(&why);
        ChainDown::of_text(why)
    }

    /// Stops waiting for an answer; `false` if this happened too often.
    fn stop_waiting(&self, id: u64) -> bool {
        let mut state = self.shared.state.lock();
        if state.pending.remove(&id).is_some() {
            state.abandoned.insert(id);
        }
        state.abandoned.len() <= ABANDONED_MAX
    }

    /// Sends calls, and returns the receivers of their answers.
    async fn send(&self, calls: &[Call]) -> Result<Vec<Waiting>, ChainDown> {
        self.shared.add_budget(calls);
        let (mut lines, mut waiting) = (String::new(), Vec::with_capacity(calls.len()));
        {
            let mut state = self.shared.state.lock();
            if let Some(why) = &state.closed {
                return Err(ChainDown::of_text(why.clone()));
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
                state.pending.insert(id, pending);
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
            self.shared.close(&format!(
                "the connection to the server at {} broke: {error}",
                self.shared.host
            ));
        }
        Ok(waiting)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

async fn read_answers(mut stream: ReadHalf<Box<dyn Stream>>, shared: Arc<Shared>) {
    let mut lines = Lines::default();
    let mut chunk = vec![0; 64 * 1_024];
    let why = loop {
        let count = match stream.read(&mut chunk).await {
            Ok(0) if lines.is_empty() => break format!("the server at {} hung up", shared.host),
            Ok(0) => {
                break format!("the server at {} hung up in the middle of an answer", shared.host);
            }
            Ok(count) => count,
            Err(error) => {
                break format!("the connection to the server at {} broke: {error}", shared.host);
            }
        };
        let is_first = !shared.has_heard.swap(true, Ordering::Relaxed);
        if is_first && begins_like_tls(chunk.get(..count).unwrap_or_default()) {
            break format!(
                "the server at {0} speaks TLS at this port: set backendUrl to ssl://{0}",
                shared.host
            );
        }
        // Skipped bytes take no memory.
        if !lines.is_skipping() && !shared.may_read(count) {
            break shared.sent("more than it was asked for");
        }
        let taken = lines.feed(chunk.get(..count).unwrap_or_default(), |line| match line {
            Line::Whole(line) => shared.take(line),
            Line::Overlong(id) => id.and_then(|id| shared.refuse(id)).ok_or_else(|| {
                shared.sent("an overlong line that answers no request for a history")
            }),
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
                break shared.sent(&format!(
                    "a line of more than {} KiB, longer than any answer",
                    line_max / 1_024
                ));
            }
            shared.give_back(lines.skip());
        }
        // A flood of lines must not starve other tasks.
        tokio::task::yield_now().await;
    };
    shared.close(&why);
}

impl Shared {
    fn may_read(&self, count: usize) -> bool {
        let take = |left: usize| left.checked_sub(count);
        self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    /// Returns to the budget the bytes that are not kept in memory.
    fn give_back(&self, count: usize) {
        self.budget.fetch_add(count, Ordering::Relaxed);
    }

    /// The longest line allowed now: no more than the longest expected answer.
    fn line_max(&self) -> usize {
        let state = self.state.lock();
        state.pending.values().map(|pending| pending.answer_max).fold(SHORT, usize::max)
    }

    /// Adds the limits of these calls' answers to the budget.
    fn add_budget(&self, calls: &[Call]) {
        let more = calls.iter().map(Call::answer_max).fold(0, usize::saturating_add);
        let add = |left: usize| Some(left.saturating_add(more).min(BYTES_MAX));
        let _ = self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }

    /// Whether an open call allows an overlong answer.
    fn may_skip(&self) -> bool {
        let state = self.state.lock();
        !state.abandoned.is_empty() || state.pending.values().any(|pending| pending.may_be_long)
    }

    /// Refuses the call whose answer is overlong; `None` if the call does not allow that.
    fn refuse(&self, id: u64) -> Option<()> {
        let mut state = self.state.lock();
        if state.abandoned.remove(&id) {
            return Some(());
        }
        let pending = state.pending.remove(&id).filter(|pending| pending.may_be_long)?;
        // The asking thread may have given up.
        let _ = pending.answer.send(Err(Refused::TooLong));
        Some(())
    }

    /// The error for a message that is not allowed.
    fn sent(&self, what: &str) -> String {
        format!("the server at {} sent {what}", self.host)
    }

    /// Ends the connection: all waiting calls fail.
    fn close(&self, why: &str) {
        let mut state = self.state.lock();
        state.closed.get_or_insert_with(|| why.to_owned());
        state.pending.clear();
        drop(state);
        self.waker.wake();
    }

    /// Handles one line; `Err` says why the line is invalid.
    fn take(&self, line: &[u8]) -> Result<(), String> {
        let nonsense = |what: &str| {
            format!(
                "the server at {} does not speak the Electrum protocol: {}",
                self.host,
                quoted(what)
            )
        };
        let message: Message<'_> =
            serde_json::from_slice(line).map_err(|error| nonsense(&error.to_string()))?;
        let Some(id) = message.id else {
            let (method, params) =
                (message.method.unwrap_or_default(), message.params.map_or("null", RawValue::get));
            if !self.notices.lock().take(line.len(), Instant::now()) {
                return Err(self.sent("more notices than 256 KiB a second"));
            }
            self.give_back(line.len().saturating_add(1));
            return self.note(&method, params).ok_or_else(|| nonsense("an invalid notification"));
        };
        let mut state = self.state.lock();
        if state.abandoned.remove(&id) {
            return Ok(());
        }
        let pending =
            state.pending.remove(&id).ok_or_else(|| nonsense("an answer without a request"))?;
        let outcome = match message.error {
            Some(error) => Err(Refused::parse(error.get())),
            None => Ok(message.result.map(RawValue::to_owned)),
        };
        if let Ok(result) = &outcome {
            let text = result.as_ref().map_or("null", |result| result.get());
            state
                .update(pending.subject, text)
                .ok_or_else(|| nonsense("an answer that makes no sense"))?;
        }
        // The asking thread may have given up.
        let _ = pending.answer.send(outcome);
        Ok(())
    }

    /// Handles a notification, and ignores one without a subscription. `None` if it is invalid.
    fn note(&self, method: &str, params: &str) -> Option<()> {
        let mut state = self.state.lock();
        let is_new = match method {
            "blockchain.headers.subscribe" => {
                let (note,): (&RawValue,) = serde_json::from_str(params).ok()?;
                state.update(Subject::Tip, note.get())?
            }
            "blockchain.scripthash.subscribe" => {
                let (hash, status): (String, Option<&RawValue>) =
                    serde_json::from_str(params).ok()?;
                let hash = ScriptHash::parse(&hash)?;
                if !state.statuses.contains_key(&hash) {
                    return Some(());
                }
                state.update(Subject::Script(hash), status.map_or("null", RawValue::get))?
            }
            _ => false,
        };
        drop(state);
        if is_new {
            self.waker.wake();
        }
        Some(())
    }
}

impl SessionState {
    /// Stores the state of a subject, and returns whether it changed; `None` if `text` is invalid.
    fn update(&mut self, subject: Subject, text: &str) -> Option<bool> {
        Some(match subject {
            Subject::None => false,
            Subject::Tip => {
                let TipNote { height, hex } = serde_json::from_str(text).ok()?;
                let tip = AnnouncedTip { height, header: deserialize_hex(&hex).ok()? };
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
