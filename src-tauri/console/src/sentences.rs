//! The sentences that the window words. Each has a code, and the window's catalogue must hold each
//! code.

use std::fmt::Write as _;
use tillgate_gateway::error_type::ErrorType;

use tillgate_chain::core::{BadCookie, BadNode, NoNotices};
use tillgate_chain::down::Down;
use tillgate_chain::electrum::{BadServer, NotAccepted};
use tillgate_domain::money::{Ambiguous, AmountError};
use tillgate_domain::payment::PriceRefusal;
use tillgate_domain::payout::address::AddressRefusal;
use tillgate_domain::payout::limit::LimitRefusal;
use tillgate_domain::payout::offer::OfferTooLarge;
use tillgate_domain::permission::NotPermissions;
use tillgate_domain::rates::NoRate;
use tillgate_gateway::access::api_keys::KeyError;
use tillgate_gateway::anomalies::{DismissError, RefundError};
use tillgate_gateway::backup::{BackupError, NightlyFault};
use tillgate_gateway::gateway::{
    FailureReason, LookWarning, StaffWarning, StandsStill, Unreported, Waits,
};
use tillgate_gateway::labels::LabelsFileError;
use tillgate_gateway::notifications::{KeyUnread, NotPosted, RotateError};
use tillgate_gateway::payments::CreateError;
use tillgate_gateway::payouts::{ApproveError, LimitError, OfferError, RejectError};
use tillgate_gateway::rates::RateUnavailable;
use tillgate_gateway::rates::{MedianOutOfRange, Unfetched, Unreadable};
use tillgate_gateway::sandbox::{BodyFault, CallError, Missing};
use tillgate_gateway::sender::{NamedRateError, ReleaseError, ReplaceError};
use tillgate_gateway::settings::SettingError;
use tillgate_gateway::settlement::twins::CopyInUse;
use tillgate_gateway::setup::{DraftError, SetupError};
use tillgate_gateway::takings::NotDays;
use tillgate_gateway::wallet::spend::{SignError, SpendError};
use tillgate_gateway::watcher::{AcceptError, CancelError, HeldAfterScan, WatchError};
use tillgate_machine::ballast::ReserveFreed;
use tillgate_machine::field_errors::Fault;
use tillgate_machine::outgoing::{self, CertificateFault, TlsFault};
use tillgate_store::StoreError;
use tillgate_store::notify_hosts::NotHosts;
use tillgate_store::sender_hold::HoldReason;
use tillgate_told::{Sentences, Told};

use super::backend_test::Tested;
use super::doctor::{Answers, Pruned};
use super::payouts::{BackendRefusal, HighFee, StuckSentence};
use super::refusal::{ArgumentFault, NotFound, RefundedByPayout, Refusal};
use super::small_sales::SmallSalesObstacle;
use super::status::{FirstLook, GivenUp, RateSources};
use super::wallet::NothingFound;

/// All sentences that a refusal can have.
fn all() -> Sentences {
    let mut all = Sentences::default();
    for add in [
        AcceptError::sentences,
        AddressRefusal::sentences,
        Ambiguous::sentences,
        AmountError::sentences,
        Answers::sentences,
        ApproveError::sentences,
        ArgumentFault::sentences,
        BackendRefusal::sentences,
        BackupError::sentences,
        BadServer::sentences,
        BadCookie::sentences,
        BadNode::sentences,
        BodyFault::sentences,
        CallError::sentences,
        CancelError::sentences,
        CertificateFault::sentences,
        CopyInUse::sentences,
        CreateError::sentences,
        DismissError::sentences,
        Down::sentences,
        DraftError::sentences,
        FailureReason::sentences,
        Fault::sentences,
        FirstLook::sentences,
        GivenUp::sentences,
        HighFee::sentences,
        HoldReason::sentences,
        LabelsFileError::sentences,
        KeyError::sentences,
        KeyUnread::sentences,
        LimitError::sentences,
        LimitRefusal::sentences,
        LookWarning::sentences,
        MedianOutOfRange::sentences,
        Missing::sentences,
        NamedRateError::sentences,
        NightlyFault::sentences,
        NoNotices::sentences,
        NoRate::sentences,
        NotAccepted::sentences,
        NotDays::sentences,
        NotPosted::sentences,
        NotFound::sentences,
        NotHosts::sentences,
        NotPermissions::sentences,
        NothingFound::sentences,
        OfferError::sentences,
        OfferTooLarge::sentences,
        PriceRefusal::sentences,
        Pruned::sentences,
        RateSources::sentences,
        RateUnavailable::sentences,
        RefundError::sentences,
        RefundedByPayout::sentences,
        Refusal::sentences,
        RejectError::sentences,
        ReleaseError::sentences,
        ReplaceError::sentences,
        ReserveFreed::sentences,
        RotateError::sentences,
        HeldAfterScan::sentences,
        SettingError::sentences,
        SetupError::sentences,
        SmallSalesObstacle::sentences,
        SpendError::sentences,
        SignError::sentences,
        StaffWarning::sentences,
        StandsStill::sentences,
        StoreError::sentences,
        StuckSentence::sentences,
        Tested::sentences,
        TlsFault::sentences,
        Unfetched::sentences,
        Unreadable::sentences,
        Unreported::sentences,
        Waits::sentences,
        WatchError::sentences,
        outgoing::Failure::sentences,
    ] {
        add(&mut all);
    }
    all
}

/// The places of an English text, in their order, each once.
fn places(english: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for part in english.split('{').skip(1) {
        let place = part.split('}').next().unwrap_or_default();
        if !found.contains(&place) {
            found.push(place);
        }
    }
    found
}

/// The codes with the names of their values for the window, whose catalogue must fit them.
pub fn in_typescript() -> String {
    let mut written = String::from(
        "/** The names of the values of each sentence of the gateway, by the sentence's code. */\n\
         export const VALUES = {\n",
    );
    for (code, english) in &all().0 {
        let names: Vec<String> = places(english).iter().map(|name| format!("{name:?}")).collect();
        writeln!(written, "  /** {english} */\n  {code}: [{}],", names.join(", ")).unwrap();
    }
    written.push_str("} as const;\n\n/** The names of the values of each sentence, as types. */\n");
    written.push_str("export type Sentences = { [Code in keyof typeof VALUES]: (typeof VALUES)[Code][number] };\n");
    written
}

#[test]
fn a_long_reference_is_told_at_once_and_a_name_stays_as_it_is() {
    let order = "user 12 ".repeat(12);
    let refusal = Refusal::PasswordNotStored(order.clone());
    let error = super::CommandError::told(ErrorType::InternalError, &refusal);
    let told = serde_json::to_value(&error).unwrap();
    assert_eq!(told["told"][0]["code"], "REFUSAL_PASSWORD_NOT_STORED");
    assert_eq!(told["told"][0]["values"]["_0"], order);
}
