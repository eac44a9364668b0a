//! Quitting the program: the gateways stop first, and then the process ends. The main thread keeps
//! running until then, because the tray and the window need it for each change of a text.
//!
//! If the program is started again before it has ended, the new process passes its arguments to the
//! ending one and exits. The ending process then starts the program again after it has released its
//! resources.

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tauri::{AppHandle, ExitRequestApi, Manager};

use crate::gateway_task::Gateways;
use crate::{customer, window};

/// The stage of quitting, kept as Tauri state.
#[derive(Debug, Default)]
pub struct Quit(Mutex<Stage>);

#[derive(Debug, Default)]
enum Stage {
    #[default]
    Runs,
    /// The gateways are stopping. Holds the last start of the program since then.
    Stops(Option<Start>),
    /// The gateways have stopped. Holds the last start of the program since the quit began.
    Stopped(Option<Start>),
    /// All resources are released, so that another process can use them.
    Free,
}

/// The arguments and the working folder of another start of the program.
#[derive(Debug)]
struct Start {
    arguments: Vec<String>,
    folder: PathBuf,
}

/// Quits the program: hides the window at once, and ends the process after the gateways have
/// stopped. Further calls have no effect.
pub fn requested(app: &AppHandle, api: &ExitRequestApi) {
    let mut stage = stage(app);
    match *stage {
        Stage::Runs => {
            *stage = Stage::Stops(None);
            api.prevent_exit();
            drop(stage);
            window::hide(app);
            customer::close(app);
            let app = app.clone();
            std::thread::spawn(move || {
                stop(&app);
                app.exit(0);
            });
        }
        Stage::Stops(_) => api.prevent_exit(),
        Stage::Stopped(_) | Stage::Free => {}
    }
}

/// Handles another start of the program. A running program shows its window. A quitting program is
/// started again after its end.
pub fn started_again(app: &AppHandle, arguments: Vec<String>, folder: String) {
    let start = Start { arguments, folder: folder.into() };
    match &mut *stage(app) {
        Stage::Runs => window::show(app),
        Stage::Stops(again) | Stage::Stopped(again) => *again = Some(start),
        Stage::Free => start.run(),
    }
}

/// Runs as the last step of the event loop. If the system ended the loop without a call of
/// [`requested`], the gateways stop here.
pub fn ends(app: &AppHandle) {
    stop(app);
    // This releases the bus name through which a second process finds this one.
    app.cleanup_before_exit();
    if let Stage::Stopped(Some(again)) = std::mem::replace(&mut *stage(app), Stage::Free) {
        again.run();
    }
}

fn stop(app: &AppHandle) {
    app.state::<Gateways>().stop();
    let mut stage = stage(app);
    if let Stage::Runs = *stage {
        *stage = Stage::Stopped(None);
    }
    if let Stage::Stops(again) = &mut *stage {
        *stage = Stage::Stopped(again.take());
    }
}

impl Start {
    fn run(&self) {
        let started = std::env::current_exe().and_then(|program| {
            Command::new(program)
                .args(self.arguments.iter().skip(1))
                .current_dir(&self.folder)
                .spawn()
        });
        match started {
            Ok(_) => tracing::info!(
                "the program was started again while it was quitting: a new process runs"
            ),
            Err(error) => {
                tracing::error!(%error, "the start of the program while it was quitting failed: start it again")
            }
        }
    }
}

/// The data behind a poisoned lock is still valid.
fn stage(app: &AppHandle) -> MutexGuard<'_, Stage> {
    app.state::<Quit>().inner().0.lock().unwrap_or_else(PoisonError::into_inner)
}
