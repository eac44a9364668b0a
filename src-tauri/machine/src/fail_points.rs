//! Points at which a test ends the program as a power cut would, and faults that a test injects: a
//! failing commit, or steps of the machine's clocks.
//!
//! The points and faults exist only with the feature `fail-points`, which the project's own tests
//! switch on and no shipped program does (docs/decisions/fail-points.md). Without the feature each
//! function here does nothing and reads no environment variable.

#![allow(unreachable_pub, reason = "a test also compiles this file alone, and searches the result")]

/// A point of the program that a test can name. `Before` is right before the act. `After` is right
/// after it, before its result is reported.
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
    /// Storing a new or restored wallet in the database, once its words are in the secret store.
    WalletBefore,
    /// See [`Point::WalletBefore`].
    WalletAfter,
    /// A change of the sandbox's chain, clock, rates or faults.
    SandboxBefore,
    /// See [`Point::SandboxBefore`].
    SandboxAfter,
    /// Renaming a finished backup to its final name.
    BackupBefore,
    /// See [`Point::BackupBefore`].
    BackupAfter,
    /// Each write of a restore to the disk.
    RestoreBefore,
    /// See [`Point::RestoreBefore`].
    RestoreAfter,
}

#[cfg(feature = "fail-points")]
pub use told::{
    checkpoint_pages, clock_steps_ms, commit_fails, ends, index_after, pass, synchronous,
};

#[cfg(not(feature = "fail-points"))]
pub use quiet::{
    checkpoint_pages, clock_steps_ms, commit_fails, ends, index_after, pass, synchronous,
};

/// The functions built with the feature.
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

    /// SQLite's `synchronous`: `NORMAL` in place of `FULL`, for the test which proves that other
    /// tests see the difference.
    const SYNCHRONOUS_VARIABLE: &str = "TILLGATE_SYNCHRONOUS";

    /// WAL pages at which a checkpoint is made; small values make them frequent under little load.
    const CHECKPOINT_VARIABLE: &str = "TILLGATE_CHECKPOINT_PAGES";

    /// Payments after which an index run starts; small values make it run under little load.
    const INDEXING_VARIABLE: &str = "TILLGATE_INDEX_AFTER";

    /// The system's name of a thread that ends as soon as it starts.
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

    /// Ends the program if a test named this point and this count of passes through the point.
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
        let folder =
            FOLDER.get_or_init(|| std::env::var_os(INJECTED_FAULTS_VARIABLE).map(PathBuf::from));
        Some(folder.as_ref()?.join(name))
    }

    pub fn commit_fails() -> bool {
        injected("commit-fails").is_some_and(|file| file.exists())
    }

    pub fn ends(thread: Option<&str>) -> bool {
        thread.is_some() && std::env::var(THREAD_VARIABLE).ok().as_deref() == thread
    }

    /// Milliseconds that a test adds to the machine's wall clock and to its boot-time clock. Both
    /// numbers come from one read of the file, so that they belong together.
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

/// The functions built without the feature.
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
