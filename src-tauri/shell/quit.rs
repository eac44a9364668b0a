//! Quitting: the gateways stop while the window's own thread goes on, which the tray and the window need for each word that is
//! said to them, and only then the program ends. Whoever starts it again meanwhile is handed to the one that ends, and gets a
//! new one once it let go of all it holds.

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tauri::{AppHandle, ExitRequestApi, Manager};

use crate::gateway_task::Gateways;
use crate::window;

/// How far the program is with its end, kept by it.
#[derive(Debug, Default)]
pub struct Quit(Mutex<Stage>);

#[derive(Debug, Default)]
enum Stage {
    #[default]
    Runs,
    /// The gateways stop; who started the program again meanwhile.
    Stops(Option<Start>),
    /// The gateways have stopped.
    Stopped(Option<Start>),
    /// What it held is free for another.
    Free,
}

/// How the program was started again.
#[derive(Debug)]
struct Start {
    arguments: Vec<String>,
    folder: PathBuf,
}

/// Somebody quits: the window goes, and the program once its gateways have stopped. Asked twice it is the same.
pub fn requested(app: &AppHandle, api: &ExitRequestApi) {
    let mut stage = stage(app);
    match *stage {
        Stage::Runs => {
            *stage = Stage::Stops(None);
            api.prevent_exit();
            drop(stage);
            window::hide(app);
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

/// The program was started again: its window is shown, or it runs anew once it has ended.
pub fn started_again(app: &AppHandle, arguments: Vec<String>, folder: String) {
    let start = Start { arguments, folder: folder.into() };
    match &mut *stage(app) {
        Stage::Runs => window::show(app),
        Stage::Stops(again) | Stage::Stopped(again) => *again = Some(start),
        Stage::Free => start.run(),
    }
}

/// The last that is done. Where the system ends the program without asking, the gateways stop now.
pub fn ends(app: &AppHandle) {
    stop(app);
    // With it goes the name by which a second start finds this one.
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
            Command::new(program).args(self.arguments.iter().skip(1)).current_dir(&self.folder).spawn()
        });
        match started {
            Ok(_) => tracing::info!("it was started again while it ended: a new one runs"),
            Err(error) => {
                tracing::error!(%error, "it was started again while it ended, and cannot be: start it once more")
            }
        }
    }
}

/// No holder of the lock leaves anything half done.
fn stage(app: &AppHandle) -> MutexGuard<'_, Stage> {
    app.state::<Quit>().inner().0.lock().unwrap_or_else(PoisonError::into_inner)
}
