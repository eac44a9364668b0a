//! Payments: the request, and the state that the last look computed.

use bitcoin::{Script, ScriptBuf};
use rusqlite::{OptionalExtension, Row, params};
use tillgate_domain::advance::Advance;
use tillgate_domain::id::Id;
use tillgate_domain::payment::Payment;
use tillgate_domain::policy::Policy;
use tillgate_domain::time::Timestamp;

use super::error::StoreError;
use super::reader::Reader;
use super::tx::Tx;
use super::values::{self, Columns as _, InOrder, sats_column};

/// A payment with all fields of its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentRow {
    /// Order of insertion.
    pub seq: i64,
    /// The fields that the domain's rules use.
    pub payment: Payment,
    /// Text of its address.
    pub address: String,
    /// Output script of the address.
    pub script: ScriptBuf,
    /// Its index in the external keychain.
    pub derivation_index: u32,
    /// The API key that made it; `None` for the panel.
    pub key_id: Option<i64>,
    /// Name of the API key or of the merchant.
    pub label: String,
    /// Text for the customer.
    pub message: String,
    /// Reference of the shop.
    pub merchant_transaction_id: String,
    /// URL of notifications about changes.
    pub notification_url: Option<String>,
    /// URL of notifications about anomalies.
    pub anomaly_notification_url: Option<String>,
    /// The request's `redirectUrls`, as a JSON object.
    pub redirect_urls: Option<String>,
    /// `currentTime` of its record.
    pub current_at: Timestamp,
}

#[derive(Debug, Clone)]
pub struct NewPayment {
    /// Its `seq` is ignored; the insertion assigns one.
    pub row: PaymentRow,
    pub rate_id: i64,
}

/// In the order in which [`read`] reads them.
const COLUMNS: &str = "confirmations, zero_conf_quiet_ms, tolerance_per_mille, overpayment, anomaly_confirmations, \
     offline_grace_ms, script, id, state, amount_sats, price_minor, currency, rate, created_at, expires_at, closed_at, \
     accepted_sats, confirmed_at, paid_sats, conflict_seen, seq, address, derivation_index, key_id, label, \
     message, merchant_transaction_id, notification_url, anomaly_notification_url, redirect_urls, current_at";

impl Reader<'_> {
    pub fn payment(&self, id: &Id) -> Result<Option<PaymentRow>, StoreError> {
        self.one_payment("id = ?1", params![id.as_bytes()])
    }

    pub fn payment_by_seq(&self, seq: i64) -> Result<Option<PaymentRow>, StoreError> {
        self.one_payment("seq = ?1", params![seq])
    }

    /// `seq` and derivation index of the payment with this script.
    pub fn payment_of_script(&self, script: &Script) -> Result<Option<(i64, u32)>, StoreError> {
        let mut query = self
            .connection
            .prepare_cached("SELECT seq, derivation_index FROM payments WHERE script = ?1")?;
        Ok(query.query_row([script.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
    }

    /// Height up to which no block can hold coins for a payment, because its address was given
    /// later. `None` if there was no look before.
    pub fn given_above(&self, seq: i64) -> Result<Option<u32>, StoreError> {
        let mut query =
            self.connection.prepare_cached("SELECT given_above FROM payments WHERE seq = ?1")?;
        Ok(query.query_row([seq], |row| row.get(0)).optional()?.flatten())
    }

    fn one_payment(
        &self,
        condition: &str,
        key: impl rusqlite::Params,
    ) -> Result<Option<PaymentRow>, StoreError> {
        let mut query = self
            .connection
            .prepare_cached(&format!("SELECT {COLUMNS} FROM payments WHERE {condition}"))?;
        let mut rows = query.query(key)?;
        rows.next()?.map(payment_from_row).transpose()
    }
}

impl Tx<'_> {
    /// Makes a payment due at `at` at the latest.
    pub fn set_payment_due(&self, seq: i64, at: Timestamp) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "UPDATE payments SET next_due_at = min(ifnull(next_due_at, ?2), ?2) WHERE seq = ?1",
            )?
            .execute(params![seq, at.ms()])?;
        Ok(())
    }

    /// Moves a payment's deadline. The first look after it closes the payment.
    pub fn set_payment_deadline(&self, seq: i64, expires_at: Timestamp) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "UPDATE payments SET expires_at = ?2, next_due_at = ?2 + 1 WHERE seq = ?1",
            )?
            .execute(params![seq, expires_at.ms()])?;
        Ok(())
    }

    /// Lowers `given_above` after a reorganisation: new blocks above `height` may hold coins for
    /// every payment.
    pub fn lower_given_above(&self, height: u32) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE payments SET given_above = ?1 WHERE given_above > ?1")?
            .execute([height])?;
        Ok(())
    }

    /// Inserts a NEW payment that is due at its deadline. Returns its `seq`. The row marks its
    /// address as given.
    pub fn insert_payment(&self, new: &NewPayment) -> Result<i64, StoreError> {
        let NewPayment { row, rate_id } = new;
        let payment = &row.payment;
        let policy = &payment.policy;
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO payments (id, state, amount_sats, price_minor, currency, rate, rate_id, derivation_index, \
             script, address, key_id, label, message, merchant_transaction_id, notification_url, \
             anomaly_notification_url, redirect_urls, created_at, expires_at, current_at, confirmations, \
             zero_conf_quiet_ms, tolerance_per_mille, overpayment, anomaly_confirmations, offline_grace_ms, next_due_at, \
             given_above) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, \
             ?22, ?23, ?24, ?25, ?26, ?27, (SELECT tip_height FROM chain))",
        )?;
        Ok(insert.insert(params![
            payment.id.as_bytes(),
            payment.state.as_str(),
            sats_column(payment.amount_sats),
            payment.price_minor,
            payment.currency.code(),
            payment.rate.format(),
            rate_id,
            row.derivation_index,
            row.script.as_bytes(),
            row.address,
            row.key_id,
            row.label,
            row.message,
            row.merchant_transaction_id,
            row.notification_url,
            row.anomaly_notification_url,
            row.redirect_urls,
            payment.created_at.ms(),
            payment.expires_at.ms(),
            row.current_at.ms(),
            policy.confirmations,
            policy.zero_conf_quiet_ms,
            policy.tolerance_per_mille,
            policy.overpayment.as_str(),
            policy.anomaly_confirmations,
            policy.offline_grace_ms,
            payment.first_due_at().ms(),
        ])?)
    }

    /// Stores the result of a look for a payment. `current_at` is a new time if the change is
    /// notified, else the stored time.
    pub fn save_advance(
        &self,
        seq: i64,
        advance: &Advance,
        current_at: Timestamp,
    ) -> Result<(), StoreError> {
        let mut update = self.connection.prepare_cached(
            "UPDATE payments SET state = ?2, paid_sats = ?3, closed_at = ?4, confirmed_at = ?5, accepted_sats = ?6, \
             current_at = ?7, next_due_at = ?8, next_due_height = ?9, conflict_seen = ?10 WHERE seq = ?1",
        )?;
        update.execute(params![
            seq,
            advance.state.as_str(),
            sats_column(advance.paid_sats),
            advance.closed_at.map(Timestamp::ms),
            advance.confirmed_at.map(Timestamp::ms),
            advance.accepted_sats.map(sats_column),
            current_at.ms(),
            advance.next_due_at.map(Timestamp::ms),
            advance.next_due_height,
            advance.conflict_seen,
        ])?;
        Ok(())
    }

    /// Stores a new `currentTime` of a payment's record, for a resend.
    pub fn set_payment_current_at(
        &self,
        seq: i64,
        current_at: Timestamp,
    ) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE payments SET current_at = ?2 WHERE seq = ?1")?
            .execute(params![seq, current_at.ms()])?;
        Ok(())
    }
}

fn payment_from_row(row: &Row<'_>) -> Result<PaymentRow, StoreError> {
    let row = &InOrder::new(row);
    let policy = Policy {
        confirmations: values::number(row, "confirmations")?,
        zero_conf_quiet_ms: row.value("zero_conf_quiet_ms")?,
        tolerance_per_mille: values::number(row, "tolerance_per_mille")?,
        overpayment: values::parsed(row, "overpayment")?,
        anomaly_confirmations: values::number(row, "anomaly_confirmations")?,
        offline_grace_ms: row.value("offline_grace_ms")?,
    };
    let script = ScriptBuf::from_bytes(row.value("script")?);
    let payment = Payment {
        id: values::id(row, "id")?,
        state: values::parsed(row, "state")?,
        amount_sats: values::sats(row, "amount_sats")?,
        dust_limit_sats: script.minimal_non_dust().to_sat(),
        price_minor: row.value("price_minor")?,
        currency: values::currency(row, "currency")?,
        rate: values::rate(row, "rate")?,
        created_at: values::time(row, "created_at")?,
        expires_at: values::time(row, "expires_at")?,
        policy,
        closed_at: values::optional_time(row, "closed_at")?,
        accepted_sats: values::optional_sats(row, "accepted_sats")?,
        confirmed_at: values::optional_time(row, "confirmed_at")?,
        paid_sats: values::sats(row, "paid_sats")?,
        conflict_seen: row.value("conflict_seen")?,
    };
    Ok(PaymentRow {
        seq: row.value("seq")?,
        payment,
        address: row.value("address")?,
        script,
        derivation_index: values::number(row, "derivation_index")?,
        key_id: row.value("key_id")?,
        label: row.value("label")?,
        message: row.value("message")?,
        merchant_transaction_id: row.value("merchant_transaction_id")?,
        notification_url: row.value("notification_url")?,
        anomaly_notification_url: row.value("anomaly_notification_url")?,
        redirect_urls: row.value("redirect_urls")?,
        current_at: values::time(row, "current_at")?,
    })
}
