//! The tray icon: the gateway's only trace on the desktop while the window is closed.

use tauri::menu::{MenuBuilder, MenuItem, MenuItemBuilder};
use tauri::tray::TrayIconBuilder;
use tauri::{App, AppHandle, Manager, Wry};

use crate::window;

const ICON: &str = "tillgate";
const TOOLTIP: &str = "Tillgate (test environment)";
const SHOW_WORDS: &str = "Show Tillgate";

const SHOW: &str = "show";
const QUIT: &str = "quit";

/// The menu's line that shows the window.
struct ShowItem(MenuItem<Wry>);

/// Puts the icon into the tray. Where the desktop has no tray this does nothing until one appears.
pub fn open(app: &App) -> tauri::Result<()> {
    let show = MenuItemBuilder::with_id(SHOW, SHOW_WORDS).build(app)?;
    let quit = MenuItemBuilder::with_id(QUIT, "Quit Tillgate").build(app)?;
    let menu = MenuBuilder::new(app).item(&show).separator().item(&quit).build()?;
    let mut tray = TrayIconBuilder::with_id(ICON).menu(&menu).tooltip(TOOLTIP).on_menu_event(|app, event| match event
        .id()
        .as_ref()
    {
        SHOW => window::show(app),
        QUIT => app.exit(0),
        other => tracing::debug!(item = other, "an unknown item of the tray's menu"),
    });
    if let Some(icon) = app.default_window_icon() {
        tray = tray.icon(icon.clone());
    }
    tray.build(app)?;
    app.manage(ShowItem(show));
    Ok(())
}

/// Puts words beside the icon and into its menu; `None` takes them away.
pub fn tell(app: &AppHandle, words: Option<&str>) {
    let told = || -> tauri::Result<()> {
        if let Some(tray) = app.tray_by_id(ICON) {
            let tooltip = words.map_or_else(|| TOOLTIP.to_owned(), |words| format!("{TOOLTIP}: {words}"));
            tray.set_tooltip(Some(tooltip))?;
            // Where a desktop shows no tooltips, it shows a title.
            tray.set_title(words)?;
        }
        let show = app.try_state::<ShowItem>();
        let line = words.map_or_else(|| SHOW_WORDS.to_owned(), |words| format!("{SHOW_WORDS}: {words}"));
        show.map_or(Ok(()), |show| show.0.set_text(line))
    };
    if let Err(error) = told() {
        tracing::warn!(%error, "the tray does not obey");
    }
}
