//! Upper bounds of the bytes that stored records may still need: for the last notification of each
//! open payment, and for the attempts at each waiting notification. New payments are refused if the
//! disk has no room for them.

use rusqlite::params_from_iter;

use super::error::StoreError;
use super::payment_lists::{INDEXED_PAYMENTS, PaymentFilter, UNINDEXED_PAYMENTS};
use super::reader::Reader;

/// Bytes of all attempts at one notification over three days, with their answers and index entries.
pub const ATTEMPTS_BYTES: u64 = 34_000;

/// Bytes of a change of a payment and its notification, without the texts of the request.
const CHANGE_BYTES: u64 = 4_000;

/// Bytes of the texts of open payments with a notification URL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenTexts {
    pub payments: u64,
    pub notification_urls: u64,
    pub messages: u64,
    /// All other texts and URLs.
    pub others: u64,
}

impl OpenTexts {
    /// The bytes that the last notifications of these payments may take.
    #[must_use]
    pub const fn owed_bytes(&self) -> u64 {
        // JSON may double a text. The payment URI repeats the message with up to three bytes for
        // each byte. The notification's row and indexes repeat its URL.
        let texts = 10 * self.notification_urls + 5 * self.messages + 2 * self.others;
        texts + self.payments * (CHANGE_BYTES + ATTEMPTS_BYTES)
    }
}

impl Reader<'_> {
    /// The bytes that all stored records may still need.
    pub fn owed_bytes(&self) -> Result<u64, StoreError> {
        let waiting = self.count_waiting_notifications()?;
        Ok(self.open_texts()?.owed_bytes().saturating_add(waiting.saturating_mul(ATTEMPTS_BYTES)))
    }

    fn open_texts(&self) -> Result<OpenTexts, StoreError> {
        let mut found = OpenTexts::default();
        let (condition, values) = PaymentFilter::open().condition();
        for part in [INDEXED_PAYMENTS, UNINDEXED_PAYMENTS] {
            let mut query = self.connection.prepare_cached(&format!(
                "SELECT count(*), ifnull(sum(octet_length(notification_url)), 0), ifnull(sum(octet_length(message)), 0), \
                 ifnull(sum(octet_length(merchant_transaction_id) + ifnull(octet_length(anomaly_notification_url), 0) \
                 + ifnull(octet_length(redirect_urls), 0)), 0) FROM {part}{condition} AND notification_url IS NOT NULL"
            ))?;
            let (payments, notification_urls, messages, others): (u64, u64, u64, u64) = query
                .query_row(params_from_iter(&values), |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
                })?;
            found.payments += payments;
            found.notification_urls += notification_urls;
            found.messages += messages;
            found.others += others;
        }
        Ok(found)
    }
}
