//! Making a payment: all that can be refused is refused before an address is given; the payment with its index and the
//! kept answer are one commit.

use tillgate_domain::id::Id;
use tillgate_domain::money::Currency;
use tillgate_domain::payment::{Payment, Price};
use tillgate_domain::time::Timestamp;

use super::draft::{self, Draft};
use crate::access::idempotency::{Once, Seen};
use crate::access::key_limits::{KeyLimit, OpenPlace, ReserveError};
use crate::field_errors::FieldError;
use crate::gateway::{Gateway, NotWatched};
use crate::machine::disk::DiskNearlyFull;
use crate::machine::entropy::NoEntropy;
use crate::rates::RateUnavailable;
use crate::records::{RecordContext, payment_record};
use crate::store::notify_hosts::NotifyHosts;
use crate::store::payments::{NewPayment, PaymentRow};
use crate::store::{Reader, StoreError, Tx};
use crate::wallet::WalletError;

/// Who makes a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// The API key; `None` in the panel.
    pub key_id: Option<i64>,
    /// The payment's label: the key's name, or the merchant's.
    pub label: String,
    /// Whether a `notificationUrl` may be missing.
    pub notification_url_optional: bool,
    /// Where its notifications may go.
    pub notify_hosts: NotifyHosts,
}

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Created {
    /// A new payment.
    New {
        /// Its id.
        payment_id: Id,
        /// Its record.
        record: String,
    },
    /// Nothing new: the first answer to the same request.
    Again(Vec<u8>),
}

/// Why no payment was made.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// The request is not as it must be.
    #[error("the request is not valid")]
    Invalid(Vec<FieldError>),
    /// The idempotency key was used with another request.
    #[error("this Idempotency-Key was used with another request")]
    KeyReused,
    /// The key that asks is at its bound.
    #[error(transparent)]
    KeyLimit(#[from] KeyLimit),
    /// What is left is for the payments that are there.
    #[error(transparent)]
    DiskNearlyFull(#[from] DiskNearlyFull),
    /// No rate that a price may rest on.
    #[error(transparent)]
    Rate(#[from] RateUnavailable),
    /// The chain is not watched, so that coins which come would change nothing.
    #[error(transparent)]
    NotWatched(#[from] NotWatched),
    /// There is nothing to derive addresses from.
    #[error("the wallet is not set up")]
    WalletNotReady,
    /// No address.
    #[error(transparent)]
    Wallet(#[from] WalletError),
    /// No random bytes.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// Nothing could be stored or read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Makes a payment of a request, or answers again what the same request was answered before.
///
/// # Errors
/// Every field error of the request, or the one thing for which no payment can be made now.
pub async fn create(
    gateway: &Gateway,
    author: Author,
    draft: Draft<'_>,
    once: Option<Once>,
) -> Result<Created, CreateError> {
    // A step of the sandbox's clock and the look after it are one for whoever comes meanwhile.
    let _no_jump = gateway.clock_jumps.read().await;
    let now = gateway.clock.now();
    if let Some(once) = &once
        && let Some(answer) = answered(gateway.store.read(|reader| once.seen(reader, now))?)?
    {
        return Ok(answer);
    }
    let settings = gateway.settings.snapshot();
    let judged = draft::judge(draft, &settings.currencies, author.notification_url_optional, &author.notify_hosts);
    let wallet = gateway.wallet.get();
    let Some((price_minor, currency)) = judged.price else { return Err(CreateError::Invalid(judged.field_errors)) };
    let kept = match gateway.rates.rate_for(currency, now) {
        Ok(kept) => kept,
        // What the client can mend comes first.
        Err(_) if !judged.field_errors.is_empty() => return Err(CreateError::Invalid(judged.field_errors)),
        Err(unavailable) => return Err(unavailable.into()),
    };
    let dust_limit_sats = wallet.map_or(0, |wallet| wallet.addresses.dust_limit_sats());
    let price = match Price::at(kept.rate, settings.spread_per_mille, price_minor, currency, dust_limit_sats) {
        Ok(price) if judged.field_errors.is_empty() => price,
        price => {
            let mut field_errors = judged.field_errors;
            field_errors.extend(price.err().map(|refusal| FieldError::invalid("amount", refusal)));
            return Err(CreateError::Invalid(field_errors));
        }
    };
    let wallet = wallet.ok_or(CreateError::WalletNotReady)?;
    let tip_height = gateway.last_look.watched_lately(now)?.tip.height;
    gateway.disk.check_room()?;
    let place = match author.key_id {
        Some(key_id) => gateway.key_limits.reserve(key_id, settings.key_open_payments, &gateway.store).await?,
        None => None,
    };
    let rate_id = gateway.rates.row_id(&gateway.store, currency, &kept).await?;
    let usd = gateway.rates.last_known(Currency::USD).map(|kept| kept.rate);
    let payment = Payment::open(gateway.entropy.id()?, &price, &settings.policy, usd, now);
    let address = wallet.addresses.give()?;
    let row = PaymentRow {
        seq: 0,
        payment,
        address: address.text,
        script: address.script,
        derivation_index: address.index,
        key_id: author.key_id,
        label: author.label,
        message: judged.message,
        merchant_transaction_id: judged.merchant_transaction_id,
        notification_url: judged.notification_url,
        anomaly_notification_url: judged.anomaly_notification_url,
        redirect_urls: judged.redirect_urls,
        current_at: now,
    };
    let context = RecordContext { environment: gateway.environment, pages_base: &gateway.pages_base(), tip_height };
    let record = payment_record(&row, &[], &context);
    let insertion = Insertion { new: NewPayment { row, rate_id }, record, now, once };
    let twin = insertion.once.clone();
    // A twin that came at the same time was stored first; this one's address is given to nobody then.
    let check = move |reader: &Reader<'_>| match &twin {
        Some(once) => answered(once.seen(reader, now)?),
        None => Ok(None),
    };
    // The place goes along with the answer: it counts once that comes, even where its client has gone.
    let insert = move |tx: &Tx<'_>, again: Option<Created>| match again {
        Some(again) => Ok((again, None)),
        None => Ok((insertion.insert(tx)?, place.map(OpenPlace::will_be_made))),
    };
    let (created, _counted) = gateway.store.write_short(check, insert).await?;
    if let Created::New { .. } = created {
        gateway.note_change();
    }
    Ok(created)
}

impl From<ReserveError> for CreateError {
    fn from(error: ReserveError) -> Self {
        match error {
            ReserveError::Limit(limit) => limit.into(),
            ReserveError::Store(error) => error.into(),
        }
    }
}

fn answered(seen: Seen) -> Result<Option<Created>, CreateError> {
    match seen {
        Seen::Never => Ok(None),
        Seen::Answered(answer) => Ok(Some(Created::Again(answer))),
        Seen::Reused => Err(CreateError::KeyReused),
    }
}

/// A payment about to be stored.
struct Insertion {
    new: NewPayment,
    record: String,
    now: Timestamp,
    once: Option<Once>,
}

impl Insertion {
    fn insert(self, tx: &Tx<'_>) -> Result<Created, StoreError> {
        let payment = &self.new.row.payment;
        tx.insert_payment(&self.new)?;
        if let Some(once) = &self.once {
            once.keep(tx, self.record.as_bytes(), self.now)?;
        }
        Ok(Created::New { payment_id: payment.id, record: self.record })
    }
}
