//! Limits of this machine, measured in the same run as the figures.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use bdk_wallet::bitcoin::bip32::{ChildNumber, Xpriv, Xpub};
use bdk_wallet::bitcoin::secp256k1::Secp256k1;
use bdk_wallet::bitcoin::{Address, CompressedPublicKey, Network, NetworkKind};

use crate::load::{self, Run, Until};

/// Length of each measurement.
pub const SPAN: Duration = Duration::from_secs(3);

/// Appends of a database page with `fdatasync`, per second.
pub fn fdatasync_rate(folder: &Path) -> io::Result<f64> {
    let mut file = File::create(folder.join("sync-probe"))?;
    rate(SPAN, || {
        file.write_all(&[0x5a; 4096])?;
        file.sync_data()
    })
}

/// An SQLite database in WAL mode with `synchronous=FULL`, for commits of one row.
pub struct CommitProbe(rusqlite::Connection);

impl CommitProbe {
    /// Makes the database.
    pub fn new(folder: &Path) -> io::Result<Self> {
        let connection =
            rusqlite::Connection::open(folder.join("commit-probe.db")).map_err(io::Error::other)?;
        connection
            .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (x BLOB) STRICT;")
            .map_err(io::Error::other)?;
        Ok(Self(connection))
    }

    /// Commits per second, measured for `span`.
    pub fn rate(&self, span: Duration) -> io::Result<f64> {
        rate(span, || {
            let inserted = self
                .0
                .prepare_cached("INSERT INTO t VALUES (randomblob(400))")
                .and_then(|mut s| s.execute([]));
            inserted.map(drop).map_err(io::Error::other)
        })
    }
}

/// Addresses derived from a cached extended public key, per second, on one core.
pub fn derivation_rate() -> io::Result<f64> {
    let secp = Secp256k1::new();
    let master = Xpriv::new_master(NetworkKind::Test, &[7; 32]).map_err(io::Error::other)?;
    let keychain = Xpub::from_priv(&secp, &master);
    let mut index = 0u32;
    rate(SPAN, || {
        let child = ChildNumber::from_normal_idx(index).map_err(io::Error::other)?;
        index += 1;
        let key = keychain.ckd_pub(&secp, child).map_err(io::Error::other)?;
        std::hint::black_box(
            Address::p2wpkh(&CompressedPublicKey(key.public_key), Network::Regtest).script_pubkey(),
        );
        Ok(())
    })
}

/// Requests to an empty axum handler, by the same load driver.
pub fn empty_handler(connections: usize) -> io::Result<Run> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
    let port = listener.local_addr()?.port();
    let app = axum::Router::new().route("/", axum::routing::get(|| async { "" }));
    runtime.spawn(async move { axum::serve(listener, app).await });
    let run = load::drive(port, connections, Until::Elapsed(SPAN), |_| {
        load::request("GET", "/", "none", "")
    });
    runtime.shutdown_background();
    run
}

fn rate(span: Duration, mut act: impl FnMut() -> io::Result<()>) -> io::Result<f64> {
    let started = Instant::now();
    let mut count = 0u64;
    while started.elapsed() < span {
        act()?;
        count += 1;
    }
    Ok(count as f64 / started.elapsed().as_secs_f64())
}
