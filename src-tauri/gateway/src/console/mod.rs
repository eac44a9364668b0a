//! What the panel, the command line and a development browser can ask of the gateway, free of any
//! transport: a [`Command`] goes in, a view comes out. Holds no SQL and no rule.

pub mod control;
mod dispatch;
mod errors;
mod show;
pub mod views;

pub use dispatch::dispatch;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// One request to the gateway by the people who own it. On the wire:
/// `{"command": "showPayment", "paymentId": "…"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "command", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[ts(export)]
pub enum Command {
    /// What runs, how far the chain was watched, which rates, what is queued → `StatusView`.
    Status,
    /// Newest first → `Page<PaymentRow>`.
    ListPayments {
        /// 1 to 500.
        limit: u32,
        /// From 0.
        offset: u32,
        /// Only these states; empty for all.
        #[serde(default)]
        states: Vec<String>,
        /// An id, address, txid or the shop's own reference.
        #[serde(default)]
        search: Option<String>,
    },
    /// One payment with transactions, history, deliveries and anomalies → `PaymentView`.
    ShowPayment {
        /// Its id.
        payment_id: String,
    },
    /// A payment made by a person → `PaymentView`.
    CreatePayment {
        /// The price, as the person typed it.
        amount: String,
        /// ISO code.
        currency: String,
        /// For the customer; may be empty.
        #[serde(default)]
        message: String,
        /// The merchant's own reference; may be empty.
        #[serde(default)]
        merchant_transaction_id: String,
    },
    /// Accept the coins that came → `PaymentView`.
    AcceptPayment {
        /// Its id.
        payment_id: String,
    },
    /// Newest first → `Page<AnomalyRow>`.
    ListAnomalies {
        /// Only OPEN ones.
        #[serde(default)]
        open: bool,
        /// 1 to 500.
        limit: u32,
        /// From 0.
        offset: u32,
    },
    /// → `AnomalyRow`.
    ShowAnomaly {
        /// Its id.
        anomaly_id: String,
    },
    /// Set an anomaly aside → `AnomalyRow`.
    DismissAnomaly {
        /// Its id.
        anomaly_id: String,
        /// Why, for the record.
        reason: String,
    },
    /// Newest first → `Page<DeliveryRow>`.
    ListDeliveries {
        /// Only failed attempts.
        #[serde(default)]
        failed: bool,
        /// 1 to 500.
        limit: u32,
        /// From 0.
        offset: u32,
    },
    /// Queue the current snapshot again → `Resent`.
    Resend {
        /// The id of a delivery, a payment, an anomaly or a payout.
        id: String,
    },
    /// → `Page<KeyRow>`.
    ListKeys,
    /// → `NewKey`, the only time the secret is told.
    CreateKey {
        /// Letters, digits, underscore; 1 to 64.
        name: String,
        /// `shop`, `full`, or a comma-separated list of permissions.
        permissions: String,
        /// Payments of this key need no `notificationUrl`.
        #[serde(default)]
        notification_url_optional: bool,
    },
    /// → `KeyRow`.
    RevokeKey {
        /// Its name.
        name: String,
    },
    /// Make a new HMAC key; the old one stays good for 24 hours → `NewHmacKey`.
    RotateHmacKey,
    /// → `Page<SettingRow>`.
    ListSettings,
    /// → `SettingRow`.
    GetSetting {
        /// Its name.
        name: String,
    },
    /// → `SettingRow`.
    SetSetting {
        /// Its name.
        name: String,
        /// Its value, in the form that the table of settings gives.
        value: String,
    },
    /// Back to the default → `SettingRow`.
    UnsetSetting {
        /// Its name.
        name: String,
    },
    /// Check keyring, backend, rates, clock, disk, ports, permissions → `DoctorView`.
    Doctor,
    /// A call of the sandbox, as `http/sandbox` has it → the call's answer.
    Sandbox {
        /// `GET`, `POST` or `PUT`.
        method: String,
        /// Its path below `/v2`, like `/sandbox/blocks`.
        path: String,
        /// Its body.
        #[serde(default)]
        #[ts(type = "unknown")]
        body: serde_json::Value,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// serde's tagged enums buffer their content, and serde_json's exact numbers are buffered as
    /// maps when read from text: a command must be read from a value, and then keeps its numbers.
    #[test]
    fn a_command_with_numbers_is_read_from_a_value() {
        let value = serde_json::json!({"command": "listPayments", "limit": 50, "offset": 100, "states": ["NEW"]});
        let command: Command = serde_json::from_value(value).unwrap();
        let expected = Command::ListPayments { limit: 50, offset: 100, states: vec!["NEW".to_owned()], search: None };
        assert_eq!(command, expected);
    }

    #[test]
    fn the_body_of_a_sandbox_call_keeps_its_numbers() {
        let value = serde_json::json!({"command": "sandbox", "method": "POST", "path": "/sandbox/blocks", "body": {"count": 3}});
        let Command::Sandbox { body, .. } = serde_json::from_value(value).unwrap() else { panic!("another command") };
        assert_eq!(body["count"].as_u64(), Some(3));
    }
}
