//! The panel's window: opened once, never destroyed while the program runs.

use std::sync::atomic::{AtomicBool, Ordering};

use tauri::{App, AppHandle, Emitter, Manager, WebviewUrl, WebviewWindow, WebviewWindowBuilder};

use crate::tray;

const LABEL: &str = "main";

/// Told to the panel when a person closes the window and nothing on the desktop would remain.
const NO_TRAY: &str = "no-tray";

/// Whether it was said that this desktop has no tray: once is enough.
#[derive(Debug, Default)]
pub struct Told(AtomicBool);

/// Opens the window.
pub fn open(app: &App) -> tauri::Result<WebviewWindow> {
    WebviewWindowBuilder::new(app, LABEL, WebviewUrl::default())
        .title("Tillgate (test environment)")
        .inner_size(1200.0, 800.0)
        .min_inner_size(720.0, 520.0)
        // The panel has no links to elsewhere; whatever tries to lead it there is refused.
        .on_navigation(|url| matches!(url.host_str(), Some("localhost" | "tauri.localhost")))
        .build()
}

/// Brings the window to the person who asked for it.
pub fn show(app: &AppHandle) {
    with_window(app, |window| {
        window.show()?;
        window.unminimize()?;
        window.set_focus()
    });
}

/// Takes it off the screen; the gateway goes on.
pub fn hide(app: &AppHandle) {
    with_window(app, WebviewWindow::hide);
}

/// A person closed the window: it hides. Where there is no tray to bring it back, the panel says
/// so first, once.
pub fn closed_by_person(app: &AppHandle) {
    let app = app.clone();
    // Asking the session bus may take a moment, which the main thread does not have.
    std::thread::spawn(move || {
        let say_it = !tray::is_shown() && !app.state::<Told>().0.swap(true, Ordering::Relaxed);
        if !say_it {
            hide(&app);
        } else if let Err(error) = app.emit(NO_TRAY, ()) {
            tracing::warn!(%error, "the panel cannot be told that there is no tray");
            hide(&app);
        }
    });
}

fn with_window(app: &AppHandle, act: impl FnOnce(&WebviewWindow) -> tauri::Result<()>) {
    let Some(window) = app.get_webview_window(LABEL) else { return };
    if let Err(error) = act(&window) {
        tracing::warn!(%error, "the window does not obey");
    }
}
