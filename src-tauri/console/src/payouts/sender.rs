//! Ends a hold of the sender, and makes the sender ask the secret store again.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::ask::{Ask, Asker};
use crate::error::CommandError;

/// Ends a hold of the sender, and makes the sender ask the secret store at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ReleaseSender {
    /// The reason of the hold that staff were shown. The command is refused if the hold now has
    /// another reason. If absent, a hold for any reason ends.
    #[serde(default)]
    pub reason: Option<String>,
    /// Whether to end the hold although the mempool shows a transaction of another copy of the
    /// wallet.
    #[serde(default)]
    pub force: bool,
}

/// Makes the sender ask the secret store for the wallet's words at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct RetrySender {}

/// The state of the sender after a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SenderView {
    /// Whether the command ended a hold.
    pub released: bool,
    /// Whether a gateway is running, so that payouts are sent.
    pub serving: bool,
    /// The number of payouts in state QUEUED.
    #[ts(type = "number")]
    pub payouts_queued: u64,
}

impl Ask for ReleaseSender {
    type Answer = SenderView;

    async fn answer(self, by: &Asker<'_>) -> Result<SenderView, CommandError> {
        let released = by.app.sender.release(by.actor, self.reason, self.force).await?;
        view(by, released).await
    }
}

impl Ask for RetrySender {
    type Answer = SenderView;

    async fn answer(self, by: &Asker<'_>) -> Result<SenderView, CommandError> {
        by.app.sender.retry(by.actor).await?;
        view(by, false).await
    }
}

async fn view(by: &Asker<'_>, released: bool) -> Result<SenderView, CommandError> {
    let serving = by.gateway().served.get().is_some();
    by.read(move |_, reader| {
        Ok(SenderView { released, serving, payouts_queued: super::view::queued(reader)? })
    })
    .await
}
