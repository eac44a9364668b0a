//! How to sign in at a node.

use std::fmt;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use crate::chain::ChainDown;

/// Bytes of a cookie file at most: Core writes fewer than a hundred.
const COOKIE_MAX: usize = 4_096;

/// How to sign in.
#[derive(Clone)]
pub(crate) enum SignIn {
    /// By the file that a node writes anew at each start.
    CookieFile(PathBuf),
    /// By a user and a password of the node's configuration.
    Password { user: String, password: Zeroizing<String> },
}

impl SignIn {
    /// The value of the header `Authorization`, as of now.
    pub(super) fn authorization(&self) -> Result<Zeroizing<String>, ChainDown> {
        let credentials = match self {
            Self::CookieFile(file) => {
                let read = std::fs::read(file).map_err(|error| {
                    ChainDown(format!(
                        "its cookie file {} cannot be read ({error}): start the node, or set backendCookieFile or backendUser",
                        file.display()
                    ))
                })?;
                let text = (read.len() <= COOKIE_MAX).then(|| String::from_utf8(read).ok()).flatten();
                let cookie =
                    text.filter(|text| text.contains(':') && !text.chars().any(|c| c.is_control() && c != '\n'));
                let cookie = cookie.ok_or_else(|| {
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

    /// What to do where the node refuses it.
    pub(super) const fn remedy(&self) -> &'static str {
        match self {
            Self::CookieFile(_) => "it refuses the cookie: set backendCookieFile to the file of this node",
            Self::Password { .. } => "it refuses user and password: set backendUser and backendPassword right",
        }
    }
}

impl fmt::Debug for SignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CookieFile(file) => f.debug_tuple("CookieFile").field(file).finish(),
            Self::Password { .. } => f.write_str("Password([REDACTED])"),
        }
    }
}
