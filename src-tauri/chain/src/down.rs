//! The reasons for which a backend cannot be asked, with the remedy, in the sentences that people
//! meet. Faults that only a broken server shows stay in the words of its backend.

use bitcoin::Network;
use tillgate_told::{Telling, Told};

/// Why a backend cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Told)]
pub enum Down {
    #[error(
        "no Bitcoin backend is set: set backendUrl to your node's address, like http://127.0.0.1:8332, and backendCookieFile or backendUser for the login"
    )]
    NotSet,
    #[error(
        "backendUrl is set, but no credentials are: set backendCookieFile to the node's file .cookie, or backendUser and backendPassword"
    )]
    NoCredentials,
    #[error(
        "backendUser is set and its password is not: give it by `tillgate settings set backendPassword -`"
    )]
    NoPassword,
    #[error(
        "the sandbox is built in and asks no server: choose another network first, before there is a wallet (`tillgate settings set network regtest`, or signet or testnet4)"
    )]
    BuiltIn,
    #[error(
        "no connection to the node at {host} ({why}): start the node with server=1 in its bitcoin.conf, and on another machine with rpcbind and rpcallowip too, or set backendUrl to where it answers"
    )]
    NoNode { host: String, why: Telling },
    #[error(
        "no connection to the server at {host} ({why}): see that it runs, or set backendUrl to where it answers"
    )]
    NoServer { host: String, why: String },
    #[error("the {who} at {host} cannot be asked: {why}")]
    NoWay { who: &'static str, host: String, why: Telling },
    #[error("the {who} at {host} did not answer in time")]
    Late { who: &'static str, host: String },
    #[error(
        "the server at {host} did not answer in time (if it speaks no TLS at this port, set backendUrl to tcp://{host})"
    )]
    LateOverTls { host: String },
    #[error(
        "the node at {host} answers, but it refuses the cookie: set backendCookieFile to the file of this node"
    )]
    CookieRefused { host: String },
    #[error(
        "the node at {host} answers, but it refuses user and password: set backendUser and backendPassword right"
    )]
    PasswordRefused { host: String },
    #[error(
        "the node at {host} answered 403 Forbidden to {methods}: in its bitcoin.conf, rpcallowip must name this machine's address, and rpcwhitelist, if it is set, every call of the gateway (the page about the network lists them)"
    )]
    Forbidden { host: String, methods: String },
    #[error("the server at {host} is no Bitcoin Core: {words}")]
    NoCore { host: String, words: String },
    #[error("the node is still starting ({words})")]
    Starting { words: String },
    #[error("the node is downloading the chain, it has block {blocks} of {headers}")]
    Downloading { blocks: u32, headers: u32 },
    #[error("the node is catching up, it has block {blocks} of {headers}")]
    CatchingUp { blocks: u32, headers: u32 },
    #[error("the node is loading its mempool")]
    LoadingMempool,
    #[error(
        "the {who} is on {found}, and the setting network says {network}: set backendUrl to a {kind} of that network"
    )]
    OtherNetwork { who: String, found: String, network: Network, kind: String },
    #[error(
        "it is on the network that begins with block {genesis}, and the setting network says {network}: take it out of backendUrl"
    )]
    OtherServersNetwork { genesis: String, network: Network },
    #[error(
        "the {who}'s best block {height} has less work behind it than the known block {watched}: it is behind, or lost blocks, and must catch up first (for another chain on purpose, name another --data-dir; if a stranger made up that block, `tillgate wallet restore --birthday DATE` starts again from the wallet's words)"
    )]
    LessWork { who: String, height: u32, watched: u32 },
    #[error(
        "the server at {host} shows a certificate that is not the pinned one, nor of a public authority; somebody may be listening in. If you know that the server's certificate was renewed, pin the new one (with several servers, list all their certificates, separated by commas): `tillgate settings set backendCertificate {found}`"
    )]
    OtherCertificate { host: String, found: String },
    #[error(
        "the certificate of the server at {host} {fault}. If it is your server, and its certificate has this SHA-256, pin it: `tillgate settings set backendCertificate {found}`"
    )]
    Certificate { host: String, fault: Telling, found: String },
    #[error(
        "the server at {host} speaks no TLS at this port: set backendUrl to the port of its TLS, or to tcp://{host} on your own machine or network"
    )]
    NoTls { host: String },
    #[error("no secure connection to the server at {host}: {fault}")]
    Insecure { host: String, fault: Telling },
    #[error("{why} (if it speaks TLS at this port, set backendUrl to ssl://{host})")]
    MaybeTls { why: Telling, host: String },
    #[error("{name}: {why}")]
    OfServer { name: String, why: Telling },
    #[error("{first}; {next}")]
    Both { first: Telling, next: Telling },
}
