//! A client for single requests outside a load run.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fallible::Fallible;
use crate::load;

/// Most payments on a page. Longer pages are chunked, and `load::receive` cannot read chunks.
const PAGE: u32 = 50;

/// A client of the API with a connection of its own.
pub struct Client {
    stream: TcpStream,
    authorization: String,
}

impl Client {
    /// Connects to the API on `port`.
    pub fn connect(port: u16, authorization: &str) -> Fallible<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(Self { stream, authorization: authorization.to_owned() })
    }

    /// Returns the JSON of the answer and the time it took; any status but 200 is an error.
    pub fn call(&mut self, method: &str, path: &str, body: &str) -> Fallible<(Value, Duration)> {
        let request = load::request(method, path, &self.authorization, body);
        let sent = Instant::now();
        self.stream.write_all(&request)?;
        let mut buffer = Vec::new();
        let answer = load::receive(&mut self.stream, &mut buffer)?;
        let took = sent.elapsed();
        let body = String::from_utf8_lossy(&buffer[answer.body]);
        if answer.status != 200 {
            return Err(format!("{method} {path} answered {}: {body}", answer.status).into());
        }
        Ok((serde_json::from_str(&body)?, took))
    }

    /// The ids of `count` payments of the list, from `offset` on.
    pub fn payment_ids(&mut self, count: u32, offset: u64) -> Fallible<Vec<String>> {
        let mut ids = Vec::new();
        for from in (0..count).step_by(PAGE as usize) {
            let path =
                format!("/v2/payments/{}/{}", (count - from).min(PAGE), offset + u64::from(from));
            let (page, _) = self.call("GET", &path, "")?;
            let items = page["items"].as_array().ok_or("a list without items")?;
            ids.extend(
                items.iter().filter_map(|item| item["paymentId"].as_str().map(str::to_owned)),
            );
        }
        Ok(ids)
    }
}
