//! A hostile client attacks the gateway with connections and requests; authenticated clients are
//! still served.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpSocket, TcpStream};

use crate::harness::client::{Client, payment_request, text};
use crate::harness::{Program, Scene, TIMEOUT, Tillgate};

const LIST: &str = "/v2/payments/10/0";

/// `address:port` of a gateway.
fn authority(client: &Client) -> &str {
    client.base().strip_prefix("http://").unwrap()
}

/// The bytes of a request with an API key and without a body.
fn authenticated_request(client: &Client, method: &str, path: &str) -> String {
    let key = client.key().basic();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: {key}\r\n\r\n",
        authority(client)
    )
}

/// A connection to the gateway from one of this machine's own addresses.
async fn connect_from(client: &Client, address: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    // A small buffer here makes unread bytes wait in the gateway.
    socket.set_recv_buffer_size(4_096).unwrap();
    socket.bind(format!("{address}:0").parse().unwrap()).unwrap();
    socket.connect(authority(client).parse().unwrap()).await.unwrap()
}

/// Raises this process's own limit of file descriptors, for the connections of the test.
fn raise_own_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised =
        Rlimit { current: limit.maximum.map(|most| most.min(4_096)).or(Some(4_096)), ..limit };
    setrlimit(Resource::Nofile, raised).unwrap();
}

/// The first line of a response.
async fn status_line(stream: &mut BufReader<TcpStream>) -> String {
    let mut line = String::new();
    let read = tokio::time::timeout(TIMEOUT, stream.read_line(&mut line));
    read.await.expect("a response in time").unwrap();
    line
}

/// Growth of the gateway's peak memory since this value was created, in kilobytes. The growth
/// leaves out the size of a debug build, about 40 MB that vary from run to run.
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

/// A number from `/proc/PID/status` about the gateway's memory, in kilobytes.
fn memory_kb(gateway: &Tillgate, figure: &str) -> u64 {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", gateway.pid().as_raw_nonzero()))
            .unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(figure)).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_do_not_lock_out_clients() {
    raise_own_limit();
    let gateway = Tillgate::start_with_fd_limit(Program::new(), 1_024).await;
    let client = &gateway.client;
    let mut early = BufReader::new(connect_from(client, "127.0.0.1").await);
    early
        .write_all(authenticated_request(client, "GET", "/v2/payments/x").as_bytes())
        .await
        .unwrap();
    assert!(status_line(&mut early).await.contains("404"));
    let mut silent = Vec::new();
    for _ in 0..985 {
        let mut stream = connect_from(client, "127.0.0.1").await;
        stream.write_all(b"G").await.unwrap();
        silent.push(stream);
    }
    client.get(LIST).await.ok();
    assert_eq!(gateway.program().json(&["status"])["serving"], true);
    early
        .write_all(authenticated_request(client, "GET", "/v2/payments/x").as_bytes())
        .await
        .unwrap();
    let mut rest = String::new();
    while !rest.contains("404 Not Found") {
        rest.clear();
        let read = tokio::time::timeout(TIMEOUT, early.read_line(&mut rest))
            .await
            .expect("a response in time")
            .unwrap();
        assert!(read > 0, "the authenticated connection was closed");
    }
    drop(silent);
}

/// Creates 500 payments whose records are as long as possible.
async fn make_fat_payments(s: &Scene) {
    let long_url = format!("{}/{}", s.shop.url(), "u".repeat(1_200));
    let mut fat = payment_request("10.00", &long_url);
    fat["message"] = json!("\\".repeat(500));
    fat["redirectUrls"] = json!({ "expired": long_url, "confirmed": long_url, "invalid": long_url, "unconfirmed": long_url });
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
            stream
                .write_all(authenticated_request(&reader, "GET", "/v2/payments/500/0").as_bytes())
                .await
                .unwrap();
            unread.push(stream);
        }
    }
    for stream in &unread {
        tokio::time::timeout(TIMEOUT, stream.readable())
            .await
            .expect("the beginning of a response")
            .unwrap();
    }
    let mut begun = 0;
    for stream in &unread {
        let mut head = [0; 12];
        let read = stream.try_read(&mut head).unwrap();
        begun += usize::from(head[..read].ends_with(b"200"));
    }
    // On a slow machine the gateway may drop a list that makes no progress, and begin another list
    // in its place.
    assert!((128..160).contains(&begun), "{begun} lists were begun for all keys together");
    let peak_kb = growth.peak_kb();
    assert!(peak_kb < 150_000, "{peak_kb} kB");
}

#[tokio::test(flavor = "multi_thread")]
async fn unread_lists_of_one_key_take_little_memory() {
    let s = Scene::open().await;
    make_fat_payments(&s).await;
    let growth = MemoryGrowth::from_here(&s.gateway);
    let whole = s.get("/v2/payments/500/0").await;
    let items = whole.ok()["items"].as_array().unwrap().len();
    assert_eq!(items, 500);
    let mut unread = Vec::new();
    // One fewer than a key's limit for unread responses, because the key makes another request
    // meanwhile.
    for _ in 0..15 {
        let mut stream = connect_from(&s, "127.0.0.1").await;
        stream
            .write_all(authenticated_request(&s, "GET", "/v2/payments/500/0").as_bytes())
            .await
            .unwrap();
        unread.push(stream);
    }
    for stream in &unread {
        tokio::time::timeout(TIMEOUT, stream.readable())
            .await
            .expect("the beginning of a list")
            .unwrap();
    }
    s.get(LIST).await.ok();
    let peak_kb = growth.peak_kb();
    assert!(peak_kb < 60_000, "{peak_kb} kB for lists of {} bytes", whole.body.len());
    // One of the lists is read in the end, and is complete.
    let mut answer = Vec::new();
    let mut stream = unread.swap_remove(0);
    let mut chunk = vec![0; 1 << 16];
    while !answer.ends_with(b"0\r\n\r\n") && !answer.ends_with(b"\"offset\":0}}") {
        let read = tokio::time::timeout(TIMEOUT, stream.read(&mut chunk))
            .await
            .expect("the rest")
            .unwrap();
        assert!(read > 0, "the list broke off");
        answer.extend_from_slice(&chunk[..read]);
    }
    assert!(answer.len() >= whole.body.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn serde_jsons_private_key_is_an_ordinary_json_key() {
    let s = Scene::open().await;
    // serde_json would parse the text under this key anew, with a new count of nesting levels. So
    // 12 texts of 126 levels each would pass its limit of 128.
    let mut body = "1".to_owned();
    for _ in 0..12 {
        let deep = format!("{}{body}{}", "[".repeat(126), "]".repeat(126));
        body = json!({ "$serde_json::private::RawValue": deep }).to_string();
    }
    let body = format!(r#"{{"ignored":{body}}}"#);
    for path in ["/sandbox/blocks", "/v2/sandbox/reorg", "/v2/payments/new"] {
        let request = s.request(Method::POST, path).header(CONTENT_TYPE, "application/json");
        let answer = s.send(request.body(Body::from(body.clone())).unwrap()).await;
        let expected =
            if path == "/sandbox/blocks" { StatusCode::OK } else { StatusCode::BAD_REQUEST };
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
async fn the_list_of_field_errors_is_bounded() {
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
    let rates: serde_json::Map<String, Value> =
        (0..4_000).map(|n| (format!("X{n}"), json!(1))).collect();
    let answer = s.send_json(Method::PUT, "/sandbox/rates", &Value::Object(rates)).await;
    answer.field_errors(400);
    assert!(answer.body.len() <= 20_000, "{} bytes", answer.body.len());
    let long = "x".repeat(60_000);
    let twice = format!(r#"{{"{long}":1,"{long}":1}}"#).replace(&long, &long[..30_000]);
    let request =
        s.request(Method::POST, "/v2/payments/new").header(CONTENT_TYPE, "application/json");
    let answer = s.send(request.body(Body::from(twice)).unwrap()).await;
    answer.field_errors(400);
    assert!(answer.body.len() <= 20_000, "{} bytes", answer.body.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn event_streams_of_one_peer_leave_room_for_other_peers() {
    raise_own_limit();
    let s = Scene::open().await;
    let mut held = Vec::new();
    for _ in 0..64 {
        let payment = s.new_payment("10.00", s.shop.url()).await;
        let events = format!("/pay/{}/events", text(&payment["paymentId"]));
        for _ in 0..8 {
            let mut stream = BufReader::new(connect_from(&s, "127.0.0.1").await);
            stream.write_all(authenticated_request(&s, "GET", &events).as_bytes()).await.unwrap();
            assert!(status_line(&mut stream).await.contains("200"));
            held.push(stream);
        }
    }
    let payment = s.new_payment("10.00", s.shop.url()).await;
    let events = format!("/pay/{}/events", text(&payment["paymentId"]));
    let mut other = BufReader::new(connect_from(&s, "127.0.0.2").await);
    other.write_all(authenticated_request(&s, "GET", &events).as_bytes()).await.unwrap();
    let line = status_line(&mut other).await;
    assert!(line.contains("200"), "{line}");
}
