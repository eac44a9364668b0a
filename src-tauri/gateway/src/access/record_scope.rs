//! Records that an API key may see (interface, section 1, "Authentication"). Only this file decides
//! it, for single records and for lists.

use tillgate_store::api_keys::ApiKey;

/// The records that a caller may see, resend or decide on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordScope {
    /// All records of the merchant.
    Everything,
    /// Only records made by this API key. All others do not exist for it.
    MadeBy(i64),
}

impl RecordScope {
    #[must_use]
    pub const fn of(key: &ApiKey) -> Self {
        if key.own_only { Self::MadeBy(key.key_id) } else { Self::Everything }
    }

    /// Whether the record of a payment, anomaly or payout may be seen. `made_by` is the key that
    /// made it; `None` is the panel.
    #[must_use]
    pub fn includes(self, made_by: Option<i64>) -> bool {
        self.only_key().is_none_or(|key_id| made_by == Some(key_id))
    }

    /// The key of a list's filter (`PaymentFilter::key_id`, `AnomalyFilter::key_id`,
    /// `PayoutFilter::key_id`); `None` for no filter.
    #[must_use]
    pub const fn only_key(self) -> Option<i64> {
        match self {
            Self::Everything => None,
            Self::MadeBy(key_id) => Some(key_id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_limited_scope_sees_only_its_own_records() {
        for made_by in [Some(7), Some(8), None] {
            assert!(RecordScope::Everything.includes(made_by), "{made_by:?}");
            assert_eq!(RecordScope::MadeBy(7).includes(made_by), made_by == Some(7), "{made_by:?}");
        }
        assert_eq!(
            (RecordScope::Everything.only_key(), RecordScope::MadeBy(7).only_key()),
            (None, Some(7))
        );
    }
}
