//! The command that makes a sandbox call, for the buttons of the panel.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tillgate_gateway::sandbox;
use ts_rs::TS;

use super::ask::{Ask, Asker};
use super::error::CommandError;

/// A call of the sandbox, one of `sandbox::ROUTES`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Sandbox {
    /// `GET`, `POST` or `PUT`.
    pub method: String,
    /// The call's path, like `/sandbox/blocks`.
    pub path: String,
    /// The call's body.
    #[serde(default)]
    #[ts(type = "unknown")]
    pub body: Value,
}

/// The answer of a sandbox call. Its form depends on the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SandboxAnswer(#[ts(type = "unknown")] pub Value);

impl Ask for Sandbox {
    type Answer = SandboxAnswer;

    async fn answer(self, by: &Asker<'_>) -> Result<SandboxAnswer, CommandError> {
        Ok(SandboxAnswer(sandbox::call(by.app, &self.method, &self.path, self.body).await?))
    }
}
