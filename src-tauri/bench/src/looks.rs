//! The cost of a look at the chain. It must be the same with 100,000 closed payments as with 100.

use std::time::{Duration, Instant};

use tillgate_machine::clock::machine_now;
use tillgate_sandbox::{Pay, Sandbox};

use crate::fallible::Fallible;
use crate::merchant::Merchant;
use crate::report::Report;
use crate::scene::Scene;
use crate::servers::{Kind, Server, Traffic};

/// Numbers of payments closed days ago.
const OLD: [u32; 3] = [100, 10_000, 100_000];

/// Number of open payments in addition.
const OPEN: u32 = 100;

/// Number of looks; the median is reported.
const LOOKS: usize = 25;

/// Number of first looks after a start; the median is reported.
const STARTS: usize = 5;

/// Number of looks after which [`settle`] gives up.
const SETTLING: usize = 200;

/// The cost of one look.
#[derive(Debug, Clone, Copy)]
struct Cost {
    took: Duration,
    traffic: Traffic,
}

/// The first look after a start, an idle look, and a look that finds a payment.
type Costs = [Cost; 3];

/// Measures, and adds the figures to `report`.
pub fn measure(report: &mut Report) -> Fallible<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut costs: Vec<Vec<Costs>> = Kind::QUIET.iter().map(|_| Vec::new()).collect();
    for old in OLD {
        let scene = runtime.block_on(Scene::with_old(old))?;
        for (kind, costs) in Kind::QUIET.iter().zip(&mut costs) {
            costs.push(runtime.block_on(costs_of(*kind, &scene))?);
        }
    }
    for (kind, costs) in Kind::QUIET.iter().zip(&costs) {
        for (look, name) in
            ["the first after a start", "nothing new", "finds one payment"].into_iter().enumerate()
        {
            add(
                report,
                &format!("look, {}, {name} (median)", kind.name()),
                costs.iter().map(|costs| costs[look]),
            );
        }
    }
    Ok(())
}

fn add(report: &mut Report, what: &str, costs: impl Iterator<Item = Cost>) {
    let costs: Vec<Cost> = costs.collect();
    let figure =
        |cost: &Cost| format!("{:.1} ms, {}", cost.took.as_secs_f64() * 1_000.0, cost.traffic);
    let ratio = match costs.as_slice() {
        [few, .., many] => Some(many.took.as_secs_f64() / few.took.as_secs_f64()),
        _ => None,
    };
    let figures: Vec<_> = OLD
        .iter()
        .zip(&costs)
        .map(|(old, cost)| format!("{} old: {}", grouped(*old), figure(cost)))
        .collect();
    report.add(what, figures.join("; "), "required: 1.0, time with 100,000 old / with 100", ratio);
}

/// A count with a comma before the thousands.
fn grouped(count: u32) -> String {
    if count < 1_000 {
        count.to_string()
    } else {
        format!("{},{:03}", count / 1_000, count % 1_000)
    }
}

/// The costs of looks at a copy of the scene through a server of this kind.
async fn costs_of(kind: Kind, scene: &Scene) -> Fallible<Costs> {
    let scene = scene.copy()?;
    let sandbox = scene.chain()?;
    let server = Server::start(kind, &sandbox, scene.folder())?;
    let open = {
        let merchant = opened(&scene, &server).await?;
        settle(&merchant).await?;
        let open = merchant.make(OPEN, 0).await?;
        settle(&merchant).await?;
        open
    };
    let mut first = Vec::new();
    for _ in 0..STARTS {
        // A newly opened gateway remembers nothing of earlier looks.
        first.push(look(&opened(&scene, &server).await?, &server).await?);
    }
    let merchant = opened(&scene, &server).await?;
    settle(&merchant).await?;
    let mut idle = Vec::new();
    for _ in 0..LOOKS {
        idle.push(look(&merchant, &server).await?);
    }
    drop(merchant);
    let merchant = opened(&scene, &server).await?;
    settle(&merchant).await?;
    let mut finding = Vec::new();
    for row in open.iter().take(LOOKS) {
        pay(&sandbox, row.script.clone(), row.payment.amount_sats)?;
        let before = merchant.count(&["UNCONFIRMED"])?;
        finding.push(look(&merchant, &server).await?);
        if merchant.count(&["UNCONFIRMED"])? != before + 1 {
            return Err(format!("a look through {} did not find the payment", kind.name()).into());
        }
    }
    Ok([first, idle, finding].map(median))
}

async fn opened(scene: &Scene, server: &Server) -> Fallible<Merchant> {
    let merchant = Merchant::open(&scene.data_dir(), &server.settings()).await?;
    merchant.gateway.refresh_rates().await?;
    Ok(merchant)
}

/// Looks until two looks in a row changed nothing.
async fn settle(merchant: &Merchant) -> Fallible<()> {
    let mut quiet = 0;
    for _ in 0..SETTLING {
        let before = *merchant.gateway.signals.changes.borrow();
        merchant.app.watcher.look().await?;
        quiet = if *merchant.gateway.signals.changes.borrow() == before { quiet + 1 } else { 0 };
        if quiet == 2 {
            return Ok(());
        }
    }
    Err("the looks still change the gateway".into())
}

async fn look(merchant: &Merchant, server: &Server) -> Fallible<Cost> {
    let (before, began) = (server.traffic(), Instant::now());
    merchant.app.watcher.look().await?;
    Ok(Cost { took: began.elapsed(), traffic: server.traffic() - before })
}

/// The median by time.
fn median(mut costs: Vec<Cost>) -> Cost {
    costs.sort_by_key(|cost| cost.took);
    costs[costs.len() / 2]
}

/// The sandbox's customer pays this sum to a script.
pub fn pay(sandbox: &Sandbox, script: bitcoin::ScriptBuf, amount_sats: u64) -> Fallible<()> {
    let pay = Pay { script, amount_sats, parts: 1, fee_rate_sat_vb: None, confirmations: 0 };
    sandbox.pay(pay, machine_now().ms())?;
    Ok(())
}
