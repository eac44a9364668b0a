//! SIGKILL at random moments under load, also while the gateway starts.
//!
//! `TILLGATE_HOLD_KILLS` sets the number of kills (100 by default). `TILLGATE_HOLD_SEED` repeats a run, as far as the
//! machine's timing allows.

use std::time::{Duration, Instant};

use crate::check;
use crate::harness::Behaviour;
use crate::ledger::Ledger;
use crate::load::Load;
use crate::random::Random;
use crate::site::Site;

const KILLS: u64 = 100;

/// Kills of one installation before a fresh one replaces it, to keep the comparisons quick.
const KILLS_OF_ONE: u64 = 25;

/// Installations at the same time; while one waits for the disk, another works.
const TOGETHER: usize = 2;

/// Restarts between two comparisons with the shop's notifications, which wait for deliveries.
const HEARD_EVERY: u64 = 5;

/// Allowed until the look that follows a jump of the clock by more than ten minutes.
const EXCUSES: &[&str] = &["CHAIN_NOT_READY"];

/// A number from the environment.
pub fn told(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

/// A random seed, printed so that a failure can be repeated.
pub fn seed() -> u64 {
    let seed = told("TILLGATE_HOLD_SEED").unwrap_or_else(|| {
        let mut bytes = [0; 8];
        std::fs::File::open("/dev/urandom")
            .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut bytes))
            .unwrap();
        u64::from_le_bytes(bytes) >> 16
    });
    println!("TILLGATE_HOLD_SEED={seed}");
    seed
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_random_moments_nothing_is_lost() {
    let kills = told("TILLGATE_HOLD_KILLS").unwrap_or(KILLS);
    let mut random = Random::seeded(seed());
    #[expect(clippy::disallowed_methods, reason = "a figure for people, of the test's own duration")]
    let began = Instant::now();
    let mut waiting: Vec<(u64, Random)> =
        (0..kills.div_ceil(KILLS_OF_ONE)).map(|number| (number, random.fork())).collect();
    let mut under_way = tokio::task::JoinSet::new();
    let mut left = kills;
    while !waiting.is_empty() || !under_way.is_empty() {
        while under_way.len() < TOGETHER
            && let Some((number, random)) = waiting.pop()
        {
            let count = left.min(KILLS_OF_ONE);
            left -= count;
            under_way.spawn(one_installation(number, count, random));
        }
        if let Some(ended) = under_way.join_next().await {
            ended.unwrap();
        }
    }
    println!("{kills} kills in {} s", began.elapsed().as_secs());
}

async fn one_installation(number: u64, kills: u64, mut random: Random) {
    let mut site = Site::prepare().await;
    let ledger = Ledger::default();
    let folder = check::folder(&site);
    site.start();
    for kill in 1..=kills {
        site.shop.behave(match random.below(10) {
            0 => Behaviour::Hang,
            1 | 2 => Behaviour::Status(503),
            _ => Behaviour::Take,
        });
        let load = Load::new(&site.client, &site.shop, &ledger).excusing(EXCUSES).start(&mut random);
        tokio::time::sleep(Duration::from_millis(2) + random.pause(350)).await;
        site.kill();
        load.join_all().await;
        site.shop.behave(Behaviour::Take);
        // The start is tested too: a kill may come during it.
        while random.chance(25) {
            site.kill_while_starting(random.pause(400)).await;
        }
        site.start();
        check::promises_are_kept(&site, &ledger, &folder, &mut random).await;
        if kill % HEARD_EVERY == 0 || kill == kills {
            check::every_change_was_heard(&site, &folder).await;
        }
    }
    check::the_file_is_whole(&folder);
    let promises = ledger.lock();
    println!(
        "installation {number}: {kills} kills, {} payments asked for, {} acknowledged, {} transactions, {} notifications",
        promises.asked.len(),
        promises.payments.len(),
        promises.txids.len(),
        site.shop.received().len(),
    );
}
