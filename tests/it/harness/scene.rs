//! A gateway, a shop that it notifies, and the payments between them.

use std::ops::Deref;

use serde_json::Value;

use super::client::{Client, text};
use super::sandbox::sats;
use super::{Shop, Tillgate};

/// The gateway and the shop of one scenario; it derefs to the gateway's client.
pub struct Scene {
    pub gateway: Tillgate,
    pub shop: Shop,
}

/// A requested payment.
pub struct Bill {
    pub id: String,
    pub address: String,
    pub amount_sats: u64,
}

impl Deref for Scene {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.gateway.client
    }
}

impl Scene {
    /// A fresh gateway with default settings.
    pub async fn open() -> Self {
        Self::open_with(&[]).await
    }

    /// A fresh gateway with these settings.
    pub async fn open_with(settings: &[(&str, &str)]) -> Self {
        Self { gateway: Tillgate::start_with(settings).await, shop: Shop::open().await }
    }

    /// The shop requests a payment with a price in dollars.
    pub async fn bill(&self, price: &str) -> Bill {
        let payment = self.new_payment(price, self.shop.url()).await;
        let amount_sats = u64::try_from(sats(&payment["amount"])).unwrap();
        Bill { id: text(&payment["paymentId"]), address: text(&payment["address"]), amount_sats }
    }

    /// A payment of 10 dollars that was paid and confirmed.
    pub async fn confirmed_bill(&self) -> Bill {
        let bill = self.bill("10.00").await;
        self.pay_with(&bill.id, serde_json::json!({ "confirmations": 1 })).await;
        self.expect(&bill, "CONFIRMED").await;
        bill
    }

    /// Moves the clock past the payment's deadline, which is 30 minutes after its creation.
    pub async fn pass_deadline(&self) {
        self.advance_clock(30 * 60 + 1).await;
    }

    /// The payment must be in this state now.
    pub async fn expect(&self, bill: &Bill, state: &str) -> Value {
        let payment = self.payment(&bill.id).await;
        assert_eq!(payment["status"], state, "{payment}");
        payment
    }

    /// The payment must have exactly these anomalies now, oldest first: type and resolution.
    pub async fn expect_anomalies(&self, bill: &Bill, wanted: &[(&str, &str)]) -> Vec<Value> {
        let anomalies = self.anomalies(&bill.id).await;
        let found: Vec<_> = anomalies
            .iter()
            .map(|anomaly| {
                (anomaly["anomalyType"].as_str().unwrap(), anomaly["resolution"].as_str().unwrap())
            })
            .collect();
        assert_eq!(found, wanted, "{anomalies:?}");
        anomalies
    }

    /// Waits until the shop was notified of exactly these states of the payment, in this order.
    pub async fn expect_notified(&self, bill: &Bill, states: &[&str]) {
        self.shop.expect_states(&bill.id, states).await;
    }

    /// Staff accepts the received coins.
    pub fn accept(&self, bill: &Bill) {
        self.gateway.program().json(&["payments", "accept", &bill.id]);
    }
}
