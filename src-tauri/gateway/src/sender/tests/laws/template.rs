//! The gateway with which each history begins, and its reproducible random numbers.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use bitcoin::hashes::{Hash as _, sha256};
use tempfile::TempDir;
use tillgate_machine::entropy::{Entropy, NoEntropy};

use super::runtime;
use crate::testing::sending::world_with_coins;

/// The files of a gateway with a wallet and two coins, to be copied for each history.
pub struct Template(TempDir);

impl Template {
    pub fn new() -> Self {
        let folder = runtime().block_on(async {
            let (gateway, folder) = world_with_coins(2).await.into_gateway();
            drop(gateway);
            folder
        });
        Self(folder)
    }

    pub fn copy_to(&self, folder: &Path) {
        copy(self.0.path(), folder);
    }
}

/// Reproducible random numbers from a seed.
pub struct Seeded {
    seed: u64,
    given: AtomicU64,
}

impl Seeded {
    pub const fn new(seed: u64) -> Self {
        Self { seed, given: AtomicU64::new(0) }
    }
}

impl Entropy for Seeded {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), NoEntropy> {
        for chunk in bytes.chunks_mut(32) {
            let given = self.given.fetch_add(1, Ordering::Relaxed);
            let hash = sha256::Hash::hash(&[self.seed.to_le_bytes(), given.to_le_bytes()].concat());
            chunk.copy_from_slice(&hash.to_byte_array()[..chunk.len()]);
        }
        Ok(())
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&target).unwrap();
            std::fs::set_permissions(&target, entry.metadata().unwrap().permissions()).unwrap();
            copy(&entry.path(), &target);
        } else if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), &target).unwrap();
        }
    }
}
