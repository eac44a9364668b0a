//! Stores the findings of a look in commits of bounded size.

use std::collections::BTreeMap;
use std::sync::Arc;

use bitcoin::Txid;
use tillgate_domain::time::Timestamp;
use tillgate_store::chain::WatchedChain;

use super::error::WatchError;
use super::findings::Findings;
use super::restored::{self, Scanned};
use crate::gateway::{Gateway, StaffWarning};
use crate::notifications::outbox::{self, Outbox};
use crate::settlement::coins::{self, CoinMove};
use crate::settlement::payment::{self, AffectedPayment, Context};
use crate::settlement::{self, Due, Touched};

/// Most pieces in one commit, so that no commit blocks the writer for long.
pub const PIECES_PER_COMMIT: usize = 200;

/// A part of a look that is stored within one commit.
enum Piece {
    /// A payment, by its `seq`.
    Payment(i64, AffectedPayment),
    /// Change that a transaction creates.
    Change(Txid, Arc<CoinMove>),
    /// Other effects of a transaction on our coins.
    Move(Txid, Arc<CoinMove>),
    /// A transaction of ours that this chain does not know.
    Unknown(Txid),
}

impl Piece {
    /// Orders the pieces so that each depends only on earlier ones.
    fn in_order(
        unknown: Vec<Txid>,
        payments: BTreeMap<i64, AffectedPayment>,
        moves: BTreeMap<Txid, CoinMove>,
    ) -> Vec<Self> {
        // Outdated positions are removed first, so that nothing is settled by them.
        let unknown = unknown.into_iter().map(Self::Unknown);
        // Coins are stored, with payments or as change, before they are spent.
        let payments = payments.into_iter().map(|(seq, affected)| Self::Payment(seq, affected));
        let moves: Vec<_> =
            moves.into_iter().map(|(txid, moved)| (txid, Arc::new(moved))).collect();
        let changes = moves.clone().into_iter().map(|(txid, moved)| Self::Change(txid, moved));
        let moves = moves.into_iter().map(|(txid, moved)| Self::Move(txid, moved));
        unknown.chain(payments).chain(changes).chain(moves).collect()
    }

    /// Stores the piece. Returns warnings for staff, and the next due time of its payment.
    fn store(
        &self,
        outbox: &Outbox<'_>,
        context: &Context,
        touched: &mut Touched,
    ) -> Result<(Vec<StaffWarning>, Option<Timestamp>), WatchError> {
        Ok(match self {
            Self::Payment(seq, affected) => {
                let (advance, warnings) = payment::settle(outbox, context, *seq, affected)?;
                (warnings, advance.next_due_at)
            }
            Self::Change(txid, moved) => {
                (coins::store_created(outbox, txid, moved)?.into_iter().collect(), None)
            }
            Self::Move(txid, moved) => {
                (coins::store_spends(outbox, txid, moved, touched)?.into_iter().collect(), None)
            }
            Self::Unknown(txid) => {
                coins::mark_absent(outbox, txid, touched)?;
                (Vec::new(), None)
            }
        })
    }
}

/// The outcome of a stored look.
#[derive(Debug, Clone, Copy)]
pub struct Stored {
    pub is_due_at_once: bool,
    pub has_found_coins: bool,
}

/// Stores a look in commits of bounded size. The last commit settles `due` and saves the watched
/// chain. After a crash in between, the look is repeated, and its stored parts change nothing.
pub async fn store(
    gateway: &Arc<Gateway>,
    context: Context,
    findings: Findings,
    watched: WatchedChain,
    due: Due,
) -> Result<Stored, WatchError> {
    let looked_at = context.look.at;
    let tip_height = watched.tip.height;
    let scanned = Scanned {
        from_start: findings.from_start,
        more: findings.more,
        restore: findings.restore,
        asked: findings.scan,
        covers_all: findings.covers_all,
        height: findings.seen_height,
        at: looked_at,
        skip: gateway.settings.snapshot().restore_skip,
    };
    let (from_start, place) = (findings.from_start, findings.place);
    let (known_up_to, mut states) = (findings.known_up_to, findings.states);
    let (others, other_spends) = (Arc::new(findings.others), Arc::new(findings.other_spends));
    let mut pieces = Piece::in_order(findings.unknown, findings.payments, findings.moves);
    let mut is_due_at_once = false;
    loop {
        let rest = pieces.split_off(pieces.len().min(PIECES_PER_COMMIT));
        let is_last = rest.is_empty();
        let (context, watched) = (context.clone(), watched.clone());
        let (others, other_spends) = (Arc::clone(&others), Arc::clone(&other_spends));
        // Script states are stored last: they say that the facts about their scripts are stored.
        let states = if is_last { std::mem::take(&mut states) } else { Vec::new() };
        let due = if is_last { due.clone() } else { Due::Nothing };
        let change = move |outbox: &Outbox<'_>| {
            // `twins::match_mined` compares blocks with these heights, so they are lowered first. A
            // repeat changes nothing.
            if let Some(height) = known_up_to {
                outbox.tx.lower_asked_above(height)?;
            }
            let (mut warnings, mut is_due_at_once, mut touched) =
                (Vec::new(), false, Touched::default());
            for piece in &pieces {
                let (of_piece, next_due_at) = piece.store(outbox, &context, &mut touched)?;
                warnings.extend(of_piece);
                is_due_at_once |= next_due_at.is_some_and(|due| due <= looked_at);
            }
            warnings.extend(settlement::settle(outbox, touched, due, tip_height)?);
            if is_last {
                if from_start {
                    outbox.tx.forget_script_states()?;
                }
                outbox.tx.save_script_states(&states)?;
                place.map_or(Ok(()), |place| outbox.tx.save_round_place(place))?;
                known_up_to.map_or(Ok(()), |height| outbox.tx.lower_given_above(height))?;
                outbox.tx.save_watched_chain(&watched)?;
                outbox.tx.note_other_coins(&others, &other_spends)?;
                restored::note(outbox.tx, &scanned)?;
            }
            Ok::<_, WatchError>((warnings, is_due_at_once))
        };
        let (warnings, some_are_due) = outbox::commit(gateway, Some(tip_height), change).await?;
        warnings.into_iter().for_each(|warning| gateway.backend.last_look.warn(warning));
        is_due_at_once |= some_are_due;
        if is_last {
            return Ok(Stored {
                is_due_at_once,
                has_found_coins: restored::resume_addresses(gateway)?,
            });
        }
        pieces = rest;
    }
}
