//! The load driver: keep-alive HTTP/1.1 over loopback, each connection one request at a time.
//!
//! It speaks just enough HTTP to be cheap, because it shares the machine's cores with what it
//! measures.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// What a run of requests took.
#[derive(Debug, Clone)]
pub struct Run {
    /// Requests answered with 200.
    pub answered: u64,
    /// Requests answered otherwise.
    pub refused: u64,
    /// From the first request to the last answer.
    pub took: Duration,
    /// What each request cost the measured process, in microseconds of processor time; `None` where nobody looked.
    pub cpu_us: Option<f64>,
    /// Sorted times from request to answer, in microseconds.
    latencies_us: Vec<u32>,
}

impl Run {
    /// Several runs as one, without the pauses between them.
    pub fn sum(runs: Vec<Self>) -> Self {
        let mut sum = Self::empty();
        let mut cpu_us = 0.0;
        for run in runs {
            cpu_us += run.cpu_us.unwrap_or(0.0) * run.answered as f64;
            sum.answered += run.answered;
            sum.refused += run.refused;
            sum.took += run.took;
            sum.latencies_us.extend(run.latencies_us);
        }
        sum.latencies_us.sort_unstable();
        sum.cpu_us = Some(cpu_us / sum.answered.max(1) as f64);
        sum
    }

    const fn empty() -> Self {
        Self { answered: 0, refused: 0, took: Duration::ZERO, cpu_us: None, latencies_us: Vec::new() }
    }

    /// Answers in a second.
    pub fn per_second(&self) -> f64 {
        self.answered as f64 / self.took.as_secs_f64()
    }

    /// The time in milliseconds within which `per_mille` of the answers came.
    pub fn quantile_ms(&self, per_mille: usize) -> f64 {
        quantile_ms(&self.latencies_us, per_mille)
    }
}

/// The time in milliseconds within which `per_mille` of the sorted times in microseconds lie.
pub fn quantile_ms(sorted_us: &[u32], per_mille: usize) -> f64 {
    let index = sorted_us.len().saturating_sub(1) * per_mille / 1_000;
    sorted_us.get(index).map_or(0.0, |us| f64::from(*us) / 1_000.0)
}

/// When a run ends.
#[derive(Debug, Clone, Copy)]
pub enum Until {
    /// After this time.
    Elapsed(Duration),
    /// After this many requests.
    Requests(u64),
}

/// Sends requests over `connections` connections to `port` until `until`; `request` gives the
/// bytes of the numbered request.
pub fn drive(
    port: u16,
    connections: usize,
    until: Until,
    request: impl Fn(u64) -> Vec<u8> + Send + Sync + 'static,
) -> io::Result<Run> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async move {
        let (next, request) = (Arc::new(AtomicU64::new(0)), Arc::new(request));
        let started = Instant::now();
        let tasks: Vec<_> = (0..connections)
            .map(|_| tokio::spawn(connection(port, until, started, Arc::clone(&next), Arc::clone(&request))))
            .collect();
        let mut run = Run::empty();
        for task in tasks {
            let (refused, latencies) = task.await.map_err(io::Error::other)??;
            run.refused += refused;
            run.latencies_us.extend(latencies);
        }
        run.took = started.elapsed();
        run.answered = run.latencies_us.len() as u64;
        run.latencies_us.sort_unstable();
        Ok(run)
    })
}

async fn connection(
    port: u16,
    until: Until,
    started: Instant,
    next: Arc<AtomicU64>,
    request: Arc<impl Fn(u64) -> Vec<u8>>,
) -> io::Result<(u64, Vec<u32>)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    let (mut refused, mut latencies) = (0, Vec::new());
    let mut buffer = Vec::with_capacity(8 * 1024);
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let over = match until {
            Until::Elapsed(time) => started.elapsed() >= time,
            Until::Requests(count) => number >= count,
        };
        if over {
            return Ok((refused, latencies));
        }
        let bytes = request(number);
        let sent = Instant::now();
        stream.write_all(&bytes).await?;
        if receive(&mut stream, &mut buffer).await? == 200 {
            latencies.push(u32::try_from(sent.elapsed().as_micros()).unwrap_or(u32::MAX));
        } else {
            refused += 1;
        }
    }
}

/// Reads one answer whole and gives its status.
async fn receive(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<u16> {
    buffer.clear();
    loop {
        if let Some(answer) = answer(buffer)? {
            return Ok(answer.status);
        }
        if stream.read_buf(buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// What matters of an answer.
pub struct Answer {
    /// HTTP's.
    pub status: u16,
    /// Where its body is.
    pub body: Range<usize>,
}

/// The answer at the start of `bytes`, if all of it is there.
pub fn answer(bytes: &[u8]) -> io::Result<Option<Answer>> {
    let Some(body) = message_body(bytes) else { return Ok(None) };
    let status = bytes.get(9..12).and_then(number).and_then(|status| u16::try_from(status).ok());
    Ok(Some(Answer { status: status.ok_or_else(|| io::Error::other("an answer without a status"))?, body }))
}

/// Where the body of the request or answer at the start of `bytes` is, if all of it is there.
pub fn message_body(bytes: &[u8]) -> Option<Range<usize>> {
    const LENGTH: &[u8] = b"content-length:";
    let head_length = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let length = bytes.get(..head_length)?.split(|byte| *byte == b'\n').find_map(|line| {
        let (name, value) = line.split_at_checked(LENGTH.len())?;
        if name.eq_ignore_ascii_case(LENGTH) { number(value) } else { None }
    });
    let body = head_length + 4..head_length + 4 + length.unwrap_or(0);
    (bytes.len() >= body.end).then_some(body)
}

fn number(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

/// The bytes of a request.
pub fn request(method: &str, path: &str, authorization: &str, body: &str) -> Vec<u8> {
    let content = if body.is_empty() {
        String::new()
    } else {
        format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len())
    };
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {authorization}\r\n{content}\r\n{body}")
        .into_bytes()
}
