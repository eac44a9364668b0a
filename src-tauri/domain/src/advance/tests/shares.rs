//! Law: replacements never inherit more than they replaced.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::world::{Event, World, fights, splits};
use super::{LookFacts, MINUTE_MS, Receipt, advance, apply};

/// The sum that each receipt counts for without the receipts that it replaces.
fn own_sats(world: &World, look: &LookFacts) -> Vec<u64> {
    let alone = |one: &Receipt| Receipt { conflicts_with: Vec::new(), ..one.clone() };
    let verdict = |one| advance(&world.payment, &[alone(one)], &[], look).verdicts[0];
    world.receipts.iter().map(|one| verdict(one).eligible_sats).collect()
}

/// A receipt that does not count, so that its replacements may inherit its sum.
#[derive(Clone, Copy)]
struct Replaced<'a> {
    receipt: &'a Receipt,
    /// The sum that it counted for, or would count for now.
    sats: u64,
    gone: bool,
}

impl Replaced<'_> {
    fn fights(&self, other: &Receipt) -> bool {
        self.receipt.conflicts_with.contains(&other.txid)
    }
}

/// The largest sum of a subset in which no two receipts clash.
fn most_sats(replaced: &[Replaced<'_>], clash: fn(&Replaced<'_>, &Replaced<'_>) -> bool) -> u64 {
    let together = |mask: u32| {
        let chosen = || {
            replaced
                .iter()
                .enumerate()
                .filter(|(index, _)| mask >> index & 1 == 1)
                .map(|(_, one)| one)
        };
        let clashes = chosen().any(|one| chosen().any(|other| clash(one, other)));
        if clashes { 0 } else { chosen().map(|one| one.sats).sum() }
    };
    (0..1_u32 << replaced.len()).map(together).max().unwrap_or(0)
}

/// Looks, and returns the counted sum.
fn look(world: &mut World) -> Result<u64, TestCaseError> {
    let look = world.look();
    let own_sats = own_sats(world, &look);
    let advanced = advance(&world.payment, &world.receipts, &[], &look);
    let shared: Vec<u64> = advanced
        .verdicts
        .iter()
        .zip(&own_sats)
        .map(|(verdict, own)| verdict.eligible_sats - own)
        .collect();
    let replaced = world.receipts.iter().zip(&advanced.verdicts).zip(&own_sats).filter_map(
        |((one, verdict), own)| {
            let replaced = |sats| Some(Replaced { receipt: one, sats, gone: verdict.gone });
            match (one.counted_sats, verdict.counted_sats, verdict.gone) {
                (0, 0, false) => replaced(*own),
                (counted, 0, _) if counted > 0 => replaced(counted),
                _ => None,
            }
        },
    );
    let replaced: Vec<_> = replaced.collect();
    // A receipt that is gone does not exclude another.
    let all_sats =
        most_sats(&replaced, |one, other| !one.gone && !other.gone && one.fights(other.receipt));
    let sum: u64 = shared.iter().sum();
    prop_assert!(
        sum <= all_sats,
        "{sum} satoshis are inherited, but only {all_sats} were replaced"
    );
    for (receipt, sats) in world.receipts.iter().zip(shared) {
        let rivals: Vec<_> = replaced.iter().copied().filter(|one| one.fights(receipt)).collect();
        let most = most_sats(&rivals, |one, other| one.fights(other.receipt));
        prop_assert!(
            sats <= most,
            "one receipt inherits {sats} satoshis, but replaced only {most}"
        );
    }
    apply(&advanced, &mut world.payment, &mut world.receipts, &mut Vec::new());
    let again = advance(&world.payment, &world.receipts, &[], &look);
    prop_assert_eq!(
        again.verdicts,
        advanced.verdicts,
        "the same look, repeated, changed the verdicts"
    );
    Ok(advanced.paid_sats)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn replacements_never_inherit_more_than_they_replaced((mut world, events) in fights(), blind in any::<u64>()) {
        for (index, event) in events.iter().enumerate() {
            world.happen(event);
            if blind >> index & 1 == 0 {
                look(&mut world)?;
                world.happen(&Event::Wait(31 * MINUTE_MS));
            }
        }
    }

    #[test]
    fn split_inputs_never_count_for_more_than_came_in_time(
        (mut world, events) in splits(),
        blind in any::<u64>(),
    ) {
        world.happen(&Event::Broadcast(0));
        let in_time = look(&mut world)?;
        world.happen(&Event::Wait(31 * MINUTE_MS));
        look(&mut world)?;
        // From here on every new transaction is too late.
        world.happen(&Event::Wait(120 * MINUTE_MS));
        for (index, event) in events.iter().enumerate() {
            world.happen(event);
            if blind >> index & 1 == 0 {
                let paid = look(&mut world)?;
                prop_assert!(paid <= in_time, "{paid} satoshis count, but {in_time} were in time");
            }
        }
    }
}
