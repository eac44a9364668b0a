//! Creates a payment. The request and the gateway are checked before an address is chosen. One
//! commit stores the payment, the index of its address and the answer to its request.

use std::mem;
use std::sync::Arc;

use tillgate_domain::id::Id;
use tillgate_domain::money::Currency;
use tillgate_domain::payment::{Payment, Price};
use tillgate_domain::sale::Basket;
use tillgate_domain::time::Timestamp;
use tillgate_machine::disk::DiskNearlyFull;
use tillgate_machine::entropy::NoEntropy;
use tillgate_machine::field_errors::FieldError;
use tillgate_store::notify_hosts::NotifyHosts;
use tillgate_store::payments::{NewPayment, PaymentRow};
use tillgate_store::rates::StoredRate;
use tillgate_store::{Reader, StoreError, Tx};

use super::request::{self, PaymentRequest, Validated};
use crate::access::idempotency::{Once, PriorRequest};
use crate::access::key_limits::{KeyLimit, OpenPaymentPermit, ReserveError};
use crate::answer::{Answer, Answered, ToShops};
use crate::error_type::ErrorType;
use crate::gateway::{Announcement, Gateway, NotWatched};
use crate::rates::RateUnavailable;
use crate::records::{RecordContext, payment_record};
use crate::settings::Settings;
use crate::wallet::{AddressPool, NotReady, Wallet, WalletError};

/// The requester of a payment: a shop or the panel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// The API key; `None` in the panel.
    pub key_id: Option<i64>,
    /// The payment's label: the key's name, or the merchant's.
    pub label: String,
    /// Whether `notificationUrl` is optional.
    pub notification_url_optional: bool,
    /// The hosts that may be notified.
    pub notify_hosts: NotifyHosts,
}

/// The result of a payment request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Created {
    New {
        payment_id: Id,
        /// The Payment record, JSON.
        record: String,
    },
    /// The answer to the first request with this idempotency key; no new payment.
    Again(Vec<u8>),
}

/// Reason why no payment was created.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum CreateError {
    /// Every field error of the request.
    #[error("the request is not valid")]
    Invalid(Vec<FieldError>),
    /// The idempotency key was used with another request.
    #[error("this Idempotency-Key was used with another request")]
    KeyReused,
    /// The API key has reached a limit.
    #[error(transparent)]
    KeyLimit(#[from] KeyLimit),
    /// The remaining disk space is reserved for existing payments.
    #[error(transparent)]
    DiskNearlyFull(#[from] DiskNearlyFull),
    /// There is no fresh rate.
    #[error(transparent)]
    Rate(#[from] RateUnavailable),
    /// The chain is not watched, so received coins would not be noticed.
    #[error(transparent)]
    NotWatched(#[from] NotWatched),
    /// The wallet gives no address now, or another copy may have given the chosen address.
    #[error(transparent)]
    WalletNotReady(#[from] NotReady),
    /// No address could be derived.
    #[error(transparent)]
    Wallet(WalletError),
    /// No random bytes could be read for the payment's id.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// The database could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Answered for CreateError {
    fn answer(&self) -> Answer<'_> {
        match self {
            Self::Invalid(field_errors) => Answer::Fields(field_errors.into()),
            Self::KeyReused => Answer::new(ErrorType::IdempotencyKeyReused),
            Self::KeyLimit(limit) => limit.answer(),
            Self::DiskNearlyFull(full) => full.answer(),
            Self::Rate(unavailable) => unavailable.answer(),
            Self::NotWatched(NotWatched::Silent | NotWatched::Behind(_)) => {
                Answer::new(ErrorType::ChainNotReady)
            }
            // The reason may hold SQLite's error.
            Self::NotWatched(NotWatched::NotStored(_)) => Answer::new(
                ErrorType::StorageUnavailable,
            )
            .to_shops(ToShops::Instead("The Bitcoin chain's state cannot be stored at the moment")),
            Self::WalletNotReady(_) => Answer::new(ErrorType::WalletNotReady),
            Self::Wallet(_) | Self::Entropy(_) => Answer::internal(),
            Self::Store(error) => error.answer(),
        }
    }
}

/// Creates a payment from a request, or returns the first answer to a repeated request.
///
/// # Errors
/// Every field error of the request, or the one reason why no payment can be created now.
pub async fn create(
    gateway: &Arc<Gateway>,
    author: Author,
    request: PaymentRequest<'_>,
    once: Option<Once>,
) -> Result<Created, CreateError> {
    // The sandbox moves the clock and looks at the chain; no request may run between the two.
    let _no_jump = gateway.time.jumps.read().await;
    let now = gateway.follow_clock().await?;
    // Read on this thread: one row by its key takes less time than a change of threads.
    if let Some(once) = &once
        && let Some(answer) =
            answered_before(gateway.store.read(|reader| once.prior(reader, now))?)?
    {
        return Ok(answer);
    }
    let (insertion, permit) = insertion(gateway, author, request, once, now).await?;
    store(gateway, insertion, permit).await
}

/// Chooses an address and takes the permit for one more open payment. Returns the payment to store.
pub async fn insertion(
    gateway: &Arc<Gateway>,
    author: Author,
    mut request: PaymentRequest<'_>,
    once: Option<Once>,
    now: Timestamp,
) -> Result<(Insertion, Option<OpenPaymentPermit>), CreateError> {
    let settings = gateway.settings.snapshot();
    let basket = request.basket.take();
    let mut request = request::validate(
        request,
        &settings.currencies,
        author.notification_url_optional,
        &author.notify_hosts,
    );
    let (price, market) = price(gateway, &mut request, &settings, now)?;
    let (wallet, tip_height) = can_receive(gateway, now)?;
    let permit = match author.key_id {
        Some(key_id) => {
            gateway
                .access
                .limits
                .reserve(key_id, settings.key_open_payments, &gateway.store)
                .await?
        }
        None => None,
    };
    gateway.check_room()?;
    let rate_id = gateway.market.rates.row_id(&gateway.store, price.currency, &market).await?;
    let rates = &gateway.market.rates;
    let usd = rates.last_known(Currency::USD).map(|stored| stored.rate);
    // A price that fell since an old rate must not pass for a small one.
    let small = rates.rate_for(settings.policy.zero_conf_up_to.currency(), now).ok();
    let small = small.map(|stored| stored.rate);
    let id = gateway.machine.entropy.id()?;
    let payment = Payment::open(id, &price, &settings.policy, usd, small, now);
    let row = row(payment, &wallet.addresses, author, request, now)?;
    let context = RecordContext {
        environment: gateway.environment,
        merchant_id: gateway.installation.merchant_id,
        pages_base: &gateway.pages_base(),
        tip_height,
    };
    let record = payment_record(&row, &[], &context);
    Ok((Insertion { new: NewPayment { row, rate_id }, basket, record, now, once }, permit))
}

/// The price in Bitcoin and its exchange rate. All field errors are found here, before temporary
/// refusals.
fn price(
    gateway: &Gateway,
    request: &mut Validated,
    settings: &Settings,
    now: Timestamp,
) -> Result<(Price, StoredRate), CreateError> {
    let mut field_errors = mem::take(&mut request.field_errors);
    let Some((minor, currency)) = request.price else {
        return Err(CreateError::Invalid(field_errors));
    };
    let market = match gateway.market.rates.rate_for(currency, now) {
        Ok(market) => market,
        // A missing wallet is reported before a missing rate, because such a gateway is not set up
        // yet.
        Err(unavailable) if field_errors.is_empty() => {
            gateway.ready_wallet()?;
            return Err(unavailable.into());
        }
        Err(_) => return Err(CreateError::Invalid(field_errors)),
    };
    let dust_limit_sats =
        gateway.wallet.get().map_or(0, |wallet| wallet.addresses.dust_limit_sats());
    match Price::at(market.rate, settings.spread_per_mille, minor, currency, dust_limit_sats) {
        Ok(price) if field_errors.is_empty() => Ok((price, market)),
        price => {
            field_errors.extend(price.err().map(|refusal| FieldError::told("amount", &refusal)));
            Err(CreateError::Invalid(field_errors))
        }
    }
}

/// The wallet with its pool of addresses, and the height of the best block. Refuses if coins could
/// not be received or noticed.
fn can_receive(gateway: &Gateway, now: Timestamp) -> Result<(Arc<Wallet>, u32), CreateError> {
    let wallet = gateway.ready_wallet()?;
    let watched = gateway.backend.last_look.watched_lately(now)?;
    Ok((wallet, watched.tip.height))
}

/// The payment's row with the next address. The store assigns `seq`.
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

/// Commits the payment. If a request with the same idempotency key was committed first, its answer
/// is returned, and this address stays unused. The address is checked again in the transaction,
/// because it was chosen earlier.
pub async fn store(
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
    // If the commit fails, looks ask about the script for a minute without need.
    gateway.note_awaited(&insertion.new.row.script);
    // The announcement is returned with the answer and made when it is dropped, so even if the
    // client has gone.
    let insert = move |tx: &Tx<'_>, again: Option<Created>| match again {
        Some(again) => Ok((again, None)),
        None => {
            let created = insertion.insert(tx)?;
            let permit = permit.map(OpenPaymentPermit::will_be_made);
            Ok((created, Some((permit, Announcement::of_change(there)))))
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

/// Refuses an address that was chosen just before a restore of the wallet, or before a look showed
/// that another copy gave it. Another customer may have this address.
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
pub struct Insertion {
    new: NewPayment,
    basket: Option<Basket>,
    record: String,
    now: Timestamp,
    once: Option<Once>,
}

impl Insertion {
    fn insert(self, tx: &Tx<'_>) -> Result<Created, StoreError> {
        let payment = &self.new.row.payment;
        let seq = tx.insert_payment(&self.new)?;
        if let Some(basket) = &self.basket {
            tx.insert_sale(seq, basket)?;
        }
        if let Some(once) = &self.once {
            once.store(tx, self.record.as_bytes(), self.now)?;
        }
        Ok(Created::New { payment_id: payment.id, record: self.record })
    }
}
