//! Requests whose client disconnects before the answer.

use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Waker};

use tillgate_machine::secrets::Purpose;
use tillgate_store::StoreError;
use tillgate_store::notify_hosts::NotifyHosts;
use tillgate_store::payment_lists::PaymentFilter;
use tokio::sync::oneshot;

use super::create::{self, Author, CreateError};
use super::request::PaymentRequest;
use crate::access::api_keys::KeyRequest;
use crate::access::key_limits::KeyLimit;
use crate::access::record_scope::RecordScope;
use crate::gateway::Gateway;
use crate::notifications::resend;
use crate::settings::Act;
use crate::setup::{RestoreRequest, restore};
use crate::testing::{SHOP, World};
use crate::wallet::NotReady;

fn payment_request() -> PaymentRequest<'static> {
    PaymentRequest {
        amount: Some("10.00".into()),
        currency: Some("USD".into()),
        notification_url: Some(SHOP.into()),
        message: Some("".into()),
        merchant_transaction_id: Some("".into()),
        ..PaymentRequest::default()
    }
}

/// Polls `request` once during another write, so that its write is queued. Then drops it, as for a
/// client that hung up, and waits until all queued writes are committed.
async fn hang_up(gateway: &Gateway, request: impl Future) {
    let (begun, has_begun) = oneshot::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let store = gateway.store.clone();
    let other = tokio::spawn(async move {
        let hold = move |_: &tillgate_store::Tx<'_>| {
            begun.send(()).unwrap();
            may_go_on.recv().unwrap();
            Ok::<_, StoreError>(())
        };
        store.write(hold).await.unwrap();
    });
    has_begun.await.unwrap();
    {
        let request = pin!(request);
        assert!(request.poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    go_on.send(()).unwrap();
    other.await.unwrap();
    gateway.store.write(|_| Ok::<_, StoreError>(())).await.unwrap();
}

/// Whether the notifier was woken since the last call.
fn is_notifier_woken(gateway: &Gateway) -> bool {
    pin!(gateway.signals.notifier.notified())
        .poll(&mut Context::from_waker(Waker::noop()))
        .is_ready()
}

/// The panel as the author of a payment.
fn panel() -> Author {
    Author {
        key_id: None,
        label: "Corner shop".to_owned(),
        notification_url_optional: true,
        notify_hosts: NotifyHosts::default(),
    }
}

#[tokio::test]
async fn a_payment_whose_client_hung_up_is_announced_to_the_panel() {
    let world = World::new().await;
    world.make_wallet().await;
    let gateway = &world.gateway;
    // The next address and the rate's row exist now, so the next payment only needs its write.
    create::create(gateway, panel(), payment_request(), None).await.unwrap();
    let changes = gateway.signals.changes.subscribe();
    hang_up(gateway, create::create(gateway, panel(), payment_request(), None)).await;
    assert_eq!(
        gateway.store.read(|reader| reader.payments_count(&PaymentFilter::default())).unwrap(),
        2
    );
    assert!(changes.has_changed().unwrap(), "the second payment was not announced");
}

#[tokio::test]
async fn a_resend_whose_client_hung_up_is_sent_at_once() {
    let world = World::new().await;
    let payment = world.payment().await;
    world.pay(&payment, payment.payment.amount_sats).await;
    let gateway = &world.gateway;
    assert!(is_notifier_woken(gateway), "the payment's notification did not wake the notifier");
    hang_up(gateway, resend::resend_payment(gateway, payment.payment.id, RecordScope::Everything))
        .await;
    assert_eq!(world.notified(&payment.payment.id).len(), 2);
    assert!(is_notifier_woken(gateway), "the resend did not wake the notifier");
}

#[tokio::test]
async fn a_payment_whose_client_hung_up_counts_as_open() {
    let world = World::new().await;
    world.make_wallet().await;
    let gateway = &world.gateway;
    let request = KeyRequest {
        name: "greedy".to_owned(),
        permissions: "shop".parse().unwrap(),
        notification_url_optional: false,
        own_only: false,
        notify_hosts: NotifyHosts::default(),
    };
    let at = gateway.time.now();
    let (key, _) =
        gateway.access.keys.create(request, &*gateway.machine.entropy, at, "cli").await.unwrap();
    gateway
        .settings
        .set(&gateway.store, "keyOpenPayments", "2", Act { actor: "cli", at })
        .await
        .unwrap();
    let author = Author {
        key_id: Some(key.key_id),
        label: key.name.clone(),
        notification_url_optional: false,
        notify_hosts: NotifyHosts::default(),
    };
    let ask = || create::create(gateway, author.clone(), payment_request(), None);
    ask().await.unwrap();

    hang_up(gateway, ask()).await;

    let made = PaymentFilter { key_id: Some(key.key_id), ..PaymentFilter::default() };
    assert_eq!(gateway.store.read(|reader| reader.payments_count(&made)).unwrap(), 2);
    let third = ask().await;
    assert!(
        matches!(third, Err(CreateError::KeyLimit(KeyLimit::OpenPayments { most: 2 }))),
        "{third:?}"
    );
}

#[tokio::test]
async fn an_address_taken_just_before_a_restore_is_not_given() {
    let world = World::new().await;
    world.make_wallet().await;
    let gateway = &world.gateway;
    create::create(gateway, panel(), payment_request(), None).await.unwrap();
    let taken = async || {
        create::insertion(gateway, panel(), payment_request(), None, gateway.time.now())
            .await
            .unwrap()
            .0
    };
    let (early, late) = (taken().await, taken().await);
    let words = gateway.machine.secrets.get(Purpose::WalletMnemonic).unwrap().unwrap();
    let again = RestoreRequest { words, birthday: None, gap: Some(20), beside_another: false };
    restore(gateway, again, "cli:ann").await.unwrap();
    let refused = async |insertion| match create::store(gateway, insertion, None).await {
        Err(CreateError::WalletNotReady(why)) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(early).await, NotReady::NotLooked);
    world.look().await;
    assert!(gateway.ready_wallet().is_ok());
    assert_eq!(refused(late).await, NotReady::Skipped, "the old address is not refused as skipped");
    let stored =
        || gateway.store.read(|reader| reader.payments(&PaymentFilter::default(), 10, 0)).unwrap();
    assert_eq!(stored().len(), 1);
    create::create(gateway, panel(), payment_request(), None).await.unwrap();
    let mut indices: Vec<u32> = stored().iter().map(|row| row.derivation_index).collect();
    indices.sort_unstable();
    assert_eq!(indices, [0, 1_001], "a customer got a skipped address");
}
