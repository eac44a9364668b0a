//! Checks a signed transaction independently of the code that built it: scripts are derived anew
//! from the stored descriptors, and Bitcoin Core's interpreter judges every input.

use bitcoin::policy::MAX_STANDARD_TX_WEIGHT;
use bitcoin::transaction::Version;
use bitcoin::{Amount, FeeRate, OutPoint, Script, ScriptBuf, Sequence, Transaction, TxOut};
use tillgate_store::keychains::Keychain;

use super::fee::{FeeWanted, sats};
use super::payee::{self, BadPayee};
use super::size::{output_wu, some_script};
use super::unsigned_spend::UnsignedSpend;
use crate::wallet::descriptor::WalletError;
use crate::wallet::public_keychains::PublicKeychains;

/// The highest fee of any transaction of ours, whatever the settings: one bitcoin.
const MAX_FEE_SATS: u64 = 100_000_000;

/// Most bytes by which one more output lengthens the encoded output count.
const MORE_COUNT_VB: u64 = 2;

/// Reason why a signed transaction must not be stored or sent.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum CheckError {
    #[error(transparent)]
    Wallet(#[from] WalletError),
    #[error("the signed transaction's version, lock time or sequences differ from its draft")]
    Frame,
    /// An input that was not chosen, is missing, or occurs twice.
    #[error("the signed transaction does not spend exactly the chosen coins, each once")]
    Inputs,
    #[error("the signed transaction does not pay exactly the payouts and our change")]
    Outputs,
    #[error("the change would go to {script}, which is not our change script with index {index}")]
    Change { script: ScriptBuf, index: u32 },
    #[error(transparent)]
    Payee(#[from] BadPayee),
    #[error(
        "the signed transaction pays a fee of {fee_sats} satoshis, not between {least_sats} and {most_sats}"
    )]
    Fee { fee_sats: u64, least_sats: u64, most_sats: u64 },
    #[error("the amounts of the signed transaction and its coins do not add up to its fee")]
    Amounts,
    /// The transaction is too large, or larger than its fee was computed for.
    #[error(
        "the signed transaction has {vsize} vB, more than its draft ({drafted} vB) or than nodes relay"
    )]
    Size { vsize: u64, drafted: u64 },
    #[error("the script interpreter refuses input {0} of the signed transaction")]
    Script(usize),
}

/// Checks a signed transaction against its unsigned spend, the stored descriptors and the wanted
/// fee. `cap` is the highest allowed rate, but a replacement may always pay the minimum of BIP125.
///
/// # Errors
/// The first mistake. The transaction must not be stored then.
pub fn check(
    spend: &UnsignedSpend,
    tx: &Transaction,
    wallet: &PublicKeychains,
    fee: &FeeWanted,
    cap: FeeRate,
) -> Result<(), CheckError> {
    frame(spend, tx)?;
    outputs(spend, tx, wallet)?;
    let vsize = tx.weight().to_vbytes_ceil();
    if tx.weight().to_wu() > u64::from(MAX_STANDARD_TX_WEIGHT) || vsize > spend.vsize {
        return Err(CheckError::Size { vsize, drafted: spend.vsize });
    }
    amounts(spend, tx, fee, cap, &some_script(wallet.address_type()))?;
    let spent = spend.inputs.iter().map(|coin| {
        let script_pubkey = wallet.script(coin.keychain, coin.index)?;
        Ok(TxOut { value: Amount::from_sat(coin.amount_sats), script_pubkey })
    });
    let spent = spent.collect::<Result<Vec<_>, WalletError>>()?;
    tillgate_sandbox::verify_scripts(tx, &spent).map_err(CheckError::Script)
}

fn frame(spend: &UnsignedSpend, tx: &Transaction) -> Result<(), CheckError> {
    let sequences = tx.input.iter().all(|input| input.sequence == Sequence::ENABLE_RBF_NO_LOCKTIME);
    let no_script_sig = tx.input.iter().all(|input| input.script_sig.is_empty());
    if tx.version != Version::TWO || tx.lock_time != spend.lock_time || !sequences || !no_script_sig
    {
        return Err(CheckError::Frame);
    }
    let mut spent: Vec<OutPoint> = tx.input.iter().map(|input| input.previous_output).collect();
    if !spent.iter().eq(spend.inputs.iter().map(|coin| &coin.outpoint)) || spent.is_empty() {
        return Err(CheckError::Inputs);
    }
    spent.sort_unstable();
    spent.dedup();
    if spent.len() == tx.input.len() { Ok(()) } else { Err(CheckError::Inputs) }
}

/// Checks that each output belongs to one payee or to our change, and that each of these has one
/// output.
fn outputs(
    spend: &UnsignedSpend,
    tx: &Transaction,
    wallet: &PublicKeychains,
) -> Result<(), CheckError> {
    let is_paid = |vout: Option<u32>, script: &Script, sats: u64| {
        let output = vout.and_then(|vout| tx.output.get(usize::try_from(vout).ok()?));
        output
            .is_some_and(|output| *output.script_pubkey == *script && output.value.to_sat() == sats)
    };
    let expected = spend.payees.len() + usize::from(spend.change.is_some());
    // Each payee and the change has its own output, so an equal count rules out further outputs.
    let mut vouts: Vec<_> =
        (0..spend.payees.len()).filter_map(|number| spend.payee_vout(number)).collect();
    vouts.extend(spend.change_vout());
    vouts.sort_unstable();
    vouts.dedup();
    if tx.output.len() != expected || vouts.len() != expected || expected == 0 {
        return Err(CheckError::Outputs);
    }
    for (number, payee) in spend.payees.iter().enumerate() {
        payee::payable(payee)?;
        if !is_paid(spend.payee_vout(number), &payee.script, payee.amount_sats) {
            return Err(CheckError::Outputs);
        }
    }
    let Some(change) = &spend.change else { return Ok(()) };
    let ours = wallet.script(Keychain::Internal, change.index)?;
    if change.script != ours {
        return Err(CheckError::Change { script: change.script.clone(), index: change.index });
    }
    let dust = change.amount_sats < ours.minimal_non_dust().to_sat();
    if dust || !is_paid(spend.change_vout(), &ours, change.amount_sats) {
        return Err(CheckError::Outputs);
    }
    Ok(())
}

fn amounts(
    spend: &UnsignedSpend,
    tx: &Transaction,
    fee: &FeeWanted,
    cap: FeeRate,
    change: &Script,
) -> Result<(), CheckError> {
    let spent = sum_sats(spend.inputs.iter().map(|coin| coin.amount_sats))?;
    let paid = sum_sats(tx.output.iter().map(|output| output.value.to_sat()))?;
    let fee_sats = spent.checked_sub(paid).ok_or(CheckError::Amounts)?;
    if fee_sats != spend.fee_sats {
        return Err(CheckError::Amounts);
    }
    // Change below dust went to the fee, together with the cost of its output.
    let (more_vsize, dust_sats) = match &spend.change {
        Some(_) => (0, 0),
        None => (output_wu(change).div_ceil(4) + MORE_COUNT_VB, change.minimal_non_dust().to_sat()),
    };
    let vsize = spend.vsize + more_vsize;
    let least_sats = fee.sats(tx.weight().to_vbytes_ceil());
    let meant_sats = fee.sats(vsize).saturating_add(dust_sats);
    let capped_sats = sats(cap, vsize).max(fee.for_replacement(vsize));
    let capped_sats = capped_sats.saturating_add(fee.for_ancestors_sats).saturating_add(dust_sats);
    let most_sats = meant_sats.min(capped_sats).min(MAX_FEE_SATS);
    if (least_sats..=most_sats).contains(&fee_sats) {
        Ok(())
    } else {
        Err(CheckError::Fee { fee_sats, least_sats, most_sats })
    }
}

fn sum_sats(mut amounts: impl Iterator<Item = u64>) -> Result<u64, CheckError> {
    let sum = amounts.try_fold(0, u64::checked_add);
    sum.filter(|sum| *sum <= Amount::MAX_MONEY.to_sat()).ok_or(CheckError::Amounts)
}
