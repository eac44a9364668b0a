//! From a [`Command`] to a use case, and from what that answers to a view. Holds no SQL and no rule.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use tillgate_domain::anomaly::Resolution;
use tillgate_domain::id::Id;
use tillgate_domain::payment::NotAPaymentState;

use super::views::{CommandError, KeyRow, NewHmacKey, NewKey, Page, RateRow, Resent, SettingRow, StatusView};
use super::{Command, show};
use crate::api_keys::{ApiKey, KeyRequest, NotPermissions};
use crate::gateway::Gateway;
use crate::payments::{self, Author, Created, Draft};
use crate::settings::{Act, Shown};
use crate::store::anomalies::AnomalyFilter;
use crate::store::payment_lists::PaymentFilter;
use crate::store::{Reader, StoreError};
use crate::{anomalies, doctor, notifier, resend, sandbox_calls, shown, watcher};

/// Does what the command says, on behalf of `actor` (`cli`, `panel`; it stands in the audit), and answers its view.
///
/// # Errors
/// Why it was not done, with a stable `errorType` and a sentence that names the remedy.
pub async fn dispatch(gateway: &Arc<Gateway>, command: Command, actor: &str) -> Result<Value, CommandError> {
    match command {
        Command::Status => view(read(gateway, status).await?),
        Command::ListPayments { limit, offset, states, search } => {
            list_payments(gateway, limit, offset, &states, search).await
        }
        Command::ShowPayment { payment_id } => show_payment(gateway, id("paymentId", &payment_id)?).await,
        Command::CreatePayment { amount, currency, message, merchant_transaction_id } => {
            let draft = Draft {
                amount: Some(Cow::Owned(amount)),
                currency: Some(Cow::Owned(currency)),
                message: Some(Cow::Owned(message)),
                merchant_transaction_id: Some(Cow::Owned(merchant_transaction_id)),
                ..Draft::default()
            };
            create_payment(gateway, draft).await
        }
        Command::AcceptPayment { payment_id } => {
            let payment_id = id("paymentId", &payment_id)?;
            watcher::accept_payment(gateway, payment_id, actor).await?;
            show_payment(gateway, payment_id).await
        }
        Command::ListAnomalies { open, limit, offset } => {
            let filter = AnomalyFilter { resolution: open.then_some(Resolution::Open), ..AnomalyFilter::default() };
            let limit = page_size(limit)?;
            view(read(gateway, move |_, reader| show::anomalies(reader, &filter, limit, offset)).await?)
        }
        Command::ShowAnomaly { anomaly_id } => show_anomaly(gateway, id("anomalyId", &anomaly_id)?).await,
        Command::DismissAnomaly { anomaly_id, reason } => {
            let anomaly_id = id("anomalyId", &anomaly_id)?;
            anomalies::dismiss(gateway, anomaly_id, &reason, actor).await?;
            show_anomaly(gateway, anomaly_id).await
        }
        Command::ListDeliveries { failed, limit, offset } => {
            let limit = page_size(limit)?;
            view(read(gateway, move |_, reader| show::deliveries(reader, failed, limit, offset)).await?)
        }
        Command::Resend { id: record } => resend_any(gateway, id("id", &record)?).await,
        Command::ListKeys => view(page_of(gateway.keys.list()?.iter().map(key_row).collect())),
        Command::CreateKey { name, permissions, notification_url_optional } => {
            let permissions = permissions.parse().map_err(|error: NotPermissions| invalid("permissions", &error))?;
            create_key(gateway, KeyRequest { name, permissions, notification_url_optional }, actor).await
        }
        Command::RevokeKey { name } => {
            let key = gateway.keys.revoke(&name, gateway.clock.now(), actor).await?;
            gateway.note_change();
            view(key_row(&key))
        }
        Command::RotateHmacKey => {
            let key = notifier::rotate(gateway, actor).await?;
            gateway.note_change();
            view(NewHmacKey { key: key.reveal().to_owned() })
        }
        Command::ListSettings => view(page_of(gateway.settings.list().into_iter().map(setting_row).collect())),
        Command::GetSetting { name } => view(setting_row(gateway.settings.show(&name)?)),
        Command::SetSetting { name, value } => change_setting(gateway, &name, Some(&value), actor).await,
        Command::UnsetSetting { name } => change_setting(gateway, &name, None, actor).await,
        Command::Doctor => view(doctor::examine(gateway).await),
        Command::Sandbox { method, path, body } => Ok(sandbox_calls::call(gateway, &method, &path, body).await?),
    }
}

async fn list_payments(
    gateway: &Arc<Gateway>,
    limit: u32,
    offset: u32,
    states: &[String],
    search: Option<String>,
) -> Result<Value, CommandError> {
    let states: Result<_, _> = states.iter().map(|state| state.parse()).collect();
    let states = states.map_err(|error: NotAPaymentState| invalid("states", &error))?;
    let filter = PaymentFilter { states, ..PaymentFilter::default() };
    let limit = page_size(limit)?;
    view(read(gateway, move |_, reader| show::payments(reader, filter, search.as_deref(), limit, offset)).await?)
}

async fn show_payment(gateway: &Arc<Gateway>, id: Id) -> Result<Value, CommandError> {
    let found = read(gateway, move |gateway, reader| show::payment(gateway, reader, &id)).await?;
    view(found.ok_or_else(|| not_found("payment", &id))?)
}

async fn show_anomaly(gateway: &Arc<Gateway>, id: Id) -> Result<Value, CommandError> {
    let found = read(gateway, move |_, reader| reader.anomaly(&id)).await?;
    view(show::anomaly(&found.ok_or_else(|| not_found("anomaly", &id))?))
}

/// A payment of the merchant's own: nobody but the panel need hear of it.
async fn create_payment(gateway: &Arc<Gateway>, draft: Draft<'static>) -> Result<Value, CommandError> {
    let label = gateway.settings.snapshot().merchant_name.clone();
    let author = Author { key_id: None, label, notification_url_optional: true };
    match payments::create(gateway, author, draft, None).await? {
        Created::New { payment_id, .. } => show_payment(gateway, payment_id).await,
        // Only a request with an idempotency key is answered again.
        Created::Again(_) => Err(CommandError::internal()),
    }
}

async fn resend_any(gateway: &Arc<Gateway>, record: Id) -> Result<Value, CommandError> {
    let queued = resend::resend_any(gateway, record).await?;
    view(Resent { queued: queued.ok_or_else(|| not_found("delivery, payment or anomaly", &record))? })
}

async fn create_key(gateway: &Arc<Gateway>, request: KeyRequest, actor: &str) -> Result<Value, CommandError> {
    let (key, secret) = gateway.keys.create(request, gateway.entropy.as_ref(), gateway.clock.now(), actor).await?;
    gateway.note_change();
    view(NewKey { name: key.name.clone(), secret, permissions: key.permissions.names() })
}

async fn change_setting(
    gateway: &Arc<Gateway>,
    name: &str,
    value: Option<&str>,
    actor: &str,
) -> Result<Value, CommandError> {
    let act = Act { actor, at: gateway.clock.now() };
    let shown = match value {
        Some(value) => gateway.settings.set(&gateway.store, name, value, act).await?,
        None => gateway.settings.unset(&gateway.store, name, act).await?,
    };
    gateway.rates.set_min_fresh_sources(gateway.settings.snapshot().min_fresh_sources);
    gateway.note_change();
    view(setting_row(shown))
}

fn setting_row(shown: Shown) -> SettingRow {
    SettingRow {
        name: shown.setting.name.to_owned(),
        value: shown.value,
        default: shown.default.to_owned(),
        about: format!("{} Must be {}.", shown.setting.about, shown.setting.form),
    }
}

fn key_row(key: &ApiKey) -> KeyRow {
    KeyRow {
        name: key.name.clone(),
        permissions: key.permissions.names(),
        notification_url_optional: key.notification_url_optional,
        created: key.created_at.iso_seconds(),
        revoked: key.revoked_at.map(|at| at.iso_seconds()),
    }
}

fn status(gateway: &Gateway, reader: &Reader<'_>) -> Result<StatusView, StoreError> {
    let watched = gateway.watcher.status();
    let served = gateway.served.get();
    let now = gateway.clock.now();
    let mut warnings: Vec<String> = watched.warnings.iter().map(ToString::to_string).collect();
    let failures = gateway.rates.failures();
    warnings
        .extend(failures.into_iter().map(|(source, why)| format!("the rate source {source} does not answer: {why}")));
    warnings.extend(gateway.notifier.trouble());
    let given_up = reader.count_given_up()?;
    if given_up > 0 {
        warnings.push(format!("{given_up} notifications were given up after three days of attempts: `deliveries list --failed` shows why, `deliveries resend` starts anew"));
    }
    let rate = |row: crate::rates::RatesRow| RateRow {
        currency: row.currency.code().to_owned(),
        rate: row.rate.format(),
        fresh: row.fresh,
    };
    Ok(StatusView {
        environment: gateway.environment.as_str().to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        serving: served.is_some(),
        api: served.map(|served| served.api.clone()),
        pages: served.map(|_| gateway.pages_base()),
        clock: now.iso_millis(),
        chain_height: watched.tip.map_or(0, |tip| tip.height),
        chain_looked_at: watched.looked_at.map(|at| at.iso_millis()),
        chain_error: watched.error,
        rates: gateway.rates.rows(now).into_iter().map(rate).collect(),
        open_payments: reader.payments_count(&PaymentFilter::open())?,
        open_anomalies: reader.open_anomalies_count(None)?,
        waiting_notifications: reader.count_waiting_notifications()?,
        hmac_key: reader.hmac_key_id()?.is_some(),
        sandbox: gateway.sandbox.is_some(),
        secrets: gateway.secrets.describe(),
        warnings,
    })
}

fn page_of<T>(items: Vec<T>) -> Page<T> {
    Page { items_count: u64::try_from(items.len()).unwrap_or(u64::MAX), items }
}

fn view(view: impl Serialize) -> Result<Value, CommandError> {
    serde_json::to_value(view).map_err(|error| {
        tracing::error!(%error, "a view cannot be written as JSON");
        CommandError::internal()
    })
}

/// Reads on a snapshot, away from the threads that must not wait.
async fn read<T: Send + 'static>(
    gateway: &Arc<Gateway>,
    read: impl FnOnce(&Gateway, &Reader<'_>) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, CommandError> {
    let gateway = Arc::clone(gateway);
    let job = move || gateway.store.read(|reader| read(&gateway, reader));
    match tokio::task::spawn_blocking(job).await {
        Ok(answer) => Ok(answer?),
        Err(error) => {
            tracing::error!(%error, "a query failed unexpectedly");
            Err(CommandError::internal())
        }
    }
}

fn page_size(limit: u32) -> Result<u32, CommandError> {
    let bounds = 1..=shown::PAGE_MAX;
    if bounds.contains(&limit) { Ok(limit) } else { Err(invalid("limit", &"must be from 1 to 500")) }
}

fn id(field: &'static str, text: &str) -> Result<Id, CommandError> {
    text.parse().map_err(|error| invalid(field, &error))
}

fn invalid(field: &'static str, what: &impl std::fmt::Display) -> CommandError {
    CommandError {
        error_type: crate::faults::VALIDATION_FAILED.to_owned(),
        message: format!("{field}: {what}"),
        field: Some(field.to_owned()),
    }
}

fn not_found(what: &str, id: &Id) -> CommandError {
    CommandError { error_type: "NOT_FOUND".to_owned(), message: format!("there is no {what} {id}"), field: None }
}
