//! The facts that belong on the sheet with the words: the type of the addresses, and the wallet's
//! birthday.

use serde::{Deserialize, Serialize};
use tillgate_domain::time::Timestamp;
use tillgate_gateway::gateway::Gateway;
use tillgate_gateway::setup::CREATED;
use tillgate_store::{Reader, StoreError};
use ts_rs::TS;

/// The facts beside the words that a restore needs, in this program or in another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SheetView {
    /// `bip84` or `bip86`.
    pub address_type: String,
    /// The day before the wallet's first coin, like 2024-05-31. For a restored wallet it is the
    /// height of a block. `wallet restore --birthday` takes both.
    pub birthday: String,
}

impl SheetView {
    /// The facts for a wallet that is made now.
    pub fn of_new(gateway: &Gateway) -> Self {
        let address_type = gateway.settings.snapshot().address_type;
        Self { address_type: address_type.as_str().to_owned(), birthday: day(gateway.time.now()) }
    }

    /// The facts for this installation's wallet; `None` without a wallet.
    pub fn load(gateway: &Gateway, reader: &Reader<'_>) -> Result<Option<Self>, StoreError> {
        let Some(wallet) = gateway.wallet.get() else { return Ok(None) };
        let birthday = match (reader.first_act(CREATED)?, reader.birth_height()?) {
            (Some(made_at), _) => day(made_at),
            (None, height) => height.unwrap_or(0).to_string(),
        };
        Ok(Some(Self {
            address_type: wallet.keychains.address_type().as_str().to_owned(),
            birthday,
        }))
    }
}

/// The day of a time, in UTC.
fn day(at: Timestamp) -> String {
    at.iso_seconds().chars().take_while(|one| *one != 'T').collect()
}
