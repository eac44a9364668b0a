//! The stored settings of the sandbox: faults, exchange rates and the clock's offset.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use crate::error::SandboxError;
use crate::types::{BroadcastFault, Faults, FaultsPatch};

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
/// The largest clock offset, 50 years. Block times are 32-bit seconds, which end in 2106.
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

pub(crate) fn set_rates(
    conn: &Connection,
    rates: &BTreeMap<String, Option<String>>,
) -> Result<(), SandboxError> {
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
    let mut statement = conn.prepare_cached(
        "SELECT broadcast, chain_down, keys_locked, fee_rate_sat_vb, latency_ms FROM meta",
    )?;
    let (broadcast, faults) = statement.query_row([], |row| {
        let faults = Faults {
            chain_down: row.get(1)?,
            broadcast: BroadcastFault::Ok,
            keys_locked: row.get(2)?,
            fee_rate_sat_vb: row.get(3)?,
            latency_ms: row.get(4)?,
        };
        Ok((row.get::<_, String>(0)?, faults))
    })?;
    let broadcast = BroadcastFault::from_name(&broadcast).ok_or_else(|| {
        SandboxError::Damaged(format!("there is no broadcast fault {broadcast:?}"))
    })?;
    Ok(Faults { broadcast, ..faults })
}

pub(crate) fn set_faults(conn: &Connection, patch: FaultsPatch) -> Result<(), SandboxError> {
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let broadcast = patch.broadcast.map(BroadcastFault::name);
    conn.prepare_cached(
        "UPDATE meta SET chain_down = coalesce(?1, chain_down), broadcast = coalesce(?2, broadcast),
         keys_locked = coalesce(?3, keys_locked), latency_ms = coalesce(?4, latency_ms)",
    )?
    .execute(params![patch.chain_down, broadcast, patch.keys_locked, patch.latency_ms.map(whole)])?;
    if let Some(fee_rate_sat_vb) = patch.fee_rate_sat_vb {
        conn.prepare_cached("UPDATE meta SET fee_rate_sat_vb = ?1")?
            .execute([fee_rate_sat_vb.map(whole)])?;
    }
    Ok(())
}

pub(crate) fn clock_offset_ms(conn: &Connection) -> Result<i64, SandboxError> {
    Ok(conn.prepare_cached("SELECT clock_offset_ms FROM meta")?.query_row([], |row| row.get(0))?)
}

/// Moves the stored offset forward and returns the new one.
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
