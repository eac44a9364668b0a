//! A wallet with 10,000 used addresses, restored from its words.

use std::sync::Arc;
use std::time::Instant;

use bdk_wallet::bitcoin::bip32::{DerivationPath, Xpriv, Xpub};
use bdk_wallet::bitcoin::secp256k1::Secp256k1;
use bdk_wallet::bitcoin::{CompressedPublicKey, Network, ScriptBuf};
use bdk_wallet::keys::bip39::Mnemonic;
use bitcoin::bip32::ChildNumber;
use tillgate_machine::clock::machine_now;
use tillgate_sandbox::Sandbox;

use crate::arrivals::can_make_payments;
use crate::fallible::Fallible;
use crate::looks;
use crate::merchant::Merchant;
use crate::process::{self, Served};
use crate::report::Report;
use crate::servers::{Kind, Server};
use crate::shop::Shop;

/// Number of addresses that received a coin, each in its own transaction.
const USED: u32 = 10_000;

/// Number of these transactions in one block.
const IN_A_BLOCK: u32 = 50;

/// Amount that each used address received, in satoshis.
const SATS: u64 = 10_000;

/// The words of the restored wallet.
const WORDS: &str = "legal winner thank year wave sausage worth useful legal winner thank yellow";

/// Measures, and adds the figures to `report`.
pub fn measure(report: &mut Report) -> Fallible<()> {
    let folder = process::data_dir()?;
    let sandbox = Arc::new(Sandbox::open(&folder.path().join("chain.db"), machine_now().ms())?);
    for (number, script) in (1..).zip(scripts()?) {
        looks::pay(&sandbox, script, SATS)?;
        if number % IN_A_BLOCK == 0 {
            sandbox.mine(1, false, machine_now().ms())?;
        }
    }
    for kind in Kind::QUIET {
        through(*kind, &sandbox, report)?;
    }
    Ok(())
}

/// The scripts of the wallet's first addresses.
fn scripts() -> Fallible<Vec<ScriptBuf>> {
    let (secp, seed) = (Secp256k1::new(), Mnemonic::parse(WORDS)?.to_seed(""));
    let path = "m/84'/1'/0'/0".parse::<DerivationPath>()?;
    let keychain = Xpub::from_priv(
        &secp,
        &Xpriv::new_master(Network::Regtest, &seed)?.derive_priv(&secp, &path)?,
    );
    let script = |index| -> Fallible<ScriptBuf> {
        let key = keychain.ckd_pub(&secp, ChildNumber::from_normal_idx(index)?)?;
        Ok(ScriptBuf::new_p2wpkh(&CompressedPublicKey(key.public_key).wpubkey_hash()))
    };
    (0..USED).map(script).collect()
}

/// Measures the time from the start of the program to its first payment, which it makes after the
/// restore's look.
fn through(kind: Kind, sandbox: &Arc<Sandbox>, report: &mut Report) -> Fallible<()> {
    let folder = process::data_dir()?;
    let server = Server::start(kind, sandbox, folder.path())?;
    let data_dir = folder.path().join("data");
    restore(&server, &data_dir)?;
    let (before, shop, began) = (server.traffic(), Shop::open()?, Instant::now());
    let served = Served::start_under(&data_dir, &server.settings())?;
    let authorization = process::authorization(&data_dir)?;
    let looked = can_make_payments(&served, &authorization, &shop).map(|()| began.elapsed());
    let (looked, traffic) = (looked?, server.traffic() - before);
    check_balance(&data_dir)?;
    let figure =
        format!("{:.1} s, {traffic}, at most {:.0} MB", looked.as_secs_f64(), served.peak_mb()?);
    report.add(
        &format!("restore of 10,000 used addresses, {}", kind.name()),
        figure,
        kind.bound(),
        None,
    );
    Ok(())
}

impl Kind {
    /// The limit of a restore.
    const fn bound(self) -> &'static str {
        match self {
            Self::Core | Self::CoreZmq => "200 blocks are read",
            Self::Electrum => "required: minutes; a look of 1,000 scripts each second",
        }
    }
}

/// Restores from the words, before any look.
fn restore(server: &Server, data_dir: &std::path::Path) -> Fallible<()> {
    tokio::runtime::Runtime::new()?.block_on(Merchant::restore(data_dir, &server.settings(), WORDS))
}

/// Checks that every coin was found.
fn check_balance(data_dir: &std::path::Path) -> Fallible<()> {
    let output = process::command(&[])?
        .args(["wallet", "info", "--json", "--data-dir"])
        .arg(data_dir)
        .output()?;
    let info: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let found = info["balanceBtc"].to_string();
    let wanted = bitcoin::Amount::from_sat(u64::from(USED) * SATS).to_btc();
    if found.trim_matches('"').parse() == Ok(wanted) {
        Ok(())
    } else {
        Err(format!("{wanted} BTC were paid, and the restored wallet holds {found}").into())
    }
}
