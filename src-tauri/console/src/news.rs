//! The last events, for the bell of the panel and the notifications of the desktop.

use serde::{Deserialize, Serialize};
use tillgate_domain::anomaly::{AnomalyKind, Resolution};
use tillgate_domain::id::Id;
use tillgate_domain::payment::PaymentState;
use tillgate_domain::payout::PayoutState;
use tillgate_store::news::{NewsKind, NewsRow, NewsSubject};
use tillgate_store::payments::PaymentRow;
use tillgate_store::payouts::PayoutRow;
use tillgate_store::{Reader, StoreError};
use ts_rs::TS;

use super::ask::{Ask, Asker};
use super::btc::BtcView;
use super::error::CommandError;
use super::sums::FiatView;

/// The number of events that are listed.
const LISTED: u32 = 50;

/// Lists the last 50 events, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ListNews {}

/// The last events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
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
#[serde(rename_all = "camelCase")]
pub struct NewsItem {
    /// Distinguishes the event from all others.
    pub id: String,
    /// The switch in the settings that turns its notice off.
    pub kind: NewsKind,
    /// The time of the event, ISO 8601 with milliseconds.
    pub time: String,
    /// What happened. The window words it in the person's language.
    pub event: NewsEvent,
    /// The payment that it concerns.
    pub payment_id: Option<String>,
    /// The payout that it concerns.
    pub payout_id: Option<String>,
}

/// The sort of an event, with its values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum NewsEvent {
    /// A payment was paid. Its state is that at the time of reading. `stop`: its coins are being
    /// taken back.
    Paid { order: NewsOrder, state: PaymentState, stop: bool },
    /// A transaction began to take the coins of a CONFIRMED payment back. `stop`: it still does.
    /// The state is that at the time of reading.
    Attacked { order: NewsOrder, state: PaymentState, stop: bool },
    /// The customer withdrew the coins before a block held them.
    Withdrawn { order: NewsOrder },
    /// The coins of a confirmed payment were taken back.
    Reversed { order: NewsOrder },
    /// Coins do not fit their payment. `came_in_time`: those of a late payment arrived in time and
    /// were seen too late. `open`: staff have not decided yet.
    Anomaly {
        order: NewsOrder,
        anomaly_type: AnomalyKind,
        came_in_time: bool,
        worth: FiatView,
        open: bool,
    },
    /// A customer gave an address for a refund. `open`: staff have not decided yet.
    Answered { order: NewsOrder, open: bool },
    /// An approved payout failed.
    Failed { worth: FiatView, address: String },
    /// An API key asked for a payout. `open`: it waits for an approval.
    Requested { by: String, amount: BtcView, worth: FiatView, address: String, open: bool },
    /// An API key approved a payout.
    Approved { by: String, amount: BtcView, worth: FiatView, address: String },
    /// A shop's server takes no notifications, and so many of them wait.
    Server {
        host: String,
        #[ts(type = "number")]
        notifications: u64,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct NewsOrder {
    pub price: FiatView,
    /// The shop's own reference; may be empty.
    pub reference: String,
    /// The number of the sale; absent unless the payment was made at the till.
    #[serde(default)]
    pub sale_number: Option<u32>,
}

impl NewsOrder {
    fn new(payment: &PaymentRow, sale_number: Option<u32>) -> Self {
        Self {
            sale_number,
            price: FiatView::from_minor(payment.payment.price_minor, payment.payment.currency),
            reference: payment.merchant_transaction_id.clone(),
        }
    }
}

impl NewsEvent {
    fn attacked(order: NewsOrder, payment: &PaymentRow) -> Self {
        Self::Attacked { order, state: payment.payment.state, stop: payment.payment.conflict_seen }
    }
}

impl Ask for ListNews {
    type Answer = News;

    async fn answer(self, by: &Asker<'_>) -> Result<News, CommandError> {
        by.read(move |gateway, reader| {
            let settings = gateway.settings.snapshot();
            let rows = reader.news(LISTED)?;
            let items = rows.iter().filter_map(|row| NewsItem::from_row(reader, row).transpose());
            let items = items.collect::<Result<_, StoreError>>()?;
            Ok(News {
                items,
                notices: settings.notices.clone(),
                sounds: settings.notice_sounds.clone(),
            })
        })
        .await
    }
}

impl NewsItem {
    /// The view of an event; `None` if its record is gone.
    fn from_row(reader: &Reader<'_>, row: &NewsRow) -> Result<Option<Self>, StoreError> {
        match &row.subject {
            NewsSubject::Paid(seq) => {
                Self::of_payment(reader, row, *seq, NewsKind::Paid, |order, payment| {
                    NewsEvent::Paid {
                        order,
                        state: payment.payment.state,
                        stop: payment.payment.conflict_seen,
                    }
                })
            }
            NewsSubject::Attacked(seq) => {
                Self::of_payment(reader, row, *seq, NewsKind::Reversed, NewsEvent::attacked)
            }
            NewsSubject::Withdrawn(seq) => {
                Self::of_payment(reader, row, *seq, NewsKind::Reversed, |order, _| {
                    NewsEvent::Withdrawn { order }
                })
            }
            NewsSubject::Reversed(seq) => {
                Self::of_payment(reader, row, *seq, NewsKind::Reversed, |order, _| {
                    NewsEvent::Reversed { order }
                })
            }
            NewsSubject::Anomaly(id) => {
                let Some(raised) = reader.anomaly(id)? else { return Ok(None) };
                Self::of_payment(
                    reader,
                    row,
                    raised.payment_seq,
                    NewsKind::Attention,
                    |order, _| NewsEvent::Anomaly {
                        order,
                        anomaly_type: raised.anomaly.kind,
                        came_in_time: raised.came_in_time,
                        worth: FiatView::from_minor(raised.worth_minor(), raised.currency),
                        open: raised.anomaly.resolution == Resolution::Open,
                    },
                )
            }
            NewsSubject::Answered(id) => {
                let Some(asked) = reader.anomaly(id)? else { return Ok(None) };
                let open = asked.anomaly.resolution == Resolution::Open;
                Self::of_payment(reader, row, asked.payment_seq, NewsKind::Attention, |order, _| {
                    NewsEvent::Answered { order, open }
                })
            }
            NewsSubject::Failed(id) => Self::of_payout(reader, row, "failed", id, |payout| {
                NewsEvent::Failed { worth: worth_of(payout), address: payout.address.clone() }
            }),
            NewsSubject::Requested(id) => {
                Self::of_payout(reader, row, "requested", id, |payout| NewsEvent::Requested {
                    by: payout.requested_by.clone(),
                    amount: BtcView::from_sats(payout.amount_sats),
                    worth: worth_of(payout),
                    address: payout.address.clone(),
                    open: payout.state == PayoutState::New,
                })
            }
            NewsSubject::Approved(id) => {
                Self::of_payout(reader, row, "approved", id, |payout| NewsEvent::Approved {
                    by: payout.approved_by.clone().unwrap_or_default(),
                    amount: BtcView::from_sats(payout.amount_sats),
                    worth: worth_of(payout),
                    address: payout.address.clone(),
                })
            }
            NewsSubject::Server { name, notifications } => {
                let host = name.split_once("://").map_or(name.as_str(), |(_, host)| host);
                let event =
                    NewsEvent::Server { host: host.to_owned(), notifications: *notifications };
                Ok(Some(Self::made(row, format!("shop:{name}"), NewsKind::Shop, event)))
            }
        }
    }

    fn made(row: &NewsRow, id: String, kind: NewsKind, event: NewsEvent) -> Self {
        Self { id, kind, time: row.at.iso_millis(), event, payment_id: None, payout_id: None }
    }

    fn of_payment(
        reader: &Reader<'_>,
        row: &NewsRow,
        seq: i64,
        kind: NewsKind,
        event: impl FnOnce(NewsOrder, &PaymentRow) -> NewsEvent,
    ) -> Result<Option<Self>, StoreError> {
        let Some(payment) = reader.payment_by_seq(seq)? else { return Ok(None) };
        let payment_id = payment.payment.id.to_string();
        let id = format!("{kind}:{payment_id}:{}", row.at.ms());
        let order = NewsOrder::new(&payment, reader.sale_number(seq)?);
        let event = event(order, &payment);
        Ok(Some(Self { payment_id: Some(payment_id), ..Self::made(row, id, kind, event) }))
    }

    fn of_payout(
        reader: &Reader<'_>,
        row: &NewsRow,
        name: &str,
        id: &Id,
        event: impl FnOnce(&PayoutRow) -> NewsEvent,
    ) -> Result<Option<Self>, StoreError> {
        let Some(payout) = reader.payout(id)? else { return Ok(None) };
        let made = Self::made(row, format!("{name}:{id}"), NewsKind::Payout, event(&payout));
        Ok(Some(Self { payout_id: Some(id.to_string()), ..made }))
    }
}

fn worth_of(payout: &PayoutRow) -> FiatView {
    FiatView::from_minor(payout.fiat_minor, payout.currency)
}

#[cfg(test)]
mod tests {
    use tillgate_domain::policy::{PolicySettings, PriceBound};
    use tillgate_sandbox::{Replace, ReplaceTo};

    use super::*;
    use crate::{Actor, ask};
    use tillgate_gateway::testing::{HALF_AN_HOUR_MS, World};

    #[tokio::test]
    async fn an_event_names_its_order_and_its_values() {
        let world = World::new().await;
        let (late, paid) = (world.payment().await, world.payment().await);
        world.pay(&paid, paid.payment.amount_sats).await;
        world.pass_ms(3 * HALF_AN_HOUR_MS).await;
        world.pay(&late, late.payment.amount_sats).await;
        world.mine(2).await;
        let news = ask(&world.app, ListNews {}, &Actor::panel()).await.unwrap();
        let told: Vec<_> = news.items.iter().map(|one| (one.kind, one.event.clone())).collect();
        let order = NewsOrder::new(&late, None);
        assert_eq!(
            (order.price.to_string().as_str(), order.reference.as_str()),
            ("10.00 USD", "order-1")
        );
        let anomaly = NewsEvent::Anomaly {
            order: order.clone(),
            anomaly_type: AnomalyKind::LatePayment,
            came_in_time: false,
            worth: order.price.clone(),
            open: true,
        };
        let paid = NewsEvent::Paid { order, state: PaymentState::Confirmed, stop: false };
        assert_eq!(told, [(NewsKind::Attention, anomaly), (NewsKind::Paid, paid)]);
        assert_eq!(news.items[0].payment_id, Some(late.payment.id.to_string()));
        assert_eq!((news.notices.len(), news.sounds.len()), (5, 5));
    }

    #[tokio::test]
    async fn an_attack_is_told_until_it_is_over() {
        let world = World::new().await;
        let up_to_50 =
            PolicySettings { zero_conf_up_to: PriceBound::usd(50), ..PolicySettings::default() };
        let payment = world.payment_under(up_to_50).await;
        let txid = world.pay(&payment, payment.payment.amount_sats).await;
        world.pass_ms(60_000).await;
        let told = async || {
            let news = ask(&world.app, ListNews {}, &Actor::panel()).await.unwrap().items;
            news.into_iter().map(|one| (one.kind, one.event)).collect::<Vec<_>>()
        };
        let order = NewsOrder::new(&payment, None);
        let attacked = |stop, state| NewsEvent::Attacked { order: order.clone(), state, stop };
        let paid =
            |stop| NewsEvent::Paid { order: order.clone(), state: PaymentState::Confirmed, stop };
        let to_customer = Replace { fee_rate_sat_vb: None, to: ReplaceTo::Customer };
        let rival = world.sandbox().replace(txid, to_customer, world.now_ms()).unwrap();
        world.look().await;
        let stop = attacked(true, PaymentState::Confirmed);
        assert_eq!(told().await, [(NewsKind::Reversed, stop), (NewsKind::Paid, paid(true))]);
        world.sandbox().evict(rival[0], world.now_ms()).unwrap();
        world.look().await;
        let over = attacked(false, PaymentState::Confirmed);
        assert_eq!(told().await, [(NewsKind::Reversed, over), (NewsKind::Paid, paid(false))]);
    }

    #[tokio::test]
    async fn a_payment_is_called_paid_once_it_is_confirmed() {
        let world = World::new().await;
        let payment = world.payment().await;
        let state = async || {
            let news = ask(&world.app, ListNews {}, &Actor::panel()).await.unwrap();
            let NewsEvent::Paid { state, .. } = news.items[0].event else { panic!("not paid") };
            state
        };
        world.pay(&payment, payment.payment.amount_sats).await;
        assert_eq!(state().await, PaymentState::Unconfirmed);
        world.mine(1).await;
        assert_eq!(state().await, PaymentState::Confirmed);
    }
}
