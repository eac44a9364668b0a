//! Names of states.

use serde::Serialize;

/// The name of a state, kind or cause, as in JSON.
pub fn name(state: impl Serialize) -> String {
    serde_json::to_value(state)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use tillgate_domain::anomaly::{self, AnomalyKind};
    use tillgate_domain::notification::{NotificationState, SubjectKind};
    use tillgate_domain::payment::PaymentState;
    use tillgate_domain::payout::PayoutState;
    use tillgate_domain::restore::RestoreState;
    use tillgate_store::ledger::LedgerKind;

    use super::name;
    use tillgate_console::anomalies::Resolution;

    #[test]
    fn names_in_json_are_those_of_the_interface() {
        for state in PaymentState::ALL {
            assert_eq!(name(state), state.as_str());
            assert_eq!(state.to_string(), state.as_str());
        }
        for state in PayoutState::ALL {
            assert_eq!(name(state), state.as_str());
        }
        for kind in LedgerKind::ALL {
            assert_eq!(name(kind), kind.as_str());
        }
        for kind in AnomalyKind::ALL {
            assert_eq!(name(kind), kind.as_str());
        }
        for resolution in anomaly::Resolution::ALL {
            assert_eq!(name(Resolution::from(resolution)), resolution.as_str());
        }
        for state in NotificationState::ALL {
            assert_eq!(name(state), state.as_str());
        }
        for kind in SubjectKind::ALL {
            assert_eq!(name(kind), kind.as_str());
        }
        for state in RestoreState::ALL {
            assert_eq!(name(state), state.as_str());
        }
    }
}
