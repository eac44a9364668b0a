//! How the watching goes, for people. Held in memory: a restart looks anew.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bitcoin::Txid;
use tillgate_domain::id::Id;
use tillgate_domain::time::Timestamp;

use super::WatchError;
use crate::chain::Tip;
use crate::store::chain::WatchedChain;

/// Warnings kept; older ones are in the log.
const WARNINGS_MAX: usize = 100;

/// Something that staff should know at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendWarning {
    /// The mempool holds a conflict with a transaction that a CONFIRMED payment rests on.
    DoubleSpendAttempt {
        /// The payment.
        payment_id: Id,
        /// The transaction under attack.
        txid: Txid,
    },
    /// The ground of an anomaly that people decided on has changed.
    DecidedAnomalyChanged {
        /// The payment.
        payment_id: Id,
        /// The anomaly.
        anomaly_id: Id,
    },
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
    /// Why the last look failed, if it did.
    pub error: Option<String>,
    /// What staff should know, the newest last.
    pub warnings: Vec<BackendWarning>,
}

pub(super) struct Status {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    watched: Option<WatchedChain>,
    error: Option<String>,
    warnings: VecDeque<BackendWarning>,
}

impl Status {
    pub(super) fn new(watched: Option<WatchedChain>) -> Self {
        Self { inner: Mutex::new(Inner { watched, ..Inner::default() }) }
    }

    pub(super) fn get(&self) -> WatchStatus {
        let inner = self.lock();
        WatchStatus {
            tip: inner.watched.map(|watched| watched.tip),
            looked_at: inner.watched.map(|watched| watched.looked_at),
            error: inner.error.clone(),
            warnings: inner.warnings.iter().copied().collect(),
        }
    }

    /// How far the chain was watched, at the last successful look.
    pub(super) fn watched(&self) -> Option<WatchedChain> {
        self.lock().watched
    }

    /// Notes how a look ended, and logs each outage once.
    pub(super) fn note(&self, result: &Result<(), WatchError>, watched: Option<WatchedChain>) {
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
    pub(super) fn warn(&self, warning: BackendWarning) {
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
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
