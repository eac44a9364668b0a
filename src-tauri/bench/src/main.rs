//! Measures Tillgate from outside, with the machine's own limits beside each figure. `seed` writes
//! the database and the sandbox chain of a busy merchant. This program is not shipped.

mod arrivals;
mod backups;
mod both;
mod client;
mod fallible;
mod idle;
mod limits;
mod load;
mod looks;
mod merchant;
mod million;
mod notify;
mod payouts;
mod process;
mod report;
mod restores;
mod scene;
mod seed;
mod servers;
mod shop;
mod spine;
mod sweep;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use fallible::Fallible;
use report::Report;

#[derive(Parser)]
#[command(about = "Measures the release build of tillgate in this program's folder")]
struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Measures these parts only.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// Writes the table as a page of the documentation.
    #[arg(long)]
    page: Option<PathBuf>,
    /// Measures the parts `million` and `backups` on a database that `seed` wrote before, less than
    /// half an hour ago.
    #[arg(long)]
    seeded: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Writes a database and its sandbox chain, through the gateway's own code, into a new data
    /// directory.
    Seed(seed::Plan),
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Making and reading payments.
    Spine,
    /// Time from the mempool to the notification at the shop.
    Notify,
    /// Time from the mempool to the shop through each kind of server, and start times, with 110,000
    /// payments.
    Arrivals,
    /// Looks with few and with many payments through each kind of server.
    Looks,
    /// Restore of a wallet with 10,000 used addresses from its words, through each kind of server.
    Restores,
    /// Both environments in one process.
    Both,
    /// Start, reading and making payments with a million payments in the database.
    Million,
    /// Backup and restore of a database of a million payments.
    Backups,
    /// Offers, lists of payouts, and sending them.
    Payouts,
    /// Memory and processor time of an idle program.
    Idle,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match &args.command {
        Some(Command::Seed(plan)) => seed::run(plan),
        None => measure(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures the parts that need a large database, on the database in `seeded` or on a new one.
fn large(only: &[Part], seeded: Option<&Path>, report: &mut Report) -> Fallible<()> {
    let wanted = |part| only.is_empty() || only.contains(&part);
    let folder = process::data_dir()?;
    let data_dir = seeded.unwrap_or(folder.path());
    if seeded.is_none() {
        seed::run(&seed::Plan::million(data_dir))?;
    }
    if wanted(Part::Million) {
        million::measure(report, data_dir)?;
    }
    if wanted(Part::Backups) {
        backups::measure(report, data_dir)?;
    }
    Ok(())
}

fn measure(args: &Args) -> Fallible<()> {
    let wanted = |part| args.only.is_empty() || args.only.contains(&part);
    let machine = report::machine();
    println!("{machine}");
    let mut report = Report::default();
    // The parts with little load are first, because the disk still writes for a while after a
    // million payments.
    if wanted(Part::Idle) {
        idle::measure(&mut report)?;
    }
    if wanted(Part::Spine) {
        spine::measure(&mut report)?;
    }
    if wanted(Part::Notify) {
        notify::measure(&mut report)?;
    }
    if wanted(Part::Payouts) {
        payouts::measure(&mut report)?;
    }
    if wanted(Part::Arrivals) {
        arrivals::measure(&mut report)?;
    }
    if wanted(Part::Looks) {
        looks::measure(&mut report)?;
    }
    if wanted(Part::Restores) {
        restores::measure(&mut report)?;
    }
    if wanted(Part::Both) {
        both::measure(&mut report)?;
    }
    if wanted(Part::Million) || wanted(Part::Backups) {
        large(&args.only, args.seeded.as_deref(), &mut report)?;
    }
    if let Some(page) = &args.page {
        std::fs::write(page, report.page(&machine))?;
    }
    Ok(())
}
