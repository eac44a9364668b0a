//! The results of RPC calls, with only the fields that are used.

use bitcoin::{BlockHash, OutPoint, Txid};
use rust_decimal::Decimal;
use serde::Deserialize;
use serde_json::Number;
use tillgate_domain::closing::CutOff;

/// `getblockchaininfo`.
#[derive(Debug, Deserialize)]
pub struct ChainInfo {
    pub blocks: u32,
    pub headers: u32,
    pub bestblockhash: BlockHash,
    pub initialblockdownload: bool,
    /// The lowest block that a pruned node still holds.
    #[serde(default)]
    pub pruneheight: Option<u32>,
}

/// `getblock`, with the ids of its transactions.
#[derive(Debug, Deserialize)]
pub struct BlockIds {
    pub tx: Vec<Txid>,
}

/// `getnetworkinfo`.
#[derive(Debug, Deserialize)]
pub struct NetworkInfo {
    /// The node's name on the network, such as `/Satoshi:30.0.0/`.
    pub subversion: String,
    #[serde(default)]
    localrelay: Option<bool>,
    #[serde(default)]
    networkactive: Option<bool>,
    #[serde(default)]
    connections: Option<u32>,
}

/// A node's reach into the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    pub cut_off: Option<CutOff>,
    /// Whether it hears of transactions before their blocks.
    pub has_mempool: bool,
}

impl Default for Reach {
    fn default() -> Self {
        Self { cut_off: None, has_mempool: true }
    }
}

impl From<&NetworkInfo> for Reach {
    /// A node that does not report a field counts as one that hears.
    fn from(info: &NetworkInfo) -> Self {
        let cut_off = match (info.networkactive, info.connections) {
            (Some(false), _) => Some(CutOff::SwitchedOff),
            (_, Some(0)) => Some(CutOff::NoConnections),
            (Some(true) | None, _) => None,
        };
        Self { cut_off, has_mempool: info.localrelay != Some(false) }
    }
}

/// `getmempoolinfo`.
#[derive(Debug, Deserialize)]
pub struct MempoolInfo {
    pub loaded: bool,
    pub mempoolminfee: Number,
    pub minrelaytxfee: Number,
    /// Absent before Core 24.
    #[serde(default)]
    pub incrementalrelayfee: Option<Number>,
}

/// `getrawmempool`, not verbose, with its sequence.
#[derive(Debug, Deserialize)]
pub struct RawMempool {
    pub txids: Vec<Txid>,
    pub mempool_sequence: u64,
}

/// `getmempoolentry`.
#[derive(Debug, Deserialize)]
pub struct Entry {
    /// Seconds since 1970.
    pub time: i64,
    pub vsize: u64,
    /// Includes the transaction itself.
    pub ancestorcount: u64,
    pub fees: Fees,
}

#[derive(Debug, Deserialize)]
pub struct Fees {
    /// The transaction's own fee, in bitcoin.
    pub base: Number,
    /// The fee with all descendants in the mempool, in bitcoin.
    pub descendant: Number,
}

/// One item of `gettxspendingprevout`.
#[derive(Debug, Deserialize)]
pub struct Spending {
    pub txid: Txid,
    pub vout: u32,
    #[serde(default)]
    pub spendingtxid: Option<Txid>,
}

/// `estimatesmartfee`.
#[derive(Debug, Deserialize)]
pub struct Estimate {
    #[serde(default)]
    pub feerate: Option<Number>,
}

impl Spending {
    pub const fn outpoint(&self) -> OutPoint {
        OutPoint { txid: self.txid, vout: self.vout }
    }
}

/// Converts an amount in bitcoin to satoshis; `None` if it is invalid.
pub fn sats(btc: &Number) -> Option<u64> {
    let text = btc.as_str();
    let btc = text.parse::<Decimal>().or_else(|_| Decimal::from_scientific(text)).ok()?;
    let sats = btc.checked_mul(Decimal::from(100_000_000))?;
    // A fraction of a satoshi is invalid.
    if sats.fract().is_zero() { u64::try_from(sats).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_before_core_24_names_no_increment() {
        let read = |more: &str| {
            let info = format!(
                r#"{{"loaded":true,"mempoolminfee":0.00001000,"minrelaytxfee":0.00001000{more}}}"#
            );
            let info: MempoolInfo = serde_json::from_str(&info).unwrap();
            info.incrementalrelayfee.as_ref().and_then(sats)
        };
        assert_eq!(read(r#","incrementalrelayfee":0.00005000"#), Some(5_000));
        assert_eq!(read(""), None);
    }

    #[test]
    fn amounts_are_read_exactly_from_their_text() {
        let of = |text: &str| sats(&serde_json::from_str(text).unwrap());
        assert_eq!(of("0.00001000"), Some(1_000));
        assert_eq!(of("1e-8"), Some(1));
        assert_eq!(of("20999999.97690000"), Some(2_099_999_997_690_000));
        assert_eq!(of("0.1"), Some(10_000_000));
        for wrong in ["-0.1", "0.000000001", "1e400", "99999999999999999999"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
