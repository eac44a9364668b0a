//! The notifications that the sandbox's receiver took, for the tour.

use serde::{Deserialize, Serialize};
use tillgate_gateway::notifications::{Received, SignatureCheck};
use ts_rs::TS;

use super::ask::{Ask, Asker};
use super::error::CommandError;

/// The path of the receiver below the gateway's API.
const PATH: &str = "/sandbox/receiver";

/// Lists the last notifications that the sandbox's receiver took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ListReceived {}

/// The sandbox's receiver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ReceivedView {
    /// The URL to name as `notificationUrl`; absent outside the sandbox, and while the gateway does
    /// not serve.
    pub url: Option<String>,
    /// The last notifications, the newest first.
    pub items: Vec<ReceivedItem>,
}

/// A notification that the receiver took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ReceivedItem {
    /// When it arrived, ISO 8601 with milliseconds.
    pub time: String,
    pub body: String,
    /// The header `X-BPG-Signature`.
    pub signature: Option<String>,
    /// Whether the signature fits the body.
    pub check: SignatureCheck,
}

impl Ask for ListReceived {
    type Answer = ReceivedView;

    async fn answer(self, by: &Asker<'_>) -> Result<ReceivedView, CommandError> {
        let gateway = by.gateway();
        let served = gateway.served.get().filter(|_| gateway.backend.sandbox.is_some());
        let items = by.app.receiver.last();
        Ok(ReceivedView {
            url: served.map(|served| format!("{}{PATH}", served.api)),
            items: items.into_iter().map(ReceivedItem::from).collect(),
        })
    }
}

impl From<Received> for ReceivedItem {
    fn from(Received { at, body, signature, check }: Received) -> Self {
        Self { time: at.iso_millis(), body, signature, check }
    }
}
