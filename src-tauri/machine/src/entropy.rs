//! Random numbers, behind a trait so that tests are repeatable.

use tillgate_domain::id::Id;

/// A source of random bytes fit for secrets.
pub trait Entropy: Send + Sync {
    /// Fills `bytes`.
    ///
    /// # Errors
    /// When the operating system gives no random bytes.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), NoEntropy>;

    /// A new identifier.
    ///
    /// # Errors
    /// As [`Entropy::fill`].
    fn id(&self) -> Result<Id, NoEntropy> {
        let mut bytes = [0u8; 20];
        self.fill(&mut bytes)?;
        Ok(Id::from_bytes(bytes))
    }
}

/// A random number from -100 to 100, in thousandths of a wait, which spreads retries. Without
/// random bytes it is 0, so that retries go on.
pub fn jitter_per_mille(entropy: &dyn Entropy) -> i64 {
    let mut bytes = [0u8; 4];
    match entropy.fill(&mut bytes) {
        Ok(()) => i64::from(u32::from_le_bytes(bytes)) % 201 - 100,
        Err(_) => 0,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error("the operating system gave no random bytes")]
pub struct NoEntropy;

#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), NoEntropy> {
        getrandom::fill(bytes).map_err(|_| NoEntropy)
    }
}
