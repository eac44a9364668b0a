//! Queries for the coins that the simulated customer can spend. `spending` chooses among them.

use rusqlite::{Connection, OptionalExtension, params};

use crate::error::SandboxError;
use crate::transactions::{COIN_COLUMNS, Coin, coin_row};

/// The customer's coins that a query considers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Among {
    /// The coins of the initial chain, which no reorganisation can remove.
    Initial,
    All,
}

impl Among {
    /// The values of `is_initial` to query, one by one, because the index orders amounts only
    /// within each.
    fn classes(self) -> &'static [bool] {
        match self {
            Among::Initial => &[true],
            Among::All => &[true, false],
        }
    }
}

/// The customer's smallest coin of at least `amount_sats` that a block at `height` may spend.
pub(crate) fn smallest_customer_coin(
    conn: &Connection,
    among: Among,
    amount_sats: u64,
    height: u32,
) -> Result<Option<Coin>, SandboxError> {
    let sql = format!(
        "SELECT {COIN_COLUMNS} WHERE o.spendable_from IS NOT NULL AND o.is_initial = ?1 AND o.amount_sats >= ?2
         AND o.spendable_from <= ?3 ORDER BY o.amount_sats LIMIT 1"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut smallest: Option<Coin> = None;
    for class in among.classes() {
        let found =
            statement.query_row(params![class, amount_sats, height], coin_row).optional()?;
        smallest = smallest.into_iter().chain(found).min_by_key(|coin| coin.amount_sats);
    }
    Ok(smallest)
}

/// The customer's `limit` largest coins below `amount_sats` that a block at `height` may spend,
/// largest first.
pub(crate) fn largest_customer_coins_below(
    conn: &Connection,
    among: Among,
    amount_sats: u64,
    height: u32,
    limit: u32,
) -> Result<Vec<Coin>, SandboxError> {
    let sql = format!(
        "SELECT {COIN_COLUMNS} WHERE o.spendable_from IS NOT NULL AND o.is_initial = ?1 AND o.amount_sats < ?2
         AND o.spendable_from <= ?3 ORDER BY o.amount_sats DESC LIMIT ?4"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut coins = Vec::new();
    for class in among.classes() {
        for coin in statement.query_map(params![class, amount_sats, height, limit], coin_row)? {
            coins.push(coin?);
        }
    }
    coins.sort_by_key(|coin: &Coin| std::cmp::Reverse(coin.amount_sats));
    coins.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(coins)
}

/// The sum that the customer could spend in a block at `height`, in satoshis.
pub(crate) fn customer_balance_sats(conn: &Connection, height: u32) -> Result<u64, SandboxError> {
    let mut statement = conn.prepare_cached(
        "SELECT coalesce(sum(amount_sats), 0) FROM outputs WHERE spendable_from IS NOT NULL AND spendable_from <= ?1",
    )?;
    Ok(statement.query_row([height], |row| row.get(0))?)
}
