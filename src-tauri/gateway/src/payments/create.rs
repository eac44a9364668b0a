//! Making a payment: all that can be refused is refused before an address is given; the payment, the index of its address
//! and the answer to its request are one commit.

use std::mem;
use std::sync::Arc;

use tillgate_domain::id::Id;
use tillgate_domain::money::Currency;
use tillgate_domain::payment::{Payment, Price};
use tillgate_domain::time::Timestamp;

use super::draft::{self, Draft, Validated};
use crate::access::idempotency::{Once, PriorRequest};
use crate::access::key_limits::{KeyLimit, OpenPaymentPermit, ReserveError};
use crate::field_errors::FieldError;
use crate::gateway::{Announcement, Gateway, NotWatched};
use crate::machine::disk::DiskNearlyFull;
use crate::machine::entropy::NoEntropy;
use crate::rates::RateUnavailable;
use crate::records::{RecordContext, payment_record};
use crate::settings::Settings;
use crate::store::notify_hosts::NotifyHosts;
use crate::store::payments::{NewPayment, PaymentRow};
use crate::store::rates::StoredRate;
use crate::store::{Reader, StoreError, Tx};
use crate::wallet::{AddressPool, NotReady, WalletError};

/// Who makes a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// The API key; `None` in the panel.
    pub key_id: Option<i64>,
    /// The payment's label: the key's name, or the merchant's.
    pub label: String,
    /// Whether the request may be without a `notificationUrl`.
    pub notification_url_optional: bool,
    /// The hosts that may be notified.
    pub notify_hosts: NotifyHosts,
}

/// What a request to make a payment came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Created {
    /// A new payment.
    New {
        /// What the panel asks for it by.
        payment_id: Id,
        /// The Payment record, JSON.
        record: String,
    },
    /// Nothing new: the record that the first request with this idempotency key was answered.
    Again(Vec<u8>),
}

/// Why no payment was made.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// Every field error of the request.
    #[error("the request is not valid")]
    Invalid(Vec<FieldError>),
    /// The idempotency key was used with another request.
    #[error("this Idempotency-Key was used with another request")]
    KeyReused,
    /// The API key is at a bound.
    #[error(transparent)]
    KeyLimit(#[from] KeyLimit),
    /// The room that is left on the disk is for the payments that exist.
    #[error(transparent)]
    DiskNearlyFull(#[from] DiskNearlyFull),
    /// No fresh rate.
    #[error(transparent)]
    Rate(#[from] RateUnavailable),
    /// The chain is not watched, so that coins which come would change nothing.
    #[error(transparent)]
    NotWatched(#[from] NotWatched),
    /// No address is given now, or another copy of the wallet may have given the one that was taken.
    #[error(transparent)]
    WalletNotReady(#[from] NotReady),
    /// No address could be derived.
    #[error(transparent)]
    Wallet(WalletError),
    /// There were no random bytes for its id.
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
    gateway: &Arc<Gateway>,
    author: Author,
    draft: Draft<'_>,
    once: Option<Once>,
) -> Result<Created, CreateError> {
    // A step of the sandbox's clock and the look after it are one for whoever comes meanwhile.
    let _no_jump = gateway.clock_jumps.read().await;
    let now = gateway.follow_clock().await?;
    // One row by its key: to have another thread read it would take longer.
    if let Some(once) = &once
        && let Some(answer) = answered_before(gateway.store.read(|reader| once.prior(reader, now))?)?
    {
        return Ok(answer);
    }
    let (insertion, permit) = insertion(gateway, author, draft, once, now).await?;
    store(gateway, insertion, permit).await
}

/// The payment as it is to be stored, with an address of its own, and the permit for one more that is open.
pub(super) async fn insertion(
    gateway: &Gateway,
    author: Author,
    draft: Draft<'_>,
    once: Option<Once>,
    now: Timestamp,
) -> Result<(Insertion, Option<OpenPaymentPermit>), CreateError> {
    let settings = gateway.settings.snapshot();
    let mut request =
        draft::validate(draft, &settings.currencies, author.notification_url_optional, &author.notify_hosts);
    let (price, market) = price(gateway, &mut request, &settings, now)?;
    let (addresses, tip_height) = can_receive(gateway, now)?;
    let permit = match author.key_id {
        Some(key_id) => gateway.key_limits.reserve(key_id, settings.key_open_payments, &gateway.store).await?,
        None => None,
    };
    let rate_id = gateway.rates.row_id(&gateway.store, price.currency, &market).await?;
    let usd = gateway.rates.last_known(Currency::USD).map(|stored| stored.rate);
    let payment = Payment::open(gateway.entropy.id()?, &price, &settings.policy, usd, now);
    let row = row(payment, addresses, author, request, now)?;
    let context = RecordContext {
        environment: gateway.environment,
        merchant_id: gateway.installation.merchant_id,
        pages_base: &gateway.pages_base(),
        tip_height,
    };
    let record = payment_record(&row, &[], &context);
    Ok((Insertion { new: NewPayment { row, rate_id }, record, now, once }, permit))
}

/// The price in Bitcoin, and the market's rate that it rests on. Every field error of the request is known after this, and
/// what the client can mend is refused before what it can only wait for.
fn price(
    gateway: &Gateway,
    request: &mut Validated,
    settings: &Settings,
    now: Timestamp,
) -> Result<(Price, StoredRate), CreateError> {
    let mut field_errors = mem::take(&mut request.field_errors);
    let Some((minor, currency)) = request.price else { return Err(CreateError::Invalid(field_errors)) };
    let market = match gateway.rates.rate_for(currency, now) {
        Ok(market) => market,
        // A gateway that is not set up yet need not have rates either.
        Err(unavailable) if field_errors.is_empty() => {
            gateway.ready_wallet()?;
            return Err(unavailable.into());
        }
        Err(_) => return Err(CreateError::Invalid(field_errors)),
    };
    let dust_limit_sats = gateway.wallet.get().map_or(0, |wallet| wallet.addresses.dust_limit_sats());
    match Price::at(market.rate, settings.spread_per_mille, minor, currency, dust_limit_sats) {
        Ok(price) if field_errors.is_empty() => Ok((price, market)),
        price => {
            field_errors.extend(price.err().map(|refusal| FieldError::invalid("amount", refusal)));
            Err(CreateError::Invalid(field_errors))
        }
    }
}

/// Where the next address comes from, and the height of the best block. Refuses where coins could not be received, would
/// not be noticed, or could not be stored.
fn can_receive(gateway: &Gateway, now: Timestamp) -> Result<(&AddressPool, u32), CreateError> {
    let wallet = gateway.ready_wallet()?;
    let watched = gateway.last_look.watched_lately(now)?;
    gateway.disk.check_room()?;
    Ok((&wallet.addresses, watched.tip.height))
}

/// The payment with the next address, as it is inserted; its number comes with that.
fn row(
    payment: Payment,
    addresses: &AddressPool,
    author: Author,
    request: Validated,
    now: Timestamp,
) -> Result<PaymentRow, WalletError> {
    let address = addresses.give()?;
    Ok(PaymentRow {
        seq: 0,
        payment,
        address: address.text,
        script: address.script,
        derivation_index: address.index,
        key_id: author.key_id,
        label: author.label,
        message: request.message,
        merchant_transaction_id: request.merchant_transaction_id,
        notification_url: request.notification_url,
        anomaly_notification_url: request.anomaly_notification_url,
        redirect_urls: request.redirect_urls,
        current_at: now,
    })
}

/// Commits the payment, unless a twin of its request that came at the same time was committed first: its answer is given
/// then, and this one's address to nobody. The address was taken before, so it is judged once more in the transaction.
pub(super) async fn store(
    gateway: &Arc<Gateway>,
    insertion: Insertion,
    permit: Option<OpenPaymentPermit>,
) -> Result<Created, CreateError> {
    let (twin, now) = (insertion.once.clone(), insertion.now);
    let index = insertion.new.row.derivation_index;
    let check = move |reader: &Reader<'_>| -> Result<Option<Created>, CreateError> {
        let again = match &twin {
            Some(once) => answered_before(once.prior(reader, now)?)?,
            None => None,
        };
        if again.is_none() {
            check_still_free(reader, index)?;
        }
        Ok(again)
    };
    let there = Arc::downgrade(gateway);
    // Should it not be stored after all, it is asked about for nothing, for a minute.
    gateway.note_awaited(&insertion.new.row.script);
    // What is to happen once the payment is committed goes along with the answer: dropped with it, where its client has
    // gone, it happens all the same.
    let insert = move |tx: &Tx<'_>, again: Option<Created>| match again {
        Some(again) => Ok((again, None)),
        None => {
            let created = insertion.insert(tx)?;
            Ok((created, Some((permit.map(OpenPaymentPermit::will_be_made), Announcement::of_change(there)))))
        }
    };
    let (created, _committed) = gateway.store.write_short(check, insert).await?;
    Ok(created)
}

impl From<WalletError> for CreateError {
    fn from(error: WalletError) -> Self {
        match error {
            WalletError::NotReady(why) => Self::WalletNotReady(why),
            error => Self::Wallet(error),
        }
    }
}

impl From<ReserveError> for CreateError {
    fn from(error: ReserveError) -> Self {
        match error {
            ReserveError::Limit(limit) => limit.into(),
            ReserveError::Store(error) => error.into(),
        }
    }
}

/// Refuses an address that was taken from the wallet just before it was restored, or before it was seen that another copy gave it:
/// another customer may have it.
fn check_still_free(reader: &Reader<'_>, index: u32) -> Result<(), CreateError> {
    if reader.dangerous_restore()?.is_some() {
        return Err(NotReady::NotLooked.into());
    }
    if reader.is_skipped_address(index)? { Err(NotReady::Skipped.into()) } else { Ok(()) }
}

fn answered_before(prior: PriorRequest) -> Result<Option<Created>, CreateError> {
    match prior {
        PriorRequest::None => Ok(None),
        PriorRequest::Same(answer) => Ok(Some(Created::Again(answer))),
        PriorRequest::Other => Err(CreateError::KeyReused),
    }
}

/// A payment about to be stored.
pub(super) struct Insertion {
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
            once.store(tx, self.record.as_bytes(), self.now)?;
        }
        Ok(Created::New { payment_id: payment.id, record: self.record })
    }
}
