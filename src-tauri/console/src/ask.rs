//! The trait that every command implements, and the context in which a command runs.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tillgate_domain::id::Id;
use tillgate_domain::money::Currency;
use tillgate_gateway::App;
use tillgate_gateway::gateway::Gateway;
use tillgate_store::{Reader, StoreError};
use ts_rs::TS;

use super::error::CommandError;
use super::refusal::ArgumentFault;

/// A command, with the type of its answer.
pub trait Ask: Sized {
    /// The type of the command's answer.
    type Answer: Serialize + DeserializeOwned + TS;

    /// Runs the command.
    ///
    /// # Errors
    /// The command failed; the error has a stable `errorType` and a sentence that names the remedy.
    fn answer(
        self,
        by: &Asker<'_>,
    ) -> impl Future<Output = Result<Self::Answer, CommandError>> + Send;
}

/// The gateway on which a command runs, and the actor who runs it.
pub struct Asker<'a> {
    /// The gateway with its watcher, sender and notifier.
    pub app: &'a Arc<App>,
    /// The actor as the audit stores it: `cli:ann`.
    pub actor: &'a str,
}

impl Asker<'_> {
    /// The gateway without its watcher, sender and notifier.
    pub fn gateway(&self) -> &Arc<Gateway> {
        &self.app.gateway
    }

    /// Asks the sources of exchange rates, unless the gateway serves: then its own loop asks them.
    pub async fn refresh_rates_if_unserved(&self) -> Result<(), CommandError> {
        if self.gateway().served.get().is_none() {
            self.gateway().refresh_rates().await?;
        }
        Ok(())
    }

    /// Reads from one snapshot of the database, on a thread that may block.
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

/// Parses the id in the argument `field`.
pub fn id(field: &'static str, text: &str) -> Result<Id, CommandError> {
    text.parse().map_err(|error| CommandError::at(field, &error))
}

/// The currency of the code in the argument `field`.
pub fn currency(field: &str, code: &str) -> Result<Currency, CommandError> {
    Currency::from_code(code).ok_or_else(|| CommandError::invalid(field, &ArgumentFault::Currency))
}

/// The currency of the argument `currency`; without it, the first of the setting `currencies`.
pub fn shop_currency(by: &Asker<'_>, code: Option<&str>) -> Result<Currency, CommandError> {
    let first = || by.gateway().settings.snapshot().currencies.first().copied();
    code.map_or_else(|| Ok(first().unwrap_or(Currency::USD)), |code| currency("currency", code))
}

/// The price in the argument `field`, as a person types it, in minor units of its currency.
pub fn price(field: &str, typed: &str, currency: Currency) -> Result<i64, CommandError> {
    let plain =
        currency.plain_amount(typed).map_err(|error| CommandError::invalid(field, &error))?;
    currency.parse_minor(&plain).map_err(|error| CommandError::invalid(field, &error))
}

/// The number in the argument `field`, which must be within its bounds.
pub fn in_range(field: &str, value: u32, least: u32, most: u32) -> Result<u32, CommandError> {
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(CommandError::invalid(field, &ArgumentFault::Range { least, most }))
}
