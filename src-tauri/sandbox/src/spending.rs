//! The simulated customer's transactions: coins, fee and change. They spend confirmed coins only.

use bitcoin::absolute::LockTime;
use bitcoin::{Amount, Script, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Txid, transaction};
use rusqlite::Connection;

use crate::blocks;
use crate::customer::{self, Customer, KEYS};
use crate::customer_coins::{self, Among};
use crate::error::SandboxError;
use crate::mempool::{self, INCREMENTAL_RELAY_SAT_VB};
use crate::rules::MIN_RELAY_SAT_VB;
use crate::transactions::{self, Coin, Position};
use crate::types::{Replace, ReplaceTo};

/// Default fee rate of the customer's transactions.
pub const DEFAULT_FEE_RATE_SAT_VB: u64 = 5;
/// Default increase of a replacement's fee rate over that of the replaced transaction.
const REPLACEMENT_STEP_SAT_VB: u64 = 5;
/// The highest fee rate accepted; a mistyped rate would waste the customer's coins.
pub const MAX_FEE_RATE_SAT_VB: u64 = 10_000;
/// Smaller change is left to the miner. This is the dust limit of P2TR, the customer's largest
/// output.
const MIN_CHANGE_SATS: u64 = 330;
/// Size of the largest input in vB, rounded up.
const INPUT_VB: u64 = 69;
/// Size of the largest output in vB.
const OUTPUT_VB: u64 = 43;
/// Size of a transaction with two outputs in vB, without its inputs, rounded up.
const FRAME_VB: u64 = 120;
/// Keeps the customer's transactions below the relay limit of 100,000 vB.
const MAX_INPUTS: u32 = 1_000;
/// A coin is a giant if it is this many times larger than the sum to pay. It is spent only if a few
/// small coins do not suffice, because its change is locked until the next block.
const GIANT_FACTOR: u64 = 20;
/// Coins up to this sum, one bitcoin, are never giants.
const GIANT_FROM_SATS: u64 = 100_000_000;
/// Most small coins that are spent instead of a giant.
const FEW_INPUTS: u32 = 8;

/// Refuses a fee rate out of range.
pub(crate) fn check_fee_rate(rate_sat_vb: u64) -> Result<u64, SandboxError> {
    match rate_sat_vb {
        MIN_RELAY_SAT_VB..=MAX_FEE_RATE_SAT_VB => Ok(rate_sat_vb),
        _ => Err(SandboxError::FeeRate {
            rate_sat_vb,
            min: MIN_RELAY_SAT_VB,
            max: MAX_FEE_RATE_SAT_VB,
        }),
    }
}

/// Refuses sums that the network would not relay.
pub(crate) fn check_amount(script: &Script, amount_sats: u64) -> Result<(), SandboxError> {
    let min_sats = script.minimal_non_dust().to_sat().max(1);
    if amount_sats < min_sats {
        return Err(SandboxError::AmountTooSmall { amount_sats, min_sats });
    }
    Ok(())
}

/// Pays these outputs in one transaction, which enters the mempool.
pub(crate) fn pay(
    conn: &Connection,
    customer: &Customer,
    payments: Vec<TxOut>,
    rate_sat_vb: u64,
    now_ms: i64,
) -> Result<Txid, SandboxError> {
    let height = blocks::tip(conn)?.height.saturating_add(1);
    let coins = choose_coins(conn, &Bill::new(&payments, rate_sat_vb), height)?;
    let change = customer.script(change_key(&coins));
    let tx = build(customer, &coins, payments, change, |vsize| vsize.saturating_mul(rate_sat_vb))?;
    mempool::accept(conn, &tx, now_ms)?;
    Ok(tx.compute_txid())
}

/// Replaces an unconfirmed transaction of the customer.
pub(crate) fn replace(
    conn: &Connection,
    customer: &Customer,
    txid: &Txid,
    how: Replace,
    now_ms: i64,
) -> Result<Txid, SandboxError> {
    let row =
        transactions::tx_by_txid(conn, txid)?.ok_or(SandboxError::UnknownTransaction(*txid))?;
    match row.position {
        Position::Block { .. } => return Err(SandboxError::AlreadyConfirmed(*txid)),
        Position::Absent => return Err(SandboxError::NotInMempool(*txid)),
        Position::Mempool { .. } if !row.is_own => {
            return Err(SandboxError::NotTheCustomers(*txid));
        }
        Position::Mempool { .. } => {}
    }
    let rate = match how.fee_rate_sat_vb {
        Some(rate) => rate,
        None => {
            row.fee_rate_sat_vb().saturating_add(REPLACEMENT_STEP_SAT_VB).min(MAX_FEE_RATE_SAT_VB)
        }
    };
    let rate = check_fee_rate(rate)?;
    let replaced_fees_sats = mempool::fees_with_descendants_sats(conn, row.id)?;
    // A caller that names a rate gets exactly that rate, or a refusal if it is too low.
    let fee = |vsize: u64| match how.fee_rate_sat_vb {
        Some(_) => vsize.saturating_mul(rate),
        None => vsize
            .saturating_mul(rate)
            .max(replaced_fees_sats.saturating_add(vsize.saturating_mul(INCREMENTAL_RELAY_SAT_VB))),
    };
    let replaced = transactions::transaction(conn, row.id)?;
    let mut coins = Vec::with_capacity(replaced.input.len());
    for input in &replaced.input {
        coins.push(known_coin(conn, &input.previous_output)?);
    }
    let outputs = match how.to {
        ReplaceTo::Customer => Vec::new(),
        ReplaceTo::SameAddress { amount_sats } => vec![same_address(conn, &replaced, amount_sats)?],
    };
    top_up(conn, &mut coins, &outputs, fee)?;
    let change = customer.script(change_key(&coins).wrapping_add(1));
    let tx = build(customer, &coins, outputs, change, fee)?;
    mempool::accept(conn, &tx, now_ms)?;
    Ok(tx.compute_txid())
}

/// Spends coins of the customer back to itself in a block; at most half of their sum goes to the
/// miner.
pub(crate) fn double_spend(
    customer: &Customer,
    coins: &[Coin],
) -> Result<Transaction, SandboxError> {
    let change = customer.script(change_key(coins).wrapping_add(2));
    let sum = sum_sats(coins);
    build(customer, coins, Vec::new(), change, |vsize| {
        vsize.saturating_mul(DEFAULT_FEE_RATE_SAT_VB).min(sum / 2)
    })
}

/// Splits one coin into the given sums, all to the customer's own scripts, and the change.
pub(crate) fn split(
    customer: &Customer,
    coin: Coin,
    sums_sats: &[u64],
) -> Result<Transaction, SandboxError> {
    let scripts: Vec<ScriptBuf> = (0..KEYS).map(|index| customer.script(index)).collect();
    let outputs = sums_sats
        .iter()
        .zip(scripts.iter().cycle())
        .map(|(sats, script)| TxOut {
            value: Amount::from_sat(*sats),
            script_pubkey: script.clone(),
        })
        .collect();
    let coins = [coin];
    let change = customer.script(change_key(&coins));
    build(customer, &coins, outputs, change, |vsize| vsize.saturating_mul(DEFAULT_FEE_RATE_SAT_VB))
}

pub(crate) fn known_coin(
    conn: &Connection,
    outpoint: &bitcoin::OutPoint,
) -> Result<Coin, SandboxError> {
    transactions::coin(conn, outpoint)?
        .ok_or_else(|| SandboxError::Damaged(format!("output {outpoint} is missing")))
}

/// A transaction's first output to anybody but the customer, with the sum `amount_sats` if given.
fn same_address(
    conn: &Connection,
    tx: &Transaction,
    amount_sats: Option<u64>,
) -> Result<TxOut, SandboxError> {
    let txid = tx.compute_txid();
    for (vout, output) in (0u32..).zip(&tx.output) {
        if output.script_pubkey.is_op_return() {
            continue;
        }
        if known_coin(conn, &bitcoin::OutPoint { txid, vout })?.customer_key.is_none() {
            let value = amount_sats.map_or(output.value, Amount::from_sat);
            check_amount(&output.script_pubkey, value.to_sat())?;
            return Ok(TxOut { value, script_pubkey: output.script_pubkey.clone() });
        }
    }
    Err(SandboxError::PaysNobodyElse(txid))
}

fn sum_sats(coins: &[Coin]) -> u64 {
    coins.iter().fold(0, |sum, coin| sum.saturating_add(coin.amount_sats))
}

/// The script for change depends on the coins alone, so that the same call makes the same
/// transaction.
fn change_key(coins: &[Coin]) -> u32 {
    let number =
        coins.first().map_or(0, |coin| coin.tx_id.wrapping_add(i64::from(coin.outpoint.vout)));
    u32::try_from(number.rem_euclid(i64::from(KEYS))).unwrap_or(0)
}

/// The amount that the coins of a transaction must cover.
struct Bill {
    amount_sats: u64,
    outputs: u64,
    rate_sat_vb: u64,
}

impl Bill {
    fn new(payments: &[TxOut], rate_sat_vb: u64) -> Bill {
        Bill {
            amount_sats: payments
                .iter()
                .fold(0, |sum, output| sum.saturating_add(output.value.to_sat())),
            outputs: u64::try_from(payments.len()).unwrap_or(u64::MAX),
            rate_sat_vb,
        }
    }

    /// The outputs plus the highest possible fee of a transaction with `inputs` inputs, in
    /// satoshis.
    fn total_sats(&self, inputs: u64) -> u64 {
        // `FRAME_VB` includes one output and the change.
        let outputs_vb = OUTPUT_VB.saturating_mul(self.outputs.saturating_sub(1));
        let vsize =
            FRAME_VB.saturating_add(INPUT_VB.saturating_mul(inputs)).saturating_add(outputs_vb);
        self.amount_sats.saturating_add(vsize.saturating_mul(self.rate_sat_vb))
    }
}

/// Chooses coins, preferably of the initial chain, which no reorganisation can remove. A payment
/// from change would become invalid when the payment that made the change is reorganised away.
fn choose_coins(conn: &Connection, bill: &Bill, height: u32) -> Result<Vec<Coin>, SandboxError> {
    let needed_sats = bill.total_sats(1);
    let initial = choose_among(conn, Among::Initial, bill, height)?;
    if let Some(coins) = initial.filter(|coins| !is_giant(sum_sats(coins), needed_sats)) {
        return Ok(coins);
    }
    let coins = choose_among(conn, Among::All, bill, height)?;
    match coins {
        Some(coins) => Ok(coins),
        None => {
            let available_sats = customer_coins::customer_balance_sats(conn, height)?;
            Err(SandboxError::CannotPay { needed_sats, available_sats })
        }
    }
}

/// Whether a coin of this sum is too large for the needed sum.
fn is_giant(sum_sats: u64, needed_sats: u64) -> bool {
    sum_sats > needed_sats.saturating_mul(GIANT_FACTOR).max(GIANT_FROM_SATS)
}

/// Chooses the smallest coin that suffices. Chooses several smaller ones if no coin suffices, or in
/// place of a giant.
fn choose_among(
    conn: &Connection,
    among: Among,
    bill: &Bill,
    height: u32,
) -> Result<Option<Vec<Coin>>, SandboxError> {
    let needed_sats = bill.total_sats(1);
    let single = customer_coins::smallest_customer_coin(conn, among, needed_sats, height)?;
    let limit = match &single {
        Some(coin) if !is_giant(coin.amount_sats, needed_sats) => 0,
        Some(_) => FEW_INPUTS,
        None => MAX_INPUTS,
    };
    let mut smaller = match limit {
        0 => Vec::new(),
        limit => {
            customer_coins::largest_customer_coins_below(conn, among, needed_sats, height, limit)?
        }
    };
    let mut sum = 0u64;
    for count in 1..=smaller.len() {
        sum = sum.saturating_add(smaller.get(count - 1).map_or(0, |coin| coin.amount_sats));
        let inputs = u64::try_from(count).unwrap_or(u64::MAX);
        if sum >= bill.total_sats(inputs) {
            smaller.truncate(count);
            return Ok(Some(smaller));
        }
    }
    Ok(single.map(|coin| vec![coin]))
}

/// Adds confirmed coins until they cover outputs and fee. If `outputs` is empty, they must also
/// cover an output to the customer.
fn top_up(
    conn: &Connection,
    coins: &mut Vec<Coin>,
    outputs: &[TxOut],
    fee: impl Fn(u64) -> u64,
) -> Result<(), SandboxError> {
    let height = blocks::tip(conn)?.height.saturating_add(1);
    let goes_out =
        outputs.iter().fold(0u64, |sum, output| sum.saturating_add(output.value.to_sat()));
    let least = if outputs.is_empty() { MIN_CHANGE_SATS } else { 0 };
    let needed = |inputs: usize| {
        let vsize = FRAME_VB
            .saturating_add(INPUT_VB.saturating_mul(u64::try_from(inputs).unwrap_or(u64::MAX)));
        goes_out.saturating_add(least).saturating_add(fee(vsize))
    };
    let missing = needed(coins.len()).saturating_sub(sum_sats(coins));
    if missing == 0 {
        return Ok(());
    }
    // An added input raises the fee, so the wanted sum includes that input.
    let wanted = needed(coins.len().saturating_add(1)).saturating_sub(sum_sats(coins));
    if let Some(coin) = customer_coins::smallest_customer_coin(conn, Among::All, wanted, height)? {
        coins.push(coin);
        return Ok(());
    }
    for coin in
        customer_coins::largest_customer_coins_below(conn, Among::All, wanted, height, MAX_INPUTS)?
    {
        coins.push(coin);
        if sum_sats(coins) >= needed(coins.len()) {
            return Ok(());
        }
    }
    let available_sats = customer_coins::customer_balance_sats(conn, height)?;
    Err(SandboxError::CannotPay { needed_sats: missing, available_sats })
}

/// Builds and signs a transaction. The remainder after outputs and fee goes to `change`. If it
/// would be dust and there is another output, it goes to the miner.
fn build(
    customer: &Customer,
    coins: &[Coin],
    mut outputs: Vec<TxOut>,
    change: ScriptBuf,
    fee: impl Fn(u64) -> u64,
) -> Result<Transaction, SandboxError> {
    let goes_out =
        outputs.iter().fold(0u64, |sum, output| sum.saturating_add(output.value.to_sat()));
    let left = sum_sats(coins).saturating_sub(goes_out);
    let input = coins
        .iter()
        .map(|coin| TxIn {
            previous_output: coin.outpoint,
            script_sig: ScriptBuf::new(),
            sequence: Sequence::ENABLE_RBF_NO_LOCKTIME,
            witness: customer::placeholder_witness(coin),
        })
        .collect();
    outputs.push(TxOut { value: Amount::ZERO, script_pubkey: change });
    let mut tx = Transaction {
        version: transaction::Version::TWO,
        lock_time: LockTime::ZERO,
        input,
        output: outputs,
    };
    let change_sats = left.saturating_sub(fee(tx.weight().to_wu().div_ceil(4)));
    if change_sats < MIN_CHANGE_SATS && tx.output.len() > 1 {
        tx.output.pop();
    } else if let Some(change) = tx.output.last_mut() {
        change.value = Amount::from_sat(change_sats);
    }
    customer.sign(&mut tx, coins)?;
    Ok(tx)
}
