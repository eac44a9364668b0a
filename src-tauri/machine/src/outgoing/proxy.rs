//! A SOCKS5 proxy (RFC 1928), such as Tor. It is given the server's name, so that no resolver of
//! this machine learns it. The handshake reads no byte beyond the proxy's reply: the SOCKS client
//! of `hyper-util` discards such bytes, and a ZMQ server sends first.

use std::net::IpAddr;
use std::str::FromStr;
use std::{fmt, io};

use hyper::Uri;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use url::Url;

use super::resolve::{is_onion, is_this_machine};

/// The URL scheme for a proxy that resolves names.
const SCHEME: &str = "socks5h";

const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// The address of a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    host: String,
    port: u16,
}

/// A text that is not a proxy's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error("a URL like socks5h://127.0.0.1:9050, without user and path")]
pub struct NotAProxy;

/// Reason why a proxy makes no connection.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum ProxyError {
    #[error("the proxy {proxy} cannot be reached: {why}")]
    Unreachable {
        /// Its address.
        proxy: String,
        /// The system's reason.
        why: String,
    },
    #[error("the proxy closed the connection: {0}")]
    Broken(#[from] io::Error),
    #[error("the proxy does not speak SOCKS5")]
    NotSocks,
    #[error("the proxy wants a user and a password, which cannot be given")]
    WantsPassword,
    #[error("the proxy made no connection: {0}")]
    Refused(&'static str),
    #[error("the proxy cannot be given this name")]
    Name,
}

impl ProxyError {
    pub(super) fn unreachable(proxy: &Proxy, error: impl std::error::Error) -> Self {
        let mut deepest: &dyn std::error::Error = &error;
        while let Some(cause) = deepest.source() {
            deepest = cause;
        }
        Self::Unreachable { proxy: proxy.to_string(), why: deepest.to_string() }
    }
}

impl Proxy {
    /// Whether connections to `host` take this proxy: all but those to this machine.
    pub fn serves(&self, host: &str) -> bool {
        !is_this_machine(host)
    }

    pub(super) fn address(&self) -> (&str, u16) {
        (&self.host, self.port)
    }

    /// The URI to connect to.
    pub(super) fn uri(&self) -> Result<Uri, ProxyError> {
        format!("http://{}:{}", self.host, self.port).parse().map_err(|_| ProxyError::Name)
    }

    /// Has the proxy behind `stream` connect to the server of `target`. Afterwards the stream
    /// carries that server's bytes.
    pub(super) async fn through(
        &self,
        mut stream: TcpStream,
        target: &Uri,
    ) -> Result<TcpStream, ProxyError> {
        let request = request(target)?;
        stream.write_all(&[VERSION, 1, NO_AUTHENTICATION]).await?;
        match read_array::<2>(&mut stream).await? {
            [VERSION, NO_AUTHENTICATION] => {}
            [VERSION, _] => return Err(ProxyError::WantsPassword),
            _ => return Err(ProxyError::NotSocks),
        }
        stream.write_all(&request).await?;
        let [version, reply, _, kind] = read_array::<4>(&mut stream).await?;
        if version != VERSION {
            return Err(ProxyError::NotSocks);
        }
        if reply != 0 {
            return Err(ProxyError::Refused(refusal(reply)));
        }
        // The address and port of the proxy's own end follow; they are read and ignored.
        let length = match kind {
            IPV4 => 4,
            IPV6 => 16,
            NAME => usize::from(read_array::<1>(&mut stream).await?[0]),
            _ => return Err(ProxyError::NotSocks),
        };
        stream.read_exact(&mut vec![0; length + 2]).await?;
        Ok(stream)
    }
}

impl FromStr for Proxy {
    type Err = NotAProxy;

    fn from_str(text: &str) -> Result<Self, NotAProxy> {
        let url = Url::parse(text).map_err(|_| NotAProxy)?;
        let plain = url.scheme() == SCHEME
            && url.username().is_empty()
            && url.password().is_none()
            && matches!(url.path(), "" | "/")
            && url.query().is_none()
            && url.fragment().is_none();
        let host = url.host_str().filter(|host| plain && is_host(host)).ok_or(NotAProxy)?;
        let port = url.port().filter(|port| *port != 0).ok_or(NotAProxy)?;
        Ok(Self { host: host.to_ascii_lowercase(), port })
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}://{}:{}", self.host, self.port)
    }
}

fn is_host(host: &str) -> bool {
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_name =
        host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'));
    inner.is_some_and(|inner| inner.parse::<IpAddr>().is_ok())
        || (is_name && !host.is_empty() && !is_onion(host))
}

/// The request to connect to the server of `target` by name.
fn request(target: &Uri) -> Result<Vec<u8>, ProxyError> {
    let host = target.host().ok_or(ProxyError::Name)?;
    let port =
        target.port_u16().unwrap_or(if target.scheme_str() == Some("https") { 443 } else { 80 });
    let mut request = vec![VERSION, CONNECT, 0];
    match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => {
            request.push(IPV4);
            request.extend(address.octets());
        }
        Ok(IpAddr::V6(address)) => {
            request.push(IPV6);
            request.extend(address.octets());
        }
        Err(_) => {
            request.push(NAME);
            request.push(u8::try_from(host.len()).map_err(|_| ProxyError::Name)?);
            request.extend(host.as_bytes());
        }
    }
    request.extend(port.to_be_bytes());
    Ok(request)
}

async fn read_array<const N: usize>(stream: &mut TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}

const fn refusal(reply: u8) -> &'static str {
    match reply {
        2 => "its rules forbid it",
        3 => "it cannot reach the network",
        4 => "it cannot find the server",
        5 => "the server refuses connections",
        6 => "the server did not answer in time",
        7 | 8 => "it cannot do what it was asked for",
        _ => "it failed",
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn a_proxy_is_named_by_a_url_with_a_port_and_nothing_else() {
        for text in ["socks5h://127.0.0.1:9050", "socks5h://[::1]:9050", "socks5h://tor.local:1080"]
        {
            assert_eq!(text.parse::<Proxy>().map(|proxy| proxy.to_string()).as_deref(), Ok(text));
        }
        for text in [
            "",
            "127.0.0.1:9050",
            "socks5://127.0.0.1:9050",
            "http://127.0.0.1:9050",
            "socks5h://127.0.0.1",
            "socks5h://user:word@127.0.0.1:9050",
            "socks5h://127.0.0.1:9050/x",
            "socks5h://127.0.0.1:9050?x",
            "socks5h://127.0.0.1:0",
            "socks5h://:9050",
            "socks5h://a b:9050",
            "socks5h://proxy.onion:9050",
        ] {
            assert_eq!(text.parse::<Proxy>(), Err(NotAProxy), "{text}");
        }
    }

    #[test]
    fn the_proxy_is_given_the_name_and_resolves_it() {
        let target: Uri = "https://api.kraken.com/0/public/Ticker".parse().unwrap();
        let mut wanted = vec![5, 1, 0, 3, 14];
        wanted.extend(b"api.kraken.com");
        wanted.extend([0x01, 0xbb]);
        assert_eq!(request(&target).unwrap(), wanted);
        let address: Uri = "http://[::1]:8080/".parse().unwrap();
        assert_eq!(request(&address).unwrap()[3..5], [4, 0]);
    }

    #[tokio::test]
    async fn bytes_of_a_server_that_sends_first_are_kept() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut end, _) = listener.accept().await.unwrap();
        end.write_all(b"\x05\x00\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50hello").await.unwrap();
        let proxy: Proxy = "socks5h://127.0.0.1:9050".parse().unwrap();
        let mut stream =
            proxy.through(stream, &"http://node.onion:28332".parse().unwrap()).await.unwrap();
        assert_eq!(&read_array::<5>(&mut stream).await.unwrap(), b"hello");
    }
}
