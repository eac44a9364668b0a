//! Spends received coins, as a merchant does in the course of time.

use bdk_wallet::keys::bip39::Mnemonic;
use bitcoin::absolute::LockTime;
use bitcoin::bip32::{ChildNumber, DerivationPath, Xpriv};
use bitcoin::hashes::Hash as _;
use bitcoin::secp256k1::{All, Message, Secp256k1};
use bitcoin::sighash::SighashCache;
use bitcoin::{
    Amount, CompressedPublicKey, EcdsaSighashType, Network, OutPoint, ScriptBuf, Sequence,
    Transaction, TxIn, TxOut, WPubkeyHash, Witness, ecdsa, transaction,
};
use tillgate_chain::Broadcast;
use tillgate_gateway::Gateway;
use tillgate_machine::clock::machine_now;
use tillgate_machine::secrets::Purpose;
use tillgate_sandbox::Sandbox;

use crate::fallible::Fallible;

/// Number of coins that one transaction spends: 34,000 vB of the 100,000 that are relayed.
const INPUTS: usize = 500;

/// Fee in satoshis for each input, and once more for the rest of the transaction.
const FEE_SATS: u64 = 140;

/// A payment's output in the chain.
pub struct Coin {
    /// The transaction and output that hold it.
    pub outpoint: OutPoint,
    /// The index of its key.
    pub index: u32,
    pub amount_sats: u64,
}

/// Sends these coins to a script outside the wallet, and mines until the mempool is empty.
pub fn spend(gateway: &Gateway, sandbox: &Sandbox, coins: &[Coin]) -> Fallible<()> {
    let words =
        gateway.machine.secrets.get(Purpose::WalletMnemonic)?.ok_or("the wallet has no words")?;
    let seed = Mnemonic::parse(words.reveal())?.to_seed("");
    let keychain = "m/84'/1'/0'/0".parse::<DerivationPath>()?;
    let secp = Secp256k1::new();
    let keychain = Xpriv::new_master(Network::Regtest, &seed)?.derive_priv(&secp, &keychain)?;
    for coins in coins.chunks(INPUTS) {
        let transaction = signed(&secp, &keychain, coins)?;
        match gateway.backend.chain.broadcast(&[transaction])? {
            Broadcast::Accepted => {}
            refused => {
                return Err(
                    format!("a transaction of the merchant was not accepted: {refused:?}").into()
                );
            }
        }
    }
    while !sandbox.status()?.mempool.is_empty() {
        sandbox.mine(1, false, machine_now().ms())?;
    }
    Ok(())
}

fn signed(secp: &Secp256k1<All>, keychain: &Xpriv, coins: &[Coin]) -> Fallible<Transaction> {
    let sum_sats: u64 = coins.iter().map(|coin| coin.amount_sats).sum();
    let fee_sats = FEE_SATS * (u64::try_from(coins.len())? + 1);
    let outside = ScriptBuf::new_p2wpkh(&WPubkeyHash::hash(b"somebody outside"));
    let input = coins.iter().map(|coin| TxIn {
        previous_output: coin.outpoint,
        script_sig: ScriptBuf::new(),
        sequence: Sequence::ENABLE_RBF_NO_LOCKTIME,
        witness: Witness::new(),
    });
    let mut transaction = Transaction {
        version: transaction::Version::TWO,
        lock_time: LockTime::ZERO,
        input: input.collect(),
        output: vec![TxOut {
            value: Amount::from_sat(sum_sats - fee_sats),
            script_pubkey: outside,
        }],
    };
    let mut cache = SighashCache::new(&mut transaction);
    for (input, coin) in coins.iter().enumerate() {
        let key =
            keychain.derive_priv(secp, &[ChildNumber::from_normal_idx(coin.index)?])?.private_key;
        let public = CompressedPublicKey(key.public_key(secp));
        let script = ScriptBuf::new_p2wpkh(&public.wpubkey_hash());
        let value = Amount::from_sat(coin.amount_sats);
        let sighash = cache.p2wpkh_signature_hash(input, &script, value, EcdsaSighashType::All)?;
        let signature = secp.sign_ecdsa(&Message::from(sighash), &key);
        let signature = ecdsa::Signature { signature, sighash_type: EcdsaSighashType::All };
        let witness = cache.witness_mut(input).ok_or("an input is missing")?;
        *witness = Witness::p2wpkh(&signature, &public.0);
    }
    Ok(transaction)
}
