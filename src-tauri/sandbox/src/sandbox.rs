//! The sandbox, and its clock, rates and faults.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bitcoin::hashes::{Hash as _, HashEngine as _, sha256};
use rusqlite::{Connection, TransactionBehavior};

use crate::customer::Customer;
use crate::error::SandboxError;
use crate::types::{Faults, FaultsPatch, Status};
use crate::{blocks, faults_rates, initial_chain, mempool, store};

/// The chain, its mempool, clock offset, rates and faults, and the customer. Calls block and run
/// one at a time.
pub struct Sandbox {
    pub(crate) conn: Mutex<Connection>,
    pub(crate) customer: Customer,
    identity: [u8; 32],
    clock_offset_ms: AtomicI64,
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox").finish_non_exhaustive()
    }
}

impl Sandbox {
    /// Opens the file, or creates it with an initial chain whose last block is at `now_ms`. The
    /// caller makes sure that no other process has the file open.
    ///
    /// # Errors
    /// The file cannot be read or written, is not a sandbox's, or was written by a newer program.
    pub fn open(file: &Path, now_ms: i64) -> Result<Sandbox, SandboxError> {
        let (mut conn, is_new) = store::open(file)?;
        if is_new {
            let step = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            initial_chain::create(&step, now_ms)?;
            step.commit()?;
        }
        let seed: [u8; 32] = conn.query_row("SELECT seed FROM meta", [], |row| row.get(0))?;
        let clock_offset_ms = AtomicI64::new(faults_rates::clock_offset_ms(&conn)?);
        let identity = identity_of(&seed);
        Ok(Sandbox {
            conn: Mutex::new(conn),
            customer: Customer::new(seed),
            identity,
            clock_offset_ms,
        })
    }

    /// The identity of this chain. It comes from the file's random seed, and copies of the file
    /// share it.
    pub fn identity(&self) -> [u8; 32] {
        self.identity
    }

    /// Forward offset of the clock in milliseconds; it only grows. The value is kept in memory.
    pub fn clock_offset_ms(&self) -> i64 {
        self.clock_offset_ms.load(Ordering::Acquire)
    }

    /// Moves the clock forward and returns its new offset in milliseconds.
    ///
    /// # Errors
    /// [`SandboxError::ClockOutOfRange`] beyond 50 years in total.
    pub fn advance_clock(&self, seconds: u64) -> Result<i64, SandboxError> {
        let mut conn = self.lock();
        let offset_ms = write(&mut conn, |conn| faults_rates::advance_clock(conn, seconds))?;
        self.clock_offset_ms.store(offset_ms, Ordering::Release);
        Ok(offset_ms)
    }

    /// Sets rates, or withdraws rates given as `None`. The caller has validated codes and decimals.
    ///
    /// # Errors
    /// Only if the file cannot be accessed or is damaged.
    pub fn set_rates(&self, rates: &BTreeMap<String, Option<String>>) -> Result<(), SandboxError> {
        write(&mut self.lock(), |conn| faults_rates::set_rates(conn, rates))
    }

    /// The simulated rates: decimal text by currency code.
    ///
    /// # Errors
    /// Only if the file cannot be accessed or is damaged.
    pub fn rates(&self) -> Result<BTreeMap<String, String>, SandboxError> {
        faults_rates::rates(&self.lock())
    }

    /// Changes the faults; fields that are `None` stay as they are.
    ///
    /// # Errors
    /// Only if the file cannot be accessed or is damaged.
    pub fn set_faults(&self, patch: FaultsPatch) -> Result<(), SandboxError> {
        write(&mut self.lock(), |conn| faults_rates::set_faults(conn, patch))
    }

    /// The faults in force.
    ///
    /// # Errors
    /// Only if the file cannot be accessed or is damaged.
    pub fn faults(&self) -> Result<Faults, SandboxError> {
        faults_rates::faults(&self.lock())
    }

    /// The tip, the whole mempool, rates and faults, in one consistent view.
    ///
    /// # Errors
    /// Only if the file cannot be accessed or is damaged.
    pub fn status(&self) -> Result<Status, SandboxError> {
        read_view(&mut self.lock(), |conn| {
            let tip = blocks::tip(conn)?;
            Ok(Status {
                height: tip.height,
                tip_hash: tip.hash,
                tip_time_ms: tip.time_ms,
                mempool: mempool::txids(conn)?,
                customer: self.customer.script(tip.height),
                rates: faults_rates::rates(conn)?,
                faults: faults_rates::faults(conn)?,
            })
        })
    }

    /// A panic rolls back its transaction, so the file behind a poisoned lock is sound.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Connection> {
        self.conn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A hash of the seed. The customer's keys cannot be derived from it.
fn identity_of(seed: &[u8; 32]) -> [u8; 32] {
    let mut engine = sha256::Hash::engine();
    engine.input(b"identity of a sandbox's chain");
    engine.input(seed);
    sha256::Hash::from_engine(engine).to_byte_array()
}

/// Runs `act` in one transaction and commits it; an error rolls back.
pub(crate) fn write<T, E: From<rusqlite::Error>>(
    conn: &mut Connection,
    act: impl FnOnce(&Connection) -> Result<T, E>,
) -> Result<T, E> {
    let step = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let answer = act(&step)?;
    step.commit()?;
    Ok(answer)
}

/// Runs `look` on one consistent view.
pub(crate) fn read_view<T>(
    conn: &mut Connection,
    look: impl FnOnce(&Connection) -> Result<T, SandboxError>,
) -> Result<T, SandboxError> {
    let view = conn.transaction_with_behavior(TransactionBehavior::Deferred)?;
    look(&view)
}
