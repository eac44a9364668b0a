//! Releases a sender that holds, and has it ask the secret store again.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::console::ask::{Ask, Asker};
use crate::console::error::CommandError;

/// Releases a sender that holds, and has it ask the secret store at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct ReleaseSender {
    /// The reason that staff have read; refused if the sender now holds for another one. Absent for any reason.
    #[serde(default)]
    pub reason: Option<String>,
    /// Whether to release although the mempool shows a transaction of another copy of the wallet.
    #[serde(default)]
    pub force: bool,
}

/// Has the sender ask the secret store for the wallet's words at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct RetrySender {}

/// The sender after a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct SenderView {
    /// Whether it held, and is released now.
    pub released: bool,
    /// Whether a gateway runs and sends.
    pub serving: bool,
    /// The number of approved payouts that wait for their transaction or for a node that accepts it.
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
    by.read(move |_, reader| Ok(SenderView { released, serving, payouts_queued: super::view::queued(reader)? })).await
}
