//! Time from a transaction in the sandbox's mempool to the notification at the shop.

use std::time::Instant;

use crate::client::Client;
use crate::fallible::Fallible;
use crate::load;
use crate::process::{self, Served};
use crate::report::Report;
use crate::shop::Shop;

/// Number of open payments, the paid ones included.
const OPEN: u64 = 10_000;

/// Number of payments that are paid, one after another.
const PAID: u32 = 300;

/// Measures, and adds the figures to `report`.
pub fn measure(report: &mut Report) -> Fallible<()> {
    let folder = process::data_dir()?;
    let served = Served::start(folder.path())?;
    let authorization = process::authorization(folder.path())?;
    let shop = Shop::open()?;
    shop.order(served.port, &authorization, OPEN)?;
    let mut client = Client::connect(served.port, &authorization)?;
    let (mut arrivals_us, mut calls_us) = (Vec::new(), Vec::new());
    for id in client.payment_ids(PAID, 5_000)? {
        let sent = Instant::now();
        let (_, call) = client.call("POST", &format!("/v2/sandbox/payments/{id}/pay"), "{}")?;
        let arrived = shop.wait_for(&id)?;
        arrivals_us.push(load::micros(arrived.saturating_duration_since(sent)));
        calls_us.push(load::micros(call));
    }
    let call = load::spread_ms(&mut calls_us);
    let what = "mempool to notification, 10,000 open payments";
    report.add(
        what,
        load::spread_ms(&mut arrivals_us),
        &format!("the sandbox's call itself {call}"),
        None,
    );
    Ok(())
}
