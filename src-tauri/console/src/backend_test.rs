//! Tests a Bitcoin backend before its settings are saved. A test stores nothing, and reads neither
//! blocks nor the mempool.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tillgate_gateway::error_type::ErrorType;

use serde::{Deserialize, Serialize};
use tillgate_chain::configured::{BackendOptions, open_one};
use tillgate_chain::waker::Waker;
use tillgate_chain::{Chain, ChainDown};
use tillgate_domain::time::Timestamp;
use tillgate_gateway::gateway::{Gateway, TypedBackend};
use tillgate_gateway::settings::SettingError;
use tillgate_machine::secrets::Secret;
use tillgate_told::{Telling, Told};
use tokio::runtime::Handle;
use tokio::time::timeout;
use ts_rs::TS;
use zeroize::Zeroize as _;

use super::ask::{Ask, Asker};
use super::backend_defect::backend_defect;
use super::doctor::{Answers, reaches_back};
use super::error::CommandError;
use crate::refusal::ArgumentFault;

/// Time for the test of a server; a slower server counts as silent.
const TESTED_WITHIN: Duration = Duration::from_secs(30);

/// Time for one request of the test.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);

/// A mainnet server whose best block is older than this is probably disconnected from its peers. A
/// gap of three hours between blocks happens by chance about once in a thousand years.
const STALE_MS: i64 = 3 * 3_600_000;

/// The password of a backend: wiped when it is dropped, and never printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(type = "string")]
pub struct BackendPassword(String);

/// Tests servers from a form before the settings are saved. Stores nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TestBackend {
    /// `core` or `electrum`.
    pub backend: String,
    /// The servers' URLs, in the form of the setting `backendUrl`.
    pub backend_url: String,
    /// The node's cookie file, if the gateway signs in with one.
    #[serde(default)]
    pub backend_cookie_file: Option<String>,
    /// The user, if the gateway signs in with a password.
    #[serde(default)]
    pub backend_user: Option<String>,
    /// The password; if absent, the stored password is used.
    #[serde(default)]
    pub backend_password: Option<BackendPassword>,
    /// The node's ZMQ address, in the form of the setting `backendZmq`.
    #[serde(default)]
    pub backend_zmq: Option<String>,
    /// Pinned certificates, in the form of the setting `backendCertificate`.
    #[serde(default)]
    pub backend_certificate: Option<String>,
    /// The proxy, in the form of the setting `proxy`.
    #[serde(default)]
    pub proxy: Option<String>,
}

/// The result of testing all servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct BackendTestView {
    /// Whether all servers can be used.
    pub ok: bool,
    /// One item for each server, in the order of the URLs.
    pub servers: Vec<ServerTestItem>,
}

/// The result of testing one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerTestItem {
    pub url: String,
    /// Whether the server can be used.
    pub ok: bool,
    /// The finding, and the remedy if there is a fault.
    pub message: Telling,
    /// `bitcoin`, `testnet4`, `signet` or `regtest`.
    pub network: Option<String>,
    /// The height of the server's best block.
    pub height: Option<u32>,
    /// The time in that block's header, ISO 8601.
    pub tip_time: Option<String>,
    /// The height of the first block that the server still stores; absent if it stores all blocks.
    pub pruned_from: Option<u32>,
    /// The software's name, as the server reports it.
    pub software: Option<String>,
    /// The SHA-256 of a certificate that no authority signed. A merchant pins it if the server is
    /// their own.
    pub fingerprint: Option<String>,
}

/// The findings of a test.
#[derive(Debug, thiserror::Error, Told)]
pub enum Tested {
    #[error("the test of this server failed: see the log")]
    Failed,
    #[error(
        "the server did not answer within {seconds} s: check that it runs, and that this machine can reach it"
    )]
    Late { seconds: u64 },
    #[error(
        "the backend answers, its best block is {height}, which is {hours} h old: check that the server is connected to other nodes, and that this machine's clock is right"
    )]
    Stale { height: u32, hours: i64 },
}

/// The answer of a reachable server.
struct ServerAnswer {
    height: u32,
    time: Timestamp,
    pruned_from: u32,
    software: Option<String>,
    /// A fault that was found although the server answered.
    wrong: Option<Telling>,
}

/// The reason why a server cannot be used.
struct Refused {
    why: Telling,
    /// The SHA-256 of the certificate to pin, if an unknown certificate is the only fault.
    certificate_to_pin: Option<String>,
}

impl Refused {
    const fn new(why: Telling) -> Self {
        Self { why, certificate_to_pin: None }
    }
}

impl fmt::Debug for BackendPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[REDACTED]")
    }
}

impl Drop for BackendPassword {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl Ask for TestBackend {
    type Answer = BackendTestView;

    async fn answer(self, by: &Asker<'_>) -> Result<BackendTestView, CommandError> {
        let gateway = Arc::clone(by.gateway());
        let options = self.options(&gateway).await?;
        let asked: Vec<_> =
            options.urls.iter().map(|url| ask_one(&gateway, &options, url.clone())).collect();
        let mut servers = Vec::with_capacity(asked.len());
        for (url, asked) in options.urls.iter().zip(asked) {
            servers.push(item(&gateway, &options, url, asked.await));
        }
        Ok(BackendTestView { ok: servers.iter().all(|server| server.ok), servers })
    }
}

impl TestBackend {
    /// The form as options of a backend, checked by the rules of the settings.
    async fn options(&self, gateway: &Arc<Gateway>) -> Result<BackendOptions, CommandError> {
        let typed = [
            ("backend", Some(self.backend.as_str())),
            ("backendUrl", Some(self.backend_url.as_str())),
            ("backendCookieFile", self.backend_cookie_file.as_deref()),
            ("backendUser", self.backend_user.as_deref()),
            ("backendZmq", self.backend_zmq.as_deref()),
            ("backendCertificate", self.backend_certificate.as_deref()),
            ("proxy", self.proxy.as_deref()),
        ];
        let settings = gateway.settings.with(&typed).map_err(|(name, error)| match error {
            SettingError::BackendUrl { .. } => CommandError::at("backendUrl", &error),
            error => CommandError::at(name, &error),
        })?;
        if settings.backend_urls.is_empty() {
            return Err(CommandError::invalid(
                "backendUrl",
                &ArgumentFault::Server { example: settings.backend.example() },
            ));
        }
        let password =
            self.backend_password.as_ref().map(|password| Secret::new(password.0.clone()));
        let backend = TypedBackend { settings, password, answered_within: ANSWERED_WITHIN };
        let gateway = Arc::clone(gateway);
        let options = tokio::task::spawn_blocking(move || gateway.backend_options(&backend)).await;
        let options = options.map_err(|_| CommandError::internal())?;
        options.map_err(|why| CommandError::told(ErrorType::ChainNotReady, &why))
    }
}

/// Starts the test of one server on its own thread, so that several servers are tested at the same
/// time.
fn ask_one(
    gateway: &Arc<Gateway>,
    options: &BackendOptions,
    url: String,
) -> impl Future<Output = Result<ServerAnswer, Refused>> + Send + use<> {
    let (gateway, options, runtime) = (Arc::clone(gateway), options.clone(), Handle::current());
    let asked = tokio::task::spawn_blocking(move || {
        let chain = open_one(&options, &url, runtime, Waker::default())
            .map_err(|down| Refused::new(down.telling()))?;
        ask_server(&gateway, chain.as_ref()).map_err(|down| Refused {
            why: down.telling(),
            certificate_to_pin: chain.certificate_to_pin(),
        })
    });
    async move {
        // After a time-out the thread ends by itself, because each of its requests is limited to
        // `ANSWERED_WITHIN`.
        match timeout(TESTED_WITHIN, asked).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(Refused::new(Tested::Failed.telling())),
            Err(_) => {
                Err(Refused::new(Tested::Late { seconds: TESTED_WITHIN.as_secs() }.telling()))
            }
        }
    }
}

fn ask_server(gateway: &Gateway, chain: &dyn Chain) -> Result<ServerAnswer, ChainDown> {
    let identity = chain.identity()?;
    let tip = chain.tip()?;
    Ok(ServerAnswer {
        height: tip.height,
        time: tip.time,
        pruned_from: chain.first_block()?,
        // Some servers do not report their software. That is no fault.
        software: chain.software().unwrap_or_default(),
        wrong: reaches_back(gateway, chain)
            .err()
            .or_else(|| backend_defect(gateway, chain, &identity, &tip))
            .or_else(|| chain.fault_once_tried()),
    })
}

fn item(
    gateway: &Gateway,
    options: &BackendOptions,
    url: &str,
    asked: Result<ServerAnswer, Refused>,
) -> ServerTestItem {
    let answer = match asked {
        Ok(answer) => answer,
        Err(Refused { why, certificate_to_pin }) => {
            return ServerTestItem {
                url: url.to_owned(),
                ok: false,
                message: why,
                network: None,
                height: None,
                tip_time: None,
                pruned_from: None,
                software: None,
                fingerprint: certificate_to_pin,
            };
        }
    };
    let age_ms = gateway.time.now().ms().saturating_sub(answer.time.ms());
    let stale = options.network == bitcoin::Network::Bitcoin && age_ms > STALE_MS;
    let message = match answer.wrong.clone() {
        Some(wrong) => wrong,
        None if stale => {
            Tested::Stale { height: answer.height, hours: age_ms / 3_600_000 }.telling()
        }
        None => Answers { height: answer.height }.telling(),
    };
    ServerTestItem {
        url: url.to_owned(),
        ok: answer.wrong.is_none() && !stale,
        message,
        network: Some(options.network.to_string()),
        height: Some(answer.height),
        tip_time: Some(answer.time.iso_seconds()),
        pruned_from: Some(answer.pruned_from).filter(|first| *first > 0),
        software: answer.software,
        fingerprint: None,
    }
}

#[cfg(test)]
mod tests;
