//! Connections: TLS, slow clients, and a stop that lets running requests end.

use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tillgate_gateway::testing::World;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;

use super::shop::Shop;
use crate::{Http, Limits, Surface, serve, tls};

#[tokio::test]
async fn a_client_that_pins_the_self_signed_certificate_is_served() {
    let world = World::new().await;
    let folder = tempfile::tempdir().unwrap();
    let acceptor = tls::self_signed(folder.path(), vec!["localhost".to_owned()]).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let http = Http::new(Arc::clone(&world.app), Limits::with_descriptors(1_024));
    let served = tokio::spawn(serve(http, listener, Surface::Api, Some(acceptor), stop.clone()));
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(folder.path().join("tls-certificate.pem")).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    stream
        .write_all(b"GET /v2/anomalies HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    // The gateway may close the connection without a TLS `close_notify`. The answer is complete all
    // the same.
    let _ = stream.read_to_string(&mut answer).await;
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    stop.cancel();
    served.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_stop_finishes_running_requests_and_refuses_connections() {
    let shop = Shop::open().await;
    let mut stream = TcpStream::connect(&shop.authority).await.unwrap();
    let body = super::shop::order().to_string();
    let (authority, authorization, length) = (&shop.authority, &shop.authorization, body.len());
    let head = format!(
        "POST /v2/payments/new HTTP/1.1\r\nhost: {authority}\r\nauthorization: {authorization}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\nexpect: 100-continue\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut started = [0u8; 25];
    // `100 Continue` shows that the gateway is reading the body.
    stream.read_exact(&mut started).await.unwrap();
    assert_eq!(&started[..], b"HTTP/1.1 100 Continue\r\n\r\n");
    shop.stop.cancel();
    while TcpStream::connect(&shop.authority).await.is_ok() {
        tokio::task::yield_now().await;
    }
    stream.write_all(body.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn requests_whose_bodies_never_arrive_block_no_other_client() {
    let limits =
        Limits { connections: 4, connections_per_peer: 4, ..Limits::with_descriptors(1_024) };
    let shop = Shop::serve_within(World::new().await, limits).await;
    let (authority, authorization) = (&shop.authority, &shop.authorization);
    let head = format!(
        "POST /v2/payments/new HTTP/1.1\r\nhost: {authority}\r\nauthorization: {authorization}\r\n\
         content-type: application/json\r\ncontent-length: 50\r\nexpect: 100-continue\r\n\r\n"
    );
    let mut slow = Vec::new();
    for _ in 0..4 {
        let mut stream = TcpStream::connect(authority).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut started = [0u8; 25];
        stream.read_exact(&mut started).await.unwrap();
        stream.write_all(b"{").await.unwrap();
        slow.push(stream);
    }
    let mut other = TcpStream::connect(authority).await.unwrap();
    let request =
        format!("GET /v2/openapi.json HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n\r\n");
    other.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    other.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let mut rest = Vec::new();
    // The gateway closes the connection with a byte unread, so the end may be a TCP reset.
    let _ = slow[0].read_to_end(&mut rest).await;
    assert!(rest.is_empty(), "the oldest connection was closed without an answer");
}

#[tokio::test]
async fn a_client_that_never_reads_its_answers_is_disconnected() {
    let limits =
        Limits { write_timeout: Duration::from_millis(200), ..Limits::with_descriptors(1_024) };
    let shop = Shop::serve_within(World::new().await, limits).await;
    let stream = TcpStream::connect(&shop.authority).await.unwrap();
    let (_unread, mut asking) = stream.into_split();
    let (authority, authorization) = (&shop.authority, &shop.authorization);
    let request = format!(
        "GET /v2/openapi.json HTTP/1.1\r\nhost: {authority}\r\nauthorization: {authorization}\r\n\r\n"
    );
    let many = request.repeat(100);
    let cut_off = async { while asking.write_all(many.as_bytes()).await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(30), cut_off)
        .await
        .expect("the gateway ends the connection");
}
