//! Real signatures, checked by Bitcoin Core's script interpreter. The wallets are of both types,
//! with coins at indices up to a million.

mod choosing;
mod estimates;
mod judged;
mod laws;
mod many;
mod relayed;

use std::sync::LazyLock;

use bip39::Mnemonic;
use bitcoin::hashes::Hash as _;
use bitcoin::key::{Secp256k1, UntweakedPublicKey};
use bitcoin::secp256k1::rand::rngs::StdRng;
use bitcoin::secp256k1::rand::{Rng as _, RngCore as _, SeedableRng as _};
use bitcoin::{
    FeeRate, Network, OutPoint, PubkeyHash, ScriptBuf, ScriptHash, Transaction, Txid, WPubkeyHash,
    WScriptHash,
};
use tillgate_machine::secrets::Secret;
use tillgate_store::keychains::Keychain;

use super::select::MAX_VSIZE_WITH_ANCESTORS;
use super::*;
use crate::settings::AddressType;
use crate::wallet::{Descriptors, PublicKeychains};

const NETWORK: Network = Network::Regtest;
const TIP: u32 = 5_000;

/// The cap on the fee rate in these tests.
const CAP: FeeRate = FeeRate::from_sat_per_vb_u32(400);

static WALLETS: LazyLock<[PublicKeychains; 2]> = LazyLock::new(|| {
    [AddressType::Bip84, AddressType::Bip86].map(|address_type| {
        PublicKeychains::parse(
            Descriptors::derive(&words(7), NETWORK, address_type).unwrap(),
            NETWORK,
        )
        .unwrap()
    })
});

fn words(seed: u8) -> Secret {
    Secret::new(Mnemonic::from_entropy(&[seed; 16]).unwrap().to_string())
}

fn sat_vb(rate: u32) -> FeeRate {
    FeeRate::from_sat_per_vb_u32(rate)
}

/// A wallet with coins, and the random numbers of one test.
struct Purse {
    wallet: &'static PublicKeychains,
    coins: Vec<SpendableCoin>,
    change: FreshChange,
    rng: StdRng,
}

impl Purse {
    fn empty(seed: u64, address_type: AddressType) -> Self {
        let wallet = &WALLETS[usize::from(address_type == AddressType::Bip86)];
        let mut rng = StdRng::seed_from_u64(seed);
        let index = rng.gen_range(0..1_000_000);
        let change =
            FreshChange { script: wallet.script(Keychain::Internal, index).unwrap(), index };
        Self { wallet, coins: Vec::new(), change, rng }
    }

    /// A wallet with this many coins of up to `most_sats`. Some are our own unconfirmed change.
    fn with(seed: u64, address_type: AddressType, count: usize, most_sats: u64) -> Self {
        let mut purse = Self::empty(seed, address_type);
        for _ in 0..count {
            let amount_sats = purse.rng.gen_range(300..=most_sats);
            let unconfirmed = purse.rng.gen_ratio(1, 8);
            let height = (!unconfirmed).then(|| purse.rng.gen_range(1..TIP));
            let coin = purse.coin(amount_sats, height);
            purse.coins.push(coin);
        }
        purse
    }

    /// The same wallet, but the ancestors of its unconfirmed change pay less than 20 sat/vB.
    fn with_poor_ancestors(mut self) -> Self {
        for coin in &mut self.coins {
            coin.ancestors_fee_sats = coin.ancestors_vsize * self.rng.gen_range(1..20);
        }
        self
    }

    /// A coin. If it is unconfirmed change, its ancestors pay more than any wanted rate.
    fn coin(&mut self, amount_sats: u64, height: Option<u32>) -> SpendableCoin {
        let ancestors = if height.is_some() { 0 } else { self.rng.gen_range(1..=6) };
        let keychain = if height.is_none() || self.rng.gen_ratio(1, 4) {
            Keychain::Internal
        } else {
            Keychain::External
        };
        let ancestors_vsize = u64::from(ancestors) * self.rng.gen_range(110..4_000);
        SpendableCoin {
            outpoint: OutPoint {
                txid: Txid::from_byte_array(self.rng.r#gen()),
                vout: self.rng.gen_range(0..1_000),
            },
            amount_sats,
            keychain,
            index: self.rng.gen_range(0..=1_000_000),
            height,
            ancestors,
            ancestors_vsize,
            ancestors_fee_sats: ancestors_vsize * 100_000,
        }
    }

    fn add(&mut self, amount_sats: u64, height: Option<u32>) -> SpendableCoin {
        let coin = self.coin(amount_sats, height);
        self.coins.push(coin);
        coin
    }

    /// A payable script of any type.
    fn script(&mut self) -> ScriptBuf {
        let bytes: [u8; 32] = self.rng.r#gen();
        let short: [u8; 20] = self.rng.r#gen();
        match self.rng.gen_range(0..5) {
            0 => ScriptBuf::new_p2pkh(&PubkeyHash::from_byte_array(short)),
            1 => ScriptBuf::new_p2sh(&ScriptHash::from_byte_array(short)),
            2 => ScriptBuf::new_p2wpkh(&WPubkeyHash::from_byte_array(short)),
            3 => ScriptBuf::new_p2wsh(&WScriptHash::from_byte_array(bytes)),
            _ => {
                let secp = Secp256k1::new();
                let key = UntweakedPublicKey::from(
                    bitcoin::secp256k1::Keypair::new(&secp, &mut self.rng).x_only_public_key().0,
                );
                ScriptBuf::new_p2tr(&secp, key, None)
            }
        }
    }

    fn payee(&mut self, most_sats: u64) -> Payee {
        let amount_sats = self.rng.gen_range(600..=most_sats.max(600));
        Payee { script: self.script(), amount_sats }
    }

    fn payees(&mut self, count: usize, most_sats: u64) -> Vec<Payee> {
        (0..count).map(|_| self.payee(most_sats)).collect()
    }

    fn seed(&mut self) -> Seed {
        let mut seed = [0; 32];
        self.rng.fill_bytes(&mut seed);
        seed
    }

    fn funding(&self, fee: FeeWanted) -> Funding<'_> {
        Funding {
            required: &[],
            optional: &self.coins,
            fee,
            change: &self.change,
            address_type: self.wallet.address_type(),
            tip_height: TIP,
        }
    }

    fn at(&self, rate: FeeRate) -> Funding<'_> {
        self.funding(FeeWanted::at(rate))
    }

    /// Signs a spend and checks the signed transaction.
    fn signed(&self, spend: &UnsignedSpend, fee: &FeeWanted) -> Transaction {
        let tx = sign(spend, &words(7), self.wallet).unwrap();
        check(spend, &tx, self.wallet, fee, CAP).unwrap();
        tx
    }
}

fn sum_sats(coins: &[SpendableCoin]) -> u64 {
    coins.iter().map(|coin| coin.amount_sats).sum()
}

fn paid_sats(payees: &[Payee]) -> u64 {
    payees.iter().map(|payee| payee.amount_sats).sum()
}
