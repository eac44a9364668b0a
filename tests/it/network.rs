//! A hostile client attacks the gateway with connections and requests; signed-in clients are still served.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpSocket, TcpStream};

use crate::harness::client::{Client, payment_request, text};
use crate::harness::{PATIENCE, Program, Scene, Tillgate};

const LIST: &str = "/v2/payments/10/0";

/// `address:port` of a gateway.
fn authority(client: &Client) -> &str {
    client.base().strip_prefix("http://").unwrap()
}

/// A signed request without a body, in its form on the wire.
fn signed(client: &Client, method: &str, path: &str) -> String {
    let key = client.key().basic();
    format!("{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: {key}\r\n\r\n", authority(client))
}

/// A connection to the gateway from one of this machine's own addresses.
async fn connect_from(client: &Client, address: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    // Unread bytes then wait in the gateway, not here.
    socket.set_recv_buffer_size(4_096).unwrap();
    socket.bind(format!("{address}:0").parse().unwrap()).unwrap();
    socket.connect(authority(client).parse().unwrap()).await.unwrap()
}

/// Room for this test's own connections.
fn raise_own_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum.map(|most| most.min(4_096)).or(Some(4_096)), ..limit };
    setrlimit(Resource::Nofile, raised).unwrap();
}

/// The first line of an answer.
async fn status_line(stream: &mut BufReader<TcpStream>) -> String {
    let mut line = String::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_line(&mut line));
    read.await.expect("an answer in time").unwrap();
    line
}

/// Growth of the program's peak memory since this was made, in kilobytes. The size of a debug build, some 40 MB that
/// differ from run to run, is left out.
struct MemoryGrowth<'a> {
    gateway: &'a Tillgate,
    before_kb: u64,
}

impl<'a> MemoryGrowth<'a> {
    fn from_here(gateway: &'a Tillgate) -> Self {
        Self { gateway, before_kb: memory_kb(gateway, "VmRSS:") }
    }

    fn peak_kb(&self) -> u64 {
        memory_kb(self.gateway, "VmHWM:").saturating_sub(self.before_kb)
    }
}

/// A figure of the kernel about the program's memory.
fn memory_kb(gateway: &Tillgate, figure: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", gateway.pid().as_raw_nonzero())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(figure)).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_keep_nobody_out() {
    raise_own_limit();
    let gateway = Tillgate::start_with_descriptors(Program::new(), 1_024).await;
    let client = &gateway.client;
    let mut early = BufReader::new(connect_from(client, "127.0.0.1").await);
    early.write_all(signed(client, "GET", "/v2/payments/x").as_bytes()).await.unwrap();
    assert!(status_line(&mut early).await.contains("404"));
    let mut silent = Vec::new();
    for _ in 0..985 {
        let mut stream = connect_from(client, "127.0.0.1").await;
        stream.write_all(b"G").await.unwrap();
        silent.push(stream);
    }
    client.get(LIST).await.ok();
    assert_eq!(gateway.program().json(&["status"])["serving"], true);
    early.write_all(signed(client, "GET", "/v2/payments/x").as_bytes()).await.unwrap();
    let mut rest = String::new();
    while !rest.contains("404 Not Found") {
        rest.clear();
        let read =
            tokio::time::timeout(PATIENCE, early.read_line(&mut rest)).await.expect("an answer in time").unwrap();
        assert!(read > 0, "who had signed in before them was cut off");
    }
    drop(silent);
}

/// A whole list of payments whose records are as long as possible.
async fn make_fat_payments(s: &Scene) {
    let long_url = format!("{}/{}", s.shop.url(), "u".repeat(1_200));
    let mut fat = payment_request("10.00", &long_url);
    fat["message"] = json!("\\".repeat(500));
    fat["redirectUrls"] =
        json!({ "expired": long_url, "confirmed": long_url, "invalid": long_url, "unconfirmed": long_url });
    for _ in 0..500 {
        s.post("/v2/payments/new", &fat).await.ok();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_unread_lists_take_little_memory() {
    raise_own_limit();
    let s = Scene::open().await;
    make_fat_payments(&s).await;
    let growth = MemoryGrowth::from_here(&s.gateway);
    let mut unread = Vec::new();
    for key in 0..20 {
        let reader = s.with_key(s.gateway.program().create_key(&format!("reader_{key}"), &[]));
        for list in 0..50 {
            // One address may hold half of all connections.
            let mut stream = connect_from(&reader, &format!("127.0.0.{}", 2 + list % 4)).await;
            stream.write_all(signed(&reader, "GET", "/v2/payments/500/0").as_bytes()).await.unwrap();
            unread.push(stream);
        }
    }
    for stream in &unread {
        tokio::time::timeout(PATIENCE, stream.readable()).await.expect("the beginning of an answer").unwrap();
    }
    let mut begun = 0;
    for stream in &unread {
        let mut head = [0; 12];
        let read = stream.try_read(&mut head).unwrap();
        begun += usize::from(head[..read].ends_with(b"200"));
    }
    // On a slow machine a list may be given up for lack of progress, which makes room for another.
    assert!((128..160).contains(&begun), "{begun} lists of all keys together are begun");
    let peak_kb = growth.peak_kb();
    assert!(peak_kb < 150_000, "{peak_kb} kB");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_that_nobody_reads_take_little_memory() {
    let s = Scene::open().await;
    make_fat_payments(&s).await;
    let growth = MemoryGrowth::from_here(&s.gateway);
    let whole = s.get("/v2/payments/500/0").await;
    let items = whole.ok()["items"].as_array().unwrap().len();
    assert_eq!(items, 500);
    let mut unread = Vec::new();
    // One fewer than the limit for unread answers of a key, because the key reads another meanwhile.
    for _ in 0..15 {
        let mut stream = connect_from(&s, "127.0.0.1").await;
        stream.write_all(signed(&s, "GET", "/v2/payments/500/0").as_bytes()).await.unwrap();
        unread.push(stream);
    }
    for stream in &unread {
        tokio::time::timeout(PATIENCE, stream.readable()).await.expect("the beginning of a list").unwrap();
    }
    s.get(LIST).await.ok();
    let peak_kb = growth.peak_kb();
    assert!(peak_kb < 60_000, "{peak_kb} kB for lists of {} bytes", whole.body.len());
    // One of them is read after all, and is complete.
    let mut answer = Vec::new();
    let mut stream = unread.swap_remove(0);
    let mut chunk = vec![0; 1 << 16];
    while !answer.ends_with(b"0\r\n\r\n") && !answer.ends_with(b"\"offset\":0}}") {
        let read = tokio::time::timeout(PATIENCE, stream.read(&mut chunk)).await.expect("the rest").unwrap();
        assert!(read > 0, "the list broke off");
        answer.extend_from_slice(&chunk[..read]);
    }
    assert!(answer.len() >= whole.body.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_only_a_library_knows_is_an_ordinary_object() {
    let s = Scene::open().await;
    // Each level is a text that holds the next one, so a parser that unpacks it starts a new count of levels each time.
    let mut body = "1".to_owned();
    for _ in 0..12 {
        let deep = format!("{}{body}{}", "[".repeat(126), "]".repeat(126));
        body = json!({ "$serde_json::private::RawValue": deep }).to_string();
    }
    let body = format!(r#"{{"ignored":{body}}}"#);
    for path in ["/sandbox/blocks", "/v2/sandbox/reorg", "/v2/payments/new"] {
        let request = s.request(Method::POST, path).header(CONTENT_TYPE, "application/json");
        let answer = s.send(request.body(Body::from(body.clone())).unwrap()).await;
        let expected = if path == "/sandbox/blocks" { StatusCode::OK } else { StatusCode::BAD_REQUEST };
        assert_eq!(answer.status, expected, "{path}: {}", answer.text());
    }
    s.get(LIST).await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn another_sites_page_cannot_use_a_browsers_credentials() {
    let s = Scene::open().await;
    let bill = s.confirmed_bill().await;
    let resend = format!("/v2/payments/notify/{}", bill.id);
    for (method, path, status) in [
        (Method::POST, resend.as_str(), 403),
        (Method::GET, resend.as_str(), 403),
        (Method::POST, "/v2/payments/new", 403),
        (Method::POST, "/sandbox/blocks", 403),
        (Method::PUT, "/v2/sandbox/faults", 403),
        (Method::GET, LIST, 200),
    ] {
        let request = s.request(method.clone(), path).header("sec-fetch-site", "cross-site");
        let answer = s.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
    }
    let own = s.request(Method::POST, &resend).header("sec-fetch-site", "same-origin");
    s.send(own.body(Body::empty()).unwrap()).await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_in_a_refusal_is_bounded() {
    let s = Scene::open().await;
    let many = "status=x&".repeat(6_000);
    let answer = s.get(&format!("{LIST}?{many}")).await;
    answer.field_errors(400);
    assert!(answer.body.len() <= 20_000, "{} bytes", answer.body.len());
    let right = "status=NEW&".repeat(4_000);
    assert_eq!(
        s.get(&format!("{LIST}?{right}")).await.field_errors(400),
        [("VALIDATION_FAILED".into(), Some("status".into()))]
    );
    let rates: serde_json::Map<String, Value> = (0..4_000).map(|n| (format!("X{n}"), json!(1))).collect();
    let answer = s.send_json(Method::PUT, "/sandbox/rates", &Value::Object(rates)).await;
    answer.field_errors(400);
    assert!(answer.body.len() <= 20_000, "{} bytes", answer.body.len());
    let long = "x".repeat(60_000);
    let twice = format!(r#"{{"{long}":1,"{long}":1}}"#).replace(&long, &long[..30_000]);
    let request = s.request(Method::POST, "/v2/payments/new").header(CONTENT_TYPE, "application/json");
    let answer = s.send(request.body(Body::from(twice)).unwrap()).await;
    answer.field_errors(400);
    assert!(answer.body.len() <= 20_000, "{} bytes", answer.body.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_follows_payments_leaves_room_for_others() {
    raise_own_limit();
    let s = Scene::open().await;
    let mut held = Vec::new();
    for _ in 0..64 {
        let payment = s.new_payment("10.00", s.shop.url()).await;
        let events = format!("/pay/{}/events", text(&payment["paymentId"]));
        for _ in 0..8 {
            let mut stream = BufReader::new(connect_from(&s, "127.0.0.1").await);
            stream.write_all(signed(&s, "GET", &events).as_bytes()).await.unwrap();
            assert!(status_line(&mut stream).await.contains("200"));
            held.push(stream);
        }
    }
    let payment = s.new_payment("10.00", s.shop.url()).await;
    let events = format!("/pay/{}/events", text(&payment["paymentId"]));
    let mut other = BufReader::new(connect_from(&s, "127.0.0.2").await);
    other.write_all(signed(&s, "GET", &events).as_bytes()).await.unwrap();
    let line = status_line(&mut other).await;
    assert!(line.contains("200"), "{line}");
}
