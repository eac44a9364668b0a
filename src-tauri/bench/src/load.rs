//! The load driver: keep-alive HTTP/1.1 over loopback, each connection one request at a time.
//!
//! It implements little of HTTP, to use little of the cores that it shares with the measured
//! program. A single connection is driven by a thread that waits for each answer, as a shop's
//! software does. Several connections are driven by an event loop, which would add a tenth to a
//! payment's time on a single connection.

use std::io::{self, Read as _, Write as _};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The results of a run of requests.
#[derive(Debug, Clone)]
pub struct Run {
    /// Requests answered with 200.
    pub answered: u64,
    /// Requests answered with another status.
    pub refused: u64,
    /// From the first request to the last answer.
    pub took: Duration,
    /// Processor time per request in the measured process, in microseconds; `None` if it was not
    /// measured.
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
        Self {
            answered: 0,
            refused: 0,
            took: Duration::ZERO,
            cpu_us: None,
            latencies_us: Vec::new(),
        }
    }

    /// Answers per second.
    pub fn per_second(&self) -> f64 {
        self.answered as f64 / self.took.as_secs_f64()
    }

    /// The time in milliseconds within which `per_mille` of the answers arrived.
    pub fn quantile_ms(&self, per_mille: usize) -> f64 {
        quantile_ms(&self.latencies_us, per_mille)
    }
}

/// The quantile, in milliseconds, that `per_mille` of the sorted times in microseconds do not
/// exceed.
pub fn quantile_ms(sorted_us: &[u32], per_mille: usize) -> f64 {
    let index = sorted_us.len().saturating_sub(1) * per_mille / 1_000;
    sorted_us.get(index).map_or(0.0, |us| f64::from(*us) / 1_000.0)
}

/// A time in whole microseconds.
pub fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

/// The median of these times and their 99th percentile; sorts them.
pub fn spread_ms(times_us: &mut [u32]) -> String {
    times_us.sort_unstable();
    format!("p50 {:.1} ms, p99 {:.1} ms", quantile_ms(times_us, 500), quantile_ms(times_us, 990))
}

/// The condition that ends a run.
#[derive(Debug, Clone, Copy)]
pub enum Until {
    /// After this time.
    Elapsed(Duration),
    /// After this many requests.
    Requests(u64),
}

impl Until {
    fn is_over(self, started: Instant, number: u64) -> bool {
        match self {
            Self::Elapsed(time) => started.elapsed() >= time,
            Self::Requests(count) => number >= count,
        }
    }
}

/// The answers of one connection.
#[derive(Default)]
struct Tally {
    refused: u64,
    latencies_us: Vec<u32>,
}

impl Tally {
    fn add(&mut self, status: u16, sent: Instant) {
        if status == 200 {
            self.latencies_us.push(u32::try_from(sent.elapsed().as_micros()).unwrap_or(u32::MAX));
        } else {
            self.refused += 1;
        }
    }
}

/// Sends requests over `connections` connections to `port` until the condition `until` holds.
/// `request` returns the bytes of the request with this number.
pub fn drive(
    port: u16,
    connections: usize,
    until: Until,
    request: impl Fn(u64) -> Vec<u8> + Send + Sync + 'static,
) -> io::Result<Run> {
    let started = Instant::now();
    let tallies = match connections {
        1 => vec![alone(port, until, started, request)?],
        _ => together(port, connections, until, started, request)?,
    };
    let mut run = Run { took: started.elapsed(), ..Run::empty() };
    for tally in tallies {
        run.refused += tally.refused;
        run.latencies_us.extend(tally.latencies_us);
    }
    run.answered = run.latencies_us.len() as u64;
    run.latencies_us.sort_unstable();
    Ok(run)
}

fn alone(
    port: u16,
    until: Until,
    started: Instant,
    request: impl Fn(u64) -> Vec<u8>,
) -> io::Result<Tally> {
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    let mut tally = Tally::default();
    let mut buffer = Vec::with_capacity(64 * 1024);
    for number in 0.. {
        if until.is_over(started, number) {
            break;
        }
        let bytes = request(number);
        let sent = Instant::now();
        stream.write_all(&bytes)?;
        tally.add(receive(&mut stream, &mut buffer)?.status, sent);
    }
    Ok(tally)
}

/// Reads one complete answer into `buffer`.
pub fn receive(stream: &mut std::net::TcpStream, buffer: &mut Vec<u8>) -> io::Result<Answer> {
    buffer.clear();
    let mut chunk = [0; 16 * 1024];
    loop {
        let read = stream.read(&mut chunk)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buffer.extend_from_slice(&chunk[..read]);
        if let Some(answer) = answer(buffer)? {
            return Ok(answer);
        }
    }
}

fn together(
    port: u16,
    connections: usize,
    until: Until,
    started: Instant,
    request: impl Fn(u64) -> Vec<u8> + Send + Sync + 'static,
) -> io::Result<Vec<Tally>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async move {
        let (next, request) = (Arc::new(AtomicU64::new(0)), Arc::new(request));
        let tasks: Vec<_> = (0..connections)
            .map(|_| {
                tokio::spawn(connection(
                    port,
                    until,
                    started,
                    Arc::clone(&next),
                    Arc::clone(&request),
                ))
            })
            .collect();
        let mut tallies = Vec::new();
        for task in tasks {
            tallies.push(task.await.map_err(io::Error::other)??);
        }
        Ok(tallies)
    })
}

async fn connection(
    port: u16,
    until: Until,
    started: Instant,
    next: Arc<AtomicU64>,
    request: Arc<impl Fn(u64) -> Vec<u8>>,
) -> io::Result<Tally> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    let mut tally = Tally::default();
    let mut buffer = Vec::with_capacity(8 * 1024);
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if until.is_over(started, number) {
            return Ok(tally);
        }
        let bytes = request(number);
        let sent = Instant::now();
        stream.write_all(&bytes).await?;
        tally.add(next_answer(&mut stream, &mut buffer).await?.status, sent);
    }
}

/// As [`receive`], for an event loop.
async fn next_answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Answer> {
    buffer.clear();
    loop {
        if let Some(answer) = answer(buffer)? {
            return Ok(answer);
        }
        if stream.read_buf(buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// The parts of an HTTP answer that the benchmark reads.
pub struct Answer {
    /// The HTTP status code.
    pub status: u16,
    /// The range of the body in the buffer.
    pub body: Range<usize>,
}

/// The answer at the start of `bytes`, if it is complete.
pub fn answer(bytes: &[u8]) -> io::Result<Option<Answer>> {
    let Some(body) = message_body(bytes) else { return Ok(None) };
    let status = bytes.get(9..12).and_then(number).and_then(|status| u16::try_from(status).ok());
    Ok(Some(Answer {
        status: status.ok_or_else(|| io::Error::other("an answer without a status"))?,
        body,
    }))
}

/// The range of the body in the request or answer at the start of `bytes`, if it is complete.
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
