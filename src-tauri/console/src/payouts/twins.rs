//! Twins for people: transactions of another copy of the wallet that put the sender on hold.

use bitcoin::Address;
use serde::{Deserialize, Serialize};
use tillgate_gateway::gateway::Gateway;
use tillgate_store::sender_hold::{Hold, HoldCause};
use tillgate_store::twins::TwinRow;
use tillgate_store::{Reader, StoreError};
use ts_rs::TS;

use crate::btc::BtcView;

/// The most transactions listed in one answer.
const LISTED_MAX: u32 = 100;

/// A transaction that another copy of the wallet made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TwinItem {
    pub txid: String,
    /// The time of its block or of its entry into the mempool, ISO 8601.
    pub time: String,
    /// Its outputs that do not pay this wallet.
    pub paid: Vec<TwinOutput>,
}

/// An output that does not pay this wallet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TwinOutput {
    /// Absent for a script without an address.
    pub address: Option<String>,
    pub amount: BtcView,
}

/// The transactions that caused a hold.
#[derive(Debug, Default)]
pub struct HeldFor {
    /// At most [`LISTED_MAX`] of them, the oldest first.
    pub listed: Vec<TwinItem>,
    /// The number of all of them.
    pub count: u64,
}

impl HeldFor {
    pub fn load(
        gateway: &Gateway,
        reader: &Reader<'_>,
        hold: Option<&Hold>,
    ) -> Result<Self, StoreError> {
        let Some(hold) = hold else { return Ok(Self::default()) };
        let since = match hold.cause {
            HoldCause::UntilReleased => hold.since,
            HoldCause::UntilCompared | HoldCause::Restored | HoldCause::Stopped => {
                reader.restore()?.map_or(hold.since, |restore| restore.begun_at)
            }
        };
        let twins = reader.twins_noticed_since(since, LISTED_MAX)?;
        let listed = twins
            .iter()
            .map(|twin| TwinItem::from_row(gateway, reader, twin))
            .collect::<Result<_, _>>()?;
        Ok(Self { listed, count: reader.twins_noticed_since_count(since)? })
    }
}

impl TwinItem {
    fn from_row(
        gateway: &Gateway,
        reader: &Reader<'_>,
        twin: &TwinRow,
    ) -> Result<Self, StoreError> {
        let mut paid = Vec::new();
        for output in &twin.tx.output {
            if !gateway.is_ours(reader, &output.script_pubkey)? {
                let address = Address::from_script(&output.script_pubkey, gateway.network).ok();
                paid.push(TwinOutput {
                    address: address.map(|address| address.to_string()),
                    amount: BtcView::from_sats(output.value.to_sat()),
                });
            }
        }
        Ok(Self { txid: twin.txid.to_string(), time: twin.made_at.iso_seconds(), paid })
    }

    /// The transaction as one line of output at the command line.
    pub fn at_the_command_line(&self) -> String {
        let Self { txid, time, paid } = self;
        let paid: Vec<_> = paid
            .iter()
            .map(|it| {
                format!(
                    "{} BTC to {}",
                    it.amount.shown,
                    it.address.as_deref().unwrap_or("a script without address")
                )
            })
            .collect();
        let paid = if paid.is_empty() { "this wallet alone".to_owned() } else { paid.join(", ") };
        format!("{time}  {txid}  pays {paid}")
    }
}
