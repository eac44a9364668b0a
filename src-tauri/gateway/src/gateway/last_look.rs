//! How far the chain was watched, and how that goes, for use cases and people. Held in memory: a restart looks anew.

use std::collections::VecDeque;

use bitcoin::Txid;
use parking_lot::{Mutex, MutexGuard};
use tillgate_domain::id::Id;
use tillgate_domain::time::Timestamp;

use crate::chain::Tip;
use crate::store::chain::WatchedChain;
use crate::store::{Store, StoreError};

/// A chain not watched for so long says nothing about new payments any more (interface, "Errors").
const WATCHED_WITHIN_MS: i64 = 10 * 60 * 1_000;

/// Warnings remembered; older ones are in the log.
const WARNINGS_MAX: usize = 100;

/// How long people are told that the chain is another: whoever looks once a day hears of it.
const BEGUN_ANEW_TOLD_FOR_MS: i64 = 24 * 3_600_000;

/// Something that staff should know at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendWarning {
    /// The mempool holds a conflict with a transaction that a CONFIRMED payment rests on.
    DoubleSpendAttempt {
        payment_id: Id,
        /// The transaction under attack.
        txid: Txid,
    },
    /// The basis of an anomaly that people decided on has changed.
    DecidedAnomalyChanged { payment_id: Id, anomaly_id: Id },
}

impl std::fmt::Display for BackendWarning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::DoubleSpendAttempt { payment_id, txid } => write!(
                f,
                "somebody tries to spend the coins of transaction {txid} again, on which confirmed payment {payment_id} rests"
            ),
            Self::DecidedAnomalyChanged { payment_id, anomaly_id } => {
                write!(f, "the coins of anomaly {anomaly_id} of payment {payment_id} changed after you decided on it")
            }
        }
    }
}

/// How the watching goes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WatchStatus {
    /// The best block of the last look.
    pub tip: Option<Tip>,
    /// Start of the last successful look.
    pub looked_at: Option<Timestamp>,
    /// When a look last found another chain than the look before it.
    pub begun_anew_at: Option<Timestamp>,
    /// Why the last look failed, if it did.
    pub error: Option<String>,
    /// What staff should know, the newest last.
    pub warnings: Vec<BackendWarning>,
}

impl WatchStatus {
    /// What people should know for a day after the chain was found to be another.
    #[must_use]
    pub fn begun_anew(&self, now: Timestamp) -> Option<String> {
        let at = self.begun_anew_at.filter(|at| now < at.plus_ms(BEGUN_ANEW_TOLD_FOR_MS))?;
        Some(format!(
            "since {} another chain is there than before, or an older copy of it: it was watched from its first block, and payments that rest on what it does not hold fall if that stays away",
            at.iso_seconds()
        ))
    }
}

/// The last look at the chain, as all of the gateway may ask for it.
pub struct LastLook {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    watched: Option<WatchedChain>,
    error: Option<String>,
    warnings: VecDeque<BackendWarning>,
}

impl LastLook {
    /// Goes on where the database says that the chain was watched to.
    pub fn load(store: &Store) -> Result<Self, StoreError> {
        let watched = store.read(|reader| reader.watched_chain())?;
        Ok(Self { inner: Mutex::new(Inner { watched, ..Inner::default() }) })
    }

    /// How the watching goes.
    #[must_use]
    pub fn status(&self) -> WatchStatus {
        let inner = self.lock();
        WatchStatus {
            tip: inner.watched.as_ref().map(|watched| watched.tip),
            looked_at: inner.watched.as_ref().map(|watched| watched.looked_at),
            begun_anew_at: inner.watched.as_ref().and_then(|watched| watched.begun_anew_at),
            error: inner.error.clone(),
            warnings: inner.warnings.iter().copied().collect(),
        }
    }

    /// How far the chain was watched, at the last successful look. The database may be a minute behind.
    #[must_use]
    pub fn watched(&self) -> Option<WatchedChain> {
        self.lock().watched.clone()
    }

    /// The same, where that look is not so old that it says nothing about new payments any more.
    #[must_use]
    pub(crate) fn watched_lately(&self, now: Timestamp) -> Option<WatchedChain> {
        self.watched().filter(|watched| now.ms().saturating_sub(watched.looked_at.ms()) <= WATCHED_WITHIN_MS)
    }

    /// Notes how a look ended, and logs each outage once.
    pub fn note<E: std::fmt::Display>(&self, result: &Result<(), E>, watched: Option<WatchedChain>) {
        let mut inner = self.lock();
        inner.watched = watched;
        match result {
            Ok(()) => {
                if inner.error.take().is_some() {
                    tracing::info!("the chain is watched again");
                }
            }
            Err(error) => {
                let error = error.to_string();
                if inner.error.as_ref() != Some(&error) {
                    tracing::error!(error, "the chain is not watched");
                }
                inner.error = Some(error);
            }
        }
    }

    /// Tells people once, however many looks see it.
    pub fn warn(&self, warning: BackendWarning) {
        let mut inner = self.lock();
        if inner.warnings.contains(&warning) {
            return;
        }
        tracing::warn!(%warning, "staff should know");
        if inner.warnings.len() == WARNINGS_MAX {
            inner.warnings.pop_front();
        }
        inner.warnings.push_back(warning);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }
}
