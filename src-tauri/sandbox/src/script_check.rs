//! Checks the scripts and signatures of a transaction's inputs with Bitcoin Core's script
//! interpreter, and nothing else.

use bitcoin::consensus::encode::serialize;
use bitcoin::{Transaction, TxOut};
use bitcoinconsensus::{Utxo, VERIFY_ALL_PRE_TAPROOT, VERIFY_TAPROOT, verify_with_flags};

/// Checks all inputs against the outputs that they spend, in the same order.
///
/// # Errors
/// The index of the first input that fails.
pub fn verify(tx: &Transaction, spent: &[TxOut]) -> Result<(), usize> {
    let raw = serialize(tx);
    let mut utxos = Vec::with_capacity(spent.len());
    for (input, output) in spent.iter().enumerate() {
        // The interpreter reads through these pointers; `spent` stays borrowed until the last
        // check.
        utxos.push(Utxo {
            script_pubkey: output.script_pubkey.as_bytes().as_ptr(),
            script_pubkey_len: u32::try_from(output.script_pubkey.len()).map_err(|_| input)?,
            value: i64::try_from(output.value.to_sat()).map_err(|_| input)?,
        });
    }
    if utxos.len() != tx.input.len() {
        return Err(utxos.len());
    }
    for (input, output) in spent.iter().enumerate() {
        let script = output.script_pubkey.as_bytes();
        let flags = VERIFY_ALL_PRE_TAPROOT | VERIFY_TAPROOT;
        // Without the spent outputs, wrong taproot spends would pass.
        verify_with_flags(script, output.value.to_sat(), &raw, Some(&utxos), input, flags)
            .map_err(|_| input)?;
    }
    Ok(())
}

/// Checks the inputs of a transaction one by one, though some of the outputs they spend may be
/// unknown. `None` for an input whose output is unknown, and for a taproot input if any output is
/// unknown, because its signature covers all. Also `None` for other scripts than P2WPKH and P2TR,
/// because an attacker could make them slow to run.
pub fn verify_each(
    tx: &Transaction,
    spent: &[Option<TxOut>],
) -> impl Iterator<Item = Option<bool>> {
    let raw = serialize(tx);
    let utxo = |output: &Option<TxOut>| {
        let output = output.as_ref()?;
        Some(Utxo {
            script_pubkey: output.script_pubkey.as_bytes().as_ptr(),
            script_pubkey_len: u32::try_from(output.script_pubkey.len()).ok()?,
            value: i64::try_from(output.value.to_sat()).ok()?,
        })
    };
    let is_whole = spent.len() == tx.input.len();
    let utxos: Option<Vec<Utxo>> = spent.iter().map(utxo).collect();
    spent.iter().enumerate().map(move |(input, output)| {
        let output = output.as_ref().filter(|_| is_whole)?;
        let (script, sats) = (output.script_pubkey.as_bytes(), output.value.to_sat());
        let verified = if output.script_pubkey.is_p2tr() {
            let flags = VERIFY_ALL_PRE_TAPROOT | VERIFY_TAPROOT;
            verify_with_flags(script, sats, &raw, Some(utxos.as_ref()?), input, flags)
        } else if output.script_pubkey.is_p2wpkh() {
            verify_with_flags(script, sats, &raw, None, input, VERIFY_ALL_PRE_TAPROOT)
        } else {
            return None;
        };
        Some(verified.is_ok())
    })
}
