//! Limits the long reads that run at once, in total and for each API key. The watcher, the notifier
//! and the panel thus can always read.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tillgate_store::StoreError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Reads that may take long. Each kind has permits of its own, so that a key's lists do not block
/// its records. The database allows 48 reads at once (`store/readers.rs`). Short reads over HTTP
/// need no permit: at most 4 threads serve connections, and each runs one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Long {
    /// A part of a list.
    List,
    Record,
    CoinChoice,
}

impl Long {
    /// Limits of simultaneous reads of this kind: in total, and for one API key.
    const fn bounds(self) -> (usize, usize) {
        match self {
            Self::List => (24, 8),
            Self::Record => (8, 4),
            Self::CoinChoice => (4, 2),
        }
    }
}

/// Time that a read waits for its permit: the same as the database's wait for a connection.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// The payment pages need no sign-in. Together they share the permits of one API key under this
/// number.
pub const PAGES: i64 = i64::MIN;

/// The permits that are left.
pub struct ReadPermits {
    lists: Permits,
    records: Permits,
    coin_choices: Permits,
}

/// The permits of one kind of read.
struct Permits {
    of_key_max: usize,
    all: Arc<Semaphore>,
    keys: Mutex<HashMap<i64, Arc<Semaphore>>>,
}

/// The permit for one read. The read owns it, because the read continues even if its client has
/// gone.
pub struct ReadPermit {
    _of_key: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Default for ReadPermits {
    fn default() -> Self {
        Self {
            lists: Permits::for_kind(Long::List),
            records: Permits::for_kind(Long::Record),
            coin_choices: Permits::for_kind(Long::CoinChoice),
        }
    }
}

impl Permits {
    fn for_kind(kind: Long) -> Self {
        let (max, of_key_max) = kind.bounds();
        Self { of_key_max, all: Arc::new(Semaphore::new(max)), keys: Mutex::default() }
    }
}

impl ReadPermits {
    /// Takes a permit for a read of an API key, or of the [`PAGES`].
    ///
    /// # Errors
    /// [`StoreError::TooManyReads`] if none came free in time.
    pub async fn take(&self, kind: Long, key_id: i64) -> Result<ReadPermit, StoreError> {
        let permits = match kind {
            Long::List => &self.lists,
            Long::Record => &self.records,
            Long::CoinChoice => &self.coin_choices,
        };
        let of_key = {
            let mut keys = permits.keys.lock();
            Arc::clone(
                keys.entry(key_id).or_insert_with(|| Arc::new(Semaphore::new(permits.of_key_max))),
            )
        };
        let both = async {
            // The key's permit is taken first, so that a key at its limit holds no shared permit.
            let of_key = of_key.acquire_owned().await.ok()?;
            let of_all = Arc::clone(&permits.all).acquire_owned().await.ok()?;
            Some(ReadPermit { _of_key: of_key, _of_all: of_all })
        };
        timeout(WAIT_MAX, both).await.ok().flatten().ok_or(StoreError::TooManyReads)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use axum::body::Body;
    use axum::extract::{Request, State};
    use axum::response::IntoResponse as _;
    use tillgate_store::api_keys::ApiKey;
    use tillgate_store::notify_hosts::NotifyHosts;
    use tillgate_store::payments::PaymentRow;

    use super::*;
    use crate::auth::Caller;
    use crate::body::Unused;
    use crate::path::RecordId;
    use crate::query::NoQuery;
    use crate::{Http, Limits, anomalies, payments, payouts};
    use tillgate_gateway::access::api_keys::KeyRequest;
    use tillgate_gateway::payments::FEW_TRANSACTIONS;
    use tillgate_gateway::testing::{SHOP, World};

    #[tokio::test]
    async fn a_key_has_a_third_of_list_permits_and_its_own_for_records() {
        let permits = ReadPermits::default();
        let mut held = Vec::new();
        for _ in 0..8 {
            held.push(permits.take(Long::List, 1).await.unwrap());
        }
        let mut context = Context::from_waker(Waker::noop());
        let mut ninth = pin!(permits.take(Long::List, 1));
        assert!(ninth.as_mut().poll(&mut context).is_pending());
        let record = permits.take(Long::Record, 1).await.unwrap();
        for key_id in [2, 3] {
            for _ in 0..8 {
                held.push(permits.take(Long::List, key_id).await.unwrap());
            }
        }
        let mut one_more = pin!(permits.take(Long::List, 9));
        assert!(one_more.as_mut().poll(&mut context).is_pending());
        held.pop();
        assert!(matches!(one_more.poll(&mut context), Poll::Ready(Ok(_))));
        held.clear();
        assert!(matches!(ninth.poll(&mut context), Poll::Ready(Ok(_))));
        drop(record);
    }

    #[tokio::test]
    async fn long_reads_need_a_permit_and_short_records_need_none() {
        let world = World::new().await;
        let http = Http::new(Arc::clone(&world.app), Limits::with_descriptors(1_024));
        let key = make_api_key(&world).await;
        let [paid_in_few, paid] = [world.payment().await, world.payment().await];
        for (payment, parts) in [(&paid_in_few, FEW_TRANSACTIONS), (&paid, FEW_TRANSACTIONS + 1)] {
            for _ in 0..parts {
                world.pay(payment, 1_000).await;
            }
        }
        let get = |payment: &PaymentRow| {
            payments::get(
                State(Arc::clone(&http)),
                Caller(Arc::clone(&key)),
                NoQuery,
                Ok(RecordId(payment.payment.id)),
            )
        };
        let mut held = Vec::new();
        for _ in 0..4 {
            held.push(http.read_permits.take(Long::Record, key.key_id).await.unwrap());
        }
        assert_eq!(get(&paid_in_few).await.unwrap().status(), 200);
        let id = Ok(RecordId(paid.payment.id));
        let mut context = Context::from_waker(Waker::noop());
        let mut record = pin!(get(&paid));
        assert!(record.as_mut().poll(&mut context).is_pending());
        let mut resend = pin!(anomalies::notify(
            State(Arc::clone(&http)),
            Caller(Arc::clone(&key)),
            NoQuery,
            id,
            Ok(Unused)
        ));
        assert!(resend.as_mut().poll(&mut context).is_pending());
        drop(held);
        assert_eq!(record.await.unwrap().status(), 200);
        assert_eq!(resend.await.unwrap().status(), 200);
    }

    #[tokio::test]
    async fn further_coin_choices_of_a_busy_key_are_refused() {
        let world = World::new().await;
        world.make_wallet().await;
        let http = Http::new(Arc::clone(&world.app), Limits::with_descriptors(1_024));
        let key = make_api_key_of(&world, "full").await;
        let estimate = async || {
            let uri =
                "/v2/estimate-payout/btc-to-fiat?btcAmount=0.001&currency=USD".parse().unwrap();
            payouts::btc_to_fiat(State(Arc::clone(&http)), Caller(Arc::clone(&key)), uri)
                .await
                .into_response()
                .status()
        };
        let offer = async || {
            let address = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";
            let body = format!(
                r#"{{"btcAmount":"0.001","currency":"USD","address":"{address}","notificationUrl":"{SHOP}"}}"#
            );
            let request = Request::post("/v2/payouts").header("content-type", "application/json");
            let request = request.body(Body::from(body)).unwrap();
            payouts::create(State(Arc::clone(&http)), Caller(Arc::clone(&key)), request)
                .await
                .into_response()
                .status()
        };
        let held = [
            http.read_permits.take(Long::CoinChoice, key.key_id).await.unwrap(),
            http.read_permits.take(Long::CoinChoice, key.key_id).await.unwrap(),
        ];
        let (estimated, offered) = tokio::join!(estimate(), offer());
        assert_eq!((estimated.as_u16(), offered.as_u16()), (503, 503));
        drop(held);
        assert_eq!((estimate().await.as_u16(), offer().await.as_u16()), (200, 200));
    }

    async fn make_api_key(world: &World) -> Arc<ApiKey> {
        make_api_key_of(world, "shop").await
    }

    async fn make_api_key_of(world: &World, permissions: &str) -> Arc<ApiKey> {
        let gateway = &world.gateway;
        let request = KeyRequest {
            name: "shop".to_owned(),
            permissions: permissions.parse().unwrap(),
            notification_url_optional: false,
            own_only: false,
            notify_hosts: NotifyHosts::default(),
        };
        gateway
            .access
            .keys
            .create(request, &*gateway.machine.entropy, gateway.time.now(), "cli")
            .await
            .unwrap()
            .0
    }
}
