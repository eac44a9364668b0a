//! Points at which a test ends the program as a power cut would, and faults that a test injects: a failing commit, or a
//! set clock of the machine.
//!
//! All of it exists only with the feature `fail-points`. The project's own tests switch it on; no shipped program does
//! (docs/decisions/fail-points.md). Without it each function here is empty, reads no environment variable and leaves no
//! trace in the program.

#![allow(unreachable_pub, reason = "tests compile this file alone, too, and look for what it then holds")]

/// A point of the program that a test can name. `Before` is before the act; `After` is after it, before anyone was
/// told.
#[derive(Clone, Copy)]
pub enum Point {
    /// The database's commit.
    CommitBefore,
    /// See [`Point::CommitBefore`].
    CommitAfter,
    /// Asking the backend what changed.
    ViewBefore,
    /// See [`Point::ViewBefore`].
    ViewAfter,
    /// Offering a transaction to the network.
    BroadcastBefore,
    /// See [`Point::BroadcastBefore`].
    BroadcastAfter,
    /// Sending a notification.
    SendBefore,
    /// See [`Point::SendBefore`].
    SendAfter,
    /// Choosing the coins of a transaction that sends payouts.
    ChooseBefore,
    /// See [`Point::ChooseBefore`].
    ChooseAfter,
    /// Reading the wallet's words and signing with them.
    SignBefore,
    /// See [`Point::SignBefore`].
    SignAfter,
    /// Making or restoring the wallet in the database, once its words are in the secret store.
    WalletBefore,
    /// See [`Point::WalletBefore`].
    WalletAfter,
    /// A change of the sandbox's chain, clock, rates or faults.
    SandboxBefore,
    /// See [`Point::SandboxBefore`].
    SandboxAfter,
    /// Giving a backup its name.
    BackupBefore,
    /// See [`Point::BackupBefore`].
    BackupAfter,
    /// Each write of a restore to the disk.
    RestoreBefore,
    /// See [`Point::RestoreBefore`].
    RestoreAfter,
}

#[cfg(feature = "fail-points")]
pub use told::{checkpoint_pages, clock_steps_ms, commit_fails, ends, index_after, pass, synchronous};

#[cfg(not(feature = "fail-points"))]
pub use quiet::{checkpoint_pages, clock_steps_ms, commit_fails, ends, index_after, pass, synchronous};

/// The functions built into tests.
#[cfg(feature = "fail-points")]
mod told {
    use std::path::PathBuf;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::Point;

    /// `commit.before:3` ends the program right before its third commit.
    const POINT_VARIABLE: &str = "TILLGATE_FAIL_POINT";

    /// A folder whose files inject faults while they exist.
    const INJECTED_FAULTS_VARIABLE: &str = "TILLGATE_INJECTED_FAULTS";

    /// `NORMAL` in place of `FULL`, for the test that shows that the difference is seen.
    const SYNCHRONOUS_VARIABLE: &str = "TILLGATE_SYNCHRONOUS";

    /// WAL pages at which a checkpoint is made; small values make them frequent under little load.
    const CHECKPOINT_VARIABLE: &str = "TILLGATE_CHECKPOINT_PAGES";

    /// Payments after which an index run starts; small values make it run under little load.
    const INDEXING_VARIABLE: &str = "TILLGATE_INDEX_AFTER";

    /// Name of a thread that ends as soon as it starts.
    const THREAD_VARIABLE: &str = "TILLGATE_END_THREAD";

    impl Point {
        const fn name(self) -> &'static str {
            match self {
                Self::CommitBefore => "commit.before",
                Self::CommitAfter => "commit.after",
                Self::ViewBefore => "view.before",
                Self::ViewAfter => "view.after",
                Self::BroadcastBefore => "broadcast.before",
                Self::BroadcastAfter => "broadcast.after",
                Self::SendBefore => "send.before",
                Self::SendAfter => "send.after",
                Self::ChooseBefore => "choose.before",
                Self::ChooseAfter => "choose.after",
                Self::SignBefore => "sign.before",
                Self::SignAfter => "sign.after",
                Self::WalletBefore => "wallet.before",
                Self::WalletAfter => "wallet.after",
                Self::SandboxBefore => "sandbox.before",
                Self::SandboxAfter => "sandbox.after",
                Self::BackupBefore => "backup.before",
                Self::BackupAfter => "backup.after",
                Self::RestoreBefore => "restore.before",
                Self::RestoreAfter => "restore.after",
            }
        }
    }

    /// Ends the program here, if a test named this point and this pass through it.
    pub fn pass(point: Point) {
        static WANTED: OnceLock<Option<(String, u64)>> = OnceLock::new();
        static PASSED: AtomicU64 = AtomicU64::new(0);
        let wanted = WANTED.get_or_init(|| {
            let text = std::env::var(POINT_VARIABLE).ok()?;
            let (name, count) = text.split_once(':')?;
            Some((name.to_owned(), count.parse().ok()?))
        });
        if let Some((name, count)) = wanted
            && name == point.name()
            && PASSED.fetch_add(1, Ordering::SeqCst).saturating_add(1) == *count
        {
            std::process::abort();
        }
    }

    fn injected(name: &str) -> Option<PathBuf> {
        static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
        let folder = FOLDER.get_or_init(|| std::env::var_os(INJECTED_FAULTS_VARIABLE).map(PathBuf::from));
        Some(folder.as_ref()?.join(name))
    }

    pub fn commit_fails() -> bool {
        injected("commit-fails").is_some_and(|file| file.exists())
    }

    pub fn ends(thread: Option<&str>) -> bool {
        thread.is_some() && std::env::var(THREAD_VARIABLE).ok().as_deref() == thread
    }

    /// Simulated step of the machine's wall clock and lead of its boot-time clock: time that passed for every clock of
    /// the machine. Both are read at once, as both clocks are.
    pub fn clock_steps_ms() -> (i64, i64) {
        let text = injected("clock-steps-ms").and_then(|file| std::fs::read_to_string(file).ok());
        let steps = text.and_then(|text| {
            let (wall_ms, boot_ms) = text.split_once(' ')?;
            wall_ms.parse().ok().zip(boot_ms.parse().ok())
        });
        steps.unwrap_or((0, 0))
    }

    pub fn synchronous(usual: &'static str) -> &'static str {
        match std::env::var(SYNCHRONOUS_VARIABLE).as_deref() {
            Ok("NORMAL") => "NORMAL",
            _ => usual,
        }
    }

    /// Pages of the WAL after which a checkpoint is made.
    pub fn checkpoint_pages(usual: u32) -> u32 {
        told_number(CHECKPOINT_VARIABLE, usual)
    }

    /// Payments after which an index run starts.
    pub fn index_after(usual: i64) -> i64 {
        told_number(INDEXING_VARIABLE, usual)
    }

    fn told_number<T: std::str::FromStr>(variable: &str, usual: T) -> T {
        std::env::var(variable).ok().and_then(|number| number.parse().ok()).unwrap_or(usual)
    }
}

/// The functions built into all other programs.
#[cfg(not(feature = "fail-points"))]
mod quiet {
    use super::Point;

    /// Does nothing.
    #[inline(always)]
    pub const fn pass(_: Point) {}

    #[inline(always)]
    pub const fn commit_fails() -> bool {
        false
    }

    #[inline(always)]
    pub const fn ends(_: Option<&str>) -> bool {
        false
    }

    /// No step.
    #[inline(always)]
    pub const fn clock_steps_ms() -> (i64, i64) {
        (0, 0)
    }

    /// The usual value.
    #[inline(always)]
    pub const fn synchronous(usual: &'static str) -> &'static str {
        usual
    }

    /// The usual value.
    #[inline(always)]
    pub const fn checkpoint_pages(usual: u32) -> u32 {
        usual
    }

    /// The usual value.
    #[inline(always)]
    pub const fn index_after(usual: i64) -> i64 {
        usual
    }
}
