//! The simulated customer's keys and signatures. `spending` chooses the coins.

use bitcoin::hashes::{Hash, HashEngine, sha256};
use bitcoin::key::{Keypair, TapTweak};
use bitcoin::secp256k1::{All, Message, Secp256k1, SecretKey};
use bitcoin::sighash::{Prevouts, SighashCache};
use bitcoin::{
    CompressedPublicKey, EcdsaSighashType, ScriptBuf, TapSighashType, Transaction, TxOut, Witness,
};
use bitcoin::{ecdsa, taproot};

use crate::error::SandboxError;
use crate::transactions::Coin;

/// Number of the customer's keys. Payments reuse them.
pub(crate) const KEYS: u32 = 64;
/// Hashed with the seed, so that these keys differ from all other values derived from the seed.
const KEY_DOMAIN: &[u8] = b"tillgate sandbox customer key";

/// The simulated customer. Its keys are derived from the seed.
pub(crate) struct Customer {
    secp: Secp256k1<All>,
    keys: Vec<Key>,
}

struct Key {
    pair: Keypair,
    /// Most are P2WPKH, every fourth P2TR.
    script: ScriptBuf,
}

impl Customer {
    pub(crate) fn new(seed: [u8; 32]) -> Customer {
        let secp = Secp256k1::new();
        let keys = (0..KEYS).map(|index| Key::derive(&secp, &seed, index)).collect();
        Customer { secp, keys }
    }

    /// The output script of a key.
    pub(crate) fn script(&self, index: u32) -> ScriptBuf {
        self.key(index).script.clone()
    }

    fn key(&self, index: u32) -> &Key {
        &self.keys[(index % KEYS) as usize]
    }

    /// Signs all inputs; `coins` are the outputs they spend, in order.
    pub(crate) fn sign(&self, tx: &mut Transaction, coins: &[Coin]) -> Result<(), SandboxError> {
        let spent: Vec<TxOut> = coins.iter().map(Coin::tx_out).collect();
        let mut witnesses = Vec::with_capacity(coins.len());
        let mut cache = SighashCache::new(&*tx);
        for (input, coin) in coins.iter().enumerate() {
            let index =
                coin.customer_key.ok_or(SandboxError::NotTheCustomers(coin.outpoint.txid))?;
            witnesses.push(self.witness(&mut cache, input, index, coin, &spent)?);
        }
        for (input, witness) in tx.input.iter_mut().zip(witnesses) {
            input.witness = witness;
        }
        Ok(())
    }

    fn witness(
        &self,
        cache: &mut SighashCache<&Transaction>,
        input: usize,
        key_index: u32,
        coin: &Coin,
        spent: &[TxOut],
    ) -> Result<Witness, SandboxError> {
        let damaged = |error: &dyn std::fmt::Display| {
            SandboxError::Damaged(format!(
                "the customer's coin {} cannot be signed for: {error}",
                coin.outpoint
            ))
        };
        let keypair = self.key(key_index).pair;
        if is_taproot(key_index) {
            let sighash = cache
                .taproot_key_spend_signature_hash(
                    input,
                    &Prevouts::All(spent),
                    TapSighashType::Default,
                )
                .map_err(|error| damaged(&error))?;
            let tweaked = keypair.tap_tweak(&self.secp, None).to_keypair();
            let signature = self.secp.sign_schnorr_no_aux_rand(&Message::from(sighash), &tweaked);
            let signature = taproot::Signature { signature, sighash_type: TapSighashType::Default };
            return Ok(Witness::p2tr_key_spend(&signature));
        }
        let value = bitcoin::Amount::from_sat(coin.amount_sats);
        let sighash = cache
            .p2wpkh_signature_hash(input, &coin.script, value, EcdsaSighashType::All)
            .map_err(|error| damaged(&error))?;
        let signature = self.secp.sign_ecdsa_low_r(&Message::from(sighash), &keypair.secret_key());
        let signature = ecdsa::Signature { signature, sighash_type: EcdsaSighashType::All };
        Ok(Witness::p2wpkh(&signature, &keypair.public_key()))
    }
}

impl Key {
    fn derive(secp: &Secp256k1<All>, seed: &[u8; 32], index: u32) -> Key {
        let pair = keypair(secp, seed, index);
        let script = if is_taproot(index) {
            ScriptBuf::new_p2tr(secp, pair.x_only_public_key().0, None)
        } else {
            ScriptBuf::new_p2wpkh(&CompressedPublicKey(pair.public_key()).wpubkey_hash())
        };
        Key { pair, script }
    }
}

fn keypair(secp: &Secp256k1<All>, seed: &[u8; 32], index: u32) -> Keypair {
    let mut attempt = 0u32;
    loop {
        let mut engine = sha256::Hash::engine();
        engine.input(KEY_DOMAIN);
        engine.input(seed);
        engine.input(&index.to_le_bytes());
        engine.input(&attempt.to_le_bytes());
        // About one hash in 2^128 is not a valid key.
        if let Ok(key) = SecretKey::from_slice(sha256::Hash::from_engine(engine).as_byte_array()) {
            return key.keypair(secp);
        }
        attempt = attempt.wrapping_add(1);
    }
}

/// A witness as large as the real one, to measure the size before signing.
pub(crate) fn placeholder_witness(coin: &Coin) -> Witness {
    match coin.script.is_p2tr() {
        true => Witness::from_slice(&[vec![0u8; 64]]),
        // A low-R signature has at most 71 bytes, its sighash type included.
        false => Witness::from_slice(&[vec![0u8; 71], vec![0u8; 33]]),
    }
}

fn is_taproot(index: u32) -> bool {
    index % 4 == 3
}
