//! Signals that end the program while the terminal's echo is off. The echo is turned on first,
//! because the terminal keeps its settings after the program has ended.

use std::fs::File;
use std::future::pending;
use std::io;
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

use parking_lot::Mutex;
use rustix::termios::{OptionalActions, Termios, tcsetattr};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

/// The terminal whose echo is off, and its settings from before.
static HIDDEN: Mutex<Option<(File, Termios)>> = Mutex::new(None);

/// Whether the thread that waits for signals was started.
static WATCHES: Mutex<bool> = Mutex::new(false);

/// Whether another part of the program ends it at SIGTERM or SIGINT.
static LEFT_TO_OTHERS: AtomicBool = AtomicBool::new(false);

/// A program that a signal ended has this plus the signal's number as exit status, by the
/// convention of shells.
const BY_SIGNAL: i32 = 128;

/// From now on a signal that ends the program first restores the terminal's settings from `before`.
pub fn hides(terminal: &File, before: &Termios) -> io::Result<()> {
    let mut watches = WATCHES.lock();
    if !*watches {
        watch()?;
        *watches = true;
    }
    *HIDDEN.lock() = Some((terminal.try_clone()?, before.clone()));
    Ok(())
}

/// Turns the terminal's echo on again; `how` says what happens to unread input.
pub fn shows(how: OptionalActions) {
    // Held until the end, because a signal may restore the terminal at the same time.
    let mut hidden = HIDDEN.lock();
    if let Some((terminal, before)) = hidden.take() {
        // This fails if the terminal is gone; then there is no echo to restore.
        let _ = tcsetattr(&terminal, how, &before);
    }
}

/// Leaves SIGTERM and SIGINT to another part of the program, unless the terminal's echo is off.
pub fn leave_to_others() {
    LEFT_TO_OTHERS.store(true, Ordering::SeqCst);
}

/// Starts a thread that waits for the signals until the program ends. The caller's thread blocks on
/// the terminal.
fn watch() -> io::Result<()> {
    let (told, begun) = channel();
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let (runtime, answer) = match waiting() {
            Ok(runtime) => (Some(runtime), Ok(())),
            Err(error) => (None, Err(error)),
        };
        // The caller waits for this answer.
        let _ = told.send(answer);
        if let Some(runtime) = runtime {
            runtime.block_on(pending::<()>());
        }
    })?;
    begun.recv().unwrap_or_else(|_| Err(io::Error::other("the thread for signals ended")))
}

/// A runtime with a task for each signal.
fn waiting() -> io::Result<Runtime> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let entered = runtime.enter();
    for kind in
        [SignalKind::hangup(), SignalKind::terminate(), SignalKind::interrupt(), SignalKind::quit()]
    {
        // A signal that the parent process had ignored stays ignored.
        if !is_ignored(kind) {
            let mut heard = signal(kind)?;
            runtime.spawn(async move {
                while heard.recv().await.is_some() {
                    end_by(kind);
                }
            });
        }
    }
    drop(entered);
    Ok(runtime)
}

/// Ends the program with the exit status of the signal, so that a waiting shell sees it. A signal
/// that was left to others ends it only while the echo is off.
fn end_by(kind: SignalKind) {
    let is_hidden = HIDDEN.lock().is_some();
    shows(OptionalActions::Flush);
    let others = [SignalKind::terminate(), SignalKind::interrupt()];
    let is_left = LEFT_TO_OTHERS.load(Ordering::SeqCst) && others.contains(&kind);
    if is_hidden || !is_left {
        exit(BY_SIGNAL.saturating_add(kind.as_raw_value()));
    }
}

/// Whether a signal was ignored when the program started, as after `nohup`. False if the system
/// does not say.
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let bit = u32::try_from(kind.as_raw_value()).ok().and_then(|number| number.checked_sub(1));
    bit.and_then(|bit| mask.checked_shr(bit)).is_some_and(|mask| mask & 1 == 1)
}
