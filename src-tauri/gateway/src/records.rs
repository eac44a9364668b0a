//! The Payment, Anomaly and Payout records as JSON (interface, sections 2 to 4): the one form that create,
//! GET, lists and notifications share. Free of any transport, because a notification's bytes are made
//! in the transaction of the change that it tells of. Reads by the store's queries, writes nothing, and
//! decides nothing of a payment: its only rules are how things are told (worths rounded down, sentences).

mod anomaly;
mod list;
mod object;
mod payment;
mod payout;
pub(crate) mod qr;
mod rates;
mod snapshot;

pub(crate) use anomaly::{anomaly_message, anomaly_record};
pub(crate) use list::RecordList;
pub(crate) use payment::payment_record;
pub(crate) use payout::{Estimate, estimate_record, limit_record, payout_record};
pub(crate) use rates::rates_record;
pub(crate) use snapshot::{PAGE_MAX, Snapshot};

use bitcoin::Txid;
use tillgate_domain::id::Id;
use tillgate_domain::money::format_btc;
use tillgate_domain::receipt::Receipt;

use crate::machine::environment::Environment;
use object::Object;

/// What a record tells beside its own rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordContext<'a> {
    /// Records of the test environment name it.
    pub environment: Environment,
    /// Whose payouts they are.
    pub merchant_id: Id,
    /// Where the payment pages are, without a slash at the end: `http://127.0.0.1:7421/pay`.
    pub pages_base: &'a str,
    /// Height of the best block in the same snapshot as the rows, by which confirmations count.
    pub tip_height: u32,
}

/// One item of `btcTransactions`.
fn transaction(txid: &Txid, amount_sats: u64, receipt: &Receipt, tip_height: u32) -> String {
    let mut object = Object::new();
    object.text("btcTxId", &txid.to_string());
    object.raw("btcAmount", &format_btc(amount_sats));
    object.text("time", &receipt.first_seen_at.iso_millis());
    object.raw("confirmations", &receipt.confirmations(tip_height).to_string());
    object.finish()
}

/// Adds the member by which the test environment's records can be told from real ones.
fn mark_environment(object: &mut Object, environment: Environment) {
    match environment {
        Environment::Test => object.text("environment", environment.as_str()),
        Environment::Production => {}
    }
}
