use http_body_util::Empty;
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::super::{connector, failure};
use super::*;

type Authority = CertifiedIssuer<'static, KeyPair>;

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A server with a certificate for `name` and these years of validity; without an authority it is
/// self-signed.
async fn server(name: &str, years: (i32, i32), is_ca: bool, by: Option<&Authority>) -> String {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    (params.not_before, params.not_after) =
        (date_time_ymd(years.0, 1, 1), date_time_ymd(years.1, 1, 1));
    if is_ca {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    let certificate =
        by.map_or_else(|| params.self_signed(&key), |by| params.signed_by(&key, by)).unwrap();
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap();
    let config = config
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    let (acceptor, listener) =
        (TlsAcceptor::from(Arc::new(config)), TcpListener::bind("127.0.0.1:0").await.unwrap());
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = acceptor.accept(stream).await;
        }
    });
    address
}

/// The sentence for a request to `url` by a client that trusts `authority`.
async fn told(url: &str, authority: &Authority) -> String {
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone()).unwrap();
    let verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider()).build().unwrap();
    let verifier = Verifier(Arc::into_inner(verifier).unwrap());
    let config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap();
    let config = config
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    let client: Client<_, Empty<Bytes>> =
        Client::builder(TokioExecutor::new()).build(connector(config, None));
    failure(&client.get(url.parse().unwrap()).await.unwrap_err(), url).to_string()
}

#[tokio::test]
async fn each_fault_of_a_certificate_has_plain_words() {
    const NOW: (i32, i32) = (2020, 4000);
    let (ours, other) = (authority("Ours"), authority("Another"));
    for (name, years, is_ca, by, words) in [
        ("127.0.0.1", NOW, false, None, "is self-signed"),
        ("127.0.0.1", NOW, true, None, "is self-signed"),
        (
            "127.0.0.1",
            NOW,
            false,
            Some(&other),
            "was issued by an authority that this machine does not know",
        ),
        ("shop.example", NOW, false, Some(&ours), "is for another name"),
        ("127.0.0.1", (2020, 2021), false, Some(&ours), "has expired"),
        ("127.0.0.1", (3000, 4000), false, Some(&ours), "is not valid yet"),
    ] {
        let address = server(name, years, is_ca, by).await;
        let told = told(&format!("https://{address}/"), &ours).await;
        assert!(told.starts_with("no secure connection to 127.0.0.1: its certificate "), "{told}");
        assert!(told.contains(words), "{words}: {told}");
    }
}

#[tokio::test]
async fn a_port_with_and_without_tls_is_told_from_the_url() {
    let ours = authority("Ours");
    let secure = server("127.0.0.1", (2020, 4000), false, Some(&ours)).await;
    let told_plain = told(&format!("http://{secure}/"), &ours).await;
    assert_eq!(
        told_plain,
        "the server at 127.0.0.1 speaks TLS at this port: write https:// in its address"
    );

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let plain = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
            let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
        }
    });
    let told_secure = told(&format!("https://{plain}/"), &ours).await;
    assert_eq!(told_secure, "no secure connection to 127.0.0.1: it speaks no TLS at this port");
}
