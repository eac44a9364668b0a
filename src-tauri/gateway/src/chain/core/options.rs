//! The options of a node of Bitcoin Core, and their faults.

use std::time::Duration;

use bitcoin::Network;

use super::notices::{BadAddress, NoticesOptions};
use super::sign_in::SignIn;
use crate::machine::outgoing::Proxy;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no address of a Bitcoin Core node: set backendUrl to one like http://127.0.0.1:8332")]
pub(crate) struct BadUrl(pub String);

#[derive(Debug, Clone)]
pub(crate) struct CoreOptions {
    /// Such as `http://127.0.0.1:8332`.
    pub url: String,
    pub sign_in: SignIn,
    pub network: Network,
    /// The time limit of one request.
    pub answered_within: Duration,
    pub proxy: Option<Proxy>,
    /// The address of its notices, if it publishes any.
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
