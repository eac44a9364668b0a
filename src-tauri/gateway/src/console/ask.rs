//! What each command is: a struct that knows the type of its answer and how to find it.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tillgate_domain::id::Id;
use ts_rs::TS;

use super::error::CommandError;
use crate::app::App;
use crate::gateway::Gateway;
use crate::store::{Reader, StoreError};

/// A command: what is asked, and the type of what is answered.
pub trait Ask: Sized {
    /// What the command answers.
    type Answer: Serialize + DeserializeOwned + TS;

    /// Does what the command says.
    ///
    /// # Errors
    /// Why it was not done, with a stable `errorType` and a sentence that names the remedy.
    fn answer(self, by: &Asker<'_>) -> impl Future<Output = Result<Self::Answer, CommandError>> + Send;
}

/// Who asks, and whom.
pub struct Asker<'a> {
    /// The gateway with what works on it.
    pub app: &'a Arc<App>,
    /// Who acts, for the audit.
    pub actor: &'a str,
}

impl Asker<'_> {
    /// The resources that all share.
    pub fn gateway(&self) -> &Arc<Gateway> {
        &self.app.gateway
    }

    /// Asks the sources of exchange rates where nobody else does, because no gateway runs.
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
