//! Requests to servers that answer, and to servers that misbehave.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use tillgate_domain::money::Currency;
use tillgate_domain::rates::NoAnswer;
use tillgate_store::Store;
use tokio::io::AsyncWriteExt as _;

use super::super::{SITES, bitstamp, coinbase, coingecko, kraken, mempool};
use super::support::{ASKED_AT, PATIENT, SHORT, Server, answer, ask, live, rules};
use crate::rates::{Question, RateSource, Rates, SourceAnswer};

const MEMPOOL: &str = include_str!("../fixtures/mempool.json");
const MINUTE: i64 = 60_000;

/// Requests to a server: path and query, and the headers.
type Requests = Arc<Mutex<Vec<(String, HeaderMap)>>>;

/// All five sites in one server, with their usual answers.
async fn all_sites() -> (String, Requests) {
    async fn serve(State(requests): State<Requests>, uri: Uri, headers: HeaderMap) -> &'static str {
        requests.lock().unwrap().push((uri.to_string(), headers));
        match uri.path() {
            "/0/public/Ticker" => include_str!("../fixtures/kraken.json"),
            "/v2/exchange-rates" => include_str!("../fixtures/coinbase.json"),
            "/api/v2/ticker/" => include_str!("../fixtures/bitstamp.json"),
            "/api/v3/simple/price" => include_str!("../fixtures/coingecko.json"),
            "/api/v1/prices" => MEMPOOL,
            other => panic!("no site has the path {other}"),
        }
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let requests = Requests::default();
    let router = Router::new().fallback(serve).with_state(Arc::clone(&requests));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (base, requests)
}

async fn refusal(bytes: Vec<u8>) -> (String, NoAnswer) {
    let server = Server::answering(bytes).await;
    let failed = ask(&mempool::SITE, &server.base, PATIENT).await.unwrap_err();
    (failed.why.message, failed.kind)
}

#[tokio::test]
async fn each_site_is_asked_once_and_its_quotes_are_read() {
    let (base, requests) = all_sites().await;
    for (site, price) in [
        (&kraken::SITE, "27712.05"),
        (&coinbase::SITE, "4360.60"),
        (&bitstamp::SITE, "26209.5"),
        (&coingecko::SITE, "67187.3358936566"),
        (&mempool::SITE, "43753"),
    ] {
        let quotes = ask(site, &base, PATIENT).await.unwrap();
        assert_eq!(
            quotes.iter().map(|(price, _)| *price).collect::<Vec<_>>(),
            [price.parse().unwrap()],
            "{}",
            site.name
        );
        assert!(quotes[0].1 <= ASKED_AT);
    }
    let requests = requests.lock().unwrap();
    let asked: Vec<&str> = requests.iter().map(|(uri, _)| uri.as_str()).collect();
    assert_eq!(
        asked,
        [
            "/0/public/Ticker?pair=XBTUSD",
            "/v2/exchange-rates?currency=BTC",
            "/api/v2/ticker/",
            "/api/v3/simple/price?ids=bitcoin&vs_currencies=usd&include_last_updated_at=true&precision=4",
            "/api/v1/prices",
        ]
    );
    for (_, headers) in requests.iter() {
        assert_eq!(headers["accept-encoding"], "identity");
        assert!(headers["user-agent"].to_str().unwrap().starts_with("Tillgate/"));
        assert!(!headers.contains_key("cookie") && !headers.contains_key("referer"));
    }
}

#[tokio::test]
async fn a_site_without_the_wanted_currencies_is_not_asked() {
    let (base, requests) = all_sites().await;
    let source = live(&mempool::SITE, &base, PATIENT);
    let rules = rules(&["ZAR"], &["mempool"]);
    let quotes = source.ask(Question { at: ASKED_AT, rules: &rules }).await;
    assert_eq!(quotes, Ok(SourceAnswer::default()));
    assert!(requests.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_quotes_age_is_measured_by_the_servers_clock() {
    // The server's clock is years behind ours, and this does not change the quote's age.
    let said_at = "Fri, 22 Dec 2023 13:40:11 GMT";
    for (headers, age_ms) in [
        (format!("date: {said_at}"), 0),
        ("date: Fri, 22 Dec 2023 13:42:11 GMT".to_owned(), 2 * MINUTE),
        ("date: Fri, 22 Dec 2023 13:40:01 GMT".to_owned(), 0),
        (format!("date: {said_at}\r\nage: 60"), MINUTE),
        (format!("date: {said_at}\r\nage: x"), 24 * 60 * MINUTE),
    ] {
        let server = Server::answering(answer(&format!("200 OK\r\n{headers}"), MEMPOOL)).await;
        let quotes = ask(&mempool::SITE, &server.base, PATIENT).await.unwrap();
        assert_eq!(quotes[0].1, ASKED_AT.plus_ms(-age_ms), "{headers}");
    }
    let server = Server::answering(answer("200 OK", MEMPOOL)).await;
    let quotes = ask(&mempool::SITE, &server.base, PATIENT).await.unwrap();
    assert_eq!(quotes[0].1.ms(), 1_703_252_411_000, "without a date the quote's own time is used");
}

#[tokio::test]
async fn the_age_of_a_cached_answer_is_added_to_the_servers_time() {
    for (headers, told_ms) in [
        ("", None),
        ("date: Fri, 22 Dec 2023 13:40:11 GMT", Some(1_703_252_411_000)),
        ("date: Fri, 22 Dec 2023 13:40:11 GMT\r\nage: 60", Some(1_703_252_471_000)),
        ("date: at noon", None),
    ] {
        let server =
            Server::answering(answer(format!("200 OK\r\nx: y\r\n{headers}").trim_end(), MEMPOOL))
                .await;
        let (source, rules) =
            (live(&mempool::SITE, &server.base, PATIENT), rules(&["USD"], &["mempool"]));
        let answered = source.ask(Question { at: ASKED_AT, rules: &rules }).await.unwrap();
        assert_eq!(answered.server_time.map(|time| time.ms()), told_ms, "{headers}");
    }
}

#[tokio::test]
async fn html_errors_and_compressed_answers_are_refused_with_a_reason() {
    for (bytes, words) in [
        (
            answer("200 OK\r\ncontent-type: text/html", "<!DOCTYPE html><p>Soon back</p>"),
            "not the JSON",
        ),
        (answer("200 OK", r#"{"time":1703252411,"USD":"43753"}"#), "is a string, not a number"),
        (
            answer("200 OK", r#"{"time":1703252411,"USD":0}"#),
            "no price that one Bitcoin could have",
        ),
        (answer("200 OK", r#"{"time":1703252411,"USD":4.3e4}"#), "not a plain decimal number"),
        (answer("200 OK", ""), "not the JSON"),
        (answer("200 OK\r\ncontent-encoding: gzip", "\u{1f}"), "compressed"),
        (answer("200 OK\r\ncontent-encoding: br", MEMPOOL), "compressed"),
        (answer("500 Internal Server Error", MEMPOOL), "500"),
        (answer("404 Not Found", MEMPOOL), "404"),
        (answer("203 Non-Authoritative Information", MEMPOOL), "203"),
        (answer("204 No Content", ""), "204"),
    ] {
        let (why, kind) = refusal(bytes).await;
        assert!(why.contains(words), "{why}");
        assert_eq!(kind, NoAnswer::Refused, "{why}");
    }
    assert!(matches!(refusal(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()).await.1, NoAnswer::Unreachable));
}

#[tokio::test]
async fn a_redirect_to_this_machine_is_not_followed() {
    let inner = Server::answering(answer("200 OK", MEMPOOL)).await;
    for code in [
        "301 Moved Permanently",
        "302 Found",
        "303 See Other",
        "307 Temporary Redirect",
        "308 Permanent Redirect",
    ] {
        let (why, _) =
            refusal(answer(&format!("{code}\r\nlocation: {}/api/v1/prices", inner.base), MEMPOOL))
                .await;
        assert!(why.contains("redirects are not followed"), "{why}");
    }
    assert_eq!(inner.connections(), 0);
}

#[tokio::test]
async fn the_header_retry_after_is_read() {
    let wait = async |head: &str| match refusal(answer(head, "")).await.1 {
        NoAnswer::TooOften { wait_ms } => wait_ms,
        other => panic!("{other:?}"),
    };
    assert_eq!(wait("429 Too Many Requests").await, None);
    assert_eq!(wait("429 Too Many Requests\r\nretry-after: 600").await, Some(600_000));
    assert_eq!(wait("503 Service Unavailable\r\nretry-after: 7").await, Some(7_000));
    let date = "date: Sun, 06 Nov 1994 08:00:00 GMT\r\nretry-after: Sun, 06 Nov 1994 08:10:00 GMT";
    assert_eq!(
        wait(&format!("429 Too Many Requests\r\n{date}")).await,
        Some(600_000),
        "by the server's clock"
    );
    assert_eq!(
        wait("429 Too Many Requests\r\nretry-after: 99999999999999999999").await,
        Some(i64::MAX)
    );
    assert_eq!(wait("429 Too Many Requests\r\nretry-after: soon").await, None);
}

#[tokio::test]
async fn a_request_ends_after_its_time_limit() {
    let silent = Server::that(|stream| async move {
        std::future::pending::<()>().await;
        drop(stream);
        Ok(())
    })
    .await;
    // Sends a byte now and then, so that no single pause reaches the time limit.
    let drip = Server::that(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n").await?;
        loop {
            stream.write_all(b" ").await?;
            tokio::task::yield_now().await;
            tokio::time::sleep(SHORT / 10).await;
        }
    })
    .await;
    for server in [silent, drip] {
        let failed = ask(&mempool::SITE, &server.base, SHORT).await.unwrap_err();
        assert!(failed.why.message.contains("did not answer within"), "{}", failed.why);
        assert_eq!(failed.kind, NoAnswer::Unreachable);
    }
}

#[tokio::test]
async fn a_flood_is_cut_off_after_256_kib() {
    let flood = |head: &'static [u8], part: &'static [u8]| {
        Server::that(move |mut stream| async move {
            stream.write_all(head).await?;
            loop {
                stream.write_all(part).await?;
            }
        })
    };
    let body = b"HTTP/1.1 200 OK\r\ncontent-length: 100000000000\r\n\r\n";
    let chunks = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    for server in [
        flood(body, &[b' '; 4_096]).await,
        flood(chunks, b"5\r\n     \r\n").await,
        flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n").await,
    ] {
        let failed = ask(&mempool::SITE, &server.base, PATIENT).await.unwrap_err();
        assert!(failed.why.message.contains("256 KiB"), "{}", failed.why);
    }
}

#[tokio::test]
async fn an_incomplete_or_absent_answer_is_a_failure() {
    let whole = answer("200 OK", MEMPOOL);
    let (why, kind) = refusal(whole[..whole.len() - 5].to_vec()).await;
    assert!(why.contains("cut off") && kind == NoAnswer::Unreachable, "{why}");
    let (why, _) = refusal(Vec::new()).await;
    assert!(why.contains("closed the connection"), "{why}");
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let failed = ask(&mempool::SITE, &closed, PATIENT).await.unwrap_err();
    assert_eq!(failed.why.message, "the server refuses connections");
}

#[tokio::test]
async fn a_self_signed_certificate_is_refused() {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    let config =
        config.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key).unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(mut stream) = acceptor.accept(stream).await {
                stream.write_all(&answer("200 OK", MEMPOOL)).await.unwrap();
            }
        }
    });
    let failed = ask(&mempool::SITE, &base, PATIENT).await.unwrap_err();
    assert!(failed.why.message.contains("no secure connection to 127.0.0.1"), "{}", failed.why);
}

#[tokio::test]
async fn a_retry_after_of_one_source_does_not_stop_the_rates() {
    let busy = Server::answering(answer("429 Too Many Requests\r\nretry-after: 600", "")).await;
    let (base, _) = all_sites().await;
    let sources: Vec<Box<dyn RateSource>> = vec![
        Box::new(live(&mempool::SITE, &busy.base, PATIENT)),
        Box::new(live(&coinbase::SITE, &base, PATIENT)),
    ];
    let rates = Rates::new(sources, rules(&["USD"], &["mempool", "coinbase"]));
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("gateway.db")).unwrap();
    for minute in 0..10 {
        let now = ASKED_AT.plus_ms(minute * MINUTE);
        rates.refresh_once(&store, now).await.unwrap();
        assert_eq!(rates.rate_for(Currency::USD, now).unwrap().rate.format(), "4360.6000");
        assert_eq!(busy.connections(), 1, "minute {minute}");
    }
    let why = rates.source_rows().iter().find_map(|source| source.failed.clone()).unwrap();
    assert!(why.message.contains("429"), "{why}");
    rates.refresh_once(&store, ASKED_AT.plus_ms(11 * MINUTE + 1_000)).await.unwrap();
    assert_eq!(busy.connections(), 2);
}

#[tokio::test]
async fn sources_are_asked_at_the_same_time() {
    // The server answers no request before it has all five.
    let together = Arc::new(tokio::sync::Barrier::new(SITES.len()));
    let server = {
        let together = Arc::clone(&together);
        Server::that(move |mut stream| {
            let together = Arc::clone(&together);
            async move {
                together.wait().await;
                stream.write_all(&answer("200 OK", MEMPOOL)).await
            }
        })
        .await
    };
    let sources =
        SITES.map(|site| Box::new(live(site, &server.base, PATIENT)) as Box<dyn RateSource>);
    let rates = Rates::new(sources.into(), rules(&["USD"], &super::super::live_sources()));
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("gateway.db")).unwrap();
    rates.refresh_once(&store, ASKED_AT).await.unwrap();
    assert_eq!(server.connections(), SITES.len());
    let answered = rates.source_rows().into_iter().filter(|source| source.failed.is_none()).count();
    assert_eq!(answered, 1, "only mempool's reader accepts this answer");
}
