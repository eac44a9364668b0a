//! Property tests of sending, over random histories of chain, customers, staff, machine and another
//! copy of the wallet. The environment variable `TILLGATE_LAWS_CASES` sets the number of histories;
//! `TILLGATE_LAWS_SEED` repeats a run.

mod chain;
mod check;
mod history;
mod steps;
mod template;

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestCaseError, TestRng, TestRunner};

use history::History;
use template::Template;

const CASES: u32 = 20;

/// A number from an environment variable.
pub fn number_from_env(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

#[test]
fn each_approved_payout_is_paid_exactly_once_in_every_history() {
    let cases =
        number_from_env("TILLGATE_LAWS_CASES").map_or(CASES, |cases| u32::try_from(cases).unwrap());
    let seed = number_from_env("TILLGATE_LAWS_SEED").unwrap_or_else(rand_seed);
    println!("TILLGATE_LAWS_SEED={seed}");
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = ProptestConfig {
        cases,
        max_shrink_iters: 50,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let template = Template::new();
    let histories = (any::<u64>(), prop::collection::vec(steps::step(), 1..45));
    let happened = RefCell::new(BTreeMap::<&'static str, u64>::new());
    let result = runner.run(&histories, |(seed, steps)| {
        runtime().block_on(async {
            let mut history = History::begin(&template, seed).await;
            for step in &steps {
                history.run(step).await;
            }
            history.ends_well().await;
            for (what, count) in history.happened() {
                *happened.borrow_mut().entry(what).or_default() += count;
            }
        });
        Ok::<_, TestCaseError>(())
    });
    println!("{cases} histories: {:?}", happened.borrow());
    if let Err(broken) = result {
        panic!("{broken}");
    }
}

fn rand_seed() -> u64 {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).unwrap();
    u64::from_le_bytes(bytes) >> 16
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}
