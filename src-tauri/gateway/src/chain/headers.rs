//! The rules that headers of blocks are held against, whichever server tells them: work was done for each, so much as for every
//! one of its height and later, it follows on the one before it, and its difficulty is one that may be.

use bitcoin::block::Header;
use bitcoin::consensus::Params;
use bitcoin::{CompactTarget, Network, Target, Transaction};
use tillgate_domain::time::Timestamp;

use super::proof::height_of_reward;

/// Blocks between two changes of the difficulty (Bitcoin's own number).
const RETARGET_EVERY: u32 = 2_016;

/// How far below the best block the blocks reach whose times make the median: they are eleven (Bitcoin's own number).
pub(super) const MEDIAN_REACHES: u32 = 10;
const MEDIAN_OF: usize = MEDIAN_REACHES as usize + 1;

/// From these heights on no block of the main network was found with less work than this, by far: whoever makes up a chain must
/// do as much. Below the last of them nothing is ours: no output had a witness.
const MAIN_FLOORS: [(u32, u32); 2] = [(600_000, 0x1720_0000), (481_824, 0x1802_0000)];

/// From this height on the rewards of the old test network say how high they stand.
const TESTNET_HEIGHTS_FROM: u32 = 21_111;

/// Seconds by which a header's time may be ahead of its block (Bitcoin's own number). Times of blocks do not rise from each to the
/// next: none is off by more.
pub(super) const AHEAD_S: u32 = 7_200;

/// What is left besides where a block is looked for that was surely there before a moment.
const BEFORE_MS: i64 = 24 * 3_600_000;

/// The lowest block of a network that may hold anything of ours.
pub(super) fn lowest(network: Network) -> u32 {
    let floors = MAIN_FLOORS.iter().filter(|_| network == Network::Bitcoin);
    floors.map(|(from, _)| *from).min().unwrap_or(0)
}

/// What is wrong with a header.
pub(super) type Wrong = &'static str;

/// The time of a header.
pub(super) fn time(header: &Header) -> Timestamp {
    Timestamp::from_ms(i64::from(header.time).saturating_mul(1_000))
}

/// Whether work was done for a header, however little.
pub(super) fn check_work(network: Network, header: &Header) -> Result<(), Wrong> {
    let target = header.target();
    let is_done = target <= Params::new(network).max_attainable_target && header.validate_pow(target).is_ok();
    if is_done { Ok(()) } else { Err("no work was done for it") }
}

/// Whether a header may be believed of which no other is known: as hard to find as every one of its height and later.
pub(super) fn check_alone(network: Network, height: u32, header: &Header) -> Result<(), Wrong> {
    check_work(network, header)?;
    check_floor(network, height, header)
}

/// Whether a block stands at the height at which it is told: its reward says so (BIP34). The old test network is older than that.
pub(super) fn check_height(network: Network, height: u32, reward: Option<&Transaction>) -> Result<(), Wrong> {
    let is_older = network == Network::Testnet && height < TESTNET_HEIGHTS_FROM;
    if is_older || reward.and_then(height_of_reward) == Some(height) { Ok(()) } else { Err("it has another height") }
}

/// Whether a header follows on the one `before` it, and may.
pub(super) fn check_next(network: Network, height: u32, before: &Header, header: &Header) -> Result<(), Wrong> {
    if header.prev_blockhash != before.block_hash() {
        return Err("it does not follow on the block before it");
    }
    check_work(network, header)?;
    check_floor(network, height, header)?;
    check_difficulty(network, height, before.bits, header.bits)
}

/// Whether the difficulty may be this after the one of the block before.
pub(super) fn check_difficulty(
    network: Network,
    height: u32,
    before: CompactTarget,
    bits: CompactTarget,
) -> Result<(), Wrong> {
    if may_follow(network, height, before, bits) { Ok(()) } else { Err("its difficulty is not the one that must be") }
}

/// The middle one of the times of the last eleven blocks; `None` of fewer.
pub(super) fn median_time(times: impl Iterator<Item = Timestamp>) -> Option<Timestamp> {
    let mut times: Vec<Timestamp> = times.take(MEDIAN_OF).collect();
    times.sort_unstable();
    times.get(MEDIAN_OF / 2).filter(|_| times.len() == MEDIAN_OF).copied()
}

/// The height of a block that was surely there before `at`, in a chain up to `best`: one whose header's time is well before, found by
/// halving, with some twenty headers. Times of blocks do not rise from each to the next; none is off by as much as is left.
pub(super) fn height_before<E>(
    at: Timestamp,
    best: u32,
    mut time_at: impl FnMut(u32) -> Result<Timestamp, E>,
) -> Result<u32, E> {
    let until = at.plus_ms(-BEFORE_MS).plus_ms(-i64::from(AHEAD_S).saturating_mul(1_000));
    let (mut before, mut after) = (0, best.saturating_add(1));
    while after.saturating_sub(before) > 1 {
        let height = before.saturating_add(after.saturating_sub(before) / 2);
        if time_at(height)? <= until {
            before = height;
        } else {
            after = height;
        }
    }
    Ok(before)
}

/// Where no floor is, on the main network, nothing is ours: a chain that ends there, or is asked for there, is made up.
fn check_floor(network: Network, height: u32, header: &Header) -> Result<(), Wrong> {
    let is_enough = network != Network::Bitcoin || floor(height).is_some_and(|floor| header.target() <= floor);
    if is_enough { Ok(()) } else { Err("too little work was done for it") }
}

fn floor(height: u32) -> Option<Target> {
    let floor = MAIN_FLOORS.iter().find(|(from, _)| height >= *from);
    floor.map(|(_, bits)| Target::from_compact(CompactTarget::from_consensus(*bits)))
}

/// Networks where a block may be found without much work after a pause are let off.
fn may_follow(network: Network, height: u32, before: CompactTarget, bits: CompactTarget) -> bool {
    let params = Params::new(network);
    if params.allow_min_difficulty_blocks && !params.no_pow_retargeting {
        return true;
    }
    if params.no_pow_retargeting || !height.is_multiple_of(RETARGET_EVERY) {
        return before == bits;
    }
    let (before, now) = (Target::from_compact(before), Target::from_compact(bits));
    now <= before.max_transition_threshold(&params) && now >= before.min_transition_threshold()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use bitcoin::BlockHash;
    use bitcoin::constants::genesis_block;
    use bitcoin::hashes::Hash as _;

    use super::*;

    const HOUR_MS: i64 = 3_600_000;

    fn bits(bits: u32) -> CompactTarget {
        CompactTarget::from_consensus(bits)
    }

    /// A block of regtest with work, on top of another.
    fn next(before: &Header, change: impl FnOnce(&mut Header)) -> Header {
        let mut header = Header { prev_blockhash: before.block_hash(), ..*before };
        change(&mut header);
        while header.validate_pow(header.target()).is_err() {
            header.nonce = header.nonce.wrapping_add(1);
        }
        header
    }

    #[test]
    fn the_difficulty_changes_by_four_at_most_and_every_two_weeks_alone() {
        let (before, twice, eightfold) = (bits(0x1b04_04cb), bits(0x1b08_0996), bits(0x1b20_2658));
        for (network, height, next, may) in [
            (Network::Bitcoin, 2_017, before, true),
            (Network::Bitcoin, 2_017, twice, false),
            (Network::Bitcoin, 2_016, twice, true),
            (Network::Bitcoin, 2_016, eightfold, false),
            (Network::Testnet4, 2_017, eightfold, true),
            (Network::Regtest, 2_016, twice, false),
            (Network::Signet, 2_017, twice, false),
        ] {
            assert_eq!(may_follow(network, height, before, next), may, "{network} {height}");
        }
    }

    #[test]
    fn no_block_of_the_main_network_is_believed_that_a_laptop_could_make() {
        // The difficulties of blocks 900,000 and 500,000 as they were, and that of the first block.
        for (height, told, is_enough) in [
            (900_000, 0x1702_3a04, true),
            (900_000, 0x1800_9645, false),
            (900_000, 0x1d00_ffff, false),
            (500_000, 0x1800_9645, true),
            (500_000, 0x1d00_ffff, false),
            (100, 0x1d00_ffff, false),
        ] {
            let target = Target::from_compact(bits(told));
            assert_eq!(floor(height).is_some_and(|floor| target <= floor), is_enough, "{height} {told:x}");
        }
        let first = genesis_block(Network::Bitcoin).header;
        assert_eq!(check_work(Network::Bitcoin, &first), Ok(()));
        assert_eq!(check_alone(Network::Bitcoin, 0, &first), Err("too little work was done for it"));
        assert_eq!(check_alone(Network::Regtest, 0, &genesis_block(Network::Regtest).header), Ok(()));
        assert!(check_alone(Network::Regtest, 0, &first).is_ok(), "as hard as any there");
        let lazy = Header { nonce: first.nonce.wrapping_add(1), ..first };
        assert_eq!(check_alone(Network::Bitcoin, 900_000, &lazy), Err("no work was done for it"));
    }

    #[test]
    fn a_header_follows_on_the_one_that_it_names_with_work_and_the_same_difficulty() {
        let first = genesis_block(Network::Regtest).header;
        let second = next(&first, |header| header.time += 1);
        assert_eq!(check_next(Network::Regtest, 1, &first, &second), Ok(()));
        let elsewhere = next(&first, |header| header.prev_blockhash = BlockHash::all_zeros());
        assert_eq!(
            check_next(Network::Regtest, 1, &first, &elsewhere),
            Err("it does not follow on the block before it")
        );
        let harder = next(&first, |header| header.bits = bits(0x207f_fffe));
        assert_eq!(check_next(Network::Regtest, 1, &first, &harder), Err("its difficulty is not the one that must be"));
        let lazy = (0..).map(|nonce| Header { nonce, ..second });
        let lazy = lazy.into_iter().find(|header| header.validate_pow(header.target()).is_err()).unwrap();
        assert_eq!(check_next(Network::Regtest, 1, &first, &lazy), Err("no work was done for it"));
    }

    #[test]
    fn the_median_is_of_eleven_blocks_and_of_no_fewer() {
        let times = [9, 3, 7, 1, 11, 5, 2, 10, 4, 8, 6, 100].map(Timestamp::from_ms);
        assert_eq!(median_time(times.into_iter()), Some(Timestamp::from_ms(6)));
        assert_eq!(median_time(times.into_iter().take(10)), None);
    }

    #[test]
    fn the_block_before_a_day_is_found_though_times_of_blocks_go_back_and_forth() {
        // Ten minutes each, every third told an hour too early and every fifth two hours too late.
        let told = |height: u32| {
            let wrong = [(3, -HOUR_MS), (5, 2 * HOUR_MS)].iter().find(|(every, _)| height.is_multiple_of(*every));
            Timestamp::from_ms(i64::from(height) * 600_000 + wrong.map_or(0, |(_, ms)| *ms))
        };
        for best in [0, 1, 300, 100_000] {
            for at in [0, 27 * HOUR_MS, 500 * HOUR_MS, 40_000 * HOUR_MS] {
                let mut asked = 0;
                let found = height_before(Timestamp::from_ms(at), best, |height| {
                    asked += 1;
                    Ok::<_, Infallible>(told(height))
                });
                let Ok(found) = found;
                assert!(asked <= 18, "{asked} headers");
                assert!(found == 0 || i64::from(found) * 600_000 < at - 24 * HOUR_MS, "{found} of {best} at {at}");
                let slack = i64::from(found + 1) * 600_000 > at - 30 * HOUR_MS;
                assert!(found == best || slack, "{found} of {best} at {at} is far too low");
            }
        }
    }
}
