//! A gateway on its sandbox in a folder of its own, for the tests of this crate. It runs no loop:
//! a test calls the `*_once` functions and never sleeps.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

use bitcoin::hashes::Hash as _;
use bitcoin::{Address, Network, ScriptBuf, Txid, WPubkeyHash};
use tempfile::TempDir;
use tillgate_domain::id::Id;
use tillgate_domain::money::Currency;
use tillgate_domain::payment::{Payment, PaymentState};
use tillgate_domain::policy::{Policy, PolicySettings};
use tillgate_sandbox::{Pay, Sandbox};
use tokio::sync::{Notify, watch};

use crate::api_keys::ApiKeys;
use crate::chain::sandbox::SandboxChain;
use crate::clock::{Clock, SystemClock, machine_now};
use crate::data_dir::DataDir;
use crate::entropy::{Entropy, SystemEntropy};
use crate::environment::Environment;
use crate::gateway::Gateway;
use crate::notifier::Notifier;
use crate::rates::{Rates, Simulated};
use crate::secrets::{Purpose, Secret, SecretError, SecretStore};
use crate::settings::LiveSettings;
use crate::store::payments::{NewPayment, PaymentRow};
use crate::store::{Installation, Store};
use crate::watcher::{self, Watcher};

/// Half an hour, the time that a customer has.
pub const HALF_AN_HOUR_MS: i64 = 30 * 60_000;

/// Where the tests' payments are notified. Nobody listens there: the rows stay in the outbox.
pub const SHOP: &str = "http://shop.test/notify";

/// Where the tests' anomalies are notified.
pub const SHOP_ANOMALIES: &str = "http://shop.test/anomalies";

/// A gateway and the folder that it lives in.
pub struct World {
    /// The gateway.
    pub gateway: Arc<Gateway>,
    /// Its data directory's base.
    pub folder: TempDir,
}

struct NoSecrets;

impl SecretStore for NoSecrets {
    fn get(&self, _: Purpose) -> Result<Option<Secret>, SecretError> {
        Ok(None)
    }

    fn set(&self, _: Purpose, _: &Secret) -> Result<(), SecretError> {
        Err(SecretError("tests keep no secrets".to_owned()))
    }

    fn describe(&self) -> String {
        "nowhere".to_owned()
    }
}

impl World {
    /// A new gateway that has looked once.
    pub async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let world = Self { gateway: open(&folder).await, folder };
        world.look().await;
        world
    }

    /// Stops the gateway as a crash does, and opens what it left.
    pub async fn reopen(self) -> Self {
        let Self { gateway, folder } = self;
        assert_eq!(Arc::strong_count(&gateway), 1, "somebody still holds the gateway");
        drop(gateway);
        Self { gateway: open(&folder).await, folder }
    }

    /// The private chain.
    pub fn sandbox(&self) -> &Sandbox {
        self.gateway.sandbox.as_ref().unwrap()
    }

    /// Now on the environment's clock.
    pub fn now_ms(&self) -> i64 {
        self.gateway.clock.now().ms()
    }

    /// Looks at the chain once, which must succeed.
    pub async fn look(&self) {
        watcher::watch_once(&self.gateway).await.unwrap();
    }

    /// Moves the clock and looks.
    pub async fn pass_ms(&self, ms: i64) {
        self.advance_clock_ms(ms);
        self.look().await;
    }

    /// Moves the clock without looking.
    pub fn advance_clock_ms(&self, ms: i64) {
        let offset_ms = self.sandbox().advance_clock(u64::try_from(ms).unwrap().div_ceil(1_000)).unwrap();
        self.gateway.clock_offset_ms.store(offset_ms, Ordering::SeqCst);
    }

    /// Mines and looks.
    pub async fn mine(&self, count: u32) {
        self.sandbox().mine(count, false, self.now_ms()).unwrap();
        self.look().await;
    }

    /// The customer pays a payment without anybody looking.
    pub fn customer_pays(&self, payment: &PaymentRow, amount_sats: u64) -> Txid {
        let pay =
            Pay { script: payment.script.clone(), amount_sats, parts: 1, fee_rate_sat_vb: None, confirmations: 0 };
        self.sandbox().pay(pay, self.now_ms()).unwrap()[0]
    }

    /// The same, and a look.
    pub async fn pay(&self, payment: &PaymentRow, amount_sats: u64) -> Txid {
        let txid = self.customer_pays(payment, amount_sats);
        self.look().await;
        txid
    }

    /// A payment of 10 USD under the default rules: one confirmation.
    pub async fn payment(&self) -> PaymentRow {
        self.payment_under(PolicySettings::default()).await
    }

    /// A payment of 10 USD under these rules.
    pub async fn payment_under(&self, policy: PolicySettings) -> PaymentRow {
        let gateway = &self.gateway;
        let now = gateway.clock.now();
        let usd = Currency::from_code("USD").unwrap();
        let kept = gateway.rates.rate_for(usd, now).unwrap();
        let rate_id = gateway.rates.row_id(&gateway.store, usd, &kept).await.unwrap();
        let id = gateway.entropy.id().unwrap();
        let script = script_of(&id);
        let created_at = now.cut_to_second();
        let payment = Payment {
            id,
            state: PaymentState::New,
            amount_sats: kept.rate.price_to_sats(1_000, usd).unwrap(),
            price_minor: 1_000,
            currency: usd,
            rate: kept.rate,
            created_at,
            expires_at: created_at.plus_ms(HALF_AN_HOUR_MS),
            policy: Policy::freeze(&policy, Some(rust_decimal::Decimal::TEN)),
            closed_at: None,
            accepted_sats: None,
            confirmed_at: None,
            paid_sats: 0,
        };
        let row = PaymentRow {
            seq: 0,
            derivation_index: u32::from_be_bytes(id.as_bytes()[..4].try_into().unwrap()) >> 1,
            address: Address::from_script(&script, Network::Regtest).unwrap().to_string(),
            script,
            label: "shop".to_owned(),
            message: "A <b>cup</b> & saucer".to_owned(),
            merchant_transaction_id: "order-1".to_owned(),
            notification_url: Some(SHOP.to_owned()),
            anomaly_notification_url: Some(SHOP_ANOMALIES.to_owned()),
            redirect_urls: None,
            current_at: now,
            payment,
        };
        let new = NewPayment { row, key_id: None, rate_id };
        let due_at = new.row.payment.expires_at.plus_ms(1);
        gateway.store.write(move |tx| tx.insert_payment(&new, due_at)).await.unwrap();
        self.now_of(&id)
    }

    /// The payment as it stands.
    pub fn now_of(&self, id: &Id) -> PaymentRow {
        self.gateway.store.read(|reader| reader.payment(id)).unwrap().unwrap()
    }

    /// Its state.
    pub fn state(&self, payment: &PaymentRow) -> PaymentState {
        self.now_of(&payment.payment.id).payment.state
    }

    /// The bodies ever queued for a record, oldest first.
    pub fn notified(&self, subject: &Id) -> Vec<serde_json::Value> {
        let bodies = self.gateway.store.read(|reader| reader.notification_bodies(subject)).unwrap();
        bodies.iter().map(|body| serde_json::from_slice(body).unwrap()).collect()
    }

    /// One field of each body.
    pub fn notified_field(&self, subject: &Id, field: &str) -> Vec<String> {
        self.notified(subject).iter().map(|body| body[field].to_string().trim_matches('"').to_owned()).collect()
    }
}

/// A script that only this test pays to.
fn script_of(id: &Id) -> ScriptBuf {
    ScriptBuf::new_p2wpkh(&WPubkeyHash::from_byte_array(*id.as_bytes()))
}

async fn open(folder: &TempDir) -> Arc<Gateway> {
    let environment = Environment::Test;
    let data_dir = DataDir::open(folder.path(), environment).unwrap();
    let store = Arc::new(Store::open(&data_dir.database()).unwrap());
    let sandbox = Arc::new(Sandbox::open(&data_dir.sandbox(), machine_now().ms()).unwrap());
    let clock_offset_ms = Arc::new(AtomicI64::new(sandbox.clock_offset_ms()));
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start_with_offset(Arc::clone(&clock_offset_ms)));
    let entropy = Arc::new(SystemEntropy);
    let new = Installation { installation_id: entropy.id().unwrap(), merchant_id: entropy.id().unwrap(), environment };
    let at = clock.now();
    let installation = store.write(move |tx| tx.ensure_installation(new, at)).await.unwrap();
    let rates = Rates::new(vec![Box::new(Simulated::new(Arc::clone(&sandbox)))], 1);
    rates.refresh_once(&store, clock.now()).await.unwrap();
    Arc::new(Gateway {
        environment,
        chain: Arc::new(SandboxChain::new(Arc::clone(&sandbox), Arc::clone(&clock))),
        clock,
        clock_offset_ms,
        entropy,
        keys: ApiKeys::load(Arc::clone(&store)).unwrap(),
        wallet: OnceLock::new(),
        settings: LiveSettings::load(environment, &BTreeMap::new(), &store).unwrap(),
        watcher: Watcher::load(&store).unwrap(),
        store,
        installation,
        sandbox: Some(sandbox),
        rates,
        secrets: Arc::new(NoSecrets),
        changes: watch::Sender::new(0),
        notifier: Notifier::new().unwrap(),
        notifier_wake: Notify::new(),
        served: OnceLock::new(),
        data_dir,
    })
}
