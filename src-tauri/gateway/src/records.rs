//! The Payment, Anomaly and Payout records as JSON (interface, sections 2 to 4): the one form that create, GET, lists
//! and notifications share. Free of any transport, because a notification's bytes are made in the transaction of its
//! change. Reads by the store's queries, writes no row, and decides nothing about payments. Its only rules are of
//! form: rounding worths down, and sentences.

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

/// Facts of a record that lie outside its own rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordContext<'a> {
    /// Records of the test environment name it.
    pub environment: Environment,
    /// The merchant of the payouts.
    pub merchant_id: Id,
    /// The URL of the payment pages, without a slash at the end: `http://127.0.0.1:7421/pay`.
    pub pages_base: &'a str,
    /// Height of the best block in the snapshot of the rows; confirmations are counted from it.
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

/// Adds the member that marks a record of the test environment.
fn mark_environment(object: &mut Object, environment: Environment) {
    match environment {
        Environment::Test => object.text("environment", environment.as_str()),
        Environment::Production => {}
    }
}
