//! What a look tells of twins ([`crate::store::twins`]). Where one moves what is ours, another copy of this wallet works, and the sender
//! holds (interface, section 4, "Twin"); what a stranger's pays is held back alone.

use std::collections::BTreeSet;

use bitcoin::{Script, Txid};

use super::batches::Touched;
use super::matching;
use crate::chain::{TxFacts, TxPosition};
use crate::gateway::StaffWarning;
use crate::notifications::outbox::{Outbox, OutboxError};
use crate::store::coins::Coin;
use crate::store::keychains::Keychain;
use crate::store::payouts::AskedFor;
use crate::store::{Reader, StoreError};

/// Twins of strangers that wait, and that are followed for one sum to one address; and those of them that stand nowhere any more.
const STRANGERS_MAX: usize = 20;
const GONE_STRANGERS_MAX: usize = 500;

const HOLD_FOR_ADDRESS: &str =
    "coins came to an address of this wallet that was not given here: another copy of the wallet works";
const HOLD: &str = "a transaction that was not made here spends coins of this wallet: another copy of the wallet works";

/// How old the time of a block may be that came after a moment: miners set it freely within two hours.
const BLOCK_TIME_SLACK_MS: i64 = 2 * 3_600_000;

/// Whether a stranger's transaction pays what one of these payouts is to pay: another copy of the wallet paid it with coins that this one
/// does not know, or somebody in its stead. Not in a block from before it was asked for, by its height or by its time: one that is met late
/// may be older than what was known when it was asked for.
pub(super) fn pays(payouts: &[AskedFor], position: &TxPosition) -> bool {
    payouts.iter().any(|asked| match position {
        TxPosition::Block { height, time } => {
            asked.above.is_none_or(|above| *height > above) && *time >= asked.at.plus_ms(-BLOCK_TIME_SLACK_MS)
        }
        TxPosition::Mempool { .. } => true,
        TxPosition::Absent => false,
    })
}

/// Whether what moves nothing of this wallet and is said to wait is one too many that pay their payee this sum, of however many payouts: a
/// payee pays himself as often as he likes, whoever may ask for payouts asks for as many, and each transaction would be looked at with
/// each block. The first ones have the payouts wait, and one more where an approved payout has no twin yet; one that a block holds counts,
/// whichever it is. A copy that was just restored counts all that it finds.
pub(super) fn is_one_too_many(reader: &Reader<'_>, facts: &TxFacts) -> Result<bool, StoreError> {
    if matches!(facts.position, TxPosition::Block { .. }) || reader.dangerous_restore()?.is_some() {
        return Ok(false);
    }
    let paid: BTreeSet<(&Script, u64)> =
        facts.tx.output.iter().map(|output| (output.script_pubkey.as_script(), output.value.to_sat())).collect();
    for paid in paid {
        if !reader.has_payout_like(paid)? {
            continue;
        }
        let (waiting, gone) = reader.count_strangers(paid, GONE_STRANGERS_MAX)?;
        if gone < GONE_STRANGERS_MAX && (waiting < STRANGERS_MAX || reader.waits_without_twin(paid)?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Takes over where such a transaction stands. At its first sight the sender holds, and each of its outputs that pays a
/// payout's address exactly its amount pays one such payout; an offer is settled once it is approved here too. What moves nothing
/// of ours (`is_ours`) holds back what it pays and nothing else: a payee could pay himself what he is to get as often as he likes.
/// Where it shows only later that it does (the coins that it spends are found, or its change), the sender holds then.
pub(super) fn take(
    outbox: &Outbox<'_>,
    txid: &Txid,
    facts: &TxFacts,
    (is_ours, pays_an_address): (bool, bool),
    touched: &mut Touched,
) -> Result<Option<StaffWarning>, OutboxError> {
    let tx = outbox.tx;
    if tx.is_twin(txid)? {
        // Who told it first may have told another witness.
        tx.store_transaction(&facts.tx, txid, outbox.now)?;
        tx.move_twin(txid, &facts.position, facts.conflict_height)?;
        touched.twins.insert(*txid);
        let is_found_out = is_ours && facts.position != TxPosition::Absent && tx.note_moves_ours(txid)?;
        return if is_found_out { hold(outbox, txid, pays_an_address) } else { Ok(None) };
    }
    if facts.position == TxPosition::Absent {
        return Ok(None);
    }
    tx.store_transaction(&facts.tx, txid, outbox.now)?;
    tx.insert_twin(txid, &facts.position, is_ours, outbox.now)?;
    touched.twins.insert(*txid);
    matching::store_outputs(tx, txid, facts, is_ours)?;
    if is_ours || tx.dangerous_restore()?.is_some() { hold(outbox, txid, pays_an_address) } else { Ok(None) }
}

/// Lets the sender hold. Whatever a copy that was just restored finds for the first time is told of at the end of its look; what pays an
/// address of ours was counted for that.
fn hold(outbox: &Outbox<'_>, txid: &Txid, pays_an_address: bool) -> Result<Option<StaffWarning>, OutboxError> {
    let tx = outbox.tx;
    if tx.dangerous_restore()?.is_some() {
        if !pays_an_address {
            tx.count_unknown()?;
        }
        return Ok(None);
    }
    tx.hold_sender(outbox.now, &format!("{HOLD} ({txid})"))?;
    Ok(Some(StaffWarning::TwinWallet { txid: *txid }))
}

/// Whether a transaction that is not stored here makes change of this wallet that nobody else can know: none of ours ever used
/// its script, and no block holds another that pays it, of which a stranger may have read it. Its inputs may be coins that only the
/// other copy knows.
pub(super) fn makes_its_own_change(reader: &Reader<'_>, coins: &[Coin]) -> Result<bool, StoreError> {
    for coin in coins.iter().filter(|coin| coin.keychain == Keychain::Internal) {
        if !reader.is_change_index_of_ours(coin.index)?
            && !reader.is_change_paid_by_another(coin.index, &coin.outpoint.txid)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A customer paid addresses that were given to no payment here, `index` the highest: another copy of this wallet gave them, so
/// the sender holds. Those below where a restored copy began to give are of the time before it, whose customers may still pay.
/// To be called at the first sight of the transaction.
pub(super) fn notice_address(outbox: &Outbox<'_>, txid: &Txid, index: u32) -> Result<Option<StaffWarning>, StoreError> {
    let tx = outbox.tx;
    if tx.count_unknown()? {
        return Ok(None);
    }
    if tx.restore()?.and_then(|restore| restore.first_given).is_some_and(|first_given| index < first_given) {
        tracing::info!(%txid, index, "coins came to an address that was given before the wallet was restored");
        return Ok(None);
    }
    tx.hold_sender(outbox.now, &format!("{HOLD_FOR_ADDRESS} ({txid})"))?;
    Ok(Some(StaffWarning::TwinWallet { txid: *txid }))
}

#[cfg(test)]
mod tests {
    use tillgate_domain::time::Timestamp;

    use super::*;

    #[test]
    fn no_block_pays_what_was_asked_for_above_it_however_young_it_is_and_whenever_it_is_read() {
        let asked = |above| [AskedFor { at: Timestamp::from_ms(9_000_000), above }];
        let block = |height, ms| TxPosition::Block { height, time: Timestamp::from_ms(ms) };
        assert!(!pays(&asked(Some(100)), &block(100, 9_900_000)) && pays(&asked(Some(100)), &block(101, 9_900_000)));
        assert!(!pays(&asked(Some(100)), &block(101, 1)));
        assert!(!pays(&asked(None), &block(100, 1)) && pays(&asked(None), &block(100, 8_900_000)));
        let waits = TxPosition::Mempool { entered: Timestamp::from_ms(1) };
        assert!(pays(&asked(Some(100)), &waits) && !pays(&[], &waits) && !pays(&asked(None), &TxPosition::Absent));
    }
}
