//! The tray icon: the gateway's only trace on the desktop while the window is closed.

use tauri::App;
use tauri::menu::{MenuBuilder, MenuItemBuilder};
use tauri::tray::TrayIconBuilder;

use crate::window;

const SHOW: &str = "show";
const QUIT: &str = "quit";

/// Who knows the tray, by freedesktop.org's StatusNotifierItem.
#[cfg(target_os = "linux")]
const WATCHER: &str = "org.kde.StatusNotifierWatcher";

/// Puts the icon into the tray. Where the desktop has no tray this does nothing until one appears.
pub fn open(app: &App) -> tauri::Result<()> {
    let show = MenuItemBuilder::with_id(SHOW, "Show Tillgate").build(app)?;
    let quit = MenuItemBuilder::with_id(QUIT, "Quit Tillgate").build(app)?;
    let menu = MenuBuilder::new(app).item(&show).separator().item(&quit).build()?;
    let mut tray = TrayIconBuilder::new().menu(&menu).tooltip("Tillgate (test environment)").on_menu_event(
        |app, event| match event.id().as_ref() {
            SHOW => window::show(app),
            QUIT => app.exit(0),
            other => tracing::debug!(item = other, "an unknown item of the tray's menu"),
        },
    );
    if let Some(icon) = app.default_window_icon() {
        tray = tray.icon(icon.clone());
    }
    tray.build(app)?;
    Ok(())
}

/// Whether the desktop shows tray icons. Asks the session bus: call it from a thread that may wait.
#[cfg(target_os = "linux")]
pub fn is_shown() -> bool {
    let asked = || -> zbus::Result<bool> {
        let bus = zbus::blocking::Connection::session()?;
        let watcher = zbus::blocking::proxy::Builder::<zbus::blocking::Proxy<'_>>::new(&bus)
            .destination(WATCHER)?
            .path("/StatusNotifierWatcher")?
            .interface(WATCHER)?
            .cache_properties(zbus::proxy::CacheProperties::No)
            .build()?;
        watcher.get_property("IsStatusNotifierHostRegistered")
    };
    // No bus and no watcher are the usual forms of "no".
    asked().unwrap_or(false)
}

/// Whether the desktop shows tray icons: always, on macOS and Windows.
#[cfg(not(target_os = "linux"))]
pub fn is_shown() -> bool {
    true
}
