//! One connection: its lines, its subscriptions and their notifications.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use bitcoin::ScriptBuf;
use serde_json::{Value, json};

use super::calls::{self, Answer, Refusal, ServerView};
use super::fault::ElectrumFault;
use super::index;
use super::shared::{Inner, Shared};
use crate::listener::Stop;
use crate::tls::Tls;

/// Read timeout, after which the connection checks for notifications.
const LOOKS_EVERY: Duration = Duration::from_millis(5);

/// Limit of a client's line in bytes.
const LINE_MAX: usize = 16 * 1_024 * 1_024;

/// A TCP or TLS stream.
trait Bytes: Read + Write {}
impl<T: Read + Write> Bytes for T {}

pub(super) struct Connection {
    shared: Arc<Shared>,
    stream: Box<dyn Bytes>,
    buffer: Vec<u8>,
    /// The negotiated protocol version.
    version: Option<&'static str>,
    /// Each script hash with its last reported status.
    scripts: HashMap<String, Value>,
    /// The last reported best block, if the client subscribed to it.
    tip: Option<Value>,
    /// Number of the index's `touched` entries that this connection has processed.
    seen: usize,
    calls: u64,
}

/// Parts of the lines that request a history or a transaction.
const HISTORY: &[u8] = b"scripthash.get_history";
const TX: &[u8] = b"transaction.get\"";

impl Drop for Connection {
    fn drop(&mut self) {
        let mut inner = self.shared.lock();
        inner.open = inner.open.saturating_sub(1);
    }
}

impl Connection {
    pub(super) fn open(
        shared: &Arc<Shared>,
        stream: TcpStream,
        tls: Option<&Tls>,
    ) -> io::Result<Self> {
        stream.set_read_timeout(Some(LOOKS_EVERY))?;
        let stream: Box<dyn Bytes> = match tls {
            Some(tls) => Box::new(tls.accept(stream)?),
            None => Box::new(stream),
        };
        let mut inner = shared.lock();
        inner.connections = inner.connections.saturating_add(1);
        inner.open = inner.open.saturating_add(1);
        drop(inner);
        Ok(Self {
            shared: Arc::clone(shared),
            stream,
            buffer: Vec::new(),
            version: None,
            scripts: HashMap::new(),
            tip: None,
            seen: 0,
            calls: 0,
        })
    }

    fn is_one_too_many(&self) -> bool {
        let inner = self.shared.lock();
        inner.open > 1 && matches!(inner.fault, Some(ElectrumFault::BearsOneAndHangsUpAt(_)))
    }

    /// Serves the connection until it ends.
    pub(super) fn serve(mut self, stop: &Stop) {
        if self.is_one_too_many() {
            return;
        }
        let mut chunk = vec![0; 64 * 1_024];
        loop {
            while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let rest = self.buffer.split_off(end.saturating_add(1));
                let line = std::mem::replace(&mut self.buffer, rest);
                if self.take(&line, stop).is_none() {
                    return;
                }
            }
            match self.stream.read(&mut chunk) {
                Ok(0) => return,
                Ok(count) => {
                    self.buffer.extend_from_slice(chunk.get(..count).unwrap_or_default());
                    self.shared.lock().counted.traffic(u64::try_from(count).unwrap_or(0));
                }
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    if stop.within(Duration::ZERO) || self.notify(stop).is_none() {
                        return;
                    }
                }
                Err(_) => return,
            }
            if self.buffer.len() > LINE_MAX {
                return;
            }
        }
    }

    /// Answers one line; `None` ends the connection.
    fn take(&mut self, line: &[u8], stop: &Stop) -> Option<()> {
        let fault = self.shared.lock().fault.clone();
        match fault {
            Some(ElectrumFault::Silent) => return Some(()),
            Some(ElectrumFault::Closed) => return None,
            Some(ElectrumFault::Slow(wait)) if stop.within(wait) => return None,
            Some(ElectrumFault::EndlessLine) => {
                while !stop.within(Duration::ZERO) {
                    self.write(&[b' '; 64 * 1_024])?;
                }
                return None;
            }
            Some(ElectrumFault::Flood) => {
                let notes = thousand_notices();
                while !stop.within(Duration::ZERO) {
                    self.write(notes.as_bytes())?;
                }
                return None;
            }
            Some(ElectrumFault::NotJson) => return self.write(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
            _ => {}
        }
        self.notify(stop)?;
        let request: Value = serde_json::from_slice(line).ok()?;
        let is_asked_for = |script: &ScriptBuf| {
            request["method"] == "blockchain.scripthash.get_history"
                && request["params"][0] == index::script_hash(script)
        };
        let asks_for = |line: &[u8], what: &[u8]| line.windows(what.len()).any(|it| it == what);
        // Counts this line and the waiting lines behind it.
        let at_once = |what: &[u8]| {
            let waiting = self
                .buffer
                .split(|byte| *byte == b'\n')
                .filter(|line| asks_for(line, what))
                .count();
            if asks_for(line, what) { waiting.saturating_add(1) } else { 0 }
        };
        match &fault {
            Some(ElectrumFault::HangsUpAbove(most)) if at_once(HISTORY) > *most => return None,
            Some(ElectrumFault::HangsUpAboveTxs(most)) if at_once(TX) > *most => return None,
            Some(ElectrumFault::HangsUpAtTx(txid))
                if asks_for(line, TX) && request["params"][0] == txid.to_string() =>
            {
                return None;
            }
            Some(ElectrumFault::Stuck(script)) if is_asked_for(script) => return Some(()),
            Some(
                ElectrumFault::HangsUpAt(scripts) | ElectrumFault::BearsOneAndHangsUpAt(scripts),
            ) if scripts.iter().any(is_asked_for) => {
                return None;
            }
            _ => {}
        }
        let answer = match &request {
            Value::Array(batch) => {
                let answers: Option<Vec<Value>> = batch.iter().map(|one| self.reply(one)).collect();
                Value::Array(answers?)
            }
            one => self.reply(one)?,
        };
        let line = format!("{answer}\n").into_bytes();
        if fault == Some(ElectrumFault::CutOff) {
            self.write(line.get(..line.len() / 2).unwrap_or_default())?;
            return None;
        }
        self.write(&line)?;
        match fault {
            Some(ElectrumFault::HangsUpAfter(calls)) if self.calls >= calls => None,
            _ => Some(()),
        }
    }

    /// The reply to one call. `None` ends the connection without a reply.
    fn reply(&mut self, request: &Value) -> Option<Value> {
        self.calls = self.calls.saturating_add(1);
        let method = request["method"].as_str().unwrap_or_default();
        let none = Vec::new();
        let params = request["params"].as_array().unwrap_or(&none);
        let shared = Arc::clone(&self.shared);
        let mut inner = shared.lock();
        inner.counted.request();
        inner.counted.question(method);
        let id = match inner.fault {
            Some(ElectrumFault::WrongIds) => json!(4_000_000),
            _ => request["id"].clone(),
        };
        let outcome = match inner.fault {
            Some(ElectrumFault::WrongTypes) if method != "server.version" => {
                Ok(json!({ "surprise": [1, null, "x"] }))
            }
            Some(ElectrumFault::RefusesAll) => {
                Err(Refusal::new(-32_603, "internal error: try another server"))
            }
            _ => self.call(method, params, &inner, (shared.clock)()),
        };
        match outcome {
            Ok(result) => Some(json!({ "jsonrpc": "2.0", "result": result, "id": id })),
            Err(Refusal { code: calls::UNANSWERED, .. }) => None,
            Err(Refusal { code, message }) => Some(
                json!({ "jsonrpc": "2.0", "error": { "code": code, "message": message }, "id": id }),
            ),
        }
    }

    fn call(&mut self, method: &str, params: &[Value], inner: &Inner, now_ms: i64) -> Answer {
        if method == "server.version" {
            return self.agree(params, inner);
        }
        let version =
            self.version.ok_or_else(|| Refusal::new(1, "server.version must be sent first"))?;
        let view = view(inner, version, now_ms);
        match method {
            "blockchain.headers.subscribe" => {
                let tip = view.tip()?;
                self.tip = Some(tip.clone());
                Ok(tip)
            }
            "blockchain.scripthash.subscribe" => {
                let hash = calls::script_hash(params)?;
                let status = view.status(hash)?;
                self.scripts.insert(hash.to_owned(), status.clone());
                Ok(status)
            }
            "blockchain.scripthash.unsubscribe" if version != "1.4" => {
                Ok(json!(self.scripts.remove(calls::script_hash(params)?).is_some()))
            }
            _ => calls::answer(method, params, &view),
        }
    }

    /// Negotiates the newest protocol version that both sides speak.
    fn agree(&mut self, params: &[Value], inner: &Inner) -> Answer {
        if self.version.is_some() {
            return Err(Refusal::new(1, "server.version already sent"));
        }
        let (oldest, newest) = match calls::at(params, 1) {
            Value::Array(range) => (calls::at(range, 0), calls::at(range, 1)),
            one => (one, one),
        };
        let (oldest, newest) = (oldest.as_str().unwrap_or("1.4"), newest.as_str().unwrap_or("1.4"));
        let spoken: &[&'static str] = match inner.fault {
            Some(ElectrumFault::OldProtocol) => &["1.2"],
            _ => &calls::VERSIONS,
        };
        // The numbers of a version have one digit each, so versions sort like texts.
        let fits = |version: &&&'static str| {
            (oldest..=newest).contains(*version) && **version <= inner.newest
        };
        let agreed = spoken.iter().rfind(fits);
        let agreed = agreed
            .ok_or_else(|| Refusal::new(1, format!("unsupported protocol version: {newest}")))?;
        self.version = Some(agreed);
        Ok(json!(["TillgateTest 1.0", agreed]))
    }

    /// Sends the changes of all subscriptions.
    fn notify(&mut self, stop: &Stop) -> Option<()> {
        let shared = Arc::clone(&self.shared);
        if shared.lock().fault == Some(ElectrumFault::FloodsBetween) {
            self.write(thousand_notices().as_bytes())?;
        }
        let mut inner = shared.lock();
        inner.refresh();
        if stop.within(Duration::ZERO) {
            return None;
        }
        if inner.fault == Some(ElectrumFault::NoNotifications) {
            return Some(());
        }
        let Some(version) = self.version else { return Some(()) };
        let view = view(&inner, version, (shared.clock)());
        let mut lines = String::new();
        if let Some(told) = &mut self.tip
            && let Ok(tip) = view.tip()
            && *told != tip
        {
            let note = json!({ "jsonrpc": "2.0", "method": "blockchain.headers.subscribe", "params": [tip] });
            lines.push_str(&format!("{note}\n"));
            *told = tip;
        }
        let touched = inner.index.touched.get(self.seen..).unwrap_or(&inner.index.touched);
        for hash in touched {
            let Some(told) = self.scripts.get_mut(hash) else { continue };
            let Ok(status) = view.status(hash) else { continue };
            if *told != status {
                let params = json!([hash, status]);
                let note = json!({ "jsonrpc": "2.0", "method": "blockchain.scripthash.subscribe", "params": params });
                lines.push_str(&format!("{note}\n"));
                *told = status;
            }
        }
        self.seen = inner.index.touched.len();
        drop(inner);
        if lines.is_empty() { Some(()) } else { self.write(lines.as_bytes()) }
    }

    fn write(&mut self, bytes: &[u8]) -> Option<()> {
        self.stream.write_all(bytes).and_then(|()| self.stream.flush()).ok()?;
        self.shared.lock().counted.traffic(u64::try_from(bytes.len()).unwrap_or(0));
        Some(())
    }
}

/// A thousand notifications about a script to which no client subscribed.
fn thousand_notices() -> String {
    let params = ["00".repeat(32), "11".repeat(32)];
    let note =
        json!({ "jsonrpc": "2.0", "method": "blockchain.scripthash.subscribe", "params": params });
    format!("{note}\n").repeat(1_000)
}

fn view<'a>(inner: &'a Inner, version: &'a str, now_ms: i64) -> ServerView<'a> {
    let (denies, fault) = ElectrumFault::parts(inner.fault.as_ref());
    ServerView { sandbox: &inner.sandbox, index: &inner.index, fault, denies, version, now_ms }
}
