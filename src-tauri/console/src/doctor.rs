//! Finds the faults of an installation and names the remedies. It changes no state.

mod check;
mod machine;

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tillgate_domain::money::format_btc_signed;
use tillgate_domain::words::count;
use tillgate_told::{Telling, Told};
use ts_rs::TS;

pub use self::check::CheckItem;
use tillgate_chain::Chain;
use tillgate_gateway::backup;
use tillgate_gateway::gateway::{Gateway, WaitCause, standstill};
use tillgate_gateway::setup::{self, Fit};
use tillgate_machine::clock::machine_now;
use tillgate_machine::disk::Disk;
use tillgate_machine::environment::Environment;
use tillgate_store::backups::BackupState;
use tillgate_store::chain::WatchedChain;
use tillgate_store::sender_hold::{Hold, HoldCause};
use tillgate_store::{Reader, StoreError};

use self::check::{Finding, check};
use self::machine::{clock, disk, free_port, permissions, ports};
use super::alarms::AlarmItem;
use super::ask::{Ask, Asker};
use super::backend_defect::backend_defect;
use super::error::CommandError;
use super::payouts::{StuckItem, StuckPayouts, Waiting, queued};
use super::status::{host, silent, strays};
use super::wallet::{NothingFound, OtherTypeView, has_found_nothing};

/// Checks everything that the gateway needs, and names the remedy of each fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Doctor {}

/// The findings of all checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct DoctorView {
    /// Whether every check passed.
    pub ok: bool,
    pub checks: Vec<CheckItem>,
}

impl Ask for Doctor {
    type Answer = DoctorView;

    async fn answer(self, by: &Asker<'_>) -> Result<DoctorView, CommandError> {
        StuckPayouts::learn_wanted_rate(by.gateway()).await;
        Ok(examine(by.gateway()).await)
    }
}

/// Examines a gateway that could be opened.
async fn examine(gateway: &Arc<Gateway>) -> DoctorView {
    let at_rest = {
        let gateway = Arc::clone(gateway);
        let look = move || {
            vec![
                check("keyring", keyring(&gateway)),
                check("database", database(&gateway)),
                check("chain", chain(&gateway)),
                check("disk", disk(&gateway.machine.disk, gateway.kept_bytes())),
                check("permissions", permissions(gateway.machine.data_dir.path())),
                check("notifications", notifications(&gateway)),
                check("payouts", payouts(&gateway)),
                check("stuck", stuck(&gateway)),
                check("alarms", alarms(&gateway)),
                check("backups", backups(&gateway)),
                check("restore", restore(&gateway)),
            ]
        };
        tokio::task::spawn_blocking(look).await
    };
    let mut checks = at_rest
        .unwrap_or_else(|_| vec![check("doctor", Err("a check failed: see the log".to_owned()))]);
    checks.push(check("rates", rates(gateway).await));
    checks.push(check("clock", clock(gateway)));
    checks.push(check("ports", ports(gateway)));
    view(checks)
}

/// Examines the folder, disk and ports of a gateway that could not be opened. The check `concerned`
/// fails with the sentence `why`.
#[must_use]
pub fn examine_unopened(
    environment: Environment,
    env_dir: Option<&Path>,
    concerned: &str,
    why: String,
) -> DoctorView {
    let mut checks = vec![check(concerned, Err(why))];
    if let Some(env_dir) = env_dir.filter(|path| path.is_dir()) {
        let env_disk = Disk::new(env_dir, environment);
        checks.push(check("disk", disk(&env_disk, env_disk.reserve_bytes())));
        checks.push(check("permissions", permissions(env_dir)));
    }
    checks.push(check("ports", free_port(environment)));
    view(checks)
}

fn view(checks: Vec<CheckItem>) -> DoctorView {
    DoctorView { ok: checks.iter().all(|check| check.ok), checks }
}

fn keyring(gateway: &Gateway) -> Finding {
    let location = gateway.machine.secrets.describe();
    match setup::secrets_fit(gateway) {
        Ok(Some(Fit::Fits)) => Ok(format!("secrets are in {location}")),
        Ok(Some(Fit::Other)) => Err(format!(
            "the words in {location} are those of another wallet, so nothing can be signed: `tillgate wallet restore` stores the right words"
        )),
        Ok(Some(Fit::NoWallet)) => Ok(format!(
            "the words in {location} have no wallet yet: `tillgate wallet create` makes the wallet from them"
        )),
        Ok(None) if gateway.wallet.get().is_none() => {
            Ok(format!("secrets will be in {location}; there is no wallet yet"))
        }
        Ok(None) => Err(format!(
            "the wallet's words are missing from {location}: `tillgate wallet restore` puts them back; without them coins can be received but never spent"
        )),
        Err(error) => Err(error.to_string()),
    }
}

fn database(gateway: &Gateway) -> Finding {
    match gateway.store.read(|reader| reader.damage_of_file()) {
        Ok(damage) if damage.is_empty() => Ok("the database is sound".to_owned()),
        Ok(damage) => {
            Err(format!("the database is damaged ({}): restore the last backup", damage.join("; ")))
        }
        Err(error) => Err(error.to_string()),
    }
}

fn chain(gateway: &Gateway) -> Finding {
    let status = gateway.backend.last_look.status();
    let asked = gateway
        .backend
        .chain
        .identity()
        .and_then(|identity| Ok((identity, gateway.backend.chain.tip()?)));
    let (identity, tip) =
        asked.map_err(|error| match gateway.settings.snapshot().backend_urls.as_slice() {
            [] if gateway.backend.configured.is_some() => {
                format!("{error}: `tillgate settings set backendUrl http://127.0.0.1:8332`")
            }
            _ => error.to_string(),
        })?;
    if let Some(WatchedChain { cursor, tip: watched, .. }) = gateway.backend.last_look.watched() {
        if cursor.chain != identity {
            return Err("the backend shows another chain than before: the next look begins at the wallet's birth; if you did not intend this, stop the gateway and put the former chain back".to_owned());
        }
        if tip.height < watched.height {
            let remedy = if gateway.backend.configured.is_some() {
                "the backend is behind, or lost blocks: wait until it has caught up, or set another backend; until then payments are seen late"
            } else {
                "the sandbox's file may be an older copy; if you did not intend this, stop the gateway and put the newer file back"
            };
            let (ends, watched) = (tip.height, watched.height);
            return Err(format!(
                "the chain ends with block {ends}, and was watched up to block {watched}: {remedy}"
            ));
        }
    }
    if gateway.backend.configured.is_some() {
        reaches_back(gateway, gateway.backend.chain.as_ref()).map_err(|why| why.to_string())?;
    }
    // The command `Status` shows this error as well.
    if let Some(error) = status.error {
        return Err(error.to_string());
    }
    let now = gateway.time.now();
    if let Some(begun_anew) = status.begun_anew(now) {
        return Err(begun_anew.to_string());
    }
    if let Some(catching_up) = status.catching_up {
        return Err(format!("{catching_up}: new payments are possible once it has caught up"));
    }
    if gateway.served.get().is_some() && gateway.backend.last_look.watched_lately(now).is_err() {
        return Err("the chain has not been watched for 10 minutes: the log says why".to_owned());
    }
    let defect = backend_defect(gateway, gateway.backend.chain.as_ref(), &identity, &tip);
    if let Some(fault) = defect.or_else(|| gateway.backend.chain.fault_once_tried()) {
        return Err(fault.to_string());
    }
    match standstill::unreported(&status.unreported) {
        Some(unreported) => Err(unreported.to_string()),
        None => Ok(Answers { height: tip.height }.to_string()),
    }
}

/// A backend without a fault.
#[derive(Debug, thiserror::Error, Told)]
#[error("the backend answers, its best block is {height}")]
pub struct Answers {
    pub height: u32,
}

/// A node without the blocks that a first look needs.
#[derive(Debug, thiserror::Error, Told)]
#[error(
    "the node has pruned all blocks below {first}, and the wallet began at block {birth}: let it download the chain again (-reindex) and keep blocks longer (-prune), or coins that came between these blocks are not seen"
)]
pub struct Pruned {
    first: u32,
    birth: u32,
}

/// Checks that the backend stores all blocks since the wallet's birth. Only a first look and a look
/// after a restore need them.
pub fn reaches_back(gateway: &Gateway, chain: &dyn Chain) -> Result<(), Telling> {
    let first = chain.first_block().map_err(|error| error.telling())?;
    let (birth, restore) = gateway
        .store
        .read(|reader| Ok::<_, StoreError>((reader.birth_height()?, reader.dangerous_restore()?)))
        .map_err(|error| error.telling())?;
    let is_looked_from = gateway.backend.last_look.watched().is_some() && restore.is_none();
    match birth {
        Some(birth) if first > birth.saturating_add(1) && !is_looked_from => {
            Err(Pruned { first, birth }.telling())
        }
        _ => Ok(()),
    }
}

async fn rates(gateway: &Gateway) -> Finding {
    if gateway.served.get().is_none() {
        // Only a serving gateway asks the sources regularly.
        let asked = gateway.refresh_rates().await;
        asked.map_err(|error| error.to_string())?;
    }
    let now = gateway.time.now();
    let settings = gateway.settings.snapshot();
    let refusals: Vec<_> = settings
        .currencies
        .iter()
        .filter_map(|currency| gateway.market.rates.rate_for(*currency, now).err())
        .collect();
    let silent: Vec<String> = gateway
        .market
        .rates
        .source_rows()
        .iter()
        .filter_map(silent)
        .map(|it| it.to_string())
        .collect();
    let mut wrong = Vec::new();
    if !refusals.is_empty() {
        let missing: Vec<String> = refusals
            .iter()
            .map(|refusal| format!("{} ({})", refusal.currency, refusal.reason))
            .collect();
        let remedy = if settings.fixed_rates.is_empty() {
            "until enough sources quote them: check the network and the settings rateSources, minFreshSources and proxy, or remove them from \
             the setting currencies"
        } else {
            "because the setting fixedRates has no rate for them: add one, or remove them from the setting currencies"
        };
        wrong.push(format!(
            "no fresh rate for {}: payments in these currencies are refused {remedy}",
            missing.join(", ")
        ));
        wrong.extend(silent.iter().cloned());
    }
    wrong.extend(
        strays(&gateway.market.rates.rows(now), &settings.currencies)
            .iter()
            .map(ToString::to_string),
    );
    if !wrong.is_empty() {
        return Err(wrong.join("; "));
    }
    // A silent source is no fault while every currency has a rate from the other sources.
    let well = "every currency has a fresh rate".to_owned();
    Ok(std::iter::once(well).chain(silent).collect::<Vec<_>>().join("; "))
}

/// Fails if notifications to a server fail now, or if a notification was given up and no later
/// notification of its record arrived. A shop that receives no notification ships no goods.
fn notifications(gateway: &Gateway) -> Finding {
    let found = gateway
        .store
        .read(|reader| Ok::<_, StoreError>((reader.failing_servers()?, reader.count_given_up()?)));
    let (failing, dropped) = found.map_err(|error| error.to_string())?;
    let mut wrong = Vec::new();
    if !failing.is_empty() {
        let hosts: Vec<String> = failing
            .iter()
            .map(|one| format!("{} ({} waiting)", host(&one.server), one.notifications))
            .collect();
        wrong.push(format!(
            "notifications to {} fail: `tillgate deliveries list --failed` shows the server's answers; each notification is tried again for three days",
            hosts.join(", ")
        ));
    }
    if dropped > 0 {
        let given_up = count(dropped, "notification was", "notifications were");
        wrong.push(format!(
            "{given_up} given up after three days: once the server works again, send again with `tillgate deliveries resend`"
        ));
    }
    if wrong.is_empty() { Ok("no notification fails".to_owned()) } else { Err(wrong.join("; ")) }
}

/// Checks that no payout is stuck.
fn stuck(gateway: &Gateway) -> Finding {
    let stuck = gateway
        .store
        .read(|reader| StuckPayouts::load(gateway, reader))
        .map_err(|error| error.to_string())?;
    let mut sentences: Vec<String> =
        stuck.named.iter().map(StuckItem::at_the_command_line).collect();
    let unnamed = stuck.count.saturating_sub(sentences.len() as u64);
    if unnamed > 0 {
        let more = count(unnamed, "more payout is stuck", "more payouts are stuck");
        sentences.push(format!("{more}: `tillgate payouts list` shows each"));
    }
    if sentences.is_empty() {
        Ok("no payout is stuck".to_owned())
    } else {
        Err(sentences.join("; "))
    }
}

/// Checks that no alarm about a payout is left to dismiss.
fn alarms(gateway: &Gateway) -> Finding {
    let alarms = gateway.store.read(super::alarms::alarms).map_err(|error| error.to_string())?;
    let sentence = |alarm: &AlarmItem| {
        format!(
            "{}; once this is settled, dismiss it with `tillgate payouts dismiss {}`",
            alarm.message, alarm.payout_id
        )
    };
    let sentences: Vec<String> = alarms.iter().map(sentence).collect();
    if sentences.is_empty() { Ok("no alarm is open".to_owned()) } else { Err(sentences.join("; ")) }
}

/// Checks that nightly backups are made, if they are set up, and that there is a backup at all.
fn backups(gateway: &Gateway) -> Finding {
    let read = |reader: &Reader<'_>| {
        let last = reader.last_backup(BackupState::Good)?;
        Ok::<_, StoreError>((
            backup::nightly_fault(&gateway.settings, reader, machine_now())?,
            last,
        ))
    };
    let (fault, last) = gateway.store.read(read).map_err(|error| error.to_string())?;
    match (fault, last) {
        (Some(fault), _) => Err(fault.to_string()),
        (None, Some(last)) => {
            Ok(format!("the last backup was made at {}", last.begun_at.iso_seconds()))
        }
        (None, None) => none_made(gateway.environment, gateway.wallet.get().is_some()),
    }
}

/// Checks that a wallet restored from its words was found in the chain.
fn restore(gateway: &Gateway) -> Finding {
    let read = |reader: &Reader<'_>| {
        let Some(restore) = reader.restore()? else { return Ok(None) };
        let other = OtherTypeView::load(gateway, reader, &restore)?;
        Ok::<_, StoreError>(Some((has_found_nothing(reader, &restore)?, restore, other)))
    };
    Ok(match gateway.store.read(read).map_err(|error| error.to_string())? {
        Some((true, ..)) => {
            return Err(NothingFound.to_string());
        }
        Some((false, _, Some(other))) => other.sentence(),
        Some((false, restore, None)) if restore.is_dangerous() => {
            "the look through the chain has not ended".to_owned()
        }
        Some(_) => "the chain was looked through for the restored wallet".to_owned(),
        None => "the wallet was never restored".to_owned(),
    })
}

/// The finding if no backup was ever made. In production this is a fault, because a broken disk
/// would lose the wallet's records.
fn none_made(environment: Environment, has_wallet: bool) -> Finding {
    let told =
        "no backup was made yet: make one with `tillgate backup FILE`, or one each night with the setting backupFolder"
            .to_owned();
    match environment {
        Environment::Production if has_wallet => Err(told),
        Environment::Production | Environment::Test => Ok(told),
    }
}

/// Checks that approved payouts are sent, and that the ledger's balance equals the sum of the
/// coins.
fn payouts(gateway: &Gateway) -> Finding {
    let read = |reader: &Reader<'_>| {
        let sums = (
            reader.added_up_ledger_sats()?,
            reader.ledger_sats()?,
            reader.reckoned_balance_sats()?,
        );
        Ok::<_, StoreError>((
            reader.sender_hold()?,
            queued(reader)?,
            sums,
            Waiting::load(gateway, reader)?,
        ))
    };
    let (hold, queued, (booked, kept, reckoned), obstacle) =
        gateway.store.read(read).map_err(|error| error.to_string())?;
    if booked != kept {
        return Err(format!(
            "the ledger's rows add up to {} BTC, and their stored sum is {} BTC: this is a fault of Tillgate, report it with the log; payouts continue",
            format_btc_signed(booked),
            format_btc_signed(kept)
        ));
    }
    if booked != reckoned {
        return Err(format!(
            "the ledger's balance is {} BTC, and the coins add up to {} BTC: this is a fault of Tillgate, report it with the log; payouts continue",
            format_btc_signed(booked),
            format_btc_signed(reckoned)
        ));
    }
    if let Some(Hold { since, reason, cause }) = hold {
        let reason = match cause {
            HoldCause::UntilReleased => {
                format!(
                    "{reason}; check that no other copy of this wallet runs, and that the waiting payouts are still to be paid, then `tillgate payouts release`"
                )
            }
            HoldCause::UntilCompared | HoldCause::Restored | HoldCause::Stopped => {
                WaitCause::from(cause).at_the_command_line(&reason)
            }
        };
        return Err(format!("the sender has been on hold since {}: {reason}", since.iso_seconds()));
    }
    let waiting = count(queued, "approved payout waits", "approved payouts wait");
    match obstacle {
        Some(Waiting { why, .. }) => {
            Err(format!("{waiting}: {}", why.cause.at_the_command_line(&why.reason)))
        }
        None if queued == 0 => Ok("no approved payout waits".to_owned()),
        None if gateway.served.get().is_none() => {
            Ok(format!("{waiting} for a gateway to run: start `tillgate serve`"))
        }
        None => Ok(format!(
            "{waiting} for the next batch, or for a node to accept the signed transaction"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_backup_is_a_fault_only_for_a_production_wallet() {
        assert!(
            none_made(Environment::Production, true).unwrap_err().contains("tillgate backup FILE")
        );
        assert!(
            none_made(Environment::Production, false).is_ok()
                && none_made(Environment::Test, true).is_ok()
        );
    }
}
