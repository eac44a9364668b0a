//! The list of all commands, with their names in JSON, the types of their answers, and their
//! dispatch.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tillgate_gateway::App;
use ts_rs::TS;

use super::actor::Actor;
use super::alarms::DismissAlarm;
use super::anomalies::{
    AskRefundAddress, DismissAnomaly, ListAnomalies, RefundAnomaly, ShowAnomaly,
};
use super::ask::{Ask, Asker};
use super::backend_test::TestBackend;
use super::backups::{BackUp, SetBackupPassphrase, ShowBackups, VerifyBackup};
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
use super::statement::Statement;
use super::statement_sheet::StatementSheet;
use super::status::Status;
use super::takings::ShowTakings;
use super::wallet::{
    ConfirmWallet, ContinueRestore, CreateWallet, DiscardDraft, DraftWallet, ImportLabels,
    MakeWallet, RestoreWallet, ShowRestore, StopRestore, VerifyWords, WalletDescriptor, WalletInfo,
    WalletLabels,
};

/// Generates from a list of commands the enum [`Command`], the types of their answers, and
/// [`dispatch`].
macro_rules! commands {
    ($($name:ident: $command:ident,)+) => {
        /// A request by the panel or the command line. In JSON:
        /// `{"command": "showPayment", "paymentId": "…"}`.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
        #[serde(tag = "command", rename_all = "camelCase")]
        pub enum Command {
            $($command($command),)+
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
}

commands! {
    status: Status,
    list_payments: ListPayments,
    payments_sheet: PaymentsSheet,
    show_payment: ShowPayment,
    create_payment: CreatePayment,
    accept_payment: AcceptPayment,
    cancel_payment: CancelPayment,
    list_anomalies: ListAnomalies,
    show_anomaly: ShowAnomaly,
    dismiss_anomaly: DismissAnomaly,
    ask_refund_address: AskRefundAddress,
    refund_anomaly: RefundAnomaly,
    list_payouts: ListPayouts,
    show_payout: ShowPayout,
    request_payout: RequestPayout,
    estimate_payout: EstimatePayout,
    approve_payout: ApprovePayout,
    reject_payout: RejectPayout,
    send_payout: SendPayout,
    estimate_send: EstimateSend,
    bump_payout: BumpPayout,
    estimate_bump: EstimateBump,
    abandon_payout: AbandonPayout,
    estimate_abandon: EstimateAbandon,
    dismiss_alarm: DismissAlarm,
    release_sender: ReleaseSender,
    retry_sender: RetrySender,
    show_takings: ShowTakings,
    list_news: ListNews,
    show_limits: ShowLimits,
    set_limits: SetLimits,
    wallet_info: WalletInfo,
    wallet_descriptor: WalletDescriptor,
    wallet_labels: WalletLabels,
    import_labels: ImportLabels,
    create_wallet: CreateWallet,
    make_wallet: MakeWallet,
    draft_wallet: DraftWallet,
    confirm_wallet: ConfirmWallet,
    discard_draft: DiscardDraft,
    restore_wallet: RestoreWallet,
    show_restore: ShowRestore,
    stop_restore: StopRestore,
    continue_restore: ContinueRestore,
    verify_words: VerifyWords,
    statement: Statement,
    statement_sheet: StatementSheet,
    show_backups: ShowBackups,
    back_up: BackUp,
    verify_backup: VerifyBackup,
    set_backup_passphrase: SetBackupPassphrase,
    list_deliveries: ListDeliveries,
    resend: Resend,
    list_keys: ListKeys,
    create_key: CreateKey,
    revoke_key: RevokeKey,
    rotate_hmac_key: RotateHmacKey,
    list_settings: ListSettings,
    get_setting: GetSetting,
    set_setting: SetSetting,
    unset_setting: UnsetSetting,
    change_settings: ChangeSettings,
    test_backend: TestBackend,
    doctor: Doctor,
    list_received: ListReceived,
    sandbox: Sandbox,
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
