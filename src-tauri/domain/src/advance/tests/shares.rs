//! What replacements inherit is never more than what they replaced.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::world::{Event, World, fights, splits};
use super::{Look, MINUTE_MS, Receipt, advance, apply};

/// What each receipt counts for by itself, whatever it replaces.
fn own_sats(world: &World, look: &Look) -> Vec<u64> {
    let alone = |one: &Receipt| Receipt { conflicts_with: Vec::new(), ..one.clone() };
    let verdict = |one| advance(&world.payment, &[alone(one)], &[], look).verdicts[0];
    world.receipts.iter().map(|one| verdict(one).eligible_sats).collect()
}

/// The most that any of these together are worth that do not conflict with each other.
fn most_sats(worth: &[(&Receipt, u64)]) -> u64 {
    let together = |mask: u32| {
        let chosen = || worth.iter().enumerate().filter(|(index, _)| mask >> index & 1 == 1).map(|(_, one)| one);
        let clash = chosen().any(|(one, _)| chosen().any(|(other, _)| one.conflicts_with.contains(&other.txid)));
        if clash { 0 } else { chosen().map(|(_, sats)| sats).sum() }
    };
    (0..1_u32 << worth.len()).map(together).max().unwrap_or(0)
}

/// Looks, and answers what counts.
fn look(world: &mut World) -> Result<u64, TestCaseError> {
    let look = world.look();
    let own_sats = own_sats(world, &look);
    let advanced = advance(&world.payment, &world.receipts, &[], &look);
    let shared: u64 = advanced.verdicts.iter().zip(&own_sats).map(|(verdict, own)| verdict.eligible_sats - own).sum();
    let replaced = world.receipts.iter().zip(&advanced.verdicts).zip(&own_sats).filter_map(|((one, verdict), own)| {
        match (one.counted_sats, verdict.counted_sats, verdict.gone) {
            (0, 0, false) => Some((one, *own)),
            (counted, 0, _) if counted > 0 => Some((one, counted)),
            _ => None,
        }
    });
    let replaced = most_sats(&replaced.collect::<Vec<_>>());
    prop_assert!(shared <= replaced, "{shared} satoshis are shared of {replaced}");
    apply(&advanced, &mut world.payment, &mut world.receipts, &mut Vec::new());
    Ok(advanced.paid_sats)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn no_look_shares_more_than_was_replaced((mut world, events) in fights(), blind in any::<u64>()) {
        for (index, event) in events.iter().enumerate() {
            world.happen(event);
            if blind >> index & 1 == 0 {
                look(&mut world)?;
                world.happen(&Event::Wait(31 * MINUTE_MS));
            }
        }
    }

    #[test]
    fn however_the_inputs_of_one_are_split_no_more_counts_than_came_in_time(
        (mut world, events) in splits(),
        blind in any::<u64>(),
    ) {
        world.happen(&Event::Broadcast(0));
        let in_time = look(&mut world)?;
        world.happen(&Event::Wait(31 * MINUTE_MS));
        look(&mut world)?;
        // From here on all that is new comes too late.
        world.happen(&Event::Wait(120 * MINUTE_MS));
        for (index, event) in events.iter().enumerate() {
            world.happen(event);
            if blind >> index & 1 == 0 {
                let paid = look(&mut world)?;
                prop_assert!(paid <= in_time, "{paid} satoshis count of {in_time}");
            }
        }
    }
}
