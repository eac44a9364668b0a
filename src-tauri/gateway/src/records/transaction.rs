//! A transaction in the record of a payment or an anomaly.

use bitcoin::Txid;
use tillgate_domain::money::format_btc;
use tillgate_domain::receipt::Receipt;

use super::object::Object;

/// One item of `btcTransactions`.
pub fn transaction(txid: &Txid, amount_sats: u64, receipt: &Receipt, tip_height: u32) -> String {
    let mut object = Object::new();
    object.text("btcTxId", &txid.to_string());
    object.raw("btcAmount", &format_btc(amount_sats));
    object.text("time", &receipt.first_seen_at.iso_millis());
    object.raw("confirmations", &receipt.confirmations(tip_height).to_string());
    object.finish()
}
