//! The trait of commands: each is a struct that names the type of its answer and computes it.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tillgate_domain::id::Id;
use ts_rs::TS;

use super::error::CommandError;
use crate::app::App;
use crate::gateway::Gateway;
use crate::store::{Reader, StoreError};

/// A command, with the type of its answer.
pub trait Ask: Sized {
    /// The type of the command's answer.
    type Answer: Serialize + DeserializeOwned + TS;

    /// Runs the command.
    ///
    /// # Errors The command was not done: a stable `errorType`, and a sentence that names the remedy.
    fn answer(self, by: &Asker<'_>) -> impl Future<Output = Result<Self::Answer, CommandError>> + Send;
}

/// The asker of a command, and the gateway that is asked.
pub struct Asker<'a> {
    /// The gateway with its watcher, sender and notifier.
    pub app: &'a Arc<App>,
    /// The actor, for the audit.
    pub actor: &'a str,
}

impl Asker<'_> {
    /// The resources that all share.
    pub fn gateway(&self) -> &Arc<Gateway> {
        &self.app.gateway
    }

    /// Asks the sources of exchange rates if no gateway runs that would ask them.
    pub async fn refresh_rates_if_unserved(&self) -> Result<(), CommandError> {
        if self.gateway().served.get().is_none() {
            self.gateway().refresh_rates().await?;
        }
        Ok(())
    }

    /// Reads on a snapshot, away from the threads that must not wait.
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Gateway, &Reader<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, CommandError> {
        let gateway = Arc::clone(self.gateway());
        let job = move || gateway.store.read(|reader| read(&gateway, reader));
        match tokio::task::spawn_blocking(job).await {
            Ok(answer) => Ok(answer?),
            Err(error) => {
                tracing::error!(%error, "a query failed unexpectedly");
                Err(CommandError::internal())
            }
        }
    }
}

/// The id in an argument.
pub(crate) fn id(field: &'static str, text: &str) -> Result<Id, CommandError> {
    text.parse().map_err(|error| CommandError::at(field, &error))
}
