//! A gateway in this process whose clock the benchmark sets. The program's own code writes the
//! history.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::json;
use tillgate_console::{Actor, dispatch};
use tillgate_gateway::open::{Options, ensure_wallet, open};
use tillgate_gateway::payments::{Author, Created, PaymentRequest, create};
use tillgate_gateway::settings::Override;
use tillgate_gateway::{App, Gateway};
use tillgate_machine::clock::machine_now;
use tillgate_machine::data_dir::IfMissing;
use tillgate_machine::environment::Environment;
use tillgate_machine::secrets::SecretsLocation;
use tillgate_store::StoreError;
use tillgate_store::notify_hosts::NotifyHosts;
use tillgate_store::payment_lists::PaymentFilter;
use tillgate_store::payments::PaymentRow;
use tokio::task::JoinSet;

use crate::fallible::Fallible;

/// A merchant's gateway with a wallet; its loops do not run.
pub struct Merchant {
    /// The whole gateway with its watcher.
    pub app: Arc<App>,
    /// The resources that the watcher and the use cases share.
    pub gateway: Arc<Gateway>,
}

impl Merchant {
    /// Opens the test environment in `data_dir` with these settings, by name.
    pub async fn open(data_dir: &Path, settings: &[(&'static str, String)]) -> Fallible<Self> {
        let app = open(options(data_dir, settings)).await?;
        let gateway = Arc::clone(&app.gateway);
        ensure_wallet(&gateway).await?;
        Ok(Self { app, gateway })
    }

    /// Restores a wallet's words into a new test environment in `data_dir`, without a look at the
    /// chain.
    pub async fn restore(
        data_dir: &Path,
        settings: &[(&'static str, String)],
        words: &str,
    ) -> Fallible<()> {
        let app = open(options(data_dir, settings)).await?;
        let restore =
            json!({"command": "restoreWallet", "words": words, "birthday": null, "gap": null});
        dispatch(&app, serde_json::from_value(restore)?, &Actor::command_line()).await?;
        Ok(())
    }

    /// Sets the gateway's clock.
    pub fn set_clock(&self, at_ms: i64) {
        self.gateway.time.offset_ms.store(at_ms - machine_now().ms(), Ordering::SeqCst);
    }

    /// Sets the clock and looks at the chain.
    pub async fn look_at(&self, at_ms: i64) -> Fallible<()> {
        self.set_clock(at_ms);
        Ok(self.app.watcher.look().await?)
    }

    /// Makes payments and returns their rows; order numbers start at `first`. All of them are made
    /// concurrently.
    pub async fn make(&self, count: u32, first: u32) -> Fallible<Vec<PaymentRow>> {
        let mut under_way = JoinSet::new();
        for number in first..first + count {
            let gateway = Arc::clone(&self.gateway);
            under_way.spawn(async move {
                let author = Author {
                    key_id: None,
                    label: "Merchant".to_owned(),
                    notification_url_optional: true,
                    notify_hosts: NotifyHosts::default(),
                };
                let request = PaymentRequest {
                    amount: Some(format!("{}.{:02}", 5 + number % 95, number % 100).into()),
                    currency: Some("USD".into()),
                    message: Some("Thank you for your order".into()),
                    merchant_transaction_id: Some(format!("order-{number}").into()),
                    ..PaymentRequest::default()
                };
                create(&gateway, author, request, None).await
            });
        }
        let mut ids = Vec::new();
        while let Some(made) = under_way.join_next().await {
            match made?? {
                Created::New { payment_id, .. } => ids.push(payment_id),
                Created::Again(_) => return Err("a payment was made before".into()),
            }
        }
        let rows = self.gateway.store.read(|reader| {
            ids.iter()
                .map(|id| reader.payment(id))
                .collect::<Result<Vec<Option<PaymentRow>>, StoreError>>()
        })?;
        Ok(rows.into_iter().flatten().collect())
    }

    /// The number of payments in one of these states; all payments if `states` is empty.
    pub fn count(&self, states: &[&str]) -> Fallible<u64> {
        let states = states.iter().map(|state| state.parse()).collect::<Result<_, _>>();
        let filter = PaymentFilter {
            states: states.map_err(|_| "no such state")?,
            ..PaymentFilter::default()
        };
        Ok(self.gateway.store.read(|reader| reader.payments_count(&filter))?)
    }
}

/// Options that keep the secrets in a plain file, even on a machine with a keyring. The programs
/// started on the same data directory find them there.
fn options(data_dir: &Path, settings: &[(&'static str, String)]) -> Options {
    let overrides = settings.iter().map(|(name, value)| {
        ((*name).to_owned(), Override { value: value.clone(), by: "the benchmark".to_owned() })
    });
    Options {
        environment: Environment::Test,
        data_dir: Some(data_dir.to_owned()),
        if_missing: IfMissing::Make,
        overrides: overrides.collect::<BTreeMap<_, _>>(),
        secrets: SecretsLocation::SandboxFile,
    }
}
