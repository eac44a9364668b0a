//! A payer whose key the tests hold, so that transactions can be signed, changed and signed again
//! in every way. Also holds helpers for tests through every backend.

use bitcoin::absolute::LockTime;
use bitcoin::key::{Keypair, Secp256k1};
use bitcoin::script::{Builder, PushBytesBuf};
use bitcoin::secp256k1::{All, Message, SecretKey, ecdsa as bare};
use bitcoin::sighash::SighashCache;
use bitcoin::{
    Amount, CompressedPublicKey, EcdsaSighashType, OutPoint, PubkeyHash, ScriptBuf, Sequence,
    Transaction, TxIn, TxOut, Witness, ecdsa, transaction,
};
use tillgate_domain::anomaly::{AnomalyKind, Resolution};
use tillgate_domain::receipt::Receipt;
use tillgate_sandbox::{BroadcastFault, FaultsPatch};
use tillgate_store::payments::PaymentRow;

use super::World;
use super::stage::{Backend, Stage};

const COIN_SATS: u64 = 10_000_000;

/// Enough for any transaction here, and not excessive.
const FEE_SATS: u64 = 2_000;

/// Looks within which a backend with a slow round must reach old addresses.
const LOOKS_MAX: usize = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The signature is part of the transaction's id.
    Legacy,
    /// The signature is not part of the id.
    Segwit,
}

pub struct Payer {
    secp: Secp256k1<All>,
    keypair: Keypair,
    kind: Kind,
    coin: OutPoint,
    sats: u64,
}

impl Payer {
    /// Receives a coin from the sandbox's customer, in a block.
    pub async fn with_coin(world: &World, kind: Kind) -> Self {
        let secp = Secp256k1::new();
        let keypair = SecretKey::from_slice(&[9; 32]).unwrap().keypair(&secp);
        let script = script(&keypair, kind);
        let txid = world.sandbox().send(script.clone(), COIN_SATS, world.now_ms()).unwrap();
        world.mine(1).await;
        let tx = world.sandbox().transaction(txid).unwrap().unwrap().tx;
        let vout = tx.output.iter().position(|output| output.script_pubkey == script).unwrap();
        Self {
            secp,
            keypair,
            kind,
            coin: OutPoint { txid, vout: u32::try_from(vout).unwrap() },
            sats: COIN_SATS,
        }
    }

    /// The same payer with the change of its own transaction, the last output.
    pub fn going_on_from(&self, tx: &Transaction) -> Self {
        let (vout, last) = (tx.output.len() - 1, tx.output.last().unwrap());
        assert_eq!(last.script_pubkey, script(&self.keypair, self.kind));
        let coin = OutPoint { txid: tx.compute_txid(), vout: u32::try_from(vout).unwrap() };
        Self {
            secp: self.secp.clone(),
            keypair: self.keypair,
            kind: self.kind,
            coin,
            sats: last.value.to_sat(),
        }
    }

    /// Pays these amounts; the rest without the fee returns to the payer. Another `sequence` makes
    /// another transaction.
    pub fn pays(
        &self,
        outputs: &[(&ScriptBuf, u64)],
        fees: u64,
        sequence: Sequence,
    ) -> Transaction {
        let paid: u64 = outputs.iter().map(|(_, sats)| sats).sum();
        let own = script(&self.keypair, self.kind);
        let change = (&own, self.sats - paid - fees * FEE_SATS);
        let output = |(script, sats): &(&ScriptBuf, u64)| TxOut {
            value: Amount::from_sat(*sats),
            script_pubkey: (*script).clone(),
        };
        let input = TxIn {
            previous_output: self.coin,
            script_sig: ScriptBuf::new(),
            sequence,
            witness: Witness::new(),
        };
        let mut tx = Transaction {
            version: transaction::Version::TWO,
            lock_time: LockTime::ZERO,
            input: vec![input],
            output: outputs.iter().chain([&change]).map(output).collect(),
        };
        let signature = self.signature(&tx);
        self.put(&mut tx, signature);
        tx
    }

    /// Burns the coin. Without the signature the transaction has 64 bytes, like two hashes.
    pub fn burns(&self) -> Transaction {
        let mut tx = self.pays(&[], 1, Sequence::ENABLE_RBF_NO_LOCKTIME);
        tx.output[0].script_pubkey = ScriptBuf::new_op_return(*b"ab");
        let signature = self.signature(&tx);
        self.put(&mut tx, signature);
        tx
    }

    /// The same transaction under the other valid signature of this key, which anybody can derive.
    pub fn malleated(&self, tx: &Transaction) -> Transaction {
        let compact = self.signature(tx).serialize_compact();
        let high = SecretKey::from_slice(&compact[32..]).unwrap().negate();
        let both = [&compact[..32], high.secret_bytes().as_slice()].concat();
        let mut other = tx.clone();
        self.put(&mut other, bare::Signature::from_compact(&both).unwrap());
        other
    }

    fn signature(&self, tx: &Transaction) -> bare::Signature {
        let (own, cache) = (script(&self.keypair, self.kind), SighashCache::new(tx));
        let message = match self.kind {
            Kind::Legacy => Message::from(
                cache.legacy_signature_hash(0, &own, EcdsaSighashType::All.to_u32()).unwrap(),
            ),
            Kind::Segwit => {
                let mut cache = cache;
                let (value, all) = (Amount::from_sat(self.sats), EcdsaSighashType::All);
                Message::from(cache.p2wpkh_signature_hash(0, &own, value, all).unwrap())
            }
        };
        self.secp.sign_ecdsa_low_r(&message, &self.keypair.secret_key())
    }

    fn put(&self, tx: &mut Transaction, signature: bare::Signature) {
        let signature = ecdsa::Signature { signature, sighash_type: EcdsaSighashType::All };
        match self.kind {
            Kind::Legacy => {
                let signature = PushBytesBuf::try_from(signature.to_vec()).unwrap();
                let key = self.keypair.public_key().serialize();
                tx.input[0].script_sig =
                    Builder::new().push_slice(signature).push_slice(key).into_script();
            }
            Kind::Segwit => {
                tx.input[0].witness = Witness::p2wpkh(&signature, &self.keypair.public_key())
            }
        }
    }
}

fn script(keypair: &Keypair, kind: Kind) -> ScriptBuf {
    let key = CompressedPublicKey(keypair.public_key());
    match kind {
        Kind::Legacy => ScriptBuf::new_p2pkh(&PubkeyHash::from(key)),
        Kind::Segwit => ScriptBuf::new_p2wpkh(&key.wpubkey_hash()),
    }
}

/// Runs a story on a fresh gateway through each backend.
pub async fn through_every_backend(story: impl AsyncFn(Stage)) {
    for backend in [Backend::Sandbox].iter().chain(Backend::OTHERS) {
        println!("through {backend:?}");
        story(Stage::new(*backend).await).await;
    }
}

impl World {
    /// Broadcasts a stranger's transaction and looks.
    pub async fn hears(&self, tx: &Transaction) {
        self.sandbox().broadcast(tx, self.now_ms()).unwrap();
        self.look().await;
    }

    /// Mines exactly these transactions and looks.
    pub async fn finds_mined(&self, txs: &[Transaction]) {
        self.sandbox().mine_transactions(txs, self.now_ms()).unwrap();
        self.look().await;
    }

    /// Refuses the gateway's broadcasts from now on, or accepts them again.
    pub fn takes_broadcasts(&self, takes: bool) {
        let broadcast = Some(if takes { BroadcastFault::Ok } else { BroadcastFault::Reject });
        self.sandbox().set_faults(FaultsPatch { broadcast, ..FaultsPatch::default() }).unwrap();
    }

    /// Looks and runs the sender, twice, so that the results of its broadcasts are seen.
    pub async fn work_on(&self) {
        for _ in 0..2 {
            self.look().await;
            self.pass_sender().await;
        }
        self.look().await;
    }

    /// Looks until the condition holds.
    pub async fn looks_until(&self, what: &str, is_so: impl Fn() -> bool) {
        for _ in 0..LOOKS_MAX {
            if is_so() {
                return;
            }
            self.pass_ms(1_000).await;
        }
        panic!("not within {LOOKS_MAX} looks: {what}");
    }

    pub fn receipts_of(&self, payment: &PaymentRow) -> Vec<Receipt> {
        self.gateway.store.read(|reader| reader.receipts(payment.seq)).unwrap()
    }

    /// Kind, resolution and satoshis of each anomaly of a payment, the oldest first.
    pub fn anomalies_of(&self, payment: &PaymentRow) -> Vec<(AnomalyKind, Resolution, u64)> {
        let rows =
            self.gateway.store.read(|reader| reader.anomalies_of_payment(payment.seq)).unwrap();
        rows.iter()
            .map(|row| (row.anomaly.kind, row.anomaly.resolution, row.anomaly.paid_sats))
            .collect()
    }

    /// Checks that the ledger, the computed balance and the chain agree, while no payout is on its
    /// way.
    pub fn check_money(&self) {
        self.check_ledger();
        let booked = self.gateway.store.read(|reader| reader.ledger_sats()).unwrap();
        assert_eq!(
            u64::try_from(booked).unwrap(),
            self.chain_balance(),
            "the ledger and the coins in blocks"
        );
    }
}
