//! What the customer is to pay, and the sandbox's rates as JSON.

use std::collections::BTreeMap;

use bitcoin::ScriptBuf;
use serde_json::{Map, Value};
use tillgate_domain::id::Id;
use tillgate_domain::money::Rate;

use super::CallError;
use crate::field_errors::FieldError;
use crate::gateway::Gateway;

/// The payment's script and the sum: the one asked for, else what remains; where less than the dust
/// limit remains, the dust limit.
pub(super) fn to_pay(gateway: &Gateway, id: &Id, amount_sats: Option<u64>) -> Result<(ScriptBuf, u64), CallError> {
    let row = gateway
        .store
        .read(|reader| reader.payment(id))?
        .ok_or_else(|| CallError::NotFound(format!("there is no payment {id}")))?;
    let amount_sats = match amount_sats {
        Some(amount_sats) => amount_sats,
        None if row.payment.remaining_sats() > 0 => row.asked_sats(),
        None => {
            let what = "must be given: nothing remains to be paid of this payment";
            return Err(CallError::Invalid(vec![FieldError::invalid("btcAmount", what)]));
        }
    };
    Ok((row.script, amount_sats))
}

/// The rates as JSON numbers with 4 decimals.
pub(super) fn rates_object(rates: &BTreeMap<String, String>) -> Value {
    let number = |text: &String| {
        let text = Rate::parse(text).map(|rate| rate.format()).unwrap_or_else(|_| text.clone());
        serde_json::from_str(&text).unwrap_or(Value::String(text))
    };
    Value::Object(rates.iter().map(|(code, text)| (code.clone(), number(text))).collect::<Map<_, _>>())
}
