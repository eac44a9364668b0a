//! Estimates a payout for people who are still typing: all known values, beside the faults. Nothing
//! is stored.

use std::borrow::Cow;

use bitcoin::{FeeRate, Script, ScriptBuf};
use tillgate_domain::anomaly::Resolution;
use tillgate_domain::money::{Currency, Rate};
use tillgate_domain::payout::PayoutState;
use tillgate_domain::payout::offer::{OfferAmount, OfferWorth};
use tillgate_machine::field_errors::{Fault, FieldError};
use tillgate_store::anomalies::{AnomalyFilter, AnomalyRow};
use tillgate_store::payout_lists::PayoutFilter;
use tillgate_store::payouts::PayoutRow;
use tillgate_store::twins::PaidByTwin;
use tillgate_store::{Reader, StoreError};
use tillgate_told::{Telling, Told};

use super::cost::{self, PayoutFeeRate};
use super::estimate::usual_script;
use super::limit;
use super::request::{self, BTC, FIAT};
use crate::gateway::Gateway;
use crate::payments::FieldErrors;
use crate::settings::Settings;

/// The fields as typed so far.
#[derive(Debug, Clone, Default)]
pub struct PreviewRequest<'a> {
    pub btc_amount: Option<Cow<'a, str>>,
    /// Either this or the amount in Bitcoin.
    pub fiat_amount: Option<Cow<'a, str>>,
    pub currency: Cow<'a, str>,
    /// Without an address, a SegWit address is assumed.
    pub address: Option<Cow<'a, str>>,
    /// Whether the payout sends an anomaly's coins back.
    pub is_refund: bool,
}

/// The estimate.
#[derive(Debug)]
pub struct Preview {
    pub currency: Currency,
    /// `None` if there is no fresh rate.
    pub rate: Option<Rate>,
    /// `None` if the amount is missing or wrong.
    pub amount_sats: Option<u64>,
    /// The amount's worth, in minor units; also `None` if there is no rate.
    pub fiat_minor: Option<i64>,
    /// The fee of a transaction for this payout alone.
    pub network_fee_sats: Option<u64>,
    pub fee_rate: FeeRate,
    /// The worth of amount and fee, in minor units.
    pub fiat_total_minor: Option<i64>,
    /// The fault of the address, with the remedy.
    pub address_problem: Option<Telling>,
    /// The fault of the amount, with the remedy.
    pub amount_problem: Option<Telling>,
    /// The reason why there is no rate.
    pub rate_problem: Option<Telling>,
    /// The newest offered, approved or sent payout to the same address. A payout of the same sum is
    /// preferred.
    pub paid_before: Option<PayoutRow>,
    /// A payment to the same address by another copy of the wallet. With it the request is refused
    /// unless it says `again`.
    pub paid_by_copy: Option<PaidByTwin>,
    /// The newest OPEN anomaly of exactly this sum, because the payout may be meant as its refund.
    pub anomaly_alike: Option<AnomalyRow>,
    /// The coins are too few for this payout and those that wait before it.
    pub balance_short: bool,
    /// The coins that are left would not pay the same fee once more.
    pub takes_all_coins: bool,
    /// The most that coins and the day's limit allow now; 0 if that is below the minimum.
    pub most_sats: u64,
}

/// The estimate of a payout made now.
///
/// # Errors
/// When the currency is wrong, or the database cannot be read.
pub async fn preview(
    gateway: &Gateway,
    request: PreviewRequest<'_>,
) -> Result<Result<Preview, Vec<FieldError>>, StoreError> {
    let settings = gateway.settings.snapshot();
    let mut wrong = FieldErrors(Vec::new());
    let Some(currency) =
        wrong.currency("currency", Some(request.currency.clone()), &settings.currencies)
    else {
        return Ok(Err(wrong.0));
    };
    let (rate, rate_problem) = match gateway.market.rates.rate_for(currency, gateway.time.now()) {
        Ok(market) => (Some(market.rate), None),
        Err(unavailable) => (None, Some(unavailable.telling())),
    };
    let fee_rate = cost::fee_rate(gateway, &settings).await;
    gateway.store.read(|reader| {
        let (script, address_problem) = address(gateway, reader, request.address.as_deref())?;
        let (worth, mut amount_problem) = amount(&request, currency, rate);
        let usual = usual_script();
        let limit = limit::limit_now(reader, &settings, gateway.time.now())?;
        let payee = script.as_deref().unwrap_or(&usual);
        if let Some(Worth { amount_sats, .. }) = worth {
            let refusals = limit::refusals(&limit, amount_sats, payee, request.is_refund);
            amount_problem = amount_problem.or_else(|| refusals.first().map(Told::telling));
        }
        let now = Now { gateway, reader, settings: &settings, fee_rate };
        let most_sats = now.most_sats(payee)?.min(limit.available_sats);
        let mut preview = Preview {
            currency,
            rate,
            amount_sats: worth.map(|worth| worth.amount_sats),
            fiat_minor: worth.and_then(|worth| worth.fiat_minor),
            network_fee_sats: None,
            fee_rate: fee_rate.capped(),
            fiat_total_minor: None,
            address_problem,
            amount_problem,
            rate_problem,
            paid_before: match &script {
                Some(script) => paid_before(reader, script, worth.map(|worth| worth.amount_sats))?,
                None => None,
            },
            paid_by_copy: match &script {
                Some(script) => reader.twin_that_paid(script)?,
                None => None,
            },
            anomaly_alike: match worth {
                Some(worth) => open_anomaly_of(reader, worth.amount_sats)?,
                None => None,
            },
            balance_short: false,
            takes_all_coins: false,
            most_sats: if most_sats < limit.minimum_sats { 0 } else { most_sats },
        };
        now.add_fee(&mut preview, payee)?;
        Ok(Ok(preview))
    })
}

/// An amount, with its worth if there is a rate.
#[derive(Clone, Copy)]
struct Worth {
    amount_sats: u64,
    fiat_minor: Option<i64>,
}

/// The settings, the fee rate and the database at one moment.
struct Now<'a> {
    gateway: &'a Gateway,
    reader: &'a Reader<'a>,
    settings: &'a Settings,
    fee_rate: PayoutFeeRate,
}

impl Now<'_> {
    fn most_sats(&self, script: &Script) -> Result<u64, StoreError> {
        cost::most_sats(self.reader, self.gateway, self.settings, self.fee_rate, script)
    }

    fn add_fee(&self, preview: &mut Preview, script: &Script) -> Result<(), StoreError> {
        let Some(amount_sats) = preview.amount_sats else { return Ok(()) };
        let cost = cost::cost(
            self.reader,
            self.gateway,
            self.settings,
            self.fee_rate,
            (amount_sats, script),
        )?;
        preview.network_fee_sats = Some(cost.network_fee_sats);
        preview.balance_short = cost.balance_short;
        let sums = (amount_sats, cost.network_fee_sats);
        preview.takes_all_coins =
            cost::takes_all_coins(self.reader, self.gateway, self.settings, self.fee_rate, sums)?;
        if let (Some(rate), Some(fiat_minor)) = (preview.rate, preview.fiat_minor) {
            let worth = OfferWorth { amount_sats, fiat_minor };
            // A total too large for its type is left out; an offer would be refused with the
            // reason.
            preview.fiat_total_minor =
                worth.total_minor(cost.network_fee_sats, rate, preview.currency).ok();
        }
        Ok(())
    }
}

/// The script of the address, and the address's fault.
fn address(
    gateway: &Gateway,
    reader: &Reader<'_>,
    text: Option<&str>,
) -> Result<(Option<ScriptBuf>, Option<Telling>), StoreError> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok((None, None));
    };
    let mut wrong = FieldErrors(Vec::new());
    let Some(address) = request::payout_address(&mut wrong, text, gateway.network) else {
        return Ok((None, first(wrong)));
    };
    if gateway.is_ours(reader, &address.script)? {
        return Ok((None, told("address", &Fault::OwnAddress)));
    }
    Ok((Some(address.script), None))
}

/// The typed amount, and its fault.
fn amount(
    request: &PreviewRequest<'_>,
    currency: Currency,
    rate: Option<Rate>,
) -> (Option<Worth>, Option<Telling>) {
    let mut wrong = FieldErrors(Vec::new());
    let (field, amount) = match (&request.btc_amount, &request.fiat_amount) {
        (Some(text), _) => (BTC, request::btc_amount(&mut wrong, text)),
        (None, Some(text)) => (FIAT, request::fiat_amount(&mut wrong, text, Some(currency))),
        (None, None) => return (None, None),
    };
    let Some(amount) = amount else { return (None, first(wrong)) };
    let Some(rate) = rate else {
        // An amount in Bitcoin does not depend on the rate.
        return match amount {
            OfferAmount::Btc(amount_sats) => (Some(Worth { amount_sats, fiat_minor: None }), None),
            OfferAmount::Fiat(_) => (None, None),
        };
    };
    match OfferWorth::at_rate(amount, rate, currency) {
        Ok(worth) if worth.amount_sats == 0 => (None, told(field, &Fault::NoSatoshi)),
        Ok(OfferWorth { amount_sats, fiat_minor }) => {
            (Some(Worth { amount_sats, fiat_minor: Some(fiat_minor) }), None)
        }
        Err(too_large) => (None, told(field, &too_large)),
    }
}

fn paid_before(
    reader: &Reader<'_>,
    script: &Script,
    amount_sats: Option<u64>,
) -> Result<Option<PayoutRow>, StoreError> {
    let states = vec![PayoutState::New, PayoutState::Queued, PayoutState::Sent];
    let of_any =
        PayoutFilter { states, script: Some(script.to_owned()), ..PayoutFilter::default() };
    let of_the_sum = amount_sats.map(|_| PayoutFilter { amount_sats, ..of_any.clone() });
    for filter in of_the_sum.iter().chain([&of_any]) {
        if let Some(before) = reader.payouts(filter, 1, 0)?.pop() {
            return Ok(Some(before));
        }
    }
    Ok(None)
}

/// The newest OPEN anomaly of exactly this sum.
pub fn open_anomaly_of(
    reader: &Reader<'_>,
    amount_sats: u64,
) -> Result<Option<AnomalyRow>, StoreError> {
    let (resolution, paid_sats) = (Some(Resolution::Open), Some(amount_sats));
    let filter = AnomalyFilter { resolution, paid_sats, ..AnomalyFilter::default() };
    Ok(reader.anomalies(&filter, 1, 0)?.pop())
}

fn first(wrong: FieldErrors) -> Option<Telling> {
    wrong.0.into_iter().next().map(|field_error| *field_error.telling)
}

fn told(field: &'static str, fault: &impl Told) -> Option<Telling> {
    Some(*FieldError::told(field, fault).telling)
}

#[cfg(test)]
mod tests {
    use tillgate_domain::money::format_btc;

    use super::*;
    use crate::testing::World;

    const RECIPIENT: &str = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";

    async fn with_coin(amount_sats: u64) -> World {
        let world = World::new().await;
        world.make_wallet().await;
        let payment = world.payment_to_wallet().await;
        world.customer_pays(&payment, amount_sats);
        world.mine(2).await;
        world
    }

    async fn previewed(
        world: &World,
        btc: Option<&str>,
        fiat: Option<&str>,
        address: &str,
    ) -> Preview {
        let text = |text: &str| Cow::Owned(text.to_owned());
        let request = PreviewRequest {
            btc_amount: btc.map(text),
            fiat_amount: fiat.map(text),
            currency: text("USD"),
            address: Some(text(address)),
            is_refund: false,
        };
        preview(&world.gateway, request).await.unwrap().unwrap()
    }

    #[tokio::test]
    async fn the_maximum_is_payable_and_a_larger_amount_is_short() {
        let world = with_coin(1_000_000).await;
        let empty = previewed(&world, None, None, "").await;
        assert_eq!(
            (empty.amount_sats, empty.amount_problem, empty.address_problem),
            (None, None, None)
        );
        assert!((999_000..1_000_000).contains(&empty.most_sats), "{}", empty.most_sats);
        let all = previewed(&world, Some(&format_btc(empty.most_sats)), None, RECIPIENT).await;
        assert!(!all.balance_short && all.takes_all_coins && all.amount_problem.is_none());
        assert!(!previewed(&world, Some("0.001"), None, RECIPIENT).await.takes_all_coins);
        assert!(previewed(&world, Some("0.01"), None, RECIPIENT).await.balance_short);
        world.approved_payout(900_000).await;
        let rest = previewed(&world, None, None, RECIPIENT).await.most_sats;
        assert!(rest < 100_000, "coins of waiting payouts are not available: {rest}");
        world.approved_payout(95_000).await;
        assert_eq!(
            previewed(&world, None, None, RECIPIENT).await.most_sats,
            0,
            "a maximum below the minimum is 0"
        );
    }

    #[tokio::test]
    async fn faults_are_reported_beside_the_known_values() {
        let world = with_coin(1_000_000).await;
        for (btc, fiat, code, field) in [
            (Some("0.000000001"), None, "AMOUNT_TOO_MANY_DECIMALS", Some("btcAmount")),
            (Some("x"), None, "AMOUNT_NOT_A_NUMBER", Some("btcAmount")),
            (Some("0.00001"), None, "LIMIT_REFUSAL_BELOW_MINIMUM", None),
            (Some("2"), None, "LIMIT_REFUSAL_ABOVE_DAILY_LIMIT", None),
            (None, Some("1.234"), "AMOUNT_TOO_MANY_DECIMALS", Some("fiatAmount")),
        ] {
            let told = previewed(&world, btc, fiat, RECIPIENT).await.amount_problem.unwrap();
            assert_eq!((told.code.as_str(), told.field.as_deref()), (code, field), "{told}");
        }
        let typing =
            previewed(&world, None, Some("50"), "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt081")
                .await;
        assert_eq!(typing.address_problem.unwrap().code, "ADDRESS_REFUSAL_CHECKSUM");
        assert!(
            typing.amount_sats.is_some()
                && typing.network_fee_sats.is_some()
                && typing.fiat_total_minor.is_some()
        );
        let own = world.payment_to_wallet().await.address;
        assert_eq!(
            previewed(&world, None, None, &own).await.address_problem.unwrap().code,
            "FAULT_OWN_ADDRESS"
        );
        let unknown = PreviewRequest { currency: "XXX".into(), ..PreviewRequest::default() };
        assert!(preview(&world.gateway, unknown).await.unwrap().is_err());
    }

    #[tokio::test]
    async fn an_earlier_payout_to_the_same_address_is_pointed_out() {
        let world = with_coin(1_000_000).await;
        let id = world.approved_payout(100_000).await;
        let address =
            world.gateway.store.read(|reader| reader.payout(&id)).unwrap().unwrap().address;
        let before = previewed(&world, None, None, &address).await.paid_before.unwrap();
        assert_eq!((before.id, before.amount_sats), (id, 100_000));
        assert!(previewed(&world, None, None, RECIPIENT).await.paid_before.is_none());
    }
}
