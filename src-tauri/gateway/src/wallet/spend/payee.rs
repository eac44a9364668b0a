//! Recipients that can be paid.

use bitcoin::{Amount, ScriptBuf};

/// A recipient, paid by one output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payee {
    pub script: ScriptBuf,
    pub amount_sats: u64,
}

/// Reason why a recipient cannot be paid. Requests are checked long before; this is the last check.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
pub enum BadPayee {
    #[error("a transaction without a payee was requested")]
    Nobody,
    #[error("{amount_sats} satoshis to {script} are dust: nodes relay {least_sats} or more")]
    Dust { script: ScriptBuf, amount_sats: u64, least_sats: u64 },
    /// A script that nodes do not relay, or that cannot be spent.
    #[error("the script {0} is not of a type that can be paid")]
    Script(ScriptBuf),
    #[error("the amounts come to more than 21 million bitcoin")]
    TooMuch,
}

/// The sum of the amounts, if all can be paid.
pub fn sum_sats(payees: &[Payee]) -> Result<u64, BadPayee> {
    if payees.is_empty() {
        return Err(BadPayee::Nobody);
    }
    for payee in payees {
        payable(payee)?;
    }
    let sum = payees.iter().try_fold(0u64, |sum, payee| sum.checked_add(payee.amount_sats));
    sum.filter(|sum| *sum <= Amount::MAX_MONEY.to_sat()).ok_or(BadPayee::TooMuch)
}

/// Checks that a recipient can be paid: its script is standard, and its amount is not dust.
pub fn payable(payee: &Payee) -> Result<(), BadPayee> {
    let script = &payee.script;
    if !(script.is_p2pkh()
        || script.is_p2sh()
        || script.is_p2wpkh()
        || script.is_p2wsh()
        || script.is_p2tr())
    {
        return Err(BadPayee::Script(script.clone()));
    }
    let least_sats = script.minimal_non_dust().to_sat();
    if payee.amount_sats < least_sats {
        return Err(BadPayee::Dust {
            script: script.clone(),
            amount_sats: payee.amount_sats,
            least_sats,
        });
    }
    Ok(())
}
