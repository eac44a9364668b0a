//! Renders answers of commands for people. Shows views as they are; computes nothing.

mod anomalies;
mod backups;
mod certificates;
mod deliveries;
mod keys;
mod labels;
mod money;
mod name;
mod payments;
mod payouts;
mod settings;
mod status;

use serde_json::Value;
use tillgate_domain::words::count;

use self::anomalies::{anomalies, anomaly};
use self::backups::{backups, made, verified};
use self::deliveries::deliveries;
use self::keys::{keys, new_hmac_key, new_key, revoked_key};
use self::labels::imported_labels;
use self::money::{descriptors, limits, restore, restored, wallet};
pub use self::money::{movements, totals};
use tillgate_console::Command;
use tillgate_console::ask::Ask;
use tillgate_console::page::Page;

use self::payments::{payment, payment_sums, payments};
use self::payouts::{
    abandon_estimate, abandoned, bump_estimate, bumped, dismissed, estimate, payout, payouts,
    released, retried, send_estimate, sent_alone,
};
use self::settings::{setting, settings, value};
use self::status::{doctor, servers, status};

/// The answer to `command` as text.
///
/// # Errors
/// The view does not parse as the command's answer, because a gateway of another version sent it.
pub fn render(command: &Command, view: Value) -> Result<String, serde_json::Error> {
    Ok(match command {
        Command::Status(asked) => status(&read(asked, view)?),
        Command::ListPayments(asked) => {
            let shown = read(asked, view)?;
            page(&Page { items: shown.items, items_count: shown.items_count }, payments)
                + &payment_sums(shown.sums)
        }
        Command::ShowPayment(asked) => payment(&read(asked, view)?),
        Command::CreatePayment(asked) => payment(&read(asked, view)?),
        Command::AcceptPayment(asked) => payment(&read(asked, view)?),
        Command::CancelPayment(asked) => payment(&read(asked, view)?),
        Command::ListAnomalies(asked) => page(&read(asked, view)?, anomalies),
        Command::ShowAnomaly(asked) => anomaly(&read(asked, view)?),
        Command::DismissAnomaly(asked) => anomaly(&read(asked, view)?),
        Command::AskRefundAddress(asked) => anomaly(&read(asked, view)?),
        Command::RefundAnomaly(asked) => payout(&read(asked, view)?),
        Command::ListPayouts(asked) => page(&read(asked, view)?, payouts),
        Command::ShowPayout(asked) => payout(&read(asked, view)?),
        Command::RequestPayout(asked) => payout(&read(asked, view)?),
        Command::EstimatePayout(asked) => estimate(&read(asked, view)?),
        Command::ApprovePayout(asked) => payout(&read(asked, view)?),
        Command::RejectPayout(asked) => payout(&read(asked, view)?),
        Command::SendPayout(asked) => sent_alone(&read(asked, view)?),
        Command::EstimateSend(asked) => send_estimate(&read(asked, view)?),
        Command::BumpPayout(asked) => bumped(&read(asked, view)?),
        Command::EstimateBump(asked) => bump_estimate(&read(asked, view)?),
        Command::AbandonPayout(asked) => abandoned(&read(asked, view)?),
        Command::EstimateAbandon(asked) => abandon_estimate(&read(asked, view)?),
        Command::DismissAlarm(asked) => dismissed(&read(asked, view)?),
        Command::ReleaseSender(asked) => released(&read(asked, view)?),
        Command::RetrySender(asked) => retried(&read(asked, view)?),
        Command::ShowLimits(asked) => limits(&read(asked, view)?),
        Command::SetLimits(asked) => limits(&read(asked, view)?),
        Command::ImportLabels(asked) => imported_labels(&read(asked, view)?),
        Command::WalletInfo(asked) => wallet(&read(asked, view)?),
        Command::RestoreWallet(asked) => restored(&read(asked, view)?),
        Command::ShowRestore(asked) => match read(asked, view)?.restore {
            Some(shown) => restore(&shown),
            None => "This wallet was never restored.\n".to_owned(),
        },
        Command::StopRestore(asked) => restore(&read(asked, view)?),
        Command::ContinueRestore(asked) => restore(&read(asked, view)?),
        Command::VerifyWords(asked) => format!("{}\n", read(asked, view)?.message),
        Command::CreateWallet(asked) => format!("{}\n", read(asked, view)?.words.reveal()),
        Command::DraftWallet(_) | Command::DiscardDraft(_) => String::new(),
        Command::MakeWallet(asked) => descriptors(&read(asked, view)?),
        Command::ConfirmWallet(asked) => descriptors(&read(asked, view)?),
        Command::WalletDescriptor(asked) => descriptors(&read(asked, view)?),
        Command::ShowBackups(asked) => backups(&read(asked, view)?),
        Command::BackUp(asked) => made(&read(asked, view)?),
        Command::VerifyBackup(asked) => verified(&read(asked, view)?),
        Command::SetBackupPassphrase(asked) => backups(&read(asked, view)?),
        Command::ListDeliveries(asked) => page(&read(asked, view)?, deliveries),
        Command::Resend(asked) => match read(asked, view)?.queued {
            0 => "Nothing to send: there is no URL to notify, or nothing to tell yet.\n".to_owned(),
            queued => format!(
                "{} queued.\n",
                count(queued.into(), "notification is", "notifications are")
            ),
        },
        Command::ListKeys(asked) => page(&read(asked, view)?, keys),
        Command::CreateKey(asked) => new_key(&read(asked, view)?),
        Command::RevokeKey(asked) => revoked_key(&read(asked, view)?),
        Command::RotateHmacKey(asked) => new_hmac_key(&read(asked, view)?),
        Command::ListSettings(asked) => page(&read(asked, view)?, settings),
        Command::GetSetting(asked) => value(&read(asked, view)?),
        Command::SetSetting(asked) => setting(&read(asked, view)?),
        Command::UnsetSetting(asked) => setting(&read(asked, view)?),
        Command::ChangeSettings(asked) => read(asked, view)?.items.iter().map(setting).collect(),
        Command::TestBackend(asked) => servers(&read(asked, view)?),
        Command::Doctor(asked) => doctor(&read(asked, view)?),
        // `sheet_pages`, `statement_pages` and `label_pages` print pages of other forms. Only the
        // panel shows the others.
        Command::Sandbox(_)
        | Command::ShowTakings(_)
        | Command::ListNews(_)
        | Command::ListReceived(_)
        | Command::PaymentsSheet(_)
        | Command::Statement(_)
        | Command::StatementSheet(_)
        | Command::WalletLabels(_) => format!("{view}\n"),
    })
}

/// Parses a view as the answer of its command.
pub fn read<A: Ask>(_asked: &A, view: Value) -> Result<A::Answer, serde_json::Error> {
    serde_json::from_value(view)
}

fn page<T>(page: &Page<T>, list: fn(&[T]) -> String) -> String {
    let more = page.items_count.saturating_sub(u64::try_from(page.items.len()).unwrap_or(u64::MAX));
    let note = if more > 0 && !page.items.is_empty() {
        format!("{} of {}; --offset and --limit show others.\n", page.items.len(), page.items_count)
    } else {
        String::new()
    };
    list(&page.items) + &note
}

#[cfg(test)]
mod tests;
