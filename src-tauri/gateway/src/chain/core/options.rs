//! The options and credentials of a Bitcoin Core node, and the errors in them.

use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bitcoin::Network;
use zeroize::Zeroizing;

use super::notices::{BadAddress, NoticesOptions};
use crate::chain::port::ChainDown;
use crate::machine::outgoing::Proxy;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no address of a Bitcoin Core node: set backendUrl to one like http://127.0.0.1:8332")]
pub(crate) struct BadUrl(pub String);

#[derive(Debug, Clone)]
pub(crate) struct CoreOptions {
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

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadNode {
    #[error(transparent)]
    Url(#[from] BadUrl),
    #[error(transparent)]
    Notices(#[from] BadAddress),
    #[error("the certificates that this system trusts cannot be read: {0}")]
    Certificates(String),
}

/// Bytes of a cookie file at most: Core writes fewer than a hundred.
const COOKIE_MAX: u64 = 4_096;

#[derive(Clone)]
pub(crate) enum Credentials {
    /// The file that a node rewrites at each start.
    CookieFile(PathBuf),
    /// The user and password of the node's configuration.
    Password { user: String, password: Zeroizing<String> },
}

impl Credentials {
    /// The current value of the header `Authorization`.
    pub(super) fn authorization(&self) -> Result<Zeroizing<String>, ChainDown> {
        let credentials = match self {
            Self::CookieFile(file) => {
                let read = read_cookie(file).map_err(|error| {
                    ChainDown(format!(
                        "its cookie file {} cannot be read ({error}): start the node, or set backendCookieFile or backendUser",
                        file.display()
                    ))
                })?;
                let is_one = |text: &&str| text.contains(':') && !text.chars().any(|c| c.is_control() && c != '\n');
                let text = read.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok());
                let cookie = text.filter(is_one).ok_or_else(|| {
                    ChainDown(format!(
                        "{} is no cookie file of Bitcoin Core: set backendCookieFile right",
                        file.display()
                    ))
                })?;
                Zeroizing::new(cookie.trim_end_matches('\n').to_owned())
            }
            Self::Password { user, password } => Zeroizing::new(format!("{user}:{}", password.as_str())),
        };
        Ok(Zeroizing::new(format!("Basic {}", STANDARD.encode(credentials.as_bytes()))))
    }

    pub(super) const fn remedy(&self) -> &'static str {
        match self {
            Self::CookieFile(_) => "it refuses the cookie: set backendCookieFile to the file of this node",
            Self::Password { .. } => "it refuses user and password: set backendUser and backendPassword right",
        }
    }
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

    fn signs_in_by(file: &Path) -> Result<String, String> {
        let authorization = Credentials::CookieFile(file.to_owned()).authorization();
        authorization.map(|header| header.to_string()).map_err(|down| down.to_string())
    }

    #[test]
    fn a_file_that_is_no_cookie_is_named_and_never_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".cookie");
        assert!(signs_in_by(&file).unwrap_err().contains("start the node"));
        for (content, is_one) in
            [("__cookie__:00ff", true), ("__cookie__:00ff\n", true), ("nothing", false), ("a:\u{7}", false)]
        {
            std::fs::write(&file, content).unwrap();
            let signed_in = signs_in_by(&file);
            assert_eq!(signed_in.is_ok(), is_one, "{content}: {signed_in:?}");
        }
        std::fs::write(&file, "a:".to_owned() + &"b".repeat(1 << 20)).unwrap();
        assert!(signs_in_by(&file).unwrap_err().contains("no cookie file"));
        for never_ends in ["/dev/zero", folder.path().to_str().unwrap()] {
            let refused = signs_in_by(Path::new(never_ends)).unwrap_err();
            assert!(refused.contains("backendCookieFile"), "{refused}");
        }
    }
}
