//! Views of what the database holds. Reads through the store's own queries, formats, and decides nothing.

use bitcoin::address::NetworkUnchecked;
use bitcoin::{Address, Txid};
use tillgate_domain::advance::may_accept;
use tillgate_domain::anomaly::Anomaly;
use tillgate_domain::bip21::{payment_uri, qr_uri};
use tillgate_domain::id::Id;
use tillgate_domain::receipt::{Position, Receipt};

use super::views::{
    AnomalyRow, BtcView, DeliveryRow, HistoryRow, Page, PaymentRow, PaymentView, SandboxAmounts, TransactionRow,
};
use crate::gateway::Gateway;
use crate::qr;
use crate::records::{anomaly_message, confirmations, fiat_amount};
use crate::store::anomalies::AnomalyFilter;
use crate::store::payment_lists::PaymentFilter;
use crate::store::{self, Reader, StoreError};

/// Deliveries shown with one payment; `deliveries list` shows more.
const DELIVERIES_OF_PAYMENT: u32 = 100;

/// A view of satoshis that are not negative.
fn btc(sats: u64) -> BtcView {
    BtcView::of(i64::try_from(sats).unwrap_or(i64::MAX))
}

/// One page of payments; `search` is an id, an address, a txid or the shop's own reference.
pub fn payments(
    reader: &Reader<'_>,
    filter: PaymentFilter,
    search: Option<&str>,
    limit: u32,
    offset: u32,
) -> Result<Page<PaymentRow>, StoreError> {
    let search = search.map(str::trim).filter(|search| !search.is_empty());
    if let Some(row) = search.and_then(|search| search.parse::<Id>().ok()).map(|id| reader.payment(&id)).transpose()?
        && let Some(row) = row
    {
        let within = filter.states.is_empty() || filter.states.contains(&row.payment.state);
        let items = if within && offset == 0 { vec![payment_row(reader, &row)?] } else { Vec::new() };
        return Ok(Page { items, items_count: u64::from(within) });
    }
    let filter = match search {
        Some(search) => narrowed(filter, search),
        None => filter,
    };
    let rows = reader.payments(&filter, limit, u64::from(offset))?;
    let items = rows.iter().map(|row| payment_row(reader, row)).collect::<Result<_, _>>()?;
    Ok(Page { items, items_count: reader.payments_count(&filter)? })
}

fn narrowed(filter: PaymentFilter, search: &str) -> PaymentFilter {
    if let Ok(txid) = search.parse::<Txid>() {
        return PaymentFilter { txid: Some(txid), ..filter };
    }
    if let Ok(address) = search.parse::<Address<NetworkUnchecked>>() {
        // Another network's address finds nothing: no payment has its script.
        return PaymentFilter { script: Some(address.assume_checked().script_pubkey()), ..filter };
    }
    PaymentFilter { merchant_transaction_id: Some(search.to_owned()), ..filter }
}

fn payment_row(reader: &Reader<'_>, row: &store::payments::PaymentRow) -> Result<PaymentRow, StoreError> {
    let payment = &row.payment;
    Ok(PaymentRow {
        payment_id: payment.id.to_string(),
        state: payment.state.as_str().to_owned(),
        amount: btc(payment.amount_sats),
        paid: btc(payment.paid_sats),
        fiat_amount: payment.currency.format_minor(payment.price_minor),
        currency: payment.currency.code().to_owned(),
        label: row.label.clone(),
        message: row.message.clone(),
        merchant_transaction_id: row.merchant_transaction_id.clone(),
        creation_time: payment.created_at.iso_seconds(),
        expiration_time: payment.expires_at.iso_seconds(),
        open_anomalies: u32::try_from(reader.open_anomalies_count(Some(row.seq))?).unwrap_or(u32::MAX),
    })
}

/// One payment, whole; `None` where there is none of this id.
pub fn payment(gateway: &Gateway, reader: &Reader<'_>, id: &Id) -> Result<Option<PaymentView>, StoreError> {
    let Some(row) = reader.payment(id)? else { return Ok(None) };
    let payment = &row.payment;
    let receipts = reader.receipts(row.seq)?;
    let anomalies = reader.anomalies_of_payment(row.seq)?;
    let judged: Vec<Anomaly> = anomalies.iter().map(|anomaly| anomaly.anomaly.clone()).collect();
    let deliveries = reader.deliveries_of(id, DELIVERIES_OF_PAYMENT)?;
    let tip_height = reader.tip_height()?;
    let dust = row.script.minimal_non_dust().to_sat();
    let remaining = payment.remaining_sats();
    // Where less than the dust limit remains no wallet could pay it.
    let asked = u64::try_from(remaining).map_or(dust, |remaining| remaining.max(dust));
    Ok(Some(PaymentView {
        row: payment_row(reader, &row)?,
        address: row.address.clone(),
        exchange_rate: payment.rate.format(),
        payment_address: payment_uri(&row.address, payment.amount_sats, &row.label, &row.message),
        payment_page_url: format!("{}/{}", gateway.pages_base(), payment.id),
        remaining: BtcView::of(remaining),
        paid_fiat: payment.currency.format_minor(payment.paid_minor()),
        confirmations_wanted: payment.policy.confirmations,
        qr_svg: qr::svg(&qr_uri(&row.address, asked)),
        payment_time: payment.confirmed_at.map(|at| at.iso_seconds()),
        notification_url: row.notification_url.clone(),
        anomaly_notification_url: row.anomaly_notification_url.clone(),
        acceptable: may_accept(payment, &receipts, &judged).is_ok(),
        sandbox_amounts: gateway.sandbox.is_some().then(|| {
            let signed = |sats: u64| i64::try_from(sats).unwrap_or(i64::MAX);
            SandboxAmounts::of(signed(payment.amount_sats), remaining, signed(dust))
        }),
        transactions: receipts.iter().map(|receipt| transaction(receipt, tip_height)).collect(),
        history: reader.payment_history(row.seq)?.iter().map(history).collect(),
        deliveries: deliveries.iter().map(delivery).collect(),
        anomalies: anomalies.iter().map(anomaly).collect(),
    }))
}

fn transaction(receipt: &Receipt, tip_height: u32) -> TransactionRow {
    let position = match receipt.position {
        _ if receipt.gone => "gone",
        Position::Block { .. } => "block",
        Position::Mempool => "mempool",
        Position::Absent => "missing",
    };
    TransactionRow {
        btc_tx_id: receipt.txid.to_string(),
        amount: btc(receipt.amount_sats),
        counted: btc(receipt.counted_sats),
        confirmations: confirmations(receipt, tip_height),
        position: position.to_owned(),
        time: receipt.first_seen_at.iso_millis(),
    }
}

fn history(change: &store::history::HistoryRow) -> HistoryRow {
    HistoryRow {
        time: change.at.iso_millis(),
        from: change.from.as_str().to_owned(),
        to: change.to.as_str().to_owned(),
        paid: btc(change.paid_sats),
        cause: change.cause.clone(),
    }
}

/// One page of anomalies.
pub fn anomalies(
    reader: &Reader<'_>,
    filter: &AnomalyFilter,
    limit: u32,
    offset: u32,
) -> Result<Page<AnomalyRow>, StoreError> {
    let rows = reader.anomalies(filter, limit, u64::from(offset))?;
    Ok(Page { items: rows.iter().map(anomaly).collect(), items_count: reader.anomalies_count(filter)? })
}

/// One anomaly.
pub fn anomaly(row: &store::anomalies::AnomalyRow) -> AnomalyRow {
    AnomalyRow {
        anomaly_id: row.anomaly.id.to_string(),
        payment_id: row.payment_id.to_string(),
        anomaly_type: row.anomaly.kind.as_str().to_owned(),
        paid: btc(row.anomaly.paid_sats),
        fiat_amount: fiat_amount(row),
        currency: row.currency.code().to_owned(),
        time: row.created_at.iso_seconds(),
        message: anomaly_message(row),
        resolution: row.anomaly.resolution.as_str().to_owned(),
        dismissal_reason: row.dismissal_reason.clone(),
        btc_tx_ids: row.txids.iter().map(ToString::to_string).collect(),
    }
}

/// One page of deliveries.
pub fn deliveries(reader: &Reader<'_>, failed: bool, limit: u32, offset: u32) -> Result<Page<DeliveryRow>, StoreError> {
    let rows = reader.deliveries(failed, limit, offset)?;
    Ok(Page { items: rows.iter().map(delivery).collect(), items_count: reader.count_deliveries(failed)? })
}

fn delivery(row: &store::deliveries::DeliveryRow) -> DeliveryRow {
    DeliveryRow {
        delivery_id: row.id.to_string(),
        notification_id: row.notification_id.to_string(),
        subject_kind: row.subject_kind.as_str().to_owned(),
        subject_id: row.subject_id.to_string(),
        url: row.url.clone(),
        attempt: row.attempt,
        time: row.at.iso_millis(),
        duration_ms: row.duration_ms,
        status_code: row.status_code,
        error: row.error.clone(),
        answer: row.answer.as_deref().map(|answer| String::from_utf8_lossy(answer).into_owned()),
        notification_state: row.notification_state.as_str().to_owned(),
        next_attempt_time: row.next_attempt_at.map(|at| at.iso_millis()),
    }
}
