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
        Command::Status(asked) => status(&parse_answer(asked, view)?),
        Command::ListPayments(asked) => {
            let shown = parse_answer(asked, view)?;
            page(&Page { items: shown.items, items_count: shown.items_count }, payments)
                + &payment_sums(shown.sums)
        }
        Command::ShowPayment(asked) => payment(&parse_answer(asked, view)?),
        Command::CreatePayment(asked) => payment(&parse_answer(asked, view)?),
        Command::AcceptPayment(asked) => payment(&parse_answer(asked, view)?),
        Command::CancelPayment(asked) => payment(&parse_answer(asked, view)?),
        Command::ListAnomalies(asked) => page(&parse_answer(asked, view)?, anomalies),
        Command::ShowAnomaly(asked) => anomaly(&parse_answer(asked, view)?),
        Command::DismissAnomaly(asked) => anomaly(&parse_answer(asked, view)?),
        Command::AskRefundAddress(asked) => anomaly(&parse_answer(asked, view)?),
        Command::RefundAnomaly(asked) => payout(&parse_answer(asked, view)?),
        Command::ListPayouts(asked) => page(&parse_answer(asked, view)?, payouts),
        Command::ShowPayout(asked) => payout(&parse_answer(asked, view)?),
        Command::RequestPayout(asked) => payout(&parse_answer(asked, view)?),
        Command::EstimatePayout(asked) => estimate(&parse_answer(asked, view)?),
        Command::ApprovePayout(asked) => payout(&parse_answer(asked, view)?),
        Command::RejectPayout(asked) => payout(&parse_answer(asked, view)?),
        Command::SendPayout(asked) => sent_alone(&parse_answer(asked, view)?),
        Command::EstimateSend(asked) => send_estimate(&parse_answer(asked, view)?),
        Command::BumpPayout(asked) => bumped(&parse_answer(asked, view)?),
        Command::EstimateBump(asked) => bump_estimate(&parse_answer(asked, view)?),
        Command::AbandonPayout(asked) => abandoned(&parse_answer(asked, view)?),
        Command::EstimateAbandon(asked) => abandon_estimate(&parse_answer(asked, view)?),
        Command::DismissAlarm(asked) => dismissed(&parse_answer(asked, view)?),
        Command::ReleaseSender(asked) => released(&parse_answer(asked, view)?),
        Command::RetrySender(asked) => retried(&parse_answer(asked, view)?),
        Command::ShowLimits(asked) => limits(&parse_answer(asked, view)?),
        Command::SetLimits(asked) => limits(&parse_answer(asked, view)?),
        Command::ImportLabels(asked) => imported_labels(&parse_answer(asked, view)?),
        Command::WalletInfo(asked) => wallet(&parse_answer(asked, view)?),
        Command::RestoreWallet(asked) => restored(&parse_answer(asked, view)?),
        Command::ShowRestore(asked) => match parse_answer(asked, view)?.restore {
            Some(shown) => restore(&shown),
            None => "This wallet was never restored.\n".to_owned(),
        },
        Command::StopRestore(asked) => restore(&parse_answer(asked, view)?),
        Command::ContinueRestore(asked) => restore(&parse_answer(asked, view)?),
        Command::VerifyWords(asked) => format!("{}\n", parse_answer(asked, view)?.message),
        Command::CreateWallet(asked) => format!("{}\n", parse_answer(asked, view)?.words.reveal()),
        Command::DraftWallet(_) | Command::DiscardDraft(_) => String::new(),
        Command::MakeWallet(asked) => descriptors(&parse_answer(asked, view)?),
        Command::ConfirmWallet(asked) => descriptors(&parse_answer(asked, view)?),
        Command::WalletDescriptor(asked) => descriptors(&parse_answer(asked, view)?),
        Command::ShowBackups(asked) => backups(&parse_answer(asked, view)?),
        Command::BackUp(asked) => made(&parse_answer(asked, view)?),
        Command::VerifyBackup(asked) => verified(&parse_answer(asked, view)?),
        Command::SetBackupPassphrase(asked) => backups(&parse_answer(asked, view)?),
        Command::ListDeliveries(asked) => page(&parse_answer(asked, view)?, deliveries),
        Command::Resend(asked) => match parse_answer(asked, view)?.queued {
            0 => "Nothing to send: there is no URL to notify, or nothing to tell yet.\n".to_owned(),
            queued => format!(
                "{} queued.\n",
                count(queued.into(), "notification is", "notifications are")
            ),
        },
        Command::ListKeys(asked) => page(&parse_answer(asked, view)?, keys),
        Command::CreateKey(asked) => new_key(&parse_answer(asked, view)?),
        Command::RevokeKey(asked) => revoked_key(&parse_answer(asked, view)?),
        Command::RotateHmacKey(asked) => new_hmac_key(&parse_answer(asked, view)?),
        Command::ListSettings(asked) => page(&parse_answer(asked, view)?, settings),
        Command::GetSetting(asked) => value(&parse_answer(asked, view)?),
        Command::SetSetting(asked) => setting(&parse_answer(asked, view)?),
        Command::UnsetSetting(asked) => setting(&parse_answer(asked, view)?),
        Command::ChangeSettings(asked) => {
            parse_answer(asked, view)?.items.iter().map(setting).collect()
        }
        Command::TestBackend(asked) => servers(&parse_answer(asked, view)?),
        Command::Doctor(asked) => doctor(&parse_answer(asked, view)?),
        // `sheet_pages`, `statement_pages` and `label_pages` print pages of other forms. Only the
        // panel shows the others.
        Command::Sandbox(_)
        | Command::CreateSale(_)
        | Command::ListWaitingSales(_)
        | Command::ListProducts(_)
        | Command::SaveProducts(_)
        | Command::ShowTakings(_)
        | Command::ShowBooks(_)
        | Command::ShowSmallSales(_)
        | Command::SetSmallSales(_)
        | Command::BooksSheet(_)
        | Command::ListNews(_)
        | Command::ListActs(_)
        | Command::ActsSheet(_)
        | Command::ListReceived(_)
        | Command::PaymentsSheet(_)
        | Command::Statement(_)
        | Command::StatementSheet(_)
        | Command::StatementSums(_)
        | Command::WalletLabels(_) => format!("{view}\n"),
    })
}

/// Parses a view as the answer of its command.
pub fn parse_answer<A: Ask>(_asked: &A, view: Value) -> Result<A::Answer, serde_json::Error> {
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
