//! From a transaction in the sandbox's mempool to the notification at the shop.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::Fallible;
use crate::client::Client;
use crate::load::{self, Until};
use crate::process::{self, Served};
use crate::report::Report;

/// Open payments among which the paid one is found.
const OPEN: u64 = 10_000;

/// Payments that are paid, one after the other.
const PAID: u32 = 300;

/// A notification that is later than this is lost.
const LOST_AFTER: Duration = Duration::from_secs(10);

/// Adds the figures.
pub fn measure(report: &mut Report) -> Fallible<()> {
    let folder = process::data_dir()?;
    let served = Served::start(folder.path())?;
    let authorization = process::authorization(folder.path())?;
    let shop = Shop::open()?;
    let (url, header) = (format!("http://127.0.0.1:{}/shop", shop.port), authorization.clone());
    let made = load::drive(served.port, 64, Until::Requests(OPEN), move |number| {
        let body = format!(
            r#"{{"amount":"20.00","currency":"USD","notificationUrl":"{url}","message":"","merchantTransactionId":"{number}"}}"#
        );
        load::request("POST", "/v2/payments/new", &header, &body)
    })?;
    if made.answered < OPEN {
        return Err(format!("only {} of {OPEN} payments were made", made.answered).into());
    }
    let mut client = Client::connect(served.port, &authorization)?;
    let (mut arrivals_us, mut calls_us) = (Vec::new(), Vec::new());
    for id in client.payment_ids(PAID, 5_000)? {
        let sent = Instant::now();
        let (_, call) = client.call("POST", &format!("/v2/sandbox/payments/{id}/pay"), "{}")?;
        let arrived = shop.wait_for(&id)?;
        arrivals_us.push(micros(arrived.saturating_duration_since(sent)));
        calls_us.push(micros(call));
    }
    let figure = |times: &mut Vec<u32>| {
        times.sort_unstable();
        let (p50, p99) = (load::quantile_ms(times, 500), load::quantile_ms(times, 990));
        format!("p50 {p50:.1} ms, p99 {p99:.1} ms")
    };
    let call = figure(&mut calls_us);
    let what = "mempool to notification, 10,000 open payments";
    report.add(what, figure(&mut arrivals_us), &format!("the sandbox's call itself {call}"), None);
    Ok(())
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

type Arrivals = Arc<Mutex<HashMap<String, Instant>>>;

/// A shop that takes every notification and notes when the first one of each payment came.
struct Shop {
    port: u16,
    arrivals: Arrivals,
    _runtime: tokio::runtime::Runtime,
}

impl Shop {
    fn open() -> Fallible<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let port = listener.local_addr()?.port();
        let arrivals = Arrivals::default();
        let noted = Arc::clone(&arrivals);
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(take(stream, Arc::clone(&noted)));
            }
        });
        Ok(Self { port, arrivals, _runtime: runtime })
    }

    fn wait_for(&self, id: &str) -> Fallible<Instant> {
        let deadline = Instant::now() + LOST_AFTER;
        while Instant::now() < deadline {
            if let Some(at) = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner).get(id) {
                return Ok(*at);
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        Err(format!("no notification of payment {id} within {LOST_AFTER:?}").into())
    }
}

/// Answers each request of a connection with 200.
async fn take(mut stream: TcpStream, arrivals: Arrivals) {
    let mut buffer = Vec::new();
    while let Ok(1..) = stream.read_buf(&mut buffer).await {
        let Some(body) = load::message_body(&buffer) else { continue };
        let at = Instant::now();
        let record: Value = serde_json::from_slice(&buffer[body.clone()]).unwrap_or_default();
        if let Some(id) = record["paymentId"].as_str() {
            arrivals.lock().unwrap_or_else(PoisonError::into_inner).entry(id.to_owned()).or_insert(at);
        }
        buffer.drain(..body.end);
        if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.is_err() {
            return;
        }
    }
}
