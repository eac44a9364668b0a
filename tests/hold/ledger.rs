//! Records the requests to the gateway and its acknowledgements, which are promises that a restart
//! must keep.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, Request};

use crate::harness::client::{Client, payment_request, text};

/// A request for a payment.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Its `Idempotency-Key`.
    pub key: Option<String>,
    /// The bytes of its body.
    pub body: Vec<u8>,
    /// The body of the first response with 200, if there was one.
    pub answer: Option<Bytes>,
}

impl Asked {
    /// The HTTP request, for the first attempt or a repetition.
    pub fn request(&self, client: &Client) -> Request<Body> {
        let mut request = client
            .request(Method::POST, "/v2/payments/new")
            .header(CONTENT_TYPE, "application/json");
        if let Some(key) = &self.key {
            request = request.header("idempotency-key", key);
        }
        request.body(Body::from(self.body.clone())).unwrap()
    }
}

/// All requests and acknowledgements so far.
#[derive(Debug, Default)]
pub struct Promises {
    /// Requests by `merchantTransactionId`, which is unique.
    pub asked: BTreeMap<String, Asked>,
    /// Ids of payments that were acknowledged, in the order of their answers.
    pub payments: Vec<String>,
    /// Transactions that the sandbox acknowledged.
    pub txids: Vec<String>,
    /// Responses that must not happen.
    pub complaints: BTreeSet<String>,
    /// Sum of the clock jumps so far.
    pub advanced_seconds: u64,
}

/// The promises, shared by all clients.
#[derive(Clone, Default)]
pub struct Ledger(Arc<Mutex<Promises>>);

impl Ledger {
    pub fn lock(&self) -> MutexGuard<'_, Promises> {
        self.0.lock().unwrap()
    }

    /// Records a request before it is sent; returns its `merchantTransactionId` and the request.
    pub fn ask(&self, price: &str, shop_url: &str, keyed: bool) -> (String, Asked) {
        let mut promises = self.lock();
        let reference = format!("order-{:05}", promises.asked.len());
        let mut body = payment_request(price, shop_url);
        body["merchantTransactionId"] = reference.clone().into();
        let asked = Asked {
            key: keyed.then(|| format!("key-of-{reference}")),
            body: serde_json::to_vec(&body).unwrap(),
            answer: None,
        };
        promises.asked.insert(reference.clone(), asked.clone());
        (reference, asked)
    }

    /// Records a response with 200; a repeated response must equal the first.
    pub fn answered(&self, reference: &str, body: &Bytes) {
        let payment: serde_json::Value = serde_json::from_slice(body).unwrap();
        let mut promises = self.lock();
        let asked = promises.asked.get_mut(reference).unwrap();
        match &asked.answer {
            Some(first) if first == body => {}
            Some(_) => drop(
                promises.complaints.insert(format!("{reference}: another answer for the same key")),
            ),
            None => {
                asked.answer = Some(body.clone());
                promises.payments.push(text(&payment["paymentId"]));
            }
        }
    }

    pub fn complain(&self, complaint: String) {
        self.lock().complaints.insert(complaint);
    }
}
