//! What a server answers, as far as it is used, and how a transaction or a header is made of it again: what does not come
//! to the id that it is told under is forged.
//!
//! The forms are those of `API.md` in `Blockstream/esplora` and of `src/rest.rs` in `mempool/electrs`.

use std::fmt;

use bitcoin::absolute::LockTime;
use bitcoin::block::{Header, Version};
use bitcoin::hashes::Hash as _;
use bitcoin::hex::FromHex as _;
use bitcoin::{
    Amount, BlockHash, CompactTarget, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxMerkleNode, TxOut, Txid,
    Witness, transaction,
};
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Where a transaction is said to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) struct Status {
    pub confirmed: bool,
    #[serde(default)]
    pub block_height: Option<u32>,
    #[serde(default)]
    pub block_hash: Option<BlockHash>,
}

/// A transaction.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct TxAnswer {
    pub txid: Txid,
    version: i64,
    locktime: u32,
    vin: Vec<InputAnswer>,
    vout: Vec<OutputAnswer>,
    pub status: Status,
}

#[derive(Debug, Clone, Deserialize)]
struct InputAnswer {
    txid: Txid,
    vout: u32,
    #[serde(default)]
    prevout: Option<OutputAnswer>,
    scriptsig: ScriptBuf,
    #[serde(default, deserialize_with = "witness")]
    witness: Witness,
    sequence: u32,
}

#[derive(Debug, Clone, Deserialize)]
struct OutputAnswer {
    scriptpubkey: ScriptBuf,
    value: u64,
}

/// A block's header, with what the server says of its place.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct BlockAnswer {
    id: BlockHash,
    pub height: u32,
    version: i64,
    timestamp: u32,
    bits: u32,
    nonce: u32,
    merkle_root: TxMerkleNode,
    #[serde(default)]
    previousblockhash: Option<BlockHash>,
}

/// The way from a transaction to its block's merkle root.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ProofAnswer {
    pub block_height: u32,
    pub merkle: Vec<TxMerkleNode>,
    pub pos: u32,
}

/// What spends one output of a transaction.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct SpendAnswer {
    pub spent: bool,
    #[serde(default)]
    pub txid: Option<Txid>,
}

impl TxAnswer {
    /// The transaction itself; `None` where it does not come to its id.
    pub(super) fn tx(&self) -> Option<Transaction> {
        let input = |input: &InputAnswer| TxIn {
            previous_output: OutPoint { txid: input.txid, vout: input.vout },
            script_sig: input.scriptsig.clone(),
            sequence: Sequence::from_consensus(input.sequence),
            witness: input.witness.clone(),
        };
        let output = |output: &OutputAnswer| TxOut {
            value: Amount::from_sat(output.value),
            script_pubkey: output.scriptpubkey.clone(),
        };
        let tx = Transaction {
            version: transaction::Version(signed(self.version)?),
            lock_time: LockTime::from_consensus(self.locktime),
            input: self.vin.iter().map(input).collect(),
            output: self.vout.iter().map(output).collect(),
        };
        (tx.compute_txid() == self.txid).then_some(tx)
    }

    /// What it pays for itself, by what the server says of the outputs that it spends; `None` where it does not say, or
    /// where that cannot be.
    pub(super) fn fee_sats(&self) -> Option<u64> {
        let spent: Option<Vec<u64>> = self.vin.iter().map(|input| Some(input.prevout.as_ref()?.value)).collect();
        let sum = |values: &[u64]| values.iter().try_fold(0u64, |sum, value| sum.checked_add(*value));
        let made: Vec<u64> = self.vout.iter().map(|output| output.value).collect();
        sum(&spent?)?.checked_sub(sum(&made)?)
    }
}

impl BlockAnswer {
    /// The header itself; `None` where it does not come to its id.
    pub(super) fn header(&self) -> Option<Header> {
        let header = Header {
            version: Version::from_consensus(signed(self.version)?),
            prev_blockhash: self.previousblockhash.unwrap_or_else(BlockHash::all_zeros),
            merkle_root: self.merkle_root,
            time: self.timestamp,
            bits: CompactTarget::from_consensus(self.bits),
            nonce: self.nonce,
        };
        (header.block_hash() == self.id).then_some(header)
    }
}

/// A witness, item by item: no id covers it, so that a server may tell millions of empty ones.
fn witness<'de, D: Deserializer<'de>>(items: D) -> Result<Witness, D::Error> {
    struct Items;
    impl<'de> Visitor<'de> for Items {
        type Value = Witness;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the items of a witness in hex")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Witness, A::Error> {
            let mut witness = Witness::new();
            while let Some(item) = items.next_element::<String>()? {
                witness.push(Vec::from_hex(&item).map_err(de::Error::custom)?);
            }
            Ok(witness)
        }
    }
    items.deserialize_seq(Items)
}

/// A version, which some servers write with a sign and others without.
fn signed(version: i64) -> Option<i32> {
    i32::try_from(version).ok().or_else(|| u32::try_from(version).ok().map(u32::cast_signed))
}

#[cfg(test)]
mod tests {
    use bitcoin::consensus::encode::deserialize_hex;
    use serde_json::json;

    use super::*;

    /// The first transaction that ever paid somebody, in block 170.
    const TX: &str = "0100000001c997a5e56e104102fa209c6a852dd90660a20b2d9c352423edce25857fcd3704000000004847304402204e45e16932b8af514961a1d3a1a25fdf3f4f7732e9d624c6c61548ab5fb8cd410220181522ec8eca07de4860a4acdd12909d831cc56cbbac4622082221a8768d1d0901ffffffff0200ca9a3b00000000434104ae1a62fe09c5f51b13905f07f06b99a2f7159b2225f374cd378d71302fa28414e7aab37397f554a7df5f142c21c1b7303b8a0626f1baded5c72a704f7e6cd84cac00286bee0000000043410411db93e1dcdb8a016b49840f8c53bc1eb68a382e97b1482ecad7b148a6909a5cb2e0eaddfb84ccf9744464f82e160bfa9b8b64f9d4c03f999b8643f656b412a3ac00000000";

    fn told(value: u64) -> TxAnswer {
        let tx: Transaction = deserialize_hex(TX).unwrap();
        let [first, second] = [0, 1].map(|at| {
            let output = &tx.output[at];
            json!({ "scriptpubkey": output.script_pubkey.to_hex_string(), "scriptpubkey_type": "p2pk", "value": output.value.to_sat() })
        });
        let mut answer = json!({
            "txid": tx.compute_txid(), "version": 1, "locktime": 0, "size": 275, "weight": 1100, "fee": 0,
            "vin": [{ "txid": tx.input[0].previous_output.txid, "vout": 0, "scriptsig": tx.input[0].script_sig.to_hex_string(),
                "prevout": { "scriptpubkey": "51", "value": 5_000_000_300u64 }, "is_coinbase": false, "sequence": 4_294_967_295u32 }],
            "vout": [first, second],
            "status": { "confirmed": true, "block_height": 170, "block_hash": "00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee", "block_time": 1_231_731_025 }
        });
        if value != 0 {
            answer["vout"][0]["value"] = json!(value);
        }
        serde_json::from_value(answer).unwrap()
    }

    #[test]
    fn a_transaction_is_made_again_of_its_json_and_one_that_is_not_its_id_is_none() {
        assert_eq!(told(0).tx(), Some(deserialize_hex(TX).unwrap()));
        assert_eq!(told(0).status.block_height, Some(170));
        assert_eq!(told(0).fee_sats(), Some(300));
        assert_eq!(told(1).tx(), None);
        assert_eq!(told(u64::MAX).fee_sats(), None, "more than there is");
    }

    #[test]
    fn a_header_is_made_again_of_its_json_and_one_that_is_not_its_id_is_none() {
        let block = |nonce: u32| -> BlockAnswer {
            serde_json::from_value(json!({
                "id": "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f", "height": 0, "version": 1,
                "timestamp": 1_231_006_505, "bits": 486_604_799, "nonce": nonce, "difficulty": 1,
                "merkle_root": "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b",
                "previousblockhash": null, "tx_count": 1, "size": 285, "weight": 816, "mediantime": 1_231_006_505
            }))
            .unwrap()
        };
        let genesis = bitcoin::constants::genesis_block(bitcoin::Network::Bitcoin).header;
        assert_eq!(block(2_083_236_893).header(), Some(genesis));
        assert_eq!(block(2_083_236_894).header(), None);
        assert_eq!((signed(0x2000_0000), signed(-1), signed(0xffff_ffff)), (Some(0x2000_0000), Some(-1), Some(-1)));
        assert_eq!((signed(0x1_0000_0000), signed(i64::MIN)), (None, None));
    }
}
