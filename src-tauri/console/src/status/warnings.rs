//! The warnings for staff: each has a sentence and a kind.

use serde::{Deserialize, Serialize};
use tillgate_domain::closing::{CutOff, Standstill};
use tillgate_domain::money::Currency;
use tillgate_gateway::backup::{self, NightlyFault};
use tillgate_gateway::gateway::{Gateway, StaffWarning, StandsStill, WatchStatus, standstill};
use tillgate_gateway::rates::{RatesRow, SourceRow};
use tillgate_machine::ballast;
use tillgate_machine::clock::machine_now;
use tillgate_store::{Reader, StoreError};
use tillgate_told::{Telling, Told};
use ts_rs::TS;

use super::sources::{silent_together, strays};
use crate::wallet::{NothingFound, has_found_nothing};

/// The kind of a warning. For each kind but [`Other`](WarningKind::Other) the panel may have its
/// own sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum WarningKind {
    /// No passphrase is set for nightly backups.
    BackupPassphrase,
    /// The last nightly backup failed.
    BackupFailed,
    /// The last nightly backup failed, because its folder is not the one that was set.
    BackupFolder,
    /// A nightly backup is overdue.
    BackupLate,
    /// The network of the Bitcoin node is switched off.
    NodeOff,
    /// The Bitcoin node has no connections to other nodes.
    NodeAlone,
    /// The best block is old.
    OldBlock,
    /// The Bitcoin node relays no transactions.
    BlocksOnly,
    /// The addresses of payments have more transactions than the server reports.
    Unreported,
    /// No notices arrive from the node's ZMQ address.
    Zmq,
    /// The secret store does not return the key that signs notifications.
    Keyring,
    /// Notifications were given up.
    GivenUp,
    /// The look for a wallet that was restored from its words found no transaction.
    RestoreFoundNothing,
    /// Any other warning. Its sentence names no command.
    Other,
}

impl From<&NightlyFault> for WarningKind {
    fn from(fault: &NightlyFault) -> Self {
        match fault {
            NightlyFault::NoPassphrase => Self::BackupPassphrase,
            NightlyFault::Failed { is_other_folder: true, .. } => Self::BackupFolder,
            NightlyFault::Failed { is_other_folder: false, .. } => Self::BackupFailed,
            NightlyFault::Late { .. } => Self::BackupLate,
        }
    }
}

impl From<Standstill> for WarningKind {
    fn from(standstill: Standstill) -> Self {
        match standstill {
            Standstill::CutOff(CutOff::SwitchedOff) => Self::NodeOff,
            Standstill::CutOff(CutOff::NoConnections) => Self::NodeAlone,
            Standstill::OldBlock { .. } => Self::OldBlock,
        }
    }
}

/// Notifications that are not tried again.
#[derive(Debug, thiserror::Error, Told)]
#[error(
    "{count} {} given up after three days of attempts: `tillgate deliveries list --failed` shows why, `tillgate deliveries resend` sends one again",
    if *.count == 1 { "notification was" } else { "notifications were" }
)]
pub struct GivenUp {
    count: u64,
}

/// Sentences with their kinds, in the order in which they are shown.
#[derive(Default)]
pub struct Warnings {
    pub sentences: Vec<Telling>,
    pub kinds: Vec<WarningKind>,
}

/// The facts from which the warnings are made.
pub struct Seen<'a> {
    pub watched: &'a WatchStatus,
    pub sources: &'a [SourceRow],
    pub rates: &'a [RatesRow],
    pub currencies: &'a [Currency],
    /// The reason why the key that signs notifications cannot be read.
    pub key_fault: Option<Telling>,
    /// The number of notifications that were given up.
    pub given_up: u64,
}

impl Warnings {
    pub fn collect(
        gateway: &Gateway,
        reader: &Reader<'_>,
        seen: Seen<'_>,
    ) -> Result<Self, StoreError> {
        let Seen { watched, sources, rates, currencies, key_fault, given_up } = seen;
        let mut warnings = Self::default();
        let of_payments = reader.payment_warnings()?;
        let of_payments =
            of_payments.iter().filter_map(|(id, warning)| StaffWarning::of_payment(*id, warning));
        warnings.add(WarningKind::Other, of_payments.map(|warning| warning.telling()));
        let passing = watched.warnings.iter().filter(|warning| !warning.is_stored());
        warnings.add(WarningKind::Other, passing.map(Told::telling));
        warnings
            .add(WarningKind::Other, watched.begun_anew(gateway.time.now()).map(|it| it.telling()));
        if let Some(fault) = backup::nightly_fault(&gateway.settings, reader, machine_now())? {
            warnings.add(WarningKind::from(&fault), [fault.telling()]);
        }
        warnings.add(
            WarningKind::Other,
            ballast::given_up(gateway.machine.data_dir.path()).map(|it| it.telling()),
        );
        warnings.add(WarningKind::Other, watched.catching_up.map(|it| it.telling()));
        warnings.add(WarningKind::Other, watched.clock_warning().map(|it| it.telling()));
        warnings.add(
            WarningKind::Other,
            watched.stored_ahead_warning(gateway.time.now()).map(|it| it.telling()),
        );
        if let Some(standstill) = watched.doubts.standstill {
            warnings.add(WarningKind::from(standstill), [standstill::told(standstill).telling()]);
        }
        if !gateway.backend.chain.has_mempool() {
            warnings.add(WarningKind::BlocksOnly, [StandsStill::BlocksOnly.telling()]);
        }
        warnings.add(
            WarningKind::Unreported,
            standstill::unreported(&watched.unreported).map(|it| it.telling()),
        );
        warnings.add(WarningKind::Zmq, gateway.backend.chain.fault());
        warnings.add(WarningKind::Other, silent_together(sources).map(|it| it.telling()));
        warnings.add(WarningKind::Other, strays(rates, currencies).iter().map(Told::telling));
        warnings.add(WarningKind::Keyring, key_fault);
        if given_up > 0 {
            warnings.add(WarningKind::GivenUp, [GivenUp { count: given_up }.telling()]);
        }
        if let Some(restore) = reader.restore()?
            && has_found_nothing(reader, &restore)?
        {
            warnings.add(WarningKind::RestoreFoundNothing, [NothingFound.telling()]);
        }
        Ok(warnings)
    }

    fn add(&mut self, kind: WarningKind, sentences: impl IntoIterator<Item = Telling>) {
        for sentence in sentences {
            self.sentences.push(sentence);
            self.kinds.push(kind);
        }
    }
}
