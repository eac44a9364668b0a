//! What the sandbox is told to pretend: faults, exchange rates, and how far its clock was moved. It enforces none of it.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use crate::error::SandboxError;
use crate::types::{Faults, FaultsPatch};

/// The rates of a new sandbox, by ISO 4217 code.
const DEFAULT_RATES: [(&str, &str); 8] = [
    ("USD", "65000.00"),
    ("EUR", "60000.00"),
    ("GBP", "51000.00"),
    ("AUD", "98000.00"),
    ("JPY", "9700000.00"),
    ("CAD", "89000.00"),
    ("CHF", "57000.00"),
    ("ZAR", "1190000.00"),
];
/// The clock is not moved beyond this: block times are 32-bit seconds, and end in 2106.
const MAX_CLOCK_OFFSET_MS: i64 = 50 * 365 * 24 * 60 * 60 * 1000;

pub(crate) fn insert_default_rates(conn: &Connection) -> Result<(), SandboxError> {
    for (currency, rate) in DEFAULT_RATES {
        conn.execute("INSERT INTO rates (currency, rate) VALUES (?1, ?2)", [currency, rate])?;
    }
    Ok(())
}

pub(crate) fn rates(conn: &Connection) -> Result<BTreeMap<String, String>, SandboxError> {
    let mut statement = conn.prepare_cached("SELECT currency, rate FROM rates")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(crate) fn set_rates(conn: &Connection, rates: &BTreeMap<String, Option<String>>) -> Result<(), SandboxError> {
    for (currency, rate) in rates {
        match rate {
            Some(rate) => conn
                .prepare_cached(
                    "INSERT INTO rates (currency, rate) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET rate = ?2",
                )?
                .execute([currency, rate])?,
            None => conn.prepare_cached("DELETE FROM rates WHERE currency = ?1")?.execute([currency])?,
        };
    }
    Ok(())
}

pub(crate) fn faults(conn: &Connection) -> Result<Faults, SandboxError> {
    let mut statement = conn.prepare_cached("SELECT chain_down, broadcast_rejects, latency_ms FROM meta")?;
    Ok(statement.query_row([], |row| {
        Ok(Faults { chain_down: row.get(0)?, broadcast_rejects: row.get(1)?, latency_ms: row.get(2)? })
    })?)
}

pub(crate) fn set_faults(conn: &Connection, patch: FaultsPatch) -> Result<(), SandboxError> {
    let latency_ms = patch.latency_ms.map(|latency_ms| i64::try_from(latency_ms).unwrap_or(i64::MAX));
    conn.prepare_cached(
        "UPDATE meta SET chain_down = coalesce(?1, chain_down), broadcast_rejects = coalesce(?2, broadcast_rejects),
         latency_ms = coalesce(?3, latency_ms)",
    )?
    .execute(params![patch.chain_down, patch.broadcast_rejects, latency_ms])?;
    Ok(())
}

pub(crate) fn clock_offset_ms(conn: &Connection) -> Result<i64, SandboxError> {
    Ok(conn.prepare_cached("SELECT clock_offset_ms FROM meta")?.query_row([], |row| row.get(0))?)
}

/// Moves the stored offset forward and answers the new one.
pub(crate) fn advance_clock(conn: &Connection, seconds: u64) -> Result<i64, SandboxError> {
    let offset_ms = i64::try_from(seconds)
        .ok()
        .and_then(|seconds| seconds.checked_mul(1000))
        .and_then(|step_ms| step_ms.checked_add(clock_offset_ms(conn).ok()?))
        .filter(|offset_ms| *offset_ms <= MAX_CLOCK_OFFSET_MS)
        .ok_or(SandboxError::ClockOutOfRange { seconds })?;
    conn.prepare_cached("UPDATE meta SET clock_offset_ms = ?1")?.execute([offset_ms])?;
    Ok(offset_ms)
}
