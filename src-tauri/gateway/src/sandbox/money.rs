//! The amount that the customer pays, and the sandbox's rates and outputs as JSON.

use std::collections::BTreeMap;
use tillgate_store::Store;

use bitcoin::ScriptBuf;
use serde_json::{Map, Value, json};
use tillgate_domain::id::Id;
use tillgate_domain::money::{Rate, format_btc};
use tillgate_machine::field_errors::FieldError;
use tillgate_sandbox::PaidOutput;

use super::error::{BodyFault, CallError, Missing};

/// The payment's script and the amount to pay in satoshis: the given amount, or the remainder, but
/// at least the dust limit.
pub fn to_pay(
    store: &Store,
    id: &Id,
    amount_sats: Option<u64>,
) -> Result<(ScriptBuf, u64), CallError> {
    let row =
        store.read(|reader| reader.payment(id))?.ok_or_else(|| Missing::Payment(id.to_string()))?;
    let amount_sats = match amount_sats {
        Some(amount_sats) => amount_sats,
        None if row.payment.remaining_sats() > 0 => row.payment.asked_sats(),
        None => {
            return Err(CallError::Invalid(vec![FieldError::told(
                "btcAmount",
                &BodyFault::NothingRemains,
            )]));
        }
    };
    Ok((row.script, amount_sats))
}

/// The rates as JSON numbers with 4 decimals.
pub fn rates_object(rates: &BTreeMap<String, String>) -> Value {
    let rate = |text: &String| {
        number(Rate::parse(text).map(|rate| rate.format()).unwrap_or_else(|_| text.clone()))
    };
    Value::Object(
        rates.iter().map(|(code, text)| (code.clone(), rate(text))).collect::<Map<_, _>>(),
    )
}

/// An output that pays an address.
pub fn output_object(output: &PaidOutput) -> Value {
    json!({
        "btcTxId": output.outpoint.txid.to_string(),
        "vout": output.outpoint.vout,
        "btcAmount": number(format_btc(output.amount_sats)),
        "confirmations": output.confirmations,
    })
}

/// A JSON number with exactly these decimals.
fn number(text: String) -> Value {
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}
