//! The list of all commands, with their names in JSON, the types of their answers, and their
//! dispatch.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tillgate_gateway::App;
use ts_rs::TS;

use super::actor::Actor;
use super::acts::{ActsSheet, ListActs};
use super::alarms::DismissAlarm;
use super::anomalies::{
    AskRefundAddress, DismissAnomaly, ListAnomalies, RefundAnomaly, ShowAnomaly,
};
use super::ask::{Ask, Asker};
use super::backend_test::TestBackend;
use super::backups::{BackUp, SetBackupPassphrase, ShowBackups, VerifyBackup};
use super::books::ShowBooks;
use super::books_sheet::BooksSheet;
use super::deliveries::{ListDeliveries, Resend};
use super::doctor::Doctor;
use super::error::CommandError;
use super::keys::{CreateKey, ListKeys, RevokeKey, RotateHmacKey};
use super::limits::{SetLimits, ShowLimits};
use super::news::ListNews;
use super::payments::{
    AcceptPayment, CancelPayment, CreatePayment, ListPayments, PaymentsSheet, ShowPayment,
};
use super::payouts::{
    AbandonPayout, ApprovePayout, BumpPayout, EstimateAbandon, EstimateBump, EstimatePayout,
    EstimateSend, ListPayouts, RejectPayout, ReleaseSender, RequestPayout, RetrySender, SendPayout,
    ShowPayout,
};
use super::receiver::ListReceived;
use super::sandbox::Sandbox;
use super::settings::{ChangeSettings, GetSetting, ListSettings, SetSetting, UnsetSetting};
use super::small_sales::{SetSmallSales, ShowSmallSales};
use super::statement::Statement;
use super::statement_sheet::StatementSheet;
use super::statement_sums::StatementSums;
use super::status::Status;
use super::takings::ShowTakings;
use super::till::{CreateSale, ListProducts, ListWaitingSales, SaveProducts};
use super::wallet::{
    ConfirmWallet, ContinueRestore, CreateWallet, DiscardDraft, DraftWallet, ImportLabels,
    MakeWallet, RestoreWallet, ShowRestore, StopRestore, VerifyWords, WalletDescriptor, WalletInfo,
    WalletLabels,
};

/// Generates from a list of commands the enum [`Command`], the types of their answers, and
/// [`dispatch`]. Each command `shows` or `changes` the gateway's state.
macro_rules! commands {
    ($($effect:ident $name:ident: $command:ident,)+) => {
        /// A request by the panel or the command line. In JSON:
        /// `{"command": "showPayment", "paymentId": "…"}`.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
        #[serde(tag = "command", rename_all = "camelCase")]
        pub enum Command {
            $($command($command),)+
        }

        impl Command {
            /// Whether the command changes no state.
            #[must_use]
            pub const fn only_shows(&self) -> bool {
                match self {
                    $(Self::$command(_) => commands!(@ $effect),)+
                }
            }
        }

        $(impl From<$command> for Command {
            fn from(command: $command) -> Self {
                Self::$command(command)
            }
        })+

        /// The type of each command's answer.
        #[cfg(test)]
        #[derive(TS)]
        #[ts(rename_all = "camelCase")]
        #[allow(dead_code, reason = "only its TypeScript form is used, by the panel")]
        pub struct Answers {
            $($name: <$command as Ask>::Answer,)+
        }

        /// Runs a command on behalf of `actor`, and returns its view as JSON.
        ///
        /// # Errors
        /// The command failed; the error has a stable `errorType` and a sentence that names the
        /// remedy.
        pub async fn dispatch(app: &Arc<App>, command: Command, actor: &Actor) -> Result<Value, CommandError> {
            let by = Asker { app, actor: actor.as_str() };
            match command {
                $(Command::$command(ask) => as_json(ask.answer(&by).await?),)+
            }
        }
    };
    (@ shows) => { true };
    (@ changes) => { false };
}

commands! {
    shows status: Status,
    shows list_payments: ListPayments,
    shows payments_sheet: PaymentsSheet,
    shows show_payment: ShowPayment,
    changes create_payment: CreatePayment,
    changes create_sale: CreateSale,
    shows list_waiting_sales: ListWaitingSales,
    shows list_products: ListProducts,
    changes save_products: SaveProducts,
    changes accept_payment: AcceptPayment,
    changes cancel_payment: CancelPayment,
    shows list_anomalies: ListAnomalies,
    shows show_anomaly: ShowAnomaly,
    changes dismiss_anomaly: DismissAnomaly,
    changes ask_refund_address: AskRefundAddress,
    changes refund_anomaly: RefundAnomaly,
    shows list_payouts: ListPayouts,
    shows show_payout: ShowPayout,
    changes request_payout: RequestPayout,
    shows estimate_payout: EstimatePayout,
    changes approve_payout: ApprovePayout,
    changes reject_payout: RejectPayout,
    changes send_payout: SendPayout,
    shows estimate_send: EstimateSend,
    changes bump_payout: BumpPayout,
    shows estimate_bump: EstimateBump,
    changes abandon_payout: AbandonPayout,
    shows estimate_abandon: EstimateAbandon,
    changes dismiss_alarm: DismissAlarm,
    changes release_sender: ReleaseSender,
    changes retry_sender: RetrySender,
    shows show_takings: ShowTakings,
    shows show_books: ShowBooks,
    shows books_sheet: BooksSheet,
    shows list_news: ListNews,
    shows list_acts: ListActs,
    shows acts_sheet: ActsSheet,
    shows show_limits: ShowLimits,
    changes set_limits: SetLimits,
    shows wallet_info: WalletInfo,
    shows wallet_descriptor: WalletDescriptor,
    shows wallet_labels: WalletLabels,
    changes import_labels: ImportLabels,
    changes create_wallet: CreateWallet,
    changes make_wallet: MakeWallet,
    changes draft_wallet: DraftWallet,
    changes confirm_wallet: ConfirmWallet,
    changes discard_draft: DiscardDraft,
    changes restore_wallet: RestoreWallet,
    shows show_restore: ShowRestore,
    changes stop_restore: StopRestore,
    changes continue_restore: ContinueRestore,
    shows verify_words: VerifyWords,
    shows statement: Statement,
    shows statement_sheet: StatementSheet,
    shows statement_sums: StatementSums,
    shows show_backups: ShowBackups,
    changes back_up: BackUp,
    shows verify_backup: VerifyBackup,
    changes set_backup_passphrase: SetBackupPassphrase,
    shows list_deliveries: ListDeliveries,
    changes resend: Resend,
    shows list_keys: ListKeys,
    changes create_key: CreateKey,
    changes revoke_key: RevokeKey,
    changes rotate_hmac_key: RotateHmacKey,
    shows list_settings: ListSettings,
    shows get_setting: GetSetting,
    changes set_setting: SetSetting,
    changes unset_setting: UnsetSetting,
    changes change_settings: ChangeSettings,
    shows show_small_sales: ShowSmallSales,
    changes set_small_sales: SetSmallSales,
    shows test_backend: TestBackend,
    shows doctor: Doctor,
    shows list_received: ListReceived,
    changes sandbox: Sandbox,
}

/// Runs one command on behalf of `actor`, and returns its view.
///
/// # Errors
/// As [`dispatch`].
pub async fn ask<A: Ask>(
    app: &Arc<App>,
    command: A,
    actor: &Actor,
) -> Result<A::Answer, CommandError> {
    command.answer(&Asker { app, actor: actor.as_str() }).await
}

fn as_json(view: impl Serialize) -> Result<Value, CommandError> {
    serde_json::to_value(view).map_err(|error| {
        tracing::error!(%error, "a view cannot be written as JSON");
        CommandError::internal()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::payments::PaymentsNarrowing;
    use tillgate_domain::payment::PaymentState;

    /// A command must be parsed from a [`Value`], not directly from text. For a tagged enum serde
    /// buffers the content, and in that buffer serde_json's numbers of arbitrary precision become
    /// maps.
    #[test]
    fn a_command_with_numbers_is_parsed_from_a_value() {
        let value = json!({"command": "listPayments", "limit": 50, "offset": 100, "states": ["NEW"], "from": -5});
        let command: Command = serde_json::from_value(value).unwrap();
        let narrowing = PaymentsNarrowing {
            states: vec![PaymentState::New],
            from: Some(-5),
            ..PaymentsNarrowing::default()
        };
        assert_eq!(command, ListPayments { limit: 50, offset: 100, narrowing }.into());
    }

    #[test]
    fn the_body_of_a_sandbox_call_keeps_its_numbers() {
        let value = json!({"command": "sandbox", "method": "POST", "path": "/sandbox/blocks", "body": {"count": 3}});
        let Command::Sandbox(Sandbox { body, .. }) = serde_json::from_value(value).unwrap() else {
            panic!("another command")
        };
        assert_eq!(body["count"].as_u64(), Some(3));
    }

    #[test]
    fn a_command_without_arguments_has_only_its_name() {
        assert_eq!(
            serde_json::to_value(Command::from(ListKeys {})).unwrap(),
            json!({"command": "listKeys"})
        );
        let command: Command = serde_json::from_value(json!({"command": "rotateHmacKey"})).unwrap();
        assert_eq!(command, RotateHmacKey {}.into());
    }

    #[test]
    fn unknown_commands_and_states_are_refused() {
        for wrong in [
            json!({"command": "nonsense"}),
            json!({}),
            json!({"command": "listPayments", "limit": 1, "offset": 0, "states": ["PAID"]}),
        ] {
            assert!(serde_json::from_value::<Command>(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
