//! Signals that end the program while the terminal shows nothing of what is typed: it shows it again first, for a terminal outlives
//! its programs.

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

/// The terminal that hides what is typed, and how it was before.
static HIDDEN: Mutex<Option<(File, Termios)>> = Mutex::new(None);

/// The signals are waited for already.
static WATCHES: Mutex<bool> = Mutex::new(false);

/// Somebody else ends the program where SIGTERM or SIGINT comes.
static LEFT_TO_OTHERS: AtomicBool = AtomicBool::new(false);

/// A program that a signal ended has this exit status, as shells have it, and the signal's number.
const BY_SIGNAL: i32 = 128;

/// From now on a signal that ends the program finds the terminal as it was `before`.
pub(super) fn hides(terminal: &File, before: &Termios) -> io::Result<()> {
    let mut watches = WATCHES.lock();
    if !*watches {
        watch()?;
        *watches = true;
    }
    *HIDDEN.lock() = Some((terminal.try_clone()?, before.clone()));
    Ok(())
}

/// The terminal shows what is typed again; `how` it takes that over.
pub(super) fn shows(how: OptionalActions) {
    // Held until it is done: a signal in between does it, too.
    let mut hidden = HIDDEN.lock();
    if let Some((terminal, before)) = hidden.take() {
        // What cannot be done to a terminal that is gone need not be.
        let _ = tcsetattr(&terminal, how, &before);
    }
}

/// SIGTERM and SIGINT are heard by somebody else, who ends the program, unless the terminal hides what is typed.
pub(super) fn leave_to_others() {
    LEFT_TO_OTHERS.store(true, Ordering::SeqCst);
}

/// Waits for the signals on a thread of its own, for good: whoever asks a question waits for the terminal meanwhile.
fn watch() -> io::Result<()> {
    let (told, begun) = channel();
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let (runtime, answer) = match waiting() {
            Ok(runtime) => (Some(runtime), Ok(())),
            Err(error) => (None, Err(error)),
        };
        // Whoever asked waits for it.
        let _ = told.send(answer);
        if let Some(runtime) = runtime {
            runtime.block_on(pending::<()>());
        }
    })?;
    begun.recv().unwrap_or_else(|_| Err(io::Error::other("the thread for signals ended")))
}

/// A runtime that hears the signals while it runs.
fn waiting() -> io::Result<Runtime> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let entered = runtime.enter();
    for kind in [SignalKind::hangup(), SignalKind::terminate(), SignalKind::interrupt(), SignalKind::quit()] {
        // What is ignored for whoever started us goes on being ignored.
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

/// Ends the program as the signal would, had nobody waited for it; a shell that waits for us learns of it.
fn end_by(kind: SignalKind) {
    let is_hidden = HIDDEN.lock().is_some();
    shows(OptionalActions::Flush);
    let others = [SignalKind::terminate(), SignalKind::interrupt()];
    let is_left = LEFT_TO_OTHERS.load(Ordering::SeqCst) && others.contains(&kind);
    if is_hidden || !is_left {
        exit(BY_SIGNAL.saturating_add(kind.as_raw_value()));
    }
}

/// Whether a signal was ignored when the program started, as after `nohup`. Where the system does not say it was not.
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let bit = u32::try_from(kind.as_raw_value()).ok().and_then(|number| number.checked_sub(1));
    bit.and_then(|bit| mask.checked_shr(bit)).is_some_and(|mask| mask & 1 == 1)
}
