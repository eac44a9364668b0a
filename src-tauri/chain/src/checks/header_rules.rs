//! The rules for block headers, the same for every server. A header must have the work that its
//! height requires, follow the header before it, and have the difficulty that the earlier headers
//! determine.
//!
//! On the main network and signet the difficulty is computed. On testnet4 it is not checked: a
//! block may need little work after a pause, and the coins are worth nothing. On regtest it never
//! changes.

use bitcoin::block::Header;
use bitcoin::consensus::Params;
use bitcoin::{CompactTarget, Network, Target, Transaction};
use tillgate_domain::time::Timestamp;

use super::merkle_proof::coinbase_height;

/// Blocks between two changes of the difficulty (Bitcoin's own number).
const RETARGET_EVERY: u32 = 2_016;

/// The median time is that of the best block and this many blocks below it: eleven blocks
/// (Bitcoin's own number).
pub const MEDIAN_REACHES: u32 = 10;
const MEDIAN_OF: usize = MEDIAN_REACHES as usize + 1;

/// Heights of the main network, each with the lowest difficulty allowed from there on, as a compact
/// target. Every real block took far more work; a made-up chain must meet the floor too. Each
/// release raises the first entry: the latest height in ten thousands, at 40 % of its difficulty.
/// With this margin the real chain still passes after a fall of the price. Below the last height no
/// output had a witness, so none is ours.
const MAIN_FLOORS: [(u32, u32); 3] =
    [(870_000, 0x1705_0000), (600_000, 0x1720_0000), (481_824, 0x1802_0000)];

/// From this height on, coinbase transactions of testnet3 hold their height (BIP34).
const TESTNET_HEIGHTS_FROM: u32 = 21_111;

/// Seconds by which a block's time may be ahead of the real time (Bitcoin's own number).
pub const AHEAD_S: u32 = 7_200;

/// The safety margin of [`height_before`].
const BEFORE_MS: i64 = 24 * 3_600_000;

/// The height of a network's lowest block that may hold a coin of ours.
pub fn lowest(network: Network) -> u32 {
    let floors = MAIN_FLOORS.iter().filter(|_| network == Network::Bitcoin);
    floors.map(|(from, _)| *from).min().unwrap_or(0)
}

pub type HeaderFault = &'static str;

pub fn time(header: &Header) -> Timestamp {
    Timestamp::from_ms(i64::from(header.time).saturating_mul(1_000))
}

/// Checks that a header's hash meets the header's own target.
pub fn check_work(network: Network, header: &Header) -> Result<(), HeaderFault> {
    let target = header.target();
    let is_done =
        target <= Params::new(network).max_attainable_target && header.validate_pow(target).is_ok();
    if is_done { Ok(()) } else { Err("no work was done for it") }
}

/// Checks a header without known neighbours: it must have the work that its height requires.
pub fn check_alone(network: Network, height: u32, header: &Header) -> Result<(), HeaderFault> {
    check_work(network, header)?;
    check_floor(network, height, header)
}

/// Checks the height of a block by its coinbase transaction (BIP34). The oldest blocks of testnet3
/// predate the rule.
pub fn check_height(
    network: Network,
    height: u32,
    reward: Option<&Transaction>,
) -> Result<(), HeaderFault> {
    let is_older = network == Network::Testnet && height < TESTNET_HEIGHTS_FROM;
    if is_older || reward.and_then(coinbase_height) == Some(height) {
        Ok(())
    } else {
        Err("it has another height")
    }
}

/// Checks that a header follows `before`. Its exact difficulty is not checked, because known blocks
/// that build on it confirm it.
pub fn check_linked(
    network: Network,
    height: u32,
    before: &Header,
    header: &Header,
) -> Result<(), HeaderFault> {
    if header.prev_blockhash != before.block_hash() {
        return Err("it does not follow the block before it");
    }
    check_work(network, header)?;
    check_floor(network, height, header)
}

/// Checks that a header follows `before` and has the required difficulty. `first` is the header at
/// [`period_before`], if there is one.
pub fn check_next(
    network: Network,
    height: u32,
    (first, before): (Option<&Header>, &Header),
    header: &Header,
) -> Result<(), HeaderFault> {
    check_linked(network, height, before, header)?;
    let params = Params::new(network);
    if params.allow_min_difficulty_blocks && !params.no_pow_retargeting {
        return Ok(());
    }
    let wanted = match (period_before(network, height), first) {
        (None, _) => before.bits,
        (Some(_), Some(first)) => next_bits(&params, first.time, before),
        (Some(_), None) => return Err("the blocks before it are not known"),
    };
    if header.bits == wanted { Ok(()) } else { Err("its difficulty is wrong") }
}

/// The first height of the difficulty period that ends just before this height; `None` if no period
/// ends there.
pub fn period_before(network: Network, height: u32) -> Option<u32> {
    let ends = has_periods(network) && height.is_multiple_of(RETARGET_EVERY);
    height.checked_sub(RETARGET_EVERY).filter(|_| ends)
}

/// The first height of this height's difficulty period. Headers linked from there on prove the
/// difficulty of each later header. On a network without periods, the height itself.
pub fn linked_from(network: Network, height: u32) -> u32 {
    if has_periods(network) { height - height % RETARGET_EVERY } else { height }
}

/// Whether the difficulty is computed from block times.
const fn has_periods(network: Network) -> bool {
    match network {
        Network::Bitcoin | Network::Signet => true,
        Network::Testnet | Network::Testnet4 | Network::Regtest => false,
    }
}

/// The difficulty after a period, from the time of its first block and its last header.
fn next_bits(params: &Params, first_time: u32, last: &Header) -> CompactTarget {
    // Times may go back, which counts as the shortest possible period.
    let timespan = last.time.saturating_sub(first_time);
    CompactTarget::from_next_work_required(last.bits, timespan.into(), params)
}

/// The median of the times of the last eleven blocks; `None` for fewer.
pub fn median_time(times: impl Iterator<Item = Timestamp>) -> Option<Timestamp> {
    let mut times: Vec<Timestamp> = times.take(MEDIAN_OF).collect();
    times.sort_unstable();
    times.get(MEDIAN_OF / 2).filter(|_| times.len() == MEDIAN_OF).copied()
}

/// The height of a block that surely existed before `at`, in a chain up to `best`. A binary search
/// reads some twenty headers. The margin covers block times that do not increase.
pub fn height_before<E>(
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

/// Checks the work against the floor. A main-network header below all floors is refused: no such
/// block can be ours.
fn check_floor(network: Network, height: u32, header: &Header) -> Result<(), HeaderFault> {
    let is_enough =
        network != Network::Bitcoin || floor(height).is_some_and(|floor| header.target() <= floor);
    if is_enough { Ok(()) } else { Err("too little work was done for it") }
}

fn floor(height: u32) -> Option<Target> {
    let floor = MAIN_FLOORS.iter().find(|(from, _)| height >= *from);
    floor.map(|(_, bits)| Target::from_compact(CompactTarget::from_consensus(*bits)))
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

    /// A regtest header with proof of work, on top of `before`.
    fn next(before: &Header, change: impl FnOnce(&mut Header)) -> Header {
        let mut header = Header { prev_blockhash: before.block_hash(), ..*before };
        change(&mut header);
        while header.validate_pow(header.target()).is_err() {
            header.nonce = header.nonce.wrapping_add(1);
        }
        header
    }

    /// A header with this time and difficulty.
    fn timed(time: u32, told: u32) -> Header {
        Header { time, bits: bits(told), ..genesis_block(Network::Bitcoin).header }
    }

    #[test]
    fn the_difficulty_after_a_period_matches_bitcoin_core() {
        // Bitcoin Core's own cases (pow_tests.cpp): blocks 32,255 and 2,015, and the steepest rise
        // and fall.
        for (first, last, before, next) in [
            (1_261_130_161, 1_262_152_739, 0x1d00_ffff, 0x1d00_d86a),
            (1_231_006_505, 1_233_061_996, 0x1d00_ffff, 0x1d00_ffff),
            (1_279_008_237, 1_279_297_671, 0x1c05_a3f4, 0x1c01_68fd),
            (1_263_163_443, 1_269_211_443, 0x1c38_7f6f, 0x1d00_e1fd),
            // Times that go back count as the shortest period.
            (1_279_297_671, 1_279_008_237, 0x1c05_a3f4, 0x1c01_68fd),
        ] {
            let params = Params::new(Network::Bitcoin);
            assert_eq!(next_bits(&params, first, &timed(last, before)), bits(next), "{before:x}");
        }
    }

    #[test]
    fn the_difficulty_stays_for_a_period_and_is_computed_after_it() {
        for (network, height, period, from) in [
            (Network::Bitcoin, 2_017, None, 2_016),
            (Network::Bitcoin, 4_032, Some(2_016), 4_032),
            (Network::Bitcoin, 0, None, 0),
            (Network::Signet, 4_032, Some(2_016), 4_032),
            (Network::Signet, 4_031, None, 2_016),
            (Network::Testnet4, 4_032, None, 4_032),
            (Network::Regtest, 4_033, None, 4_033),
        ] {
            let found = (period_before(network, height), linked_from(network, height));
            assert_eq!(found, (period, from), "{network} {height}");
        }
    }

    #[test]
    fn a_difficulty_drop_that_block_times_do_not_explain_is_refused() {
        let network = Network::Signet;
        let first = genesis_block(network).header;
        let easy = Params::new(network).max_attainable_target.to_compact_lossy();
        // A period of one week, after which the difficulty doubles.
        let last = Header { bits: easy, time: first.time + 604_800, ..first };
        let next =
            |told: CompactTarget| Header { prev_blockhash: last.block_hash(), bits: told, ..last };
        let judged = |told, first: Option<&Header>| {
            let mut header = next(told);
            while header.validate_pow(header.target()).is_err() {
                header.nonce = header.nonce.wrapping_add(1);
            }
            check_next(network, 2_016, (first, &last), &header)
        };
        assert_eq!(judged(easy, Some(&first)), Err("its difficulty is wrong"));
        assert_eq!(judged(easy, None), Err("the blocks before it are not known"));
        let slow = Header { time: last.time - 1_209_600, ..first };
        assert_eq!(judged(easy, Some(&slow)), Ok(()), "a period of two weeks keeps the difficulty");
    }

    #[test]
    fn a_main_network_header_below_the_work_floor_is_refused() {
        // The difficulties of blocks 900,000 and 500,000, and of the first block.
        for (height, told, is_enough) in [
            (900_000, 0x1702_3a04, true),
            // A difficulty of 8.8e12, which suffices at lower heights.
            (900_000, 0x1720_0000, false),
            (700_000, 0x1720_0000, true),
            (900_000, 0x1800_9645, false),
            (900_000, 0x1d00_ffff, false),
            (500_000, 0x1800_9645, true),
            (500_000, 0x1d00_ffff, false),
            (100, 0x1d00_ffff, false),
        ] {
            let target = Target::from_compact(bits(told));
            assert_eq!(
                floor(height).is_some_and(|floor| target <= floor),
                is_enough,
                "{height} {told:x}"
            );
        }
        let first = genesis_block(Network::Bitcoin).header;
        assert_eq!(check_work(Network::Bitcoin, &first), Ok(()));
        assert_eq!(
            check_alone(Network::Bitcoin, 0, &first),
            Err("too little work was done for it")
        );
        assert_eq!(
            check_alone(Network::Regtest, 0, &genesis_block(Network::Regtest).header),
            Ok(())
        );
        assert!(check_alone(Network::Regtest, 0, &first).is_ok(), "regtest accepts any difficulty");
        let lazy = Header { nonce: first.nonce.wrapping_add(1), ..first };
        assert_eq!(check_alone(Network::Bitcoin, 900_000, &lazy), Err("no work was done for it"));
    }

    #[test]
    fn a_header_needs_its_parent_work_and_the_same_difficulty() {
        let first = genesis_block(Network::Regtest).header;
        let second = next(&first, |header| header.time += 1);
        assert_eq!(check_next(Network::Regtest, 1, (None, &first), &second), Ok(()));
        let elsewhere = next(&first, |header| header.prev_blockhash = BlockHash::all_zeros());
        assert_eq!(
            check_next(Network::Regtest, 1, (None, &first), &elsewhere),
            Err("it does not follow the block before it")
        );
        let harder = next(&first, |header| header.bits = bits(0x207f_fffe));
        assert_eq!(
            check_next(Network::Regtest, 1, (None, &first), &harder),
            Err("its difficulty is wrong")
        );
        let lazy = (0..).map(|nonce| Header { nonce, ..second });
        let lazy =
            lazy.into_iter().find(|header| header.validate_pow(header.target()).is_err()).unwrap();
        assert_eq!(
            check_next(Network::Regtest, 1, (None, &first), &lazy),
            Err("no work was done for it")
        );
    }

    #[test]
    fn the_median_time_needs_eleven_blocks() {
        let times = [9, 3, 7, 1, 11, 5, 2, 10, 4, 8, 6, 100].map(Timestamp::from_ms);
        assert_eq!(median_time(times.into_iter()), Some(Timestamp::from_ms(6)));
        assert_eq!(median_time(times.into_iter().take(10)), None);
    }

    #[test]
    fn a_block_before_a_time_is_found_though_block_times_jump() {
        // Ten minutes each; every third is an hour early and every fifth two hours late.
        let told = |height: u32| {
            let wrong = [(3, -HOUR_MS), (5, 2 * HOUR_MS)]
                .iter()
                .find(|(every, _)| height.is_multiple_of(*every));
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
                assert!(
                    found == 0 || i64::from(found) * 600_000 < at - 24 * HOUR_MS,
                    "{found} of {best} at {at}"
                );
                let slack = i64::from(found + 1) * 600_000 > at - 30 * HOUR_MS;
                assert!(found == best || slack, "{found} of {best} at {at} is far too low");
            }
        }
    }
}
