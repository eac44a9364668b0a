//! Writes a busy merchant's database and sandbox chain with the gateway's own code, under a clock
//! that the benchmark sets.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use bitcoin::{OutPoint, ScriptBuf};
use tillgate_machine::clock::machine_now;
use tillgate_machine::data_dir::{DataDir, IfMissing};
use tillgate_machine::environment::Environment;
use tillgate_sandbox::Sandbox;
use tillgate_store::payments::PaymentRow;

use crate::fallible::Fallible;
use crate::merchant::Merchant;
use crate::sweep::{self, Coin};

/// Number of payments made concurrently, at one moment of the history.
const BATCH: u32 = 4_000;

/// Time between two such moments; long enough for a payment to expire.
const STEP_MS: i64 = 45 * 60_000;

/// Delay of the customer's transaction after its payments were made.
const PAID_AFTER_MS: i64 = 5 * 60_000;
/// Delay of the block with that transaction, within a payment's half hour.
const MINED_AFTER_MS: i64 = 12 * 60_000;

/// Number of payments that one of the customer's transactions pays.
const PAYEES: usize = 500;

/// The content of the database.
#[derive(Debug, Clone, clap::Args)]
pub struct Plan {
    /// The data directory, as for `tillgate serve`; it must hold no test environment yet.
    #[arg(long)]
    pub data_dir: PathBuf,
    /// Number of payments.
    #[arg(long, default_value_t = 1_000_000)]
    pub payments: u32,
    /// Number of confirmed payments among them.
    #[arg(long, default_value_t = 100_000)]
    pub paid: u32,
    /// Number of unspent outputs of the confirmed payments.
    #[arg(long, default_value_t = 1_000)]
    pub unspent: u32,
    /// Number of open payments among them, made last.
    #[arg(long, default_value_t = 2_000)]
    pub open: u32,
}

impl Plan {
    /// The default plan: a million payments.
    pub fn million(data_dir: &Path) -> Self {
        let data_dir = data_dir.to_owned();
        Self { data_dir, payments: 1_000_000, paid: 100_000, unspent: 1_000, open: 2_000 }
    }
}

pub fn run(plan: &Plan) -> Fallible<()> {
    if plan.paid + plan.open > plan.payments || plan.unspent > plan.paid {
        return Err(
            "more paid and open payments than payments, or more coins than paid payments".into()
        );
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(write(plan))
}

async fn write(plan: &Plan) -> Fallible<()> {
    let started = Instant::now();
    let closed = plan.payments - plan.open;
    let batches = closed.div_ceil(BATCH);
    let begins_at_ms = machine_now().ms() - i64::from(batches + 1) * STEP_MS;
    let history = History::begin(plan, begins_at_ms).await?;
    let mut coins = Vec::new();
    let mut at_ms = begins_at_ms;
    for batch in 0..batches {
        let count = BATCH.min(closed - batch * BATCH);
        let share = |batches_done: u32| {
            u64::from(plan.paid) * u64::from((batches_done * BATCH).min(closed)) / u64::from(closed)
        };
        let paid = usize::try_from(share(batch + 1) - share(batch))?;
        at_ms += STEP_MS;
        history.merchant.look_at(at_ms).await?;
        let ids = history.merchant.make(count, batch * BATCH).await?;
        coins.extend(history.pay(&ids[..paid], at_ms).await?);
        if batch % 25 == 24 {
            println!(
                "seed: {} payments after {:.0} s",
                (batch + 1) * BATCH,
                started.elapsed().as_secs_f64()
            );
        }
    }
    // The open payments are made at the present time.
    history.merchant.look_at(machine_now().ms()).await?;
    let spent = coins.len().saturating_sub(usize::try_from(plan.unspent)?);
    sweep::spend(&history.merchant.gateway, &history.sandbox, &coins[..spent])?;
    history.merchant.look_at(machine_now().ms()).await?;
    history.merchant.make(plan.open, closed).await?;
    history.check(plan)?;
    println!("seed: done after {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// A merchant, and the chain of its customer.
struct History {
    merchant: Merchant,
    sandbox: Arc<Sandbox>,
}

impl History {
    async fn begin(plan: &Plan, begins_at_ms: i64) -> Fallible<Self> {
        {
            let data_dir = DataDir::open(&plan.data_dir, Environment::Test, IfMissing::Make)?;
            if data_dir.database().exists() {
                return Err(
                    format!("{} holds a database already", data_dir.path().display()).into()
                );
            }
            // The gateway itself would create a chain whose tip has the present time.
            Sandbox::open(&data_dir.sandbox(), begins_at_ms)?;
        }
        let merchant = Merchant::open(&plan.data_dir, &[]).await?;
        let sandbox = merchant
            .gateway
            .backend
            .sandbox
            .clone()
            .ok_or("the test environment has no sandbox")?;
        merchant.set_clock(begins_at_ms);
        merchant.gateway.refresh_rates().await?;
        Ok(Self { merchant, sandbox })
    }

    /// The customer pays these payments, a block confirms them, and the gateway looks.
    async fn pay(&self, rows: &[PaymentRow], made_at_ms: i64) -> Fallible<Vec<Coin>> {
        let mut coins = Vec::with_capacity(rows.len());
        for rows in rows.chunks(PAYEES) {
            let payees: Vec<(ScriptBuf, u64)> =
                rows.iter().map(|row| (row.script.clone(), row.payment.amount_sats)).collect();
            let txid = self.sandbox.pay_many(&payees, made_at_ms + PAID_AFTER_MS)?;
            coins.extend((0u32..).zip(rows).map(|(vout, row)| Coin {
                outpoint: OutPoint { txid, vout },
                index: row.derivation_index,
                amount_sats: row.payment.amount_sats,
            }));
        }
        self.sandbox.mine(1, false, made_at_ms + MINED_AFTER_MS)?;
        self.merchant.look_at(made_at_ms + MINED_AFTER_MS).await?;
        Ok(coins)
    }

    /// Checks that the database holds the planned payments.
    fn check(&self, plan: &Plan) -> Fallible<()> {
        let (all, paid, open) = (
            self.merchant.count(&[])?,
            self.merchant.count(&["CONFIRMED"])?,
            self.merchant.count(&["NEW"])?,
        );
        if (all, paid, open) != (plan.payments.into(), plan.paid.into(), plan.open.into()) {
            return Err(format!(
                "the database holds {all} payments, {paid} paid and {open} open, not as planned"
            )
            .into());
        }
        Ok(())
    }
}
