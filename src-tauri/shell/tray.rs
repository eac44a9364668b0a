//! The tray icon, which shows that the program runs while its window is hidden.

use tauri::image::Image;
use tauri::menu::{MenuBuilder, MenuItem, MenuItemBuilder};
use tauri::tray::TrayIconBuilder;
use tauri::{App, AppHandle, Manager, Wry};

use crate::window;
use crate::words::Words;

const ICON: &str = "tillgate";
const TOOLTIP: &str = "Tillgate";

const SHOW: &str = "show";
const QUIT: &str = "quit";

/// The mark's colour while tasks wait only in the test environment. It is visible on light and dark
/// desktops.
const MARK_RGBA: [u8; 4] = [0xff, 0xb6, 0x27, 0xff];

/// The mark's colour while a task waits in production.
const PRODUCTION_MARK_RGBA: [u8; 4] = [0xe5, 0x39, 0x2f, 0xff];

/// The menu's items.
struct Items {
    show: MenuItem<Wry>,
    quit: MenuItem<Wry>,
}

/// Puts the icon into the tray. On a desktop without a tray it appears once a tray is started.
pub fn open(app: &App) -> tauri::Result<()> {
    let words = Words::default();
    let show = MenuItemBuilder::with_id(SHOW, words.show()).build(app)?;
    let quit = MenuItemBuilder::with_id(QUIT, words.quit()).build(app)?;
    let menu = MenuBuilder::new(app).item(&show).separator().item(&quit).build()?;
    let mut tray =
        TrayIconBuilder::with_id(ICON).menu(&menu).tooltip(TOOLTIP).on_menu_event(|app, event| {
            match event.id().as_ref() {
                SHOW => window::show(app),
                QUIT => app.exit(0),
                other => tracing::debug!(item = other, "an unknown item of the tray's menu"),
            }
        });
    if let Some(icon) = app.default_window_icon() {
        tray = tray.icon(icon.clone());
    }
    tray.build(app)?;
    app.manage(Items { show, quit });
    Ok(())
}

/// Shows the waiting tasks as a mark on the icon, in the tooltip and in the menu. `None` removes
/// them. The colour of the mark depends on `is_production`.
pub fn tell(app: &AppHandle, words: &Words, tasks: Option<&str>, is_production: bool) {
    let mark = if is_production { PRODUCTION_MARK_RGBA } else { MARK_RGBA };
    let told = || -> tauri::Result<()> {
        if let Some(tray) = app.tray_by_id(ICON) {
            let tooltip =
                tasks.map_or_else(|| TOOLTIP.to_owned(), |tasks| format!("{TOOLTIP}: {tasks}"));
            tray.set_tooltip(Some(tooltip))?;
            // Some desktops show the title instead of the tooltip.
            tray.set_title(tasks)?;
            if let Some(icon) = app.default_window_icon() {
                tray.set_icon(Some(if tasks.is_some() {
                    marked(icon, mark)
                } else {
                    icon.clone()
                }))?;
            }
        }
        let Some(items) = app.try_state::<Items>() else { return Ok(()) };
        let show = words.show();
        items
            .show
            .set_text(tasks.map_or_else(|| show.to_owned(), |tasks| format!("{show}: {tasks}")))?;
        items.quit.set_text(words.quit())
    };
    if let Err(error) = told() {
        tracing::warn!(%error, "the tray icon cannot be changed");
    }
}

/// The icon with a dot in its lower right corner, a third as wide as the icon.
fn marked(icon: &Image<'_>, mark: [u8; 4]) -> Image<'static> {
    let (width, height) = (icon.width(), icon.height());
    let mut rgba = icon.rgba().to_vec();
    let radius = i64::from(width.min(height) / 3) / 2 + 1;
    let centre = (i64::from(width) - radius - 1, i64::from(height) - radius - 1);
    let pixels = rgba.chunks_exact_mut(MARK_RGBA.len());
    for (pixel, at) in
        pixels.zip((0..i64::from(height)).flat_map(|y| (0..i64::from(width)).map(move |x| (x, y))))
    {
        let (dx, dy) = (at.0 - centre.0, at.1 - centre.1);
        if dx * dx + dy * dy <= radius * radius {
            pixel.copy_from_slice(&mark);
        }
    }
    Image::new_owned(rgba, width, height)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_changes_only_the_lower_right_corner() {
        let icon = Image::new_owned(vec![7; 32 * 32 * 4], 32, 32);
        let marked = marked(&icon, MARK_RGBA);
        let pixel = |x: usize, y: usize| &marked.rgba()[(y * 32 + x) * 4..][..4];
        assert_eq!(pixel(25, 25), MARK_RGBA);
        for (x, y) in [(0, 0), (31, 0), (0, 31), (16, 16)] {
            assert_eq!(pixel(x, y), [7; 4], "{x} {y}");
        }
    }
}
