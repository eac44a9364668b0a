//! Signs transactions. Private keys are derived from the words for one transaction and then wiped.
//! The words must be those of the wallet.

use bitcoin::hashes::Hash as _;
use bitcoin::key::{Keypair, TapTweak as _};
use bitcoin::secp256k1::{All, Message, PublicKey, Secp256k1};
use bitcoin::sighash::{Prevouts, SighashCache};
use bitcoin::{
    Amount, CompressedPublicKey, EcdsaSighashType, ScriptBuf, TapSighashType, Transaction, TxOut,
    Witness, ecdsa, taproot,
};
use tillgate_machine::secrets::Secret;

use super::unsigned_spend::UnsignedSpend;
use crate::settings::AddressType;
use crate::wallet::descriptor::{PrivateKeychains, WalletError, WipedKey};
use crate::wallet::public_keychains::PublicKeychains;

/// Reason why a transaction is not signed.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum SignError {
    /// The words are not a mnemonic, or a key cannot be derived.
    #[error(transparent)]
    Wallet(#[from] WalletError),
    #[error(
        "the words in the secret store are not those of this wallet: its descriptors in the database come from other \
         words. Put the words of this wallet back, from your backup"
    )]
    WrongWords,
    #[error("input {0} cannot be signed: the transaction does not fit its coins")]
    Input(usize),
}

/// Signs every input with the keys of these words, and wipes the keys.
///
/// # Errors
/// When the words do not give the stored descriptors. Nothing is signed then.
pub fn sign(
    spend: &UnsignedSpend,
    words: &Secret,
    wallet: &PublicKeychains,
) -> Result<Transaction, SignError> {
    let private = PrivateKeychains::derive(words, wallet.network(), wallet.address_type())?;
    if private.descriptors()? != *wallet.descriptors() {
        return Err(SignError::WrongWords);
    }
    let secp = Secp256k1::new();
    let signers = spend.inputs.iter().map(|coin| {
        let key = private.key(coin.keychain, coin.index)?;
        Ok(Signer::new(key, wallet.address_type(), coin.amount_sats, &secp))
    });
    let signers = signers.collect::<Result<Vec<_>, WalletError>>()?;
    let mut tx = spend.unsigned();
    let witnesses = witnesses(&tx, &signers, wallet.address_type(), &secp)?;
    for (input, witness) in tx.input.iter_mut().zip(witnesses) {
        input.witness = witness;
    }
    Ok(tx)
}

/// The key of one input.
struct Signer {
    key: WipedKey,
    public: PublicKey,
    /// The output that the input spends.
    spent: TxOut,
}

impl Signer {
    fn new(
        key: WipedKey,
        address_type: AddressType,
        amount_sats: u64,
        secp: &Secp256k1<All>,
    ) -> Self {
        let public = key.0.public_key(secp);
        let script_pubkey = match address_type {
            AddressType::Bip84 => {
                ScriptBuf::new_p2wpkh(&CompressedPublicKey(public).wpubkey_hash())
            }
            AddressType::Bip86 => ScriptBuf::new_p2tr(secp, public.x_only_public_key().0, None),
        };
        Self { key, public, spent: TxOut { value: Amount::from_sat(amount_sats), script_pubkey } }
    }
}

fn witnesses(
    tx: &Transaction,
    signers: &[Signer],
    address_type: AddressType,
    secp: &Secp256k1<All>,
) -> Result<Vec<Witness>, SignError> {
    let spent: Vec<&TxOut> = signers.iter().map(|signer| &signer.spent).collect();
    let prevouts = Prevouts::All(&spent);
    let mut cache = SighashCache::new(tx);
    let witness = |(input, signer): (usize, &Signer)| match address_type {
        AddressType::Bip84 => p2wpkh(input, signer, &mut cache, secp),
        AddressType::Bip86 => p2tr(input, signer, &prevouts, &mut cache, secp),
    };
    signers.iter().enumerate().map(witness).collect()
}

fn p2wpkh(
    input: usize,
    signer: &Signer,
    cache: &mut SighashCache<&Transaction>,
    secp: &Secp256k1<All>,
) -> Result<Witness, SignError> {
    let sighash_type = EcdsaSighashType::All;
    let sighash = cache
        .p2wpkh_signature_hash(input, &signer.spent.script_pubkey, signer.spent.value, sighash_type)
        .map_err(|_| SignError::Input(input))?;
    let message = Message::from_digest(sighash.to_byte_array());
    let signature = ecdsa::Signature {
        signature: secp.sign_ecdsa_low_r(&message, &signer.key.0),
        sighash_type,
    };
    Ok(Witness::p2wpkh(&signature, &signer.public))
}

fn p2tr(
    input: usize,
    signer: &Signer,
    prevouts: &Prevouts<'_, &TxOut>,
    cache: &mut SighashCache<&Transaction>,
    secp: &Secp256k1<All>,
) -> Result<Witness, SignError> {
    let sighash_type = TapSighashType::Default;
    let sighash = cache
        .taproot_key_spend_signature_hash(input, prevouts, sighash_type)
        .map_err(|_| SignError::Input(input))?;
    let message = Message::from_digest(sighash.to_byte_array());
    let mut untweaked = Keypair::from_secret_key(secp, &signer.key.0);
    let mut tweaked = untweaked.tap_tweak(secp, None).to_keypair();
    // BIP340 allows signing without fresh randomness, which cannot fail.
    let signature = taproot::Signature {
        signature: secp.sign_schnorr_no_aux_rand(&message, &tweaked),
        sighash_type,
    };
    untweaked.non_secure_erase();
    tweaked.non_secure_erase();
    Ok(Witness::p2tr_key_spend(&signature))
}
