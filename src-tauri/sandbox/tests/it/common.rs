//! A sandbox in a temporary folder, and a shop whose key the tests hold.

use bitcoin::absolute::LockTime;
use bitcoin::key::{Keypair, Secp256k1};
use bitcoin::secp256k1::{All, Message, SecretKey};
use bitcoin::sighash::SighashCache;
use bitcoin::{
    Amount, CompressedPublicKey, EcdsaSighashType, OutPoint, ScriptBuf, Sequence, Transaction,
    TxIn, TxOut, Txid, Witness, ecdsa, transaction,
};
use tillgate_sandbox::{Pay, Sandbox, TxPosition, TxView};

/// 2026-01-01, in milliseconds.
pub const NOW_MS: i64 = 1_767_225_600_000;
/// Height of the initial chain.
pub const INITIAL_HEIGHT: u32 = 240;

pub struct Fixture {
    pub folder: tempfile::TempDir,
    pub sandbox: Sandbox,
    pub shop: Shop,
}

impl Fixture {
    pub fn new() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::open(&folder.path().join("sandbox.db"), NOW_MS).unwrap();
        Fixture { folder, sandbox, shop: Shop::new() }
    }

    /// Closes the sandbox and opens its file again.
    pub fn reopen(self) -> Fixture {
        let Fixture { folder, sandbox, shop } = self;
        drop(sandbox);
        let sandbox = Sandbox::open(&folder.path().join("sandbox.db"), NOW_MS).unwrap();
        Fixture { folder, sandbox, shop }
    }

    /// The customer pays the shop in one transaction.
    pub fn pay(&self, amount_sats: u64, confirmations: u32) -> Txid {
        let pay = Pay {
            script: self.shop.script.clone(),
            amount_sats,
            parts: 1,
            fee_rate_sat_vb: None,
            confirmations,
        };
        self.sandbox.pay(pay, NOW_MS).unwrap()[0]
    }

    /// The present facts of a transaction that was accepted.
    pub fn view(&self, txid: Txid) -> TxView {
        let all = self.sandbox.changes_since(0, usize::MAX >> 1).unwrap().txs;
        all.into_iter().find(|view| view.txid == txid).unwrap()
    }

    pub fn position(&self, txid: Txid) -> TxPosition {
        self.view(txid).position
    }

    pub fn is_in_mempool(&self, txid: Txid) -> bool {
        matches!(self.position(txid), TxPosition::Mempool { .. })
    }

    pub fn is_in_block(&self, txid: Txid) -> bool {
        matches!(self.position(txid), TxPosition::Block { .. })
    }

    pub fn is_absent(&self, txid: Txid) -> bool {
        self.position(txid) == TxPosition::Absent
    }

    /// The output of a transaction that pays the shop: its outpoint and satoshis.
    pub fn shop_coin(&self, txid: Txid) -> (OutPoint, u64) {
        let tx = self.view(txid).tx;
        let (vout, output) = (0u32..)
            .zip(&tx.output)
            .find(|(_, output)| output.script_pubkey == self.shop.script)
            .unwrap();
        (OutPoint { txid, vout }, output.value.to_sat())
    }

    pub fn fee_sats(&self, txid: Txid) -> u64 {
        let tx = self.view(txid).tx;
        let comes_in: u64 = tx
            .input
            .iter()
            .map(|input| {
                let parent = self.view(input.previous_output.txid).tx;
                parent.output[input.previous_output.vout as usize].value.to_sat()
            })
            .sum();
        comes_in - tx.output.iter().map(|output| output.value.to_sat()).sum::<u64>()
    }

    pub fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("sandbox.db")
    }
}

/// Holds one key and signs P2WPKH spends.
pub struct Shop {
    pub secp: Secp256k1<All>,
    pub keypair: Keypair,
    pub script: ScriptBuf,
}

impl Shop {
    pub fn new() -> Shop {
        let secp = Secp256k1::new();
        let keypair = SecretKey::from_slice(&[7; 32]).unwrap().keypair(&secp);
        let script =
            ScriptBuf::new_p2wpkh(&CompressedPublicKey(keypair.public_key()).wpubkey_hash());
        Shop { secp, keypair, script }
    }

    /// Spends the shop's coins into one output to the shop: their sum minus `fee_sats`.
    pub fn spend(&self, coins: &[(OutPoint, u64)], fee_sats: u64) -> Transaction {
        let sum: u64 = coins.iter().map(|coin| coin.1).sum();
        let outputs = vec![TxOut {
            value: Amount::from_sat(sum - fee_sats),
            script_pubkey: self.script.clone(),
        }];
        let mut tx = unsigned(coins, outputs);
        self.sign(&mut tx, coins);
        tx
    }

    pub fn sign(&self, tx: &mut Transaction, coins: &[(OutPoint, u64)]) {
        for (input, coin) in coins.iter().enumerate() {
            let sighash = SighashCache::new(&*tx)
                .p2wpkh_signature_hash(
                    input,
                    &self.script,
                    Amount::from_sat(coin.1),
                    EcdsaSighashType::All,
                )
                .unwrap();
            let signature =
                self.secp.sign_ecdsa_low_r(&Message::from(sighash), &self.keypair.secret_key());
            let signature = ecdsa::Signature { signature, sighash_type: EcdsaSighashType::All };
            tx.input[input].witness = Witness::p2wpkh(&signature, &self.keypair.public_key());
        }
    }
}

pub fn unsigned(coins: &[(OutPoint, u64)], output: Vec<TxOut>) -> Transaction {
    let input = coins
        .iter()
        .map(|coin| TxIn {
            previous_output: coin.0,
            script_sig: ScriptBuf::new(),
            sequence: Sequence::ENABLE_RBF_NO_LOCKTIME,
            witness: Witness::new(),
        })
        .collect();
    Transaction { version: transaction::Version::TWO, lock_time: LockTime::ZERO, input, output }
}
