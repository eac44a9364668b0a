//! A shop that receives notifications.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::fallible::Fallible;
use crate::load::{self, Until};

/// A notification that takes longer counts as lost.
const LOST_AFTER: Duration = Duration::from_secs(60);

type Arrivals = Arc<Mutex<HashMap<String, Instant>>>;

/// A shop that accepts every notification and records the time of the first one for each payment.
pub struct Shop {
    /// The port of its listener.
    pub port: u16,
    arrivals: Arrivals,
    _runtime: tokio::runtime::Runtime,
}

impl Shop {
    /// Listens on a free port.
    pub fn open() -> Fallible<Self> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
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

    /// The body of a request for a payment with notifications to this shop.
    pub fn order_of(&self, number: u64) -> String {
        format!(
            r#"{{"amount":"20.00","currency":"USD","notificationUrl":"http://127.0.0.1:{}/shop","message":"","merchantTransactionId":"{number}"}}"#,
            self.port
        )
    }

    /// Requests `count` payments from the gateway on `port`.
    pub fn order(&self, port: u16, authorization: &str, count: u64) -> Fallible<()> {
        let orders: Vec<_> = (0..count)
            .map(|number| {
                load::request("POST", "/v2/payments/new", authorization, &self.order_of(number))
            })
            .collect();
        let order = move |number| {
            usize::try_from(number).ok().and_then(|at| orders.get(at).cloned()).unwrap_or_default()
        };
        let made = load::drive(port, 64, Until::Requests(count), order)?;
        if made.answered < count {
            Err(format!("only {} of {count} payments were made", made.answered).into())
        } else {
            Ok(())
        }
    }

    /// Waits for a payment's first notification and returns its time.
    pub fn wait_for(&self, id: &str) -> Fallible<Instant> {
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
            arrivals
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .entry(id.to_owned())
                .or_insert(at);
        }
        buffer.drain(..body.end);
        if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.is_err() {
            return;
        }
    }
}
