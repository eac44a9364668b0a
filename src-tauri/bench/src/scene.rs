//! A merchant on regtest with payments closed days ago, copied for each kind of server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use tillgate_machine::clock::machine_now;
use tillgate_sandbox::Sandbox;

use crate::fallible::Fallible;
use crate::merchant::Merchant;
use crate::process;
use crate::servers::{Kind, Server};

/// Age of the old payments: the gateway treats them like those of years ago.
const MADE_BEFORE_MS: i64 = 3 * 24 * 3_600_000;

/// Time after which a payment has expired, its grace included.
const EXPIRED_AFTER_MS: i64 = 6 * 3_600_000;

/// Number of payments made concurrently.
const BATCH: u32 = 4_000;

/// The name of the sandbox chain's file.
const CHAIN: &str = "chain.db";

/// A data directory with the chain of its customers.
pub struct Scene {
    folder: TempDir,
}

impl Scene {
    /// A new folder with an empty data directory.
    pub fn new() -> Fallible<Self> {
        let scene = Self { folder: process::data_dir()? };
        std::fs::create_dir(scene.data_dir())?;
        Ok(scene)
    }

    /// A new merchant with `old` payments that expired unpaid. The gateway saw all blocks of the
    /// chain through a Core node.
    pub async fn with_old(old: u32) -> Fallible<Self> {
        let scene = Self::new()?;
        let begins_at_ms = machine_now().ms() - MADE_BEFORE_MS;
        let sandbox = Arc::new(Sandbox::open(&scene.folder.path().join(CHAIN), begins_at_ms)?);
        let server = Server::start(Kind::Core, &sandbox, scene.folder.path())?;
        let merchant = Merchant::open(&scene.data_dir(), &server.settings()).await?;
        merchant.set_clock(begins_at_ms);
        merchant.gateway.refresh_rates().await?;
        merchant.look_at(begins_at_ms).await?;
        for first in (0..old).step_by(BATCH as usize) {
            merchant.make(BATCH.min(old - first), first).await?;
        }
        sandbox.mine(1, false, begins_at_ms + EXPIRED_AFTER_MS)?;
        merchant.look_at(begins_at_ms + EXPIRED_AFTER_MS).await?;
        match merchant.count(&["EXPIRED"])? {
            expired if expired == u64::from(old) => Ok(scene),
            expired => Err(format!("{expired} of {old} old payments have expired").into()),
        }
    }

    /// A copy of the scene, which must not be open in any process.
    pub fn copy(&self) -> Fallible<Self> {
        let folder = process::data_dir()?;
        copy_files(self.folder.path(), folder.path())?;
        Ok(Self { folder })
    }

    /// The folder of all files of the scene.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The merchant's data directory.
    pub fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Opens the chain, and mines one block at the present time.
    pub fn chain(&self) -> Fallible<Arc<Sandbox>> {
        let sandbox = Sandbox::open(&self.folder.path().join(CHAIN), machine_now().ms())?;
        sandbox.mine(1, false, machine_now().ms())?;
        Ok(Arc::new(sandbox))
    }
}

fn copy_files(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(from)? {
        let (entry, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
        let copy = to.join(entry.file_name().unwrap_or_default());
        if kind.is_dir() {
            std::fs::create_dir(&copy)?;
            std::fs::set_permissions(&copy, std::fs::metadata(&entry)?.permissions())?;
            copy_files(&entry, &copy)?;
        } else if kind.is_file() {
            std::fs::copy(&entry, &copy)?;
        }
    }
    Ok(())
}
