//! A new file's content: the seed, the first blocks, the customer's coins in many sizes, and the
//! first rates.

use bitcoin::Network;
use bitcoin::constants::genesis_block;
use rusqlite::{Connection, params};

use crate::blocks;
use crate::customer::{Customer, KEYS};
use crate::customer_coins::{self, Among};
use crate::error::SandboxError;
use crate::faults_rates;
use crate::mempool;
use crate::miner;
use crate::spending;
use crate::store;
use crate::template;

/// Length of the initial chain. At its end, more than half of its coinbases are mature.
const BLOCKS: u32 = 240;
/// Time between blocks of the initial chain. The last block has the caller's present time.
const SPACING_S: i64 = 600;
/// Number of coinbases that are split, each in the same way.
const SPLIT_COINBASES: u32 = 25;
/// Number and size, in satoshis, of the coins made from one coinbase of 50 bitcoins. The remainder
/// is change.
const SIZES: [(usize, u64); 5] =
    [(80, 1_000_000), (60, 5_000_000), (32, 25_000_000), (16, 100_000_000), (4, 500_000_000)];

/// Fills an empty file, within the caller's transaction.
pub(crate) fn create(conn: &Connection, now_ms: i64) -> Result<(), SandboxError> {
    store::create_schema(conn)?;
    let mut seed = [0u8; 32];
    getrandom::fill(&mut seed).map_err(|_| SandboxError::Entropy)?;
    conn.execute(
        "INSERT INTO meta (id, seed, initial_height, clock_offset_ms, blocks_mined, chain_down, latency_ms)
         VALUES (1, ?1, ?2, 0, 0, 0, 0)",
        params![seed, BLOCKS],
    )?;
    faults_rates::insert_default_rates(conn)?;
    let customer = Customer::new(seed);
    for index in 0..KEYS {
        conn.prepare_cached("INSERT INTO customer_scripts (script, key_index) VALUES (?1, ?2)")?
            .execute(params![customer.script(index).as_bytes(), index])?;
    }
    blocks::insert_header(conn, 0, &genesis_block(Network::Regtest).header)?;
    let now_s = now_ms.div_euclid(1000);
    for height in 1..BLOCKS {
        miner::mine_block(conn, &customer, &[], block_time_s(now_s, height))?;
    }
    split_coinbases(conn, &customer, now_ms)?;
    miner::mine_block(conn, &customer, &template::choose(conn, 0)?, block_time_s(now_s, BLOCKS))?;
    conn.execute("UPDATE outputs SET is_initial = 1", [])?;
    Ok(())
}

fn block_time_s(now_s: i64, height: u32) -> i64 {
    now_s.saturating_sub(i64::from(BLOCKS.saturating_sub(height)).saturating_mul(SPACING_S))
}

fn split_coinbases(
    conn: &Connection,
    customer: &Customer,
    now_ms: i64,
) -> Result<(), SandboxError> {
    let sums: Vec<u64> =
        SIZES.iter().flat_map(|(count, sats)| std::iter::repeat_n(*sats, *count)).collect();
    for coin in customer_coins::largest_customer_coins_below(
        conn,
        Among::All,
        u64::from(u32::MAX) * 2,
        BLOCKS,
        SPLIT_COINBASES,
    )? {
        let tx = spending::split(customer, coin, &sums)?;
        mempool::accept(conn, &tx, now_ms)?;
    }
    Ok(())
}
