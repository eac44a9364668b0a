//! The panel's window: opened once, never destroyed while the program runs.

use std::sync::atomic::{AtomicBool, Ordering};

use tauri::{
    App, AppHandle, Emitter, Manager, Url, UserAttentionType, WebviewUrl, WebviewWindow, WebviewWindowBuilder,
};

use tillgate_gateway::Environment;

use crate::tray_host;

const LABEL: &str = "main";

/// The title until the panel names its environment.
const TITLE: &str = "Tillgate";

/// Event for the panel: a person closed the window, and the desktop has no tray.
const NO_TRAY: &str = "no-tray";

/// Event for the panel, with the environment's name: a person wants to see the offers that wait for approval.
const OFFERS: &str = "offers";

/// Whether the missing tray was already reported; once is enough.
#[derive(Debug, Default)]
pub struct Told(AtomicBool);

/// Opens the window.
pub fn open(app: &App) -> tauri::Result<WebviewWindow> {
    let dev_server = app.config().build.dev_url.clone().filter(|_| tauri::is_dev());
    let window = WebviewWindowBuilder::new(app, LABEL, WebviewUrl::default())
        .title(TITLE)
        .inner_size(1200.0, 800.0)
        .min_inner_size(720.0, 520.0)
        // The panel has no links to other pages; any navigation away is refused.
        .on_navigation(move |url| is_the_panels(url, dev_server.as_ref()))
        .build()?;
    #[cfg(target_os = "linux")]
    draw_without_graphics_card(&window)?;
    Ok(window)
}

/// Makes `WebKitGTK` draw without the graphics card. The panel has no animation that needs one, and the card's path
/// costs 80 MB. With software rendering it also costs half a second before the first picture.
#[cfg(target_os = "linux")]
fn draw_without_graphics_card(window: &WebviewWindow) -> tauri::Result<()> {
    use webkit2gtk::{HardwareAccelerationPolicy, SettingsExt as _, WebViewExt as _};

    window.with_webview(|webview| {
        if let Some(settings) = webview.inner().settings() {
            settings.set_hardware_acceleration_policy(HardwareAccelerationPolicy::Never);
        }
    })
}

/// Whether a URL belongs to the panel. The whole origin counts, because any program may serve a port of `localhost`.
fn is_the_panels(url: &Url, dev_server: Option<&Url>) -> bool {
    let origin = |url: &Url| (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port_or_known_default());
    let bundled = if cfg!(windows) { "http://tauri.localhost" } else { "tauri://localhost" };
    let bundled = Url::parse(bundled).ok();
    dev_server.or(bundled.as_ref()).is_some_and(|own| origin(own) == origin(url))
}

/// Shows the window and gives it the focus.
pub fn show(app: &AppHandle) {
    with_window(app, |window| {
        window.show()?;
        window.unminimize()?;
        window.set_focus()
    });
}

/// Shows the window at the offers that wait for approval.
pub fn show_offers(app: &AppHandle, environment: Environment) {
    show(app);
    if let Err(error) = app.emit(OFFERS, environment.as_str()) {
        tracing::warn!(%error, "the panel cannot be asked for its offers");
    }
}

/// Marks the window in lists of windows, unless a person is using it.
pub fn ask_for_attention(app: &AppHandle) {
    with_window(app, |window| window.request_user_attention(Some(UserAttentionType::Informational)));
}

/// Hides the window; the gateway goes on.
pub fn hide(app: &AppHandle) {
    with_window(app, WebviewWindow::hide);
}

/// Sets the window's title, which lists of windows show.
pub fn tell(app: &AppHandle, title: &str) {
    with_window(app, |window| window.set_title(title));
}

/// A person closed the window, so it hides. If no tray could bring it back, the panel says so first, once.
pub fn closed_by_person(app: &AppHandle) {
    let app = app.clone();
    // Asking the session bus may take a moment, and the main thread must not wait.
    std::thread::spawn(move || {
        let say_it = !tray_host::is_there() && !app.state::<Told>().0.swap(true, Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(not(windows))]
    fn the_window_goes_nowhere_but_to_the_panel() {
        let is_ours = |url: &str, dev: Option<&str>| {
            is_the_panels(&url.parse().unwrap(), dev.map(|dev| dev.parse().unwrap()).as_ref())
        };
        assert!(is_ours("tauri://localhost/#/payments", None));
        for url in ["http://localhost:7421/pay/x", "http://localhost/", "https://tauri.localhost/", "tauri://evil/"] {
            assert!(!is_ours(url, None), "{url}");
        }
        let dev = Some("http://localhost:5173");
        assert!(is_ours("http://localhost:5173/src/main.ts", dev));
        for url in ["http://localhost:7421/pay/x", "https://localhost:5173/", "http://127.0.0.1:5173/"] {
            assert!(!is_ours(url, dev), "{url}");
        }
    }
}
