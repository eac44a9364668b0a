//! The desktop program: a window and a tray icon for the gateways of both environments, which run
//! in the same process. Only this crate uses Tauri. It holds no rule about payments or payouts.
//!
//! Without the feature `desktop` this crate is empty, so that servers need no web view.
#![cfg(feature = "desktop")]

mod alarm;
mod console;
mod customer;
mod customer_page;
mod desktop;
mod downloads;
mod gateway_task;
mod quit;
mod standing;
mod tray;
mod tray_host;
mod waiting;
mod window;
mod words;

use std::process::ExitCode;

use tauri::{Manager, RunEvent, WindowEvent};
use tillgate_cli::Hosted;

use crate::gateway_task::Gateways;

/// Runs the desktop program until a person quits it. A second process shows the window of the first
/// one, and ends.
#[must_use]
pub fn run() -> ExitCode {
    window::start_with_little_memory();
    let hosted = match Hosted::parse() {
        Ok(hosted) => hosted,
        Err(code) => return code,
    };
    if !has_display() {
        tracing::error!("there is no display to open a window on: run `tillgate serve` instead");
        return ExitCode::FAILURE;
    }
    let gateways = match Gateways::new(hosted) {
        Ok(gateways) => gateways,
        Err(error) => {
            tracing::error!(%error, "cannot start threads");
            return ExitCode::FAILURE;
        }
    };
    let app = tauri::Builder::default()
        .plugin(tauri_plugin_single_instance::init(quit::started_again))
        .manage(gateways)
        .manage(quit::Quit::default())
        .manage(standing::Standing::default())
        .manage(downloads::Saving::default())
        .manage(window::NoTrayNotice::default())
        .invoke_handler(tauri::generate_handler![console::console])
        .setup(|app| {
            window::open(app)?;
            tray::open(app)?;
            let gateways = app.state::<Gateways>();
            gateways.start(app.handle());
            let handle = app.handle().clone();
            gateways.on_signal(move || handle.exit(0));
            Ok(())
        })
        .on_window_event(|window, event| match event {
            WindowEvent::CloseRequested { api, .. } if window.label() == window::LABEL => {
                api.prevent_close();
                window::closed_by_person(window.app_handle());
            }
            WindowEvent::Destroyed if window.label() == customer::LABEL => {
                customer::closed(window.app_handle())
            }
            _ => {}
        })
        .build(tauri::generate_context!());
    let app = match app {
        Ok(app) => app,
        Err(error) => {
            tracing::error!(%error, "the window cannot be opened: `tillgate serve` runs the gateway without one");
            return ExitCode::FAILURE;
        }
    };
    let code = app.run_return(|app, event| {
        if let RunEvent::ExitRequested { api, .. } = &event {
            quit::requested(app, api);
        }
        if let RunEvent::Exit = event {
            quit::ends(app);
        }
    });
    if code == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether there is a display. Without a display GTK would panic.
fn has_display() -> bool {
    let named = |variable| std::env::var_os(variable).is_some_and(|name| !name.is_empty());
    !cfg!(target_os = "linux") || named("DISPLAY") || named("WAYLAND_DISPLAY")
}
