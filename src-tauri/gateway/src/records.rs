//! The Payment and Anomaly records as JSON (interface, sections 2 and 3): the one form that create,
//! GET, lists and notifications share. Free of any transport, because a notification's bytes are made
//! in the transaction of the change that it tells of. Reads nothing; holds no rule.

mod anomaly;
mod object;
mod payment;

pub use anomaly::anomaly_record;
pub(crate) use anomaly::{anomaly_message, fiat_amount};
pub use payment::payment_record;

use bitcoin::Txid;
use tillgate_domain::money::format_btc;
use tillgate_domain::receipt::{Position, Receipt};

use crate::environment::Environment;
use object::Object;

/// What a record shows beside its own rows.
#[derive(Debug, Clone, Copy)]
pub struct RecordContext<'a> {
    /// Records of a test environment say so.
    pub environment: Environment,
    /// Where the payment pages are, without a slash at the end: `http://127.0.0.1:7421/pay`.
    pub pages_base: &'a str,
    /// Height of the best block in the same snapshot as the rows, by which confirmations count.
    pub tip_height: u32,
}

/// Confirmations of a receipt below a tip; 0 outside the chain.
#[must_use]
pub fn confirmations(receipt: &Receipt, tip_height: u32) -> u32 {
    match receipt.position {
        Position::Block { height, .. } => tip_height.saturating_sub(height).saturating_add(1),
        Position::Mempool | Position::Absent => 0,
    }
}

/// One item of `btcTransactions`.
fn transaction(txid: &Txid, amount_sats: u64, receipt: &Receipt, tip_height: u32) -> String {
    let mut object = Object::new();
    object.text("btcTxId", &txid.to_string());
    object.raw("btcAmount", &format_btc(amount_sats));
    object.text("time", &receipt.first_seen_at.iso_millis());
    object.raw("confirmations", &confirmations(receipt, tip_height).to_string());
    object.finish()
}

/// The member by which a test environment's records can be told from real ones.
fn mark_environment(object: &mut Object, environment: Environment) {
    match environment {
        Environment::Test => object.text("environment", environment.as_str()),
        Environment::Production => {}
    }
}
