//! SIGKILL at random moments under load, and during starts of the gateway.
//!
//! `TILLGATE_HOLD_KILLS` sets the number of kills (100 by default). `TILLGATE_HOLD_SEED` repeats
//! the random choices of a run; the machine's timing still varies.

use std::time::{Duration, Instant};

use crate::check;
use crate::harness::Behaviour;
use crate::installation::Installation;
use crate::ledger::Ledger;
use crate::load::Load;
use crate::random::Random;

const KILLS: u64 = 100;

/// Kills of one installation before a fresh one replaces it; each check compares all its records,
/// and is quick while there are few.
const KILLS_OF_ONE: u64 = 25;

/// Installations at the same time; while one waits for the disk, another works.
const TOGETHER: usize = 2;

/// Kills between two checks of the notifications, which are slow because they wait for deliveries.
const NOTIFICATIONS_CHECKED_EVERY: u64 = 5;

/// Allowed reasons of a 503. The load moves the sandbox's clock: after more than ten minutes at
/// once new payments get CHAIN_NOT_READY until the next look.
const EXCUSES: &[&str] = &["CHAIN_NOT_READY"];

/// A number from the environment.
pub fn env_number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

/// A random seed, printed so that a failure can be repeated.
pub fn seed() -> u64 {
    let seed = env_number("TILLGATE_HOLD_SEED").unwrap_or_else(|| {
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
async fn kills_at_random_moments_lose_nothing() {
    let kills = env_number("TILLGATE_HOLD_KILLS").unwrap_or(KILLS);
    let mut random = Random::seeded(seed());
    #[expect(
        clippy::disallowed_methods,
        reason = "a figure for people, of the test's own duration"
    )]
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
    let mut site = Installation::prepare().await;
    let ledger = Ledger::default();
    let folder = check::folder(&site);
    site.start();
    for kill in 1..=kills {
        site.shop.behave(match random.below(10) {
            0 => Behaviour::Hang,
            1 | 2 => Behaviour::Status(503),
            _ => Behaviour::Accept,
        });
        let load =
            Load::new(&site.client, &site.shop, &ledger).excusing(EXCUSES).start(&mut random);
        tokio::time::sleep(Duration::from_millis(2) + random.pause(350)).await;
        site.kill();
        load.join_all().await;
        site.shop.behave(Behaviour::Accept);
        // Kills may also come during a start.
        while random.chance(25) {
            site.kill_while_starting(random.pause(400)).await;
        }
        site.start();
        check::promises_are_kept(&site, &ledger, &folder, &mut random).await;
        if kill % NOTIFICATIONS_CHECKED_EVERY == 0 || kill == kills {
            check::every_change_was_notified(&site, &folder).await;
        }
    }
    check::database_is_intact(&folder);
    let promises = ledger.lock();
    println!(
        "installation {number}: {kills} kills, {} payments asked for, {} acknowledged, {} transactions, {} notifications",
        promises.asked.len(),
        promises.payments.len(),
        promises.txids.len(),
        site.shop.received().len(),
    );
}
