//! Servers on loopback with scripted answers, and requests to a source.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rust_decimal::Decimal;
use tillgate_domain::money::Currency;
use tillgate_domain::time::Timestamp;
use tillgate_machine::outgoing::Proxy;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::super::{Fetcher, Live, Site};
use crate::rates::{Question, RateRules, RateSource, SourceFailure, SourceQuote};

/// Time limit for servers that never answer.
pub const SHORT: Duration = Duration::from_millis(300);

/// Longest wait for an answer. Only a failing test waits this long.
pub const PATIENT: Duration = Duration::from_secs(20);

/// The time of the request in these tests.
pub const ASKED_AT: Timestamp = Timestamp::from_ms(1_800_000_000_000);

pub fn currencies(codes: &[&str]) -> Vec<Currency> {
    codes.iter().map(|code| Currency::from_code(code).unwrap()).collect()
}

pub fn rules(codes: &[&str], sources: &[&'static str]) -> RateRules {
    RateRules {
        min_fresh_sources: 1,
        currencies: currencies(codes),
        sources: sources.to_vec(),
        fixed: Vec::new(),
        proxy: None,
    }
}

/// A site at the address `base` of a test server.
pub fn live(site: &'static Site, base: &str, within: Duration) -> Live {
    Live { site, base: base.to_owned(), fetcher: Arc::new(Fetcher::new(within)) }
}

/// The US dollar quotes of a site at `base`, with their times.
pub async fn ask(
    site: &'static Site,
    base: &str,
    within: Duration,
) -> Result<Vec<(Decimal, Timestamp)>, SourceFailure> {
    ask_through(site, base, within, None).await
}

/// Like [`ask`], through a proxy.
pub async fn ask_through(
    site: &'static Site,
    base: &str,
    within: Duration,
    proxy: Option<Proxy>,
) -> Result<Vec<(Decimal, Timestamp)>, SourceFailure> {
    let rules = RateRules { proxy, ..rules(&["USD"], &[site.name]) };
    let source = live(site, base, within);
    let answered = source.ask(Question { at: ASKED_AT, rules: &rules }).await?;
    Ok(answered.quotes.into_iter().map(|SourceQuote { price, at, .. }| (price, at)).collect())
}

/// A whole HTTP answer.
pub fn answer(head: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// A server with the count of its connections.
pub struct Server {
    pub base: String,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// A server that reads a request's head, and then runs `serve` on the connection.
    pub async fn that<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = io::Result<()>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                if read_head(&mut stream).await.is_ok() {
                    tokio::spawn(serve(stream));
                }
            }
        });
        Self { base, connections }
    }

    /// A server that answers each request with these bytes.
    pub async fn answering(bytes: Vec<u8>) -> Self {
        Self::that(move |mut stream| {
            let bytes = bytes.clone();
            async move { stream.write_all(&bytes).await }
        })
        .await
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

async fn read_head(stream: &mut TcpStream) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    Ok(())
}
