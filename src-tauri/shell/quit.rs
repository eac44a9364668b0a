//! Quitting: the gateways stop first, and then the program ends. The window's own thread goes on meanwhile, because the
//! tray and the window need it for each text. A start of the program meanwhile is handed to the ending one, which
//! starts a new one once it has released all it holds.

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tauri::{AppHandle, ExitRequestApi, Manager};

use crate::gateway_task::Gateways;
use crate::window;

/// The stage of the program's end, kept by the program.
#[derive(Debug, Default)]
pub struct Quit(Mutex<Stage>);

#[derive(Debug, Default)]
enum Stage {
    #[default]
    Runs,
    /// The gateways are stopping; holds a start of the program meanwhile.
    Stops(Option<Start>),
    /// The gateways have stopped; holds a start of the program meanwhile.
    Stopped(Option<Start>),
    /// All resources are free for another process.
    Free,
}

/// The arguments and folder of another start of the program.
#[derive(Debug)]
struct Start {
    arguments: Vec<String>,
    folder: PathBuf,
}

/// A person quits: the window closes at once, and the program ends after its gateways have stopped. Further calls have
/// no effect.
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

/// The program was started again. Its window is shown, or it is started anew after its end.
pub fn started_again(app: &AppHandle, arguments: Vec<String>, folder: String) {
    let start = Start { arguments, folder: folder.into() };
    match &mut *stage(app) {
        Stage::Runs => window::show(app),
        Stage::Stops(again) | Stage::Stopped(again) => *again = Some(start),
        Stage::Free => start.run(),
    }
}

/// The last step. If the system ends the program without asking, the gateways stop now.
pub fn ends(app: &AppHandle) {
    stop(app);
    // This releases the name by which a second start finds this program.
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

/// The data behind a poisoned lock is sound.
fn stage(app: &AppHandle) -> MutexGuard<'_, Stage> {
    app.state::<Quit>().inner().0.lock().unwrap_or_else(PoisonError::into_inner)
}
