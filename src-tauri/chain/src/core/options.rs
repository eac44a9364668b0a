//! The options and credentials of a Bitcoin Core node, and the errors in them.

use std::fmt;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bitcoin::Network;
use tillgate_machine::outgoing::Proxy;
use tillgate_told::Told as _;
use zeroize::Zeroizing;

use super::notices::{BadAddress, NoticesOptions};
use crate::down::Down;
use crate::port::ChainDown;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error(
    "{0:?} is no address of a Bitcoin Core node: set backendUrl to one like http://127.0.0.1:8332"
)]
pub struct BadUrl(pub String);

#[derive(Debug, Clone)]
pub struct CoreOptions {
    /// Such as `http://127.0.0.1:8332`.
    pub url: String,
    pub credentials: Credentials,
    pub network: Network,
    /// The time limit of one request.
    pub answered_within: Duration,
    pub proxy: Option<Proxy>,
    /// The node's notices over ZeroMQ, if it publishes any.
    pub notices: Option<NoticesOptions>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
pub enum BadNode {
    #[error(transparent)]
    Url(#[from] BadUrl),
    #[error(transparent)]
    Notices(#[from] BadAddress),
    #[error("the certificates that this system trusts cannot be read: {0}")]
    Certificates(String),
}

/// Reason why there is no cookie.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum BadCookie {
    #[error(
        "the node's cookie file {path} cannot be read ({error}): start the node with server=1 in its bitcoin.conf, or set backendCookieFile; with rpcuser or rpcpassword a node writes no cookie, so set backendUser instead",
        path = .path.display()
    )]
    Unreadable { path: PathBuf, error: io::Error },
    #[error(
        "the folder {path} holds no cookie file of this network's node: start the node with server=1 in its bitcoin.conf, or set backendCookieFile; with rpcuser or rpcpassword a node writes no cookie, so set backendUser instead",
        path = .0.display()
    )]
    NotInFolder(PathBuf),
    #[error("the cookie file {path} is empty: restart the node, which writes it anew", path = .0.display())]
    Empty(PathBuf),
    #[error(
        "{path} is no cookie file of Bitcoin Core ({why}): set backendCookieFile to the file .cookie of the node",
        path = .path.display()
    )]
    NoCookie { path: PathBuf, why: &'static str },
}

/// The name of a node's cookie file.
const COOKIE: &str = ".cookie";

/// Bytes of a cookie file at most: Core writes fewer than a hundred.
const COOKIE_MAX: u64 = 4_096;

#[derive(Clone)]
pub enum Credentials {
    /// The file that a node rewrites at each start, or the node's folder.
    CookieFile(PathBuf),
    /// The user and password of the node's configuration.
    Password { user: String, password: Zeroizing<String> },
}

impl Credentials {
    /// The current value of the header `Authorization` for a node of this network.
    pub fn authorization(&self, network: Network) -> Result<Zeroizing<String>, ChainDown> {
        let credentials = match self {
            Self::CookieFile(file) => {
                cookie(file, network).map_err(|error| ChainDown(error.telling()))?
            }
            Self::Password { user, password } => {
                Zeroizing::new(format!("{user}:{}", password.as_str()))
            }
        };
        Ok(Zeroizing::new(format!("Basic {}", STANDARD.encode(credentials.as_bytes()))))
    }

    /// The reason after the node at `host` refused them.
    pub fn refused(&self, host: String) -> ChainDown {
        match self {
            Self::CookieFile(_) => Down::CookieRefused { host }.into(),
            Self::Password { .. } => Down::PasswordRefused { host }.into(),
        }
    }
}

/// The cookie in `path`: a file, or a folder of the node.
fn cookie(path: &Path, network: Network) -> Result<Zeroizing<String>, BadCookie> {
    let file = cookie_file(path, network);
    let of = |why| BadCookie::NoCookie { path: file.clone(), why };
    let bytes = match read_cookie(&file) {
        Ok(bytes) => bytes.ok_or_else(|| of("it is no file, or too long"))?,
        Err(error) if error.kind() == ErrorKind::NotFound && file != path => {
            return Err(BadCookie::NotInFolder(path.to_owned()));
        }
        Err(error) => return Err(BadCookie::Unreadable { path: file, error }),
    };
    let text = std::str::from_utf8(&bytes).map_err(|_| of("it is no text"))?;
    // An editor may have added the end of a line.
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        Err(BadCookie::Empty(file))
    } else if text.contains(['\r', '\n']) {
        Err(of("it has more than one line"))
    } else if text.chars().any(char::is_control) {
        Err(of("it holds control characters"))
    } else if !text.contains(':') {
        Err(of("it has no colon"))
    } else {
        Ok(Zeroizing::new(text.to_owned()))
    }
}

/// The cookie file in a folder of the node: in the network's own folder, else in the folder itself.
fn cookie_file(path: &Path, network: Network) -> PathBuf {
    if !path.is_dir() {
        return path.to_owned();
    }
    let inner = match network {
        Network::Bitcoin => None,
        Network::Testnet => Some("testnet3"),
        Network::Testnet4 => Some("testnet4"),
        Network::Signet => Some("signet"),
        Network::Regtest => Some("regtest"),
    };
    let inner = inner.map(|inner| path.join(inner).join(COOKIE)).filter(|file| file.exists());
    inner.unwrap_or_else(|| path.join(COOKIE))
}

/// The content of a cookie file; `None` for a file that is too long, a folder or a device.
fn read_cookie(file: &Path) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    // Checked before opening: opening a pipe waits for a writer.
    if !std::fs::metadata(file)?.is_file() {
        return Ok(None);
    }
    let mut bytes = Zeroizing::new(Vec::new());
    std::fs::File::open(file)?.take(COOKIE_MAX.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= COOKIE_MAX).then_some(bytes))
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CookieFile(file) => f.debug_tuple("CookieFile").field(file).finish(),
            Self::Password { .. } => f.write_str("Password([REDACTED])"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs_in_by(path: &Path, network: Network) -> Result<String, String> {
        let authorization = Credentials::CookieFile(path.to_owned()).authorization(network);
        authorization.map(|header| header.to_string()).map_err(|down| down.to_string())
    }

    #[test]
    fn a_file_that_is_no_cookie_is_named_and_never_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".cookie");
        let cookie = |content: &[u8]| {
            std::fs::write(&file, content).unwrap();
            signs_in_by(&file, Network::Bitcoin)
        };
        assert!(
            signs_in_by(&file, Network::Bitcoin)
                .unwrap_err()
                .contains("start the node with server=1")
        );
        let sound = format!("Basic {}", STANDARD.encode("__cookie__:00ff"));
        for content in ["__cookie__:00ff", "__cookie__:00ff\n", "__cookie__:00ff\r\n"] {
            assert_eq!(cookie(content.as_bytes()), Ok(sound.clone()), "{content:?}");
        }
        for (content, why) in [
            ("", "is empty"),
            ("\n", "is empty"),
            ("nothing", "no colon"),
            ("a:b\nc:d", "more than one line"),
            ("\na:b", "more than one line"),
            ("a:\u{7}", "control characters"),
            (&("a:".to_owned() + &"b".repeat(1 << 20)), "too long"),
        ] {
            let refused = cookie(content.as_bytes()).unwrap_err();
            assert!(
                refused.contains(why) && refused.contains(file.to_str().unwrap()),
                "{content:.9?}: {refused}"
            );
        }
        assert!(cookie(b"a:\xff").unwrap_err().contains("no text"));
        assert!(
            signs_in_by(Path::new("/dev/zero"), Network::Bitcoin).unwrap_err().contains("no file")
        );
    }

    #[test]
    fn a_folder_means_the_cookie_of_the_networks_node() {
        let folder = tempfile::tempdir().unwrap();
        let by = |inner: &str, network| signs_in_by(&folder.path().join(inner), network);
        let of = |user: &str| Ok(format!("Basic {}", STANDARD.encode(format!("{user}:x"))));
        let missing = by("", Network::Signet).unwrap_err();
        assert!(
            missing.contains("holds no cookie file") && missing.contains("server=1"),
            "{missing}"
        );
        std::fs::write(folder.path().join(".cookie"), "main:x").unwrap();
        for (network, inner) in [
            (Network::Testnet4, "testnet4"),
            (Network::Signet, "signet"),
            (Network::Regtest, "regtest"),
        ] {
            assert_eq!(by("", network), of("main"), "the folder itself may be the network's");
            std::fs::create_dir(folder.path().join(inner)).unwrap();
            std::fs::write(folder.path().join(inner).join(".cookie"), format!("{inner}:x"))
                .unwrap();
            assert_eq!(by("", network), of(inner));
            assert_eq!(by(inner, network), of(inner));
        }
        assert_eq!(by("", Network::Bitcoin), of("main"));
    }
}
