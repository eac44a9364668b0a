//! Payouts: the request, the approval, and the outcome.

use super::telling;
use bitcoin::hashes::Hash as _;
use bitcoin::{ScriptBuf, Txid};
use rusqlite::{Row, params};
use tillgate_domain::id::Id;
use tillgate_domain::money::{Currency, Rate};
use tillgate_domain::payout::PayoutState;
use tillgate_domain::time::Timestamp;
use tillgate_told::Telling;

use super::error::StoreError;
use super::reader::Reader;
use super::tx::Tx;
use super::values::{self, Columns as _, InOrder, sats_column};

/// A payout with all fields of its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayoutRow {
    /// Order of insertion.
    pub seq: i64,
    pub id: Id,
    pub state: PayoutState,
    pub amount_sats: u64,
    /// Output script of the address.
    pub script: ScriptBuf,
    pub address: String,
    pub currency: Currency,
    /// The rate of all its conversions.
    pub rate: Rate,
    /// Value of `amount_sats`, in minor units.
    pub fiat_minor: i64,
    /// Value of `amount_sats` and `network_fee_sats`, in minor units.
    pub fiat_total_minor: i64,
    /// The fee in the offer.
    pub network_fee_sats: u64,
    /// Whether the spendable coins were insufficient at the request.
    pub balance_short: bool,
    /// The API key that requested it; `None` for a person.
    pub key_id: Option<i64>,
    /// The API key's name, or a person as `cli:…` or `panel:…`.
    pub requested_by: String,
    pub merchant_name: String,
    pub comment: Option<String>,
    pub notification_url: Option<String>,
    /// The anomaly that it refunds: `seq` and id.
    pub anomaly: Option<(i64, Id)>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub approved_at: Option<Timestamp>,
    pub approved_by: Option<String>,
    /// When it last became SENT.
    pub sent_at: Option<Timestamp>,
    /// A sentence that says why it FAILED, or why staff ended the offer.
    pub failure_reason: Option<Telling>,
    pub failed_at: Option<Timestamp>,
    /// Who gave it up before a transaction was signed, or ended the offer.
    pub given_up_by: Option<String>,
    pub batch_seq: Option<i64>,
    /// The transaction in its record.
    pub txid: Option<Txid>,
    /// Booked amount in the ledger.
    pub booked_sats: i64,
    /// Booked share of the fee in the ledger.
    pub booked_fee_sats: i64,
    /// `currentTime` of its record.
    pub current_at: Timestamp,
}

#[derive(Debug, Clone)]
pub struct NewPayout {
    /// Its `seq` is ignored; the insertion assigns one.
    pub row: PayoutRow,
    pub rate_id: i64,
}

/// In the order in which [`read`] reads them.
const COLUMNS: &str = "p.seq, p.id, p.state, p.amount_sats, p.script, p.address, p.currency, p.rate, p.fiat_minor, \
     p.fiat_total_minor, p.network_fee_sats, p.balance_short, p.key_id, p.requested_by, p.merchant_name, p.comment, \
     p.notification_url, p.anomaly_seq, a.id AS anomaly_id, p.created_at, p.expires_at, p.approved_at, p.approved_by, \
     p.sent_at, p.failure_reason, p.failed_at, p.given_up_by, p.batch_seq, p.txid, p.booked_sats, p.booked_fee_sats, p.current_at";

const FROM: &str = "FROM payouts AS p LEFT JOIN anomalies AS a ON a.seq = p.anomaly_seq";

impl Reader<'_> {
    pub fn payout(&self, id: &Id) -> Result<Option<PayoutRow>, StoreError> {
        Ok(self.payouts_where("p.id = ?1", params![id.as_bytes()])?.pop())
    }

    pub fn payout_by_seq(&self, seq: i64) -> Result<Option<PayoutRow>, StoreError> {
        Ok(self.payouts_where("p.seq = ?1", params![seq])?.pop())
    }

    /// The sum of the refunds of an anomaly that were sent, in satoshis. A FAILED refund may become
    /// SENT while another one waits.
    pub fn refunded_sats(&self, anomaly_seq: i64) -> Result<u64, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT coalesce(sum(amount_sats), 0) FROM payouts WHERE anomaly_seq = ?1 AND +state = 'SENT'",
        )?;
        Ok(query.query_row([anomaly_seq], |row| row.get(0))?)
    }

    /// The payouts of a batch, in the order of approval.
    pub fn payouts_of_batch(&self, batch_seq: i64) -> Result<Vec<PayoutRow>, StoreError> {
        self.payouts_where("p.batch_seq = ?1 ORDER BY p.approved_at, p.seq", params![batch_seq])
    }

    /// The first queued payouts without a transaction, in the order of approval.
    pub fn unsent_payouts(&self, limit: u32) -> Result<Vec<PayoutRow>, StoreError> {
        self.payouts_where(
            "p.state = 'QUEUED' AND p.batch_seq IS NULL ORDER BY p.approved_at, p.seq LIMIT ?1",
            params![limit],
        )
    }

    /// The first queued payouts without a transaction that were approved at `approved_until` or
    /// before. Forward steps of the clock since the approval do not count.
    pub fn overdue_payouts(
        &self,
        approved_until: Timestamp,
        limit: u32,
    ) -> Result<Vec<PayoutRow>, StoreError> {
        self.payouts_where(
            "p.state = 'QUEUED' AND p.batch_seq IS NULL AND p.approved_at <= ?1 \
             AND p.approved_at + p.set_forward_ms <= ?1 ORDER BY p.approved_at, p.seq LIMIT ?2",
            params![approved_until.ms(), limit],
        )
    }

    /// The first payouts with stored transactions, none of which is in a block or the mempool, and
    /// without a twin in either.
    pub fn missing_payouts(&self, limit: u32) -> Result<Vec<PayoutRow>, StoreError> {
        self.payouts_where(
            "p.state IN ('QUEUED', 'SENT') AND p.batch_seq IN (SELECT seq FROM batches WHERE pending = 1) \
             AND NOT EXISTS (SELECT 1 FROM versions AS v WHERE v.batch_seq = p.batch_seq AND v.position <> 'absent') \
             AND NOT EXISTS (SELECT 1 FROM twin_outputs AS o JOIN twins AS w ON w.txid = o.txid \
             WHERE o.payout_seq = p.seq AND w.position <> 'absent') ORDER BY p.approved_at, p.seq LIMIT ?1",
            params![limit],
        )
    }

    /// Approval time of the payout that has waited longest for a transaction.
    pub fn oldest_unsent_approval(&self) -> Result<Option<Timestamp>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT approved_at FROM payouts WHERE state = 'QUEUED' AND batch_seq IS NULL ORDER BY approved_at, seq LIMIT 1",
        )?;
        let mut rows = query.query([])?;
        rows.next()?.map(|row| values::time(row, "approved_at")).transpose()
    }

    /// Payouts that match a condition, which may end with an order and a limit.
    pub(super) fn payouts_where(
        &self,
        condition: &str,
        values: impl rusqlite::Params,
    ) -> Result<Vec<PayoutRow>, StoreError> {
        let mut query = self
            .connection
            .prepare_cached(&format!("SELECT {COLUMNS} {FROM} WHERE {condition}"))?;
        query.query_and_then(values, payout_from_row)?.collect()
    }
}

impl Tx<'_> {
    /// Lowers `asked_above` after a reorganisation: new blocks above `height` may hold a twin that
    /// pays any payout.
    pub fn lower_asked_above(&self, height: u32) -> Result<(), StoreError> {
        self.connection
            .prepare_cached("UPDATE payouts SET asked_above = ?1 WHERE asked_above > ?1")?
            .execute([height])?;
        Ok(())
    }

    /// Inserts a payout. Returns its `seq`.
    pub fn insert_payout(&self, new: &NewPayout) -> Result<i64, StoreError> {
        let NewPayout { row, rate_id } = new;
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO payouts (id, state, amount_sats, script, address, currency, rate, rate_id, fiat_minor, \
             fiat_total_minor, network_fee_sats, balance_short, key_id, requested_by, merchant_name, comment, \
             notification_url, anomaly_seq, created_at, expires_at, approved_at, approved_by, current_at, \
             fiat_total_milli, asked_above) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, \
             ?18, ?19, ?20, ?21, ?22, ?23, ?24, (SELECT tip_height FROM chain))",
        )?;
        Ok(insert.insert(params![
            row.id.as_bytes(),
            row.state.as_str(),
            sats_column(row.amount_sats),
            row.script.as_bytes(),
            row.address,
            row.currency.code(),
            row.rate.format(),
            rate_id,
            row.fiat_minor,
            row.fiat_total_minor,
            sats_column(row.network_fee_sats),
            row.balance_short,
            row.key_id,
            row.requested_by,
            row.merchant_name,
            row.comment,
            row.notification_url,
            row.anomaly.map(|(seq, _)| seq),
            row.created_at.ms(),
            row.expires_at.ms(),
            row.approved_at.map(Timestamp::ms),
            row.approved_by,
            row.current_at.ms(),
            row.currency.thousandths(row.fiat_total_minor),
        ])?)
    }

    /// Stores all fields of a payout except its batch and those that the request fixed.
    pub fn update_payout(&self, row: &PayoutRow) -> Result<(), StoreError> {
        let mut update = self.connection.prepare_cached(
            "UPDATE payouts SET state = ?2, \
             set_forward_ms = CASE WHEN approved_at IS NULL AND ?3 IS NOT NULL THEN 0 ELSE set_forward_ms END, \
             approved_at = ?3, approved_by = ?4, sent_at = ?5, failure_reason = ?6, \
             txid = ?7, booked_sats = ?8, booked_fee_sats = ?9, current_at = ?10, failed_at = ?11, given_up_by = ?12, \
             expires_at = ?13 WHERE seq = ?1",
        )?;
        update.execute(params![
            row.seq,
            row.state.as_str(),
            row.approved_at.map(Timestamp::ms),
            row.approved_by,
            row.sent_at.map(Timestamp::ms),
            row.failure_reason.as_ref().map(telling::written),
            row.txid.as_ref().map(Txid::as_byte_array),
            row.booked_sats,
            row.booked_fee_sats,
            row.current_at.ms(),
            row.failed_at.map(Timestamp::ms),
            row.given_up_by,
            row.expires_at.ms(),
        ])?;
        Ok(())
    }
}

fn payout_from_row(row: &Row<'_>) -> Result<PayoutRow, StoreError> {
    let row = &InOrder::new(row);
    Ok(PayoutRow {
        seq: row.value("seq")?,
        id: values::id(row, "id")?,
        state: values::parsed(row, "state")?,
        amount_sats: values::sats(row, "amount_sats")?,
        script: ScriptBuf::from_bytes(row.value("script")?),
        address: row.value("address")?,
        currency: values::currency(row, "currency")?,
        rate: values::rate(row, "rate")?,
        fiat_minor: row.value("fiat_minor")?,
        fiat_total_minor: row.value("fiat_total_minor")?,
        network_fee_sats: values::sats(row, "network_fee_sats")?,
        balance_short: row.value("balance_short")?,
        key_id: row.value("key_id")?,
        requested_by: row.value("requested_by")?,
        merchant_name: row.value("merchant_name")?,
        comment: row.value("comment")?,
        notification_url: row.value("notification_url")?,
        anomaly: row
            .value::<Option<i64>>("anomaly_seq")?
            .zip(values::optional_id(row, "anomaly_id")?),
        created_at: values::time(row, "created_at")?,
        expires_at: values::time(row, "expires_at")?,
        approved_at: values::optional_time(row, "approved_at")?,
        approved_by: row.value("approved_by")?,
        sent_at: values::optional_time(row, "sent_at")?,
        failure_reason: row.value::<Option<String>>("failure_reason")?.map(telling::from_column),
        failed_at: values::optional_time(row, "failed_at")?,
        given_up_by: row.value("given_up_by")?,
        batch_seq: row.value("batch_seq")?,
        txid: values::optional_txid(row, "txid")?,
        booked_sats: row.value("booked_sats")?,
        booked_fee_sats: row.value("booked_fee_sats")?,
        current_at: values::time(row, "current_at")?,
    })
}
