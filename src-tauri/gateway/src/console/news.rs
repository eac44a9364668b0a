//! The last events, for the bell of the panel and the notifications of the desktop.

use serde::{Deserialize, Serialize};
use tillgate_domain::anomaly::{AnomalyKind, Resolution};
use tillgate_domain::id::Id;
use tillgate_domain::payment::PaymentState;
use tillgate_domain::payout::PayoutState;
use tillgate_domain::plain::plain;
use ts_rs::TS;

use super::ask::{Ask, Asker};
use super::btc::BtcView;
use super::error::CommandError;
use super::sums::FiatView;
use crate::store::news::{NewsKind, NewsRow, NewsSubject};
use crate::store::payments::PaymentRow;
use crate::store::{Reader, StoreError};

/// The number of events that are listed.
const LISTED: u32 = 50;

/// Lists the last 50 events, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct ListNews {}

/// The last events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct News {
    /// The events, the newest first.
    pub items: Vec<NewsItem>,
    /// The kinds that the desktop notifies of: the setting `notices`.
    pub notices: Vec<NewsKind>,
    /// The kinds with a sound: the setting `noticeSounds`.
    pub sounds: Vec<NewsKind>,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct NewsItem {
    /// Distinguishes the event from all others.
    pub id: String,
    /// The switch in the settings that turns its notice off.
    pub kind: NewsKind,
    /// The time of the event, ISO 8601 with milliseconds.
    pub time: String,
    /// The event in a few words.
    pub title: String,
    /// A sentence on what it concerns.
    pub body: String,
    /// The payment that it concerns.
    pub payment_id: Option<String>,
    /// The payout that it concerns.
    pub payout_id: Option<String>,
}

impl Ask for ListNews {
    type Answer = News;

    async fn answer(self, by: &Asker<'_>) -> Result<News, CommandError> {
        by.read(move |gateway, reader| {
            let settings = gateway.settings.snapshot();
            let rows = reader.news(LISTED)?;
            let items = rows.iter().filter_map(|row| NewsItem::of(reader, row).transpose());
            let items = items.collect::<Result<_, StoreError>>()?;
            Ok(News { items, notices: settings.notices.clone(), sounds: settings.notice_sounds.clone() })
        })
        .await
    }
}

impl NewsItem {
    /// The view of an event; `None` if its record is gone.
    fn of(reader: &Reader<'_>, row: &NewsRow) -> Result<Option<Self>, StoreError> {
        Ok(match &row.subject {
            NewsSubject::Paid(seq) => reader.payment_by_seq(*seq)?.map(|payment| {
                let body = arrival(payment.payment.state, &order_of(&payment));
                let title = if payment.payment.state == PaymentState::Unconfirmed {
                    format!("{} sent, not confirmed yet", price_of(&payment))
                } else {
                    format!("{} received", price_of(&payment))
                };
                Self::of_payment(row, NewsKind::Paid, title, body, &payment)
            }),
            NewsSubject::Withdrawn(seq) => reader.payment_by_seq(*seq)?.map(|payment| {
                let title = format!("{} withdrawn by the customer", price_of(&payment));
                let body = format!("The coins for {} were withdrawn before a block held them.", order_of(&payment));
                Self::of_payment(row, NewsKind::Reversed, title, body, &payment)
            }),
            NewsSubject::Reversed(seq) => reader.payment_by_seq(*seq)?.map(|payment| {
                let body = format!("The Bitcoin network took back the coins for {}.", order_of(&payment));
                let title = format!("A payment of {} was reversed", price_of(&payment));
                Self::of_payment(row, NewsKind::Reversed, title, body, &payment)
            }),
            NewsSubject::Anomaly(id) => {
                let Some(anomaly) = reader.anomaly(id)? else { return Ok(None) };
                reader.payment_by_seq(anomaly.payment_seq)?.map(|payment| {
                    let worth = FiatView::of(anomaly.worth_minor(), anomaly.currency);
                    let title = if anomaly.anomaly.resolution == Resolution::Open {
                        format!("{worth} needs a decision")
                    } else {
                        format!("{worth} needed a decision")
                    };
                    let body = about(anomaly.anomaly.kind, &order_of(&payment));
                    Self::of_payment(row, NewsKind::Attention, title, body, &payment)
                })
            }
            NewsSubject::Answered(id) => {
                let Some(anomaly) = reader.anomaly(id)? else { return Ok(None) };
                reader.payment_by_seq(anomaly.payment_seq)?.map(|payment| {
                    let title = format!("An address for the refund of {}", price_of(&payment));
                    let order = order_of(&payment);
                    let body = if anomaly.anomaly.resolution == Resolution::Open {
                        format!("The customer gave it for {order}. Open Tillgate to send the refund.")
                    } else {
                        format!("The customer gave it for {order}.")
                    };
                    Self::of_payment(row, NewsKind::Attention, title, body, &payment)
                })
            }
            NewsSubject::Failed(id) => reader.payout(id)?.map(|payout| {
                let worth = FiatView::of(payout.fiat_minor, payout.currency);
                let title = format!("A payout of {worth} failed");
                let body = format!("Nothing more is sent to {}. Open Tillgate to see why.", payout.address);
                Self::of_one_payout(row, format!("failed:{id}"), title, body, id)
            }),
            NewsSubject::Requested(id) => Self::of_payout(reader, row, id, false)?,
            NewsSubject::Approved(id) => Self::of_payout(reader, row, id, true)?,
            NewsSubject::Server { name, notifications } => {
                let host = name.split_once("://").map_or(name.as_str(), |(_, host)| host);
                let body = match notifications {
                    1 => "1 notification waits. Tillgate tries again by itself.".to_owned(),
                    many => format!("{many} notifications wait. Tillgate tries again by itself."),
                };
                Some(Self {
                    id: format!("shop:{name}"),
                    kind: NewsKind::Shop,
                    time: row.at.iso_millis(),
                    title: format!("{host} takes no notifications"),
                    body,
                    payment_id: None,
                    payout_id: None,
                })
            }
        })
    }

    fn of_payment(row: &NewsRow, kind: NewsKind, title: String, body: String, payment: &PaymentRow) -> Self {
        let payment_id = payment.payment.id.to_string();
        Self {
            id: format!("{kind}:{payment_id}:{}", row.at.ms()),
            kind,
            time: row.at.iso_millis(),
            title,
            body,
            payment_id: Some(payment_id),
            payout_id: None,
        }
    }

    fn of_payout(reader: &Reader<'_>, row: &NewsRow, id: &Id, is_approved: bool) -> Result<Option<Self>, StoreError> {
        let Some(payout) = reader.payout(id)? else { return Ok(None) };
        let amount = BtcView::of_sats(payout.amount_sats).shown;
        let worth = FiatView::of(payout.fiat_minor, payout.currency);
        let address = payout.address;
        let (title, body) = if is_approved {
            let key = payout.approved_by.as_deref().unwrap_or_default();
            let body = format!(
                "{key} approved a payout of {worth} to {address}. If that was wrong, open Tillgate and cancel the payout."
            );
            (format!("{amount} BTC were approved by an API key"), body)
        } else {
            let body = if payout.state == PayoutState::New {
                format!("It is {worth} to {address}. Open Tillgate to approve or reject it.")
            } else {
                format!("It is {worth} to {address}.")
            };
            (format!("{} asks for a payout of {amount} BTC", payout.requested_by), body)
        };
        let name = format!("{}:{id}", if is_approved { "approved" } else { "requested" });
        Ok(Some(Self::of_one_payout(row, name, title, body, id)))
    }

    fn of_one_payout(row: &NewsRow, name: String, title: String, body: String, payout: &Id) -> Self {
        Self {
            id: name,
            kind: NewsKind::Payout,
            time: row.at.iso_millis(),
            title,
            body,
            payment_id: None,
            payout_id: Some(payout.to_string()),
        }
    }
}

fn price_of(payment: &PaymentRow) -> String {
    FiatView::of(payment.payment.price_minor, payment.payment.currency).to_string()
}

/// A sentence on coins that came for an order, true at the time of reading.
fn arrival(state: PaymentState, order: &str) -> String {
    match state {
        PaymentState::Confirmed => format!("{} is paid.", sentence(order)),
        PaymentState::Unconfirmed => format!("The coins for {order} have come, and wait for confirmations."),
        PaymentState::New | PaymentState::Underpaid | PaymentState::Expired => {
            format!("{} is not paid any more.", sentence(order))
        }
        PaymentState::Invalid => format!("The coins for {order} have come, but the payment is invalid."),
    }
}

/// Characters of a reference within a sentence.
const REFERENCE_MAX: usize = 60;

/// A payment's name within a sentence: the shop's own reference, or the price. A customer or a shop wrote the reference,
/// and it must not speak for Tillgate.
fn order_of(payment: &PaymentRow) -> String {
    let reference = &payment.merchant_transaction_id;
    if reference.is_empty() {
        format!("the payment of {}", price_of(payment))
    } else {
        let mut shown: String = plain(reference).replace('”', "\"").chars().take(REFERENCE_MAX).collect();
        if reference.chars().count() > REFERENCE_MAX {
            shown.push('…');
        }
        format!("order “{shown}”")
    }
}

/// A text with a capital first letter.
fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

fn about(kind: AnomalyKind, order: &str) -> String {
    match kind {
        AnomalyKind::LatePayment => format!("Coins for {order} came after the payment had closed."),
        AnomalyKind::ExtraPayment => format!("More coins came for {order}, which was paid already."),
        AnomalyKind::Overpayment => format!("The customer paid too much for {order}."),
        AnomalyKind::Underpayment => format!("Too little came for {order} before the payment closed."),
        AnomalyKind::ReversedPayment => format!("The Bitcoin network took back the coins for {order}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::{Actor, ask};
    use crate::testing::{HALF_AN_HOUR_MS, World};

    #[tokio::test]
    async fn events_are_told_in_sentences() {
        let world = World::new().await;
        let (late, paid) = (world.payment().await, world.payment().await);
        world.pay(&paid, paid.payment.amount_sats).await;
        world.pass_ms(3 * HALF_AN_HOUR_MS).await;
        world.pay(&late, late.payment.amount_sats).await;
        world.mine(2).await;
        let news = ask(&world.app, ListNews {}, &Actor::panel()).await.unwrap();
        let told: Vec<_> = news.items.iter().map(|one| (one.kind, one.title.as_str(), one.body.as_str())).collect();
        let late_body = "Coins for order “order-1” came after the payment had closed.";
        let expected = [
            (NewsKind::Attention, "10.00 USD needs a decision", late_body),
            (NewsKind::Paid, "10.00 USD received", "Order “order-1” is paid."),
        ];
        assert_eq!(told, expected);
        assert_eq!(news.items[0].payment_id, Some(late.payment.id.to_string()));
        assert_eq!((news.notices.len(), news.sounds.len()), (5, 5));
    }

    #[tokio::test]
    async fn a_payment_is_called_paid_once_it_is_confirmed() {
        let world = World::new().await;
        let payment = world.payment().await;
        let body = async || ask(&world.app, ListNews {}, &Actor::panel()).await.unwrap().items[0].body.clone();
        world.pay(&payment, payment.payment.amount_sats).await;
        assert_eq!(body().await, "The coins for order “order-1” have come, and wait for confirmations.");
        world.mine(1).await;
        assert_eq!(body().await, "Order “order-1” is paid.");
        assert_eq!(arrival(PaymentState::New, "order “x”"), "Order “x” is not paid any more.");
    }

    #[tokio::test]
    async fn a_reference_cannot_speak_for_tillgate() {
        let world = World::new().await;
        let mut payment = world.payment().await;
        payment.merchant_transaction_id = format!("1” is paid.\n\u{202e}{}", "x".repeat(200));
        let order = order_of(&payment);
        assert!(order.starts_with("order “1\" is paid.\\n\\u{202e}xxx"), "{order}");
        assert!(order.ends_with("x…”") && order.chars().count() < 75, "{order}");
    }
}
