//! A gateway on a sandbox in a temporary folder, for tests. No loop runs: a test starts each look,
//! pass and refresh itself, and never sleeps.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "only tests use this module")]

pub mod ask;
pub mod by_script;
pub mod copies;
pub mod limited_looks;
pub mod misbehaving;
pub mod payer;
pub mod sending;
pub mod set_meanwhile;
pub mod socks;
pub mod stage;
pub mod twins;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bitcoin::hashes::Hash as _;
use bitcoin::{Address, Network, ScriptBuf, Txid, WPubkeyHash};
use tempfile::TempDir;
use tillgate_chain::Chain;
use tillgate_domain::id::Id;
use tillgate_domain::money::Currency;
use tillgate_domain::payment::{Payment, PaymentState, Price};
use tillgate_domain::payout::PayoutState;
use tillgate_domain::policy::PolicySettings;
use tillgate_machine::clock::Clock;
use tillgate_machine::data_dir::IfMissing;
use tillgate_machine::entropy::Entropy;
use tillgate_machine::environment::Environment;
use tillgate_machine::secrets::{SecretStore, SecretsLocation};
use tillgate_sandbox::{Pay, Sandbox};
use tillgate_store::notify_hosts::NotifyHosts;
use tillgate_store::payments::{NewPayment, PaymentRow};
use tillgate_store::payouts::{NewPayout, PayoutRow};
use tillgate_store::restore::{NewRestore, Restore, RestoreSource};

use crate::app::App;
use crate::gateway::Gateway;
use crate::notifications::{ATTEMPT_TIMEOUT, Notifier, Receiver};
use crate::open::{self, Options};
use crate::payments::{Author, CreateError, PaymentRequest, create};
use crate::rates::Rates;
use crate::sender::Sender;
use crate::watcher::Watcher;

/// Half an hour, the lifetime of a payment.
pub const HALF_AN_HOUR_MS: i64 = 30 * 60_000;

/// The URL for notifications of the tests' payments. It has no server, so that the notifications
/// stay in the outbox.
pub const SHOP: &str = "http://shop.test/notify";

/// The URL for notifications of the tests' anomalies.
pub const SHOP_ANOMALIES: &str = "http://shop.test/anomalies";

/// A gateway and its folder.
pub struct World {
    /// The gateway with its watcher, sender and notifier.
    pub app: Arc<App>,
    /// The gateway of `app`.
    pub gateway: Arc<Gateway>,
    /// The base of its data directory.
    pub folder: TempDir,
}

impl World {
    /// A new gateway that has looked once.
    pub async fn new() -> Self {
        Self::in_folder(tempfile::tempdir().unwrap()).await
    }

    /// The gateway of a folder, opened as the program opens it. It has looked once.
    pub async fn in_folder(folder: TempDir) -> Self {
        let world = Self::opened(folder).await;
        world.look().await;
        world
    }

    /// Stops the gateway as a crash would, and opens it again.
    pub async fn reopen(self) -> Self {
        let Self { app, gateway, folder } = self;
        let left = Arc::downgrade(&gateway);
        drop((app, gateway));
        assert!(left.upgrade().is_none(), "another `Arc` of the gateway is left");
        Self::opened(folder).await
    }

    /// The same gateway with another backend.
    pub fn with_chain(self, change: impl FnOnce(Arc<dyn Chain>) -> Arc<dyn Chain>) -> Self {
        self.with(|gateway| gateway.backend.chain = change(Arc::clone(&gateway.backend.chain)))
    }

    /// The same gateway with another clock.
    pub fn with_clock(self, change: impl FnOnce(Arc<dyn Clock>) -> Arc<dyn Clock>) -> Self {
        self.with(|gateway| gateway.time.clock = change(Arc::clone(&gateway.time.clock)))
    }

    /// The same gateway with these exchange rates.
    pub fn with_rates(self, rates: Rates) -> Self {
        self.with(|gateway| gateway.market.rates = rates)
    }

    /// The same gateway with these random numbers.
    pub fn with_entropy(self, entropy: Arc<dyn Entropy>) -> Self {
        self.with(|gateway| gateway.machine.entropy = entropy)
    }

    /// The same gateway with another store of secrets.
    pub fn with_secrets(
        self,
        change: impl FnOnce(Arc<dyn SecretStore>) -> Arc<dyn SecretStore>,
    ) -> Self {
        self.with(|gateway| gateway.machine.secrets = change(Arc::clone(&gateway.machine.secrets)))
    }

    fn with(self, change: impl FnOnce(&mut Gateway)) -> Self {
        let (mut gateway, folder) = self.into_gateway();
        change(&mut gateway);
        let gateway = Arc::new(gateway);
        let notifier = Notifier::new(Arc::clone(&gateway), ATTEMPT_TIMEOUT).unwrap();
        let (watcher, sender) =
            (Watcher::new(Arc::clone(&gateway)), Sender::new(Arc::clone(&gateway)));
        let app = App {
            gateway: Arc::clone(&gateway),
            watcher,
            sender,
            notifier,
            receiver: Receiver::default(),
        };
        Self { app: Arc::new(app), gateway, folder }
    }

    /// The gateway without its watcher, sender and notifier.
    pub fn into_gateway(self) -> (Gateway, TempDir) {
        let Self { app, gateway, folder } = self;
        drop(app);
        (Arc::into_inner(gateway).expect("no other `Arc` of the gateway is left"), folder)
    }

    /// The gateway of a folder, opened as the program opens it. It has not looked.
    pub async fn opened(folder: TempDir) -> Self {
        let options = Options {
            environment: Environment::Test,
            data_dir: Some(folder.path().to_owned()),
            if_missing: IfMissing::Make,
            overrides: BTreeMap::new(),
            secrets: SecretsLocation::SandboxFile,
        };
        let app = open::open(options).await.unwrap();
        app.gateway.refresh_rates().await.unwrap();
        Self { gateway: Arc::clone(&app.gateway), app, folder }
    }

    /// The gateway's sandbox.
    pub fn sandbox(&self) -> &Sandbox {
        self.gateway.backend.sandbox.as_ref().unwrap()
    }

    /// Makes the wallet, as the first start does. [`Self::payment`] needs no wallet.
    pub async fn make_wallet(&self) {
        open::ensure_wallet(&self.gateway).await.unwrap();
    }

    /// The time of the environment's clock.
    pub fn now_ms(&self) -> i64 {
        self.gateway.time.now().ms()
    }

    /// Looks at the chain once, which must succeed.
    pub async fn look(&self) {
        self.app.watcher.look().await.unwrap();
    }

    /// Looks at the chain once as a notice of the backend makes it look.
    pub async fn look_woken(&self) {
        self.app.watcher.look_woken().await.unwrap();
    }

    /// Runs one pass of the sender, which must succeed.
    pub async fn pass_sender(&self) {
        self.app.sender.pass(&self.app.watcher).await.unwrap();
    }

    /// Marks the database as restored from a backup, with a wallet as old as the chain.
    pub async fn begins_restore(&self, looks_ahead: u32, skip: u32) -> Restore {
        let (source, at) = (RestoreSource::Backup, self.gateway.time.now());
        let new = NewRestore {
            source,
            at,
            birth_height: Some(0),
            looks_ahead,
            skip,
            beside_another: false,
        };
        self.gateway.store.write(move |tx| tx.begin_restore(&new)).await.unwrap()
    }

    /// Advances the clock and looks.
    pub async fn pass_ms(&self, ms: i64) {
        self.advance_clock_ms(ms);
        self.look().await;
    }

    /// Advances the clock without a look.
    pub fn advance_clock_ms(&self, ms: i64) {
        let offset_ms =
            self.sandbox().advance_clock(u64::try_from(ms).unwrap().div_ceil(1_000)).unwrap();
        self.gateway.time.offset_ms.store(offset_ms, Ordering::SeqCst);
    }

    /// Mines blocks and looks.
    pub async fn mine(&self, count: u32) {
        self.sandbox().mine(count, false, self.now_ms()).unwrap();
        self.look().await;
    }

    /// The customer pays a payment. No look follows.
    pub fn customer_pays(&self, payment: &PaymentRow, amount_sats: u64) -> Txid {
        let pay = Pay {
            script: payment.script.clone(),
            amount_sats,
            parts: 1,
            fee_rate_sat_vb: None,
            confirmations: 0,
        };
        self.sandbox().pay(pay, self.now_ms()).unwrap()[0]
    }

    /// The customer pays a payment, and a look follows.
    pub async fn pay(&self, payment: &PaymentRow, amount_sats: u64) -> Txid {
        let txid = self.customer_pays(payment, amount_sats);
        self.look().await;
        txid
    }

    /// A payment of 10 USD with the default policy, which wants one confirmation.
    pub async fn payment(&self) -> PaymentRow {
        self.payment_under(PolicySettings::default()).await
    }

    /// A payment of 10 USD with this policy.
    pub async fn payment_under(&self, policy: PolicySettings) -> PaymentRow {
        self.insert_payment(policy, script_of).await
    }

    /// A payment of 10 USD to this script, with the default policy.
    pub async fn payment_to(&self, script: ScriptBuf) -> PaymentRow {
        self.insert_payment(PolicySettings::default(), |_| script).await
    }

    /// A payment of 10 USD to the wallet's next address. The wallet must exist.
    pub async fn payment_to_wallet(&self) -> PaymentRow {
        let address = self.gateway.wallet.get().unwrap().addresses.give().unwrap();
        self.insert_payment_at(PolicySettings::default(), |_| address.script, Some(address.index))
            .await
    }

    /// A payment of 10 USD to the wallet's address of this index, even if it was given before.
    pub async fn payment_to_index(&self, index: u32) -> PaymentRow {
        let script = self.gateway.wallet.get().unwrap().addresses.script(index).unwrap();
        self.insert_payment_at(PolicySettings::default(), |_| script, Some(index)).await
    }

    async fn insert_payment(
        &self,
        policy: PolicySettings,
        script: impl FnOnce(&Id) -> ScriptBuf,
    ) -> PaymentRow {
        self.insert_payment_at(policy, script, None).await
    }

    async fn insert_payment_at(
        &self,
        policy: PolicySettings,
        script: impl FnOnce(&Id) -> ScriptBuf,
        index: Option<u32>,
    ) -> PaymentRow {
        let gateway = &self.gateway;
        let now = gateway.time.now();
        let usd = Currency::from_code("USD").unwrap();
        let rate = gateway.market.rates.rate_for(usd, now).unwrap();
        let rate_id = gateway.market.rates.row_id(&gateway.store, usd, &rate).await.unwrap();
        let id = gateway.machine.entropy.id().unwrap();
        let script = script(&id);
        let price = Price::at(rate.rate, 0, 1_000, usd, 294).unwrap();
        let payment = Payment::open(id, &price, &policy, None, None, now);
        let row = PaymentRow {
            seq: 0,
            derivation_index: index.unwrap_or_else(|| {
                u32::from_be_bytes(id.as_bytes()[..4].try_into().unwrap()) >> 1 | 1 << 30
            }),
            address: Address::from_script(&script, Network::Regtest).unwrap().to_string(),
            script,
            key_id: None,
            label: "shop".to_owned(),
            message: "A <b>cup</b> & saucer".to_owned(),
            merchant_transaction_id: "order-1".to_owned(),
            notification_url: Some(SHOP.to_owned()),
            anomaly_notification_url: Some(SHOP_ANOMALIES.to_owned()),
            redirect_urls: None,
            current_at: now,
            payment,
        };
        gateway.note_awaited(&row.script);
        let new = NewPayment { row, rate_id };
        gateway.store.write(move |tx| tx.insert_payment(&new)).await.unwrap();
        self.reload_payment(&id)
    }

    /// A payout of this amount to an address of its own, approved now.
    pub async fn approved_payout(&self, amount_sats: u64) -> Id {
        self.insert_payout(amount_sats, true).await
    }

    /// An offer of this amount to an address of its own, not approved.
    pub async fn offered_payout(&self, amount_sats: u64) -> Id {
        self.insert_payout(amount_sats, false).await
    }

    async fn insert_payout(&self, amount_sats: u64, is_approved: bool) -> Id {
        let gateway = &self.gateway;
        let now = gateway.time.now();
        let usd = Currency::from_code("USD").unwrap();
        let rate = gateway.market.rates.rate_for(usd, now).unwrap();
        let rate_id = gateway.market.rates.row_id(&gateway.store, usd, &rate).await.unwrap();
        let id = gateway.machine.entropy.id().unwrap();
        let script = script_of(&id);
        let row = PayoutRow {
            seq: 0,
            id,
            state: if is_approved { PayoutState::Queued } else { PayoutState::New },
            amount_sats,
            address: Address::from_script(&script, Network::Regtest).unwrap().to_string(),
            script,
            currency: usd,
            rate: rate.rate,
            fiat_minor: 1_000,
            fiat_total_minor: 1_001,
            network_fee_sats: 282,
            balance_short: false,
            key_id: None,
            requested_by: "cli:ann".to_owned(),
            merchant_name: "Merchant".to_owned(),
            comment: None,
            notification_url: Some(SHOP.to_owned()),
            anomaly: None,
            created_at: now,
            expires_at: now.plus_ms(600_000),
            approved_at: is_approved.then_some(now),
            approved_by: is_approved.then(|| "cli:ann".to_owned()),
            sent_at: None,
            failure_reason: None,
            failed_at: None,
            given_up_by: None,
            batch_seq: None,
            txid: None,
            booked_sats: 0,
            booked_fee_sats: 0,
            current_at: now,
        };
        let new = NewPayout { row, rate_id };
        gateway.store.write(move |tx| tx.insert_payout(&new)).await.unwrap();
        id
    }

    pub fn payout(&self, id: &Id) -> PayoutRow {
        self.gateway.store.read(|reader| reader.payout(id)).unwrap().unwrap()
    }

    pub fn reload_payment(&self, id: &Id) -> PaymentRow {
        self.gateway.store.read(|reader| reader.payment(id)).unwrap().unwrap()
    }

    pub fn state(&self, payment: &PaymentRow) -> PaymentState {
        self.reload_payment(&payment.payment.id).payment.state
    }

    /// The bodies of all notifications of a record, oldest first.
    pub fn notified(&self, subject: &Id) -> Vec<serde_json::Value> {
        let bodies = self.gateway.store.read(|reader| reader.notification_bodies(subject)).unwrap();
        bodies.iter().map(|body| serde_json::from_slice(body).unwrap()).collect()
    }

    /// One field of each body of [`Self::notified`].
    pub fn notified_field(&self, subject: &Id, field: &str) -> Vec<String> {
        self.notified(subject)
            .iter()
            .map(|body| body[field].to_string().trim_matches('"').to_owned())
            .collect()
    }
}

/// A script that is made from an id, so that each id has its own.
fn script_of(id: &Id) -> ScriptBuf {
    ScriptBuf::new_p2wpkh(&WPubkeyHash::from_byte_array(*id.as_bytes()))
}

/// Creates a payment of 10 USD, as a shop does, and returns only whether that succeeded.
pub async fn ask_for_payment(gateway: &Arc<Gateway>) -> Result<(), CreateError> {
    let author = Author {
        key_id: None,
        label: "shop".to_owned(),
        notification_url_optional: true,
        notify_hosts: NotifyHosts::default(),
    };
    let request = PaymentRequest {
        amount: Some("10.00".into()),
        currency: Some("USD".into()),
        message: Some("".into()),
        merchant_transaction_id: Some("".into()),
        ..PaymentRequest::default()
    };
    create(gateway, author, request, None).await.map(|_| ())
}
