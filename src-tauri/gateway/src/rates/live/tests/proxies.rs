//! With the setting `proxy`, every request is sent through the proxy.

use tillgate_domain::rates::NoAnswer;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use super::super::mempool;
use super::support::{PATIENT, Server, answer, ask_through};
use crate::testing::socks;

const MEMPOOL: &str = include_str!("../fixtures/mempool.json");

#[tokio::test]
async fn the_proxy_resolves_the_servers_name() {
    let server = Server::answering(answer("200 OK", MEMPOOL)).await;
    let (proxy, names) = socks::leading_to(server.base.trim_start_matches("http://")).await;
    // No resolver knows a name below `invalid`.
    let quotes = ask_through(&mempool::SITE, "http://rates.invalid:8080", PATIENT, Some(proxy))
        .await
        .unwrap();
    assert_eq!(quotes[0].0.to_string(), "43753");
    assert_eq!(*names.lock().unwrap(), ["rates.invalid:8080"]);
}

#[tokio::test]
async fn without_its_proxy_a_source_is_not_asked_at_all() {
    // An address that needs no resolver, and is not this machine's.
    let failed = ask_through(&mempool::SITE, "http://192.0.2.1", PATIENT, Some(socks::gone()))
        .await
        .unwrap_err();
    assert!(failed.why.message.contains("the proxy socks5h://127.0.0.1:"), "{}", failed.why);
    assert_eq!(failed.kind, NoAnswer::Unreachable);
}

#[tokio::test]
async fn a_proxys_refusal_is_reported() {
    for (bytes, words) in [
        (&b"\x05\xff"[..], "wants a user and a password"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak SOCKS5"),
        (b"\x05\x00\x05\x05\x00\x01", "the server refuses connections"),
        (b"\x05\x00\x05\x04\x00\x01", "cannot find the server"),
        (b"\x05\x00\x05\x00\x00\x09", "does not speak SOCKS5"),
        (b"\x05", "closed the connection"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = format!("socks5h://{}", listener.local_addr().unwrap()).parse().unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(bytes).await.unwrap();
            stream.shutdown().await.unwrap();
            // Waits until the client closes the connection: closing it here with unread bytes would
            // reset it.
            let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
        });
        let failed = ask_through(&mempool::SITE, "http://rates.invalid", PATIENT, Some(proxy))
            .await
            .unwrap_err();
        assert!(failed.why.message.contains(words), "{} for {bytes:?}", failed.why);
    }
}
