//! Time from a server's mempool to the notification at the shop, and start times, with 100,000
//! closed and 10,000 open payments.

use std::time::{Duration, Instant};

use bitcoin::{Address, Amount, Denomination, Network, ScriptBuf};
use serde_json::Value;
use tillgate_sandbox::Sandbox;

use crate::client::Client;
use crate::fallible::Fallible;
use crate::load;
use crate::looks;
use crate::process::{self, Served};
use crate::report::{Report, millis};
use crate::scene::Scene;
use crate::servers::{Kind, Server};
use crate::shop::Shop;

/// Number of payments that closed days ago.
const OLD: u32 = 100_000;

/// Number of open payments, the paid ones included.
const OPEN: u64 = 10_000;

/// Number of payments that are paid.
const PAID: u64 = 300;

/// Time between two paid payments. The gateway's interval between looks is no multiple of this
/// time.
const PAID_EVERY: Duration = Duration::from_millis(47);

/// Length of the idle measurement.
const IDLE: Duration = Duration::from_secs(10);

/// Number of starts; the slowest is reported.
const STARTS: usize = 3;

/// Longest wait until a started gateway makes a payment.
const PATIENCE: Duration = Duration::from_secs(600);

/// Measures, and adds the figures to `report`.
pub fn measure(report: &mut Report) -> Fallible<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let scene = runtime.block_on(Scene::with_old(OLD))?;
    drop(runtime);
    for kind in Kind::ALL {
        through(*kind, &scene.copy()?, report)?;
    }
    Ok(())
}

fn through(kind: Kind, scene: &Scene, report: &mut Report) -> Fallible<()> {
    let (name, data_dir) = (kind.name(), scene.data_dir());
    let sandbox = scene.chain()?;
    let server = Server::start(kind, &sandbox, scene.folder())?;
    let shop = Shop::open()?;
    let served = Served::start_under(&data_dir, &server.settings())?;
    let authorization = process::authorization(&data_dir)?;
    can_make_payments(&served, &authorization, &shop)?;
    shop.order(served.port, &authorization, OPEN - PAID)?;
    let mut times_us = arrivals(&served, &authorization, &shop, &sandbox)?;
    let what = format!("mempool to notification, {name}, 10,000 open payments");
    report.add(&what, load::spread_ms(&mut times_us), kind.required(), None);
    sandbox.mine(1, false, tillgate_machine::clock::machine_now().ms())?;
    std::thread::sleep(Duration::from_secs(2));
    let (before, cpu_ms) = (server.traffic(), served.cpu_ms()?);
    std::thread::sleep(IDLE);
    let figure =
        format!("{}, {} ms of processor", server.traffic() - before, served.cpu_ms()? - cpu_ms);
    report.add(&format!("{name}: {} s in which nothing happens", IDLE.as_secs()), figure, "", None);
    let memory = format!("{:.0} MB", served.resident_mb()?);
    report.add(&format!("{name}: resident memory, 110,000 payments"), memory, "", None);
    drop(served);
    starts(kind, scene, &server, (&shop, &authorization), report)
}

impl Kind {
    /// The required time from the mempool to the shop.
    const fn required(self) -> &'static str {
        match self {
            Self::Core => "required p99 below 1,200 ms; asked once a second",
            Self::CoreZmq => "required p99 below 150 ms; looks 50 ms apart",
            Self::Electrum => {
                "required p99 below 150 ms; looks 50 ms apart, notices up to 5 ms late"
            }
        }
    }
}

/// Pays one payment after another without waiting, and returns for each the time from the mempool
/// to the shop.
fn arrivals(
    served: &Served,
    authorization: &str,
    shop: &Shop,
    sandbox: &Sandbox,
) -> Fallible<Vec<u32>> {
    let mut client = Client::connect(served.port, authorization)?;
    let mut orders = Vec::new();
    for number in 0..PAID {
        let (payment, _) =
            client.call("POST", "/v2/payments/new", &shop.order_of(OPEN + number))?;
        orders.push(id_script_and_sats(&payment)?);
    }
    // Waits for the end of the first look at the new payments.
    std::thread::sleep(Duration::from_secs(2));
    let mut paid = Vec::new();
    for (id, script, amount_sats) in orders {
        looks::pay(sandbox, script, amount_sats)?;
        paid.push((id, Instant::now()));
        std::thread::sleep(PAID_EVERY);
    }
    let times = paid
        .iter()
        .map(|(id, at)| Ok(load::micros(shop.wait_for(id)?.saturating_duration_since(*at))));
    times.collect()
}

/// The id, script and sum of a payment.
fn id_script_and_sats(payment: &Value) -> Fallible<(String, ScriptBuf, u64)> {
    let text = |name: &str| {
        payment[name].as_str().ok_or_else(|| format!("a payment without {name}: {payment}"))
    };
    let address = text("address")?.parse::<Address<_>>()?.require_network(Network::Regtest)?;
    let amount = Amount::from_str_in(&payment["amountBtc"].to_string(), Denomination::Bitcoin)?;
    Ok((text("paymentId")?.to_owned(), address.script_pubkey(), amount.to_sat()))
}

fn starts(
    kind: Kind,
    scene: &Scene,
    server: &Server,
    (shop, authorization): (&Shop, &str),
    report: &mut Report,
) -> Fallible<()> {
    let (mut ready, mut able) = (Duration::ZERO, Duration::ZERO);
    let mut traffic = None;
    for _ in 0..STARTS {
        let (before, began) = (server.traffic(), Instant::now());
        let served = Served::start_under(&scene.data_dir(), &server.settings())?;
        ready = ready.max(served.ready_after);
        can_make_payments(&served, authorization, shop)?;
        able = able.max(began.elapsed());
        traffic = Some(server.traffic() - before);
    }
    let traffic = traffic.map_or_else(String::new, |traffic| format!(", {traffic}"));
    let figure = format!(
        "{:.0} ms; first payment made after {:.0} ms{traffic}",
        millis(ready),
        millis(able)
    );
    let what = format!("{}: start to ready, 110,000 payments (slowest of {STARTS})", kind.name());
    report.add(&what, figure, "required below 2,000 ms", None);
    Ok(())
}

/// Requests a payment until the gateway makes one.
pub fn can_make_payments(served: &Served, authorization: &str, shop: &Shop) -> Fallible<()> {
    let (mut client, began) = (Client::connect(served.port, authorization)?, Instant::now());
    loop {
        match client.call("POST", "/v2/payments/new", &shop.order_of(u64::from(u32::MAX))) {
            Ok(_) => return Ok(()),
            Err(error) if began.elapsed() > PATIENCE => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}
