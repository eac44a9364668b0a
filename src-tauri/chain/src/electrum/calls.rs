//! Calls of the Electrum protocol, their answers, and the two hashes in them: script hash and
//! status.
//!
//! Follows the protocol's own description (spesmilo/electrum-protocol, docs/protocol-basics.rst and
//! protocol-methods.rst).

use std::fmt;

use bitcoin::Script;
use bitcoin::hashes::{Hash as _, sha256};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::checks::sanitized::{quoted, sanitized};
use crate::port::ChainDown;

#[derive(Debug, Clone)]
pub struct Call {
    pub method: &'static str,
    pub params: Value,
    /// The tip or script whose state the answer updates.
    pub subject: Subject,
    /// The owner of the script that the call names; `Ours` if it names none.
    pub owner: Owner,
}

/// The owner of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The merchant. A refusal fails the look, unless the script has too many transactions.
    Ours,
    /// A payee or a customer. A refusal leaves the script unknown and does not fail the look, since
    /// the customer chose the script.
    Others,
}

/// The tip or the script that a call subscribes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    None,
    Tip,
    Script(ScriptHash),
}

/// The reason why a call has no answer although the connection stays open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    Said {
        code: i64,
        /// The server's text, made safe to show.
        message: String,
    },
    /// The answer exceeded its size limit: the script has too many transactions.
    TooLong,
    /// The server did not answer in time.
    TooSlow,
    /// The server was busy with another call, so this call says nothing about its script.
    NotReached,
}

/// A refusal as most servers write it: a JSON-RPC error object.
#[derive(Deserialize)]
struct ErrorObject<'a> {
    #[serde(borrow, default)]
    code: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
}

/// An unparsed result; `None` is JSON's null.
pub type Answer = Option<Box<RawValue>>;

/// The SHA-256 of a script, with its bytes in the protocol's reverse order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScriptHash([u8; 32]);

/// A digest of a script's history; `None` for an empty history.
pub type Status = Option<[u8; 32]>;

/// A call with its parameters, a JSON array.
pub const fn call(method: &'static str, params: Value) -> Call {
    Call { method, params, subject: Subject::None, owner: Owner::Ours }
}

/// The only call whose overlong answer does not end the connection.
const HISTORY: &str = "blockchain.scripthash.get_history";

/// Limit in bytes for an answer with a transaction: more than a transaction that fills a block, in
/// hexadecimal. A refusal may repeat a broadcast transaction.
const WITH_TRANSACTION: usize = 9 * 1_024 * 1_024;

/// Limit in bytes for a history. A longer answer has more transactions than are accepted.
const WITH_HISTORY: usize = 5 * 256 * 1_024;

/// Limit in bytes for 2,016 headers in hexadecimal.
const WITH_HEADERS: usize = 512 * 1_024;

/// Limit in bytes for every other line.
pub const SHORT: usize = 64 * 1_024;

pub fn history(hash: ScriptHash, owner: Owner) -> Call {
    Call { owner, ..call(HISTORY, json!([hash.to_string()])) }
}

/// Requests the tip, and a notification whenever it changes.
pub fn subscribe_tip() -> Call {
    Call { subject: Subject::Tip, ..call("blockchain.headers.subscribe", json!([])) }
}

/// Requests a script's status, and a notification whenever it changes.
pub fn subscribe_script(hash: ScriptHash, owner: Owner) -> Call {
    let subject = Subject::Script(hash);
    Call { subject, owner, ..call("blockchain.scripthash.subscribe", json!([hash.to_string()])) }
}

impl Call {
    /// Whether an overlong answer fails only this call, not the connection.
    pub fn may_be_long(&self) -> bool {
        self.method == HISTORY
    }

    pub fn answer_max(&self) -> usize {
        match self.method {
            HISTORY => WITH_HISTORY,
            "blockchain.block.headers" => WITH_HEADERS,
            method if method.starts_with("blockchain.transaction.get_") => SHORT,
            method if method.starts_with("blockchain.transaction.") => WITH_TRANSACTION,
            _ => SHORT,
        }
    }
}

pub fn typed<T: DeserializeOwned>(method: &str, answer: &Answer) -> Result<T, ChainDown> {
    let text = answer.as_ref().map_or("null", |answer| answer.get());
    serde_json::from_str(text).map_err(|error| {
        ChainDown::of_text(format!(
            "the server's answer to {method} makes no sense: {}",
            quoted(&error.to_string())
        ))
    })
}

/// Parses a status; `None` if it is invalid.
pub fn status(text: Option<&str>) -> Option<Status> {
    let Some(text) = text else { return Some(None) };
    let mut bytes = [0; 32];
    hex::decode_to_slice(text, &mut bytes).ok()?;
    Some(Some(bytes))
}

impl Refused {
    /// Parses an error: an object with code and message, or a text alone.
    pub fn parse(error: &str) -> Self {
        // An untyped value would take a hundred times the memory of its text.
        let object = serde_json::from_str::<ErrorObject<'_>>(error).ok();
        let code = object
            .as_ref()
            .and_then(|object| serde_json::from_str(object.code?.get()).ok())
            .unwrap_or(0);
        let text = object.map_or(Some(error), |object| object.message.map(RawValue::get));
        let message = text.and_then(|text| serde_json::from_str::<String>(text).ok());
        Self::Said { code, message: sanitized(message.as_deref().unwrap_or("no reason")) }
    }

    /// The refusal as an error of the backend.
    pub fn down(&self, method: &str) -> ChainDown {
        ChainDown::of_text(match self {
            Self::Said { code, .. } => {
                format!("the server refuses {method}: {} (code {code})", self.why())
            }
            Self::TooLong | Self::TooSlow | Self::NotReached => {
                format!("the server gave no usable answer to {method}: {}", self.why())
            }
        })
    }

    /// The reason, for people.
    pub fn why(&self) -> String {
        match self {
            Self::Said { message, .. } => quoted(message),
            Self::TooLong => "the answer is too long".to_owned(),
            Self::TooSlow | Self::NotReached => "the answer did not come in time".to_owned(),
        }
    }

    /// Whether the script has too many transactions for this server. The texts are those of
    /// ElectrumX, Fulcrum and the variants of electrs.
    pub fn is_too_popular(&self) -> bool {
        let message = match self {
            Self::Said { message, .. } => message.to_ascii_lowercase(),
            Self::TooLong | Self::TooSlow => return true,
            Self::NotReached => return false,
        };
        [
            "history too large",
            "history is too large",
            "too many history",
            "query may take a long time",
            "response too large",
        ]
        .iter()
        .any(|words| message.contains(words))
    }
}

impl ScriptHash {
    pub fn from_script(script: &Script) -> Self {
        let mut hash = sha256::Hash::hash(script.as_bytes()).to_byte_array();
        hash.reverse();
        Self(hash)
    }

    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        Some(Self(bytes))
    }
}

impl fmt::Display for ScriptHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_hash_matches_the_example_of_the_protocol() {
        let script =
            bitcoin::ScriptBuf::from_hex("76a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1888ac")
                .unwrap();
        let hash = ScriptHash::from_script(&script);
        assert_eq!(
            hash.to_string(),
            "8b01df4e368ea28f8dc0423bcf7a4923e3a12d307c875e47a0cfbf90b5c39161"
        );
        assert_eq!(ScriptHash::parse(&hash.to_string()), Some(hash));
        assert_eq!(ScriptHash::parse("8b01"), None);
    }

    #[test]
    fn refusals_of_every_kind_of_server_are_parsed() {
        let refused = Refused::parse(r#"{"code": 1, "message": "history too large"}"#);
        assert!(matches!(refused, Refused::Said { code: 1, .. }) && refused.is_too_popular());
        assert!(
            Refused::parse(r#""4000+ transactions found, query may take a long time""#)
                .is_too_popular()
        );
        for none in ["7", "[]", r#"[{"":0},{"":0}]"#, r#"{"code": {}, "message": [{"":0}]}"#] {
            assert_eq!(
                Refused::parse(none),
                Refused::Said { code: 0, message: "no reason".to_owned() },
                "{none}"
            );
        }
    }
}
