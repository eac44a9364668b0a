//! Making a payment: all that can be refused is refused before an address is given; the payment with its index and the
//! kept answer are one commit.

use tillgate_domain::id::Id;
use tillgate_domain::money::{Currency, MAX_SATS, Rate, format_btc, usd_equivalent};
use tillgate_domain::payment::{Payment, PaymentState};
use tillgate_domain::policy::Policy;
use tillgate_domain::time::Timestamp;

use super::draft::{self, Draft};
use crate::entropy::NoEntropy;
use crate::faults::Fault;
use crate::gateway::Gateway;
use crate::idempotency::{Once, Seen};
use crate::rates::{KeptRate, RateUnavailable};
use crate::records::{RecordContext, payment_record};
use crate::store::payments::{NewPayment, PaymentRow};
use crate::store::{StoreError, Tx};
use crate::wallet::WalletError;

/// A payment's life (interface, "Limits").
const LIFETIME_MS: i64 = 30 * 60 * 1_000;

/// A chain not watched for so long says nothing about new payments any more.
const WATCHED_WITHIN_MS: i64 = 10 * 60 * 1_000;

/// Who makes a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// The API key; `None` in the panel.
    pub key_id: Option<i64>,
    /// The payment's label: the key's name, or the merchant's.
    pub label: String,
    /// Whether a `notificationUrl` may be missing.
    pub notification_url_optional: bool,
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
    Invalid(Vec<Fault>),
    /// The idempotency key was used with another request.
    #[error("this Idempotency-Key was used with another request")]
    KeyReused,
    /// No rate that a price may rest on.
    #[error(transparent)]
    Rate(#[from] RateUnavailable),
    /// Coins that come would not be seen.
    #[error("the Bitcoin chain was never synchronised, or has not been watched for 10 minutes")]
    ChainNotReady,
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
/// Every fault of the request, or the one thing for which no payment can be made now.
pub async fn create(
    gateway: &Gateway,
    author: Author,
    draft: Draft<'_>,
    once: Option<Once>,
) -> Result<Created, CreateError> {
    let now = gateway.clock.now();
    if let Some(once) = &once
        && let Some(answer) = answered(gateway.store.read(|reader| once.seen(reader, now))?)?
    {
        return Ok(answer);
    }
    let settings = gateway.settings.snapshot();
    let judged = draft::judge(draft, &settings.currencies, author.notification_url_optional);
    let wallet = gateway.wallet.get();
    let Some((price_minor, currency)) = judged.price else { return Err(CreateError::Invalid(judged.faults)) };
    let quote = match gateway.rates.rate_for(currency, now) {
        Ok(kept) => Quote::new(kept, price_minor, currency, settings.spread_per_mille),
        // What the client can mend comes first.
        Err(_) if !judged.faults.is_empty() => return Err(CreateError::Invalid(judged.faults)),
        Err(unavailable) => return Err(unavailable.into()),
    };
    let mut judged = judged;
    judged.faults.extend(quote.fault(wallet.map(|wallet| wallet.addresses.dust_limit_sats())));
    let (Some(rate), Some(amount_sats), true) = (quote.rate, quote.amount_sats, judged.faults.is_empty()) else {
        return Err(CreateError::Invalid(judged.faults));
    };
    let wallet = wallet.ok_or(CreateError::WalletNotReady)?;
    let watched = gateway.watcher.watched().filter(|it| now.ms() - it.looked_at.ms() <= WATCHED_WITHIN_MS);
    let tip_height = watched.ok_or(CreateError::ChainNotReady)?.tip.height;
    let rate_id = gateway.rates.row_id(&gateway.store, currency, &quote.kept).await?;
    let usd = gateway.rates.last_known(Currency::USD).map(|kept| kept.rate);
    let created_at = now.cut_to_second();
    let payment = Payment {
        id: gateway.entropy.id()?,
        state: PaymentState::New,
        amount_sats,
        price_minor,
        currency,
        rate,
        created_at,
        expires_at: created_at.plus_ms(LIFETIME_MS),
        policy: Policy::freeze(&settings.policy, usd_equivalent(price_minor, currency, rate, usd)),
        closed_at: None,
        accepted_sats: None,
        confirmed_at: None,
        paid_sats: 0,
    };
    let address = wallet.addresses.give()?;
    let row = PaymentRow {
        seq: 0,
        payment,
        address: address.text,
        script: address.script,
        derivation_index: address.index,
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
    let birth = Birth { new: NewPayment { row, key_id: author.key_id, rate_id }, record, now, once };
    let created = gateway.store.write_short(move |tx| birth.happen(tx)).await?;
    if let Created::New { .. } = created {
        gateway.note_change();
    }
    Ok(created)
}

fn answered(seen: Seen) -> Result<Option<Created>, CreateError> {
    match seen {
        Seen::Never => Ok(None),
        Seen::Answered(answer) => Ok(Some(Created::Again(answer))),
        Seen::Reused => Err(CreateError::KeyReused),
    }
}

/// A price at the rate of this moment.
struct Quote {
    kept: KeptRate,
    /// After spread.
    rate: Option<Rate>,
    amount_sats: Option<u64>,
    currency: Currency,
}

impl Quote {
    fn new(kept: KeptRate, price_minor: i64, currency: Currency, spread_per_mille: u16) -> Self {
        let rate = kept.rate.less_spread(spread_per_mille);
        let amount_sats = rate.and_then(|rate| rate.price_to_sats(price_minor, currency));
        Self { kept, rate, amount_sats: amount_sats.filter(|sats| *sats <= MAX_SATS), currency }
    }

    /// What is wrong with the price, naming the bound.
    fn fault(&self, dust_limit_sats: Option<u64>) -> Option<Fault> {
        let (bound_sats, direction) = match (self.amount_sats, dust_limit_sats) {
            (None, _) => (MAX_SATS, "most"),
            (Some(sats), Some(dust)) if sats < dust => (dust, "least"),
            (Some(_), _) => return None,
        };
        let worth = self.rate.and_then(|rate| rate.sats_to_minor_floor(bound_sats, self.currency));
        // The least that is accepted, in fiat, is the next minor unit above.
        let worth = worth.map(|minor| if direction == "least" { minor.saturating_add(1) } else { minor });
        let worth = worth.map_or_else(String::new, |minor| {
            format!(" (about {} {} now)", self.currency.format_minor(minor), self.currency.code())
        });
        let bound = format_btc(bound_sats);
        Some(Fault::invalid("amount", format_args!("must be worth at {direction} {bound} BTC{worth}")))
    }
}

/// A payment about to be stored.
struct Birth {
    new: NewPayment,
    record: String,
    now: Timestamp,
    once: Option<Once>,
}

impl Birth {
    /// Refuses, if it must, before the first write.
    fn happen(self, tx: &Tx<'_>) -> Result<Created, CreateError> {
        // A twin that came at the same time was stored first; this one's address is given to nobody.
        if let Some(once) = &self.once
            && let Some(answer) = answered(once.seen(tx, self.now)?)?
        {
            return Ok(answer);
        }
        let payment = &self.new.row.payment;
        // The closing look is one that starts after the deadline.
        tx.insert_payment(&self.new, payment.expires_at.plus_ms(1))?;
        if let Some(once) = &self.once {
            once.keep(tx, self.record.as_bytes(), self.now)?;
        }
        Ok(Created::New { payment_id: payment.id, record: self.record })
    }
}
