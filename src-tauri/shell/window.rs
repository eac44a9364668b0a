//! The panel's window. It is created once, and hidden instead of destroyed while the program runs.

use std::sync::atomic::{AtomicBool, Ordering};

use tauri::{
    App, AppHandle, Config, Emitter, Manager, Url, UserAttentionType, WebviewUrl, WebviewWindow,
    WebviewWindowBuilder,
};

use tillgate_machine::environment::Environment;

use crate::tray_host;

pub const LABEL: &str = "main";

/// The title until the panel reports which environment it shows.
const TITLE: &str = "Tillgate";

/// Event for the panel: a person closed the window, but the desktop has no tray.
const NO_TRAY: &str = "no-tray";

/// Event for the panel, with an environment and a screen as in its URL: a person wants to see that
/// screen.
const SCREEN: &str = "screen";

/// Whether the panel was already told that the desktop has no tray.
#[derive(Debug, Default)]
pub struct NoTrayNotice(AtomicBool);

pub fn open(app: &App) -> tauri::Result<WebviewWindow> {
    let window = WebviewWindowBuilder::new(app, LABEL, WebviewUrl::default())
        .title(TITLE)
        .inner_size(1200.0, 800.0)
        .min_inner_size(720.0, 520.0)
        .initialization_script(locale_script())
        .on_navigation(only_the_panel(app.config()))
        .build()?;
    draw_without_graphics_card(&window)?;
    Ok(window)
}

/// The script that tells a window the person's locale before its own scripts run.
pub fn locale_script() -> String {
    let locale = serde_json::Value::from(tillgate_machine::locale::locale());
    format!("globalThis.tillgateLocale = {locale};")
}

/// Makes `WebKitGTK` draw without hardware acceleration. The panel has no animation that needs it,
/// and acceleration costs 80 MB of memory. On a machine without a graphics card it also delays the
/// first picture by half a second. The panel is one page, so no other page is kept.
#[cfg(target_os = "linux")]
pub fn draw_without_graphics_card(window: &WebviewWindow) -> tauri::Result<()> {
    use webkit2gtk::{
        CacheModel, HardwareAccelerationPolicy, SettingsExt as _, WebContextExt as _,
        WebViewExt as _,
    };

    window.with_webview(|webview| {
        let view = webview.inner();
        if let Some(settings) = view.settings() {
            settings.set_hardware_acceleration_policy(HardwareAccelerationPolicy::Never);
            settings.set_enable_page_cache(false);
            settings.set_enable_webgl(false);
        }
        if let Some(context) = view.context() {
            context.set_cache_model(CacheModel::DocumentViewer);
        }
    })
}

/// Variables that save memory. They are read before the window opens. `WebKitGTK` shares no buffers
/// with a graphics card, which saves 9 MB, and interprets its scripts, which saves 10 MB and slows
/// no screen. The allocator keeps less memory that was freed, which saves 5 MB.
pub const LITTLE_MEMORY: [(&str, &str); 3] =
    [("WEBKIT_DISABLE_DMABUF_RENDERER", "1"), ("JSC_useJIT", "0"), ("MALLOC_ARENA_MAX", "2")];

/// Starts the program anew in this process, with those of [`LITTLE_MEMORY`] that are not set. If
/// that fails, the program goes on without them.
#[cfg(target_os = "linux")]
pub fn start_with_little_memory() {
    use std::os::unix::process::CommandExt as _;

    let mut arguments = std::env::args_os();
    let (Some(name), Ok(program)) = (arguments.next(), std::env::current_exe()) else { return };
    let mut missing =
        LITTLE_MEMORY.into_iter().filter(|(name, _)| std::env::var_os(name).is_none()).peekable();
    if missing.peek().is_some() {
        // It returns only if it fails.
        let _ = std::process::Command::new(program).arg0(name).args(arguments).envs(missing).exec();
    }
}

/// Does nothing. Only `WebKitGTK` needs it.
#[cfg(not(target_os = "linux"))]
pub fn start_with_little_memory() {}

/// Does nothing. Only `WebKitGTK` needs it.
#[cfg(not(target_os = "linux"))]
pub fn draw_without_graphics_card(_: &WebviewWindow) -> tauri::Result<()> {
    Ok(())
}

/// Refuses every navigation away from the panel, because the panel has no links to other pages.
pub fn only_the_panel(config: &Config) -> impl Fn(&Url) -> bool + Send + 'static {
    let dev_server = config.build.dev_url.clone().filter(|_| tauri::is_dev());
    move |url| is_the_panels(url, dev_server.as_ref())
}

/// Whether a URL belongs to the panel. The whole origin is compared, because any program may serve
/// on a port of `localhost`.
fn is_the_panels(url: &Url, dev_server: Option<&Url>) -> bool {
    let origin = |url: &Url| {
        (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port_or_known_default())
    };
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

/// Shows the window, with a screen of one environment.
pub fn show_screen(app: &AppHandle, environment: Environment, screen: &str) {
    show(app);
    if let Err(error) = app.emit(SCREEN, format!("{environment}/{screen}")) {
        tracing::warn!(%error, "the panel cannot be asked to show a screen");
    }
}

/// Asks the desktop to highlight the window in its lists of windows. A focused window is not
/// highlighted.
pub fn ask_for_attention(app: &AppHandle) {
    with_window(app, |window| {
        window.request_user_attention(Some(UserAttentionType::Informational))
    });
}

/// Whether the window has the focus.
pub fn has_focus(app: &AppHandle) -> bool {
    let window = app.get_webview_window(LABEL);
    window.is_some_and(|window| window.is_focused().unwrap_or_default())
}

/// Hides the window. The gateways keep running.
pub fn hide(app: &AppHandle) {
    with_window(app, WebviewWindow::hide);
}

/// Sets the window's title, which lists of windows show.
pub fn tell(app: &AppHandle, title: &str) {
    with_window(app, |window| window.set_title(title));
}

/// Hides the window that a person closed. The first time that the desktop has no tray, the panel
/// asks the person instead.
pub fn closed_by_person(app: &AppHandle) {
    let app = app.clone();
    // Asking the session bus may take a moment, and the main thread must not wait.
    std::thread::spawn(move || {
        let say_it =
            !tray_host::is_there() && !app.state::<NoTrayNotice>().0.swap(true, Ordering::Relaxed);
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
        tracing::warn!(%error, "the window cannot be changed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(not(windows))]
    fn the_window_opens_no_page_but_the_panel() {
        let is_ours = |url: &str, dev: Option<&str>| {
            is_the_panels(&url.parse().unwrap(), dev.map(|dev| dev.parse().unwrap()).as_ref())
        };
        assert!(is_ours("tauri://localhost/#/payments", None));
        for url in [
            "http://localhost:7421/pay/x",
            "http://localhost/",
            "https://tauri.localhost/",
            "tauri://evil/",
        ] {
            assert!(!is_ours(url, None), "{url}");
        }
        let dev = Some("http://localhost:5173");
        assert!(is_ours("http://localhost:5173/src/main.ts", dev));
        for url in
            ["http://localhost:7421/pay/x", "https://localhost:5173/", "http://127.0.0.1:5173/"]
        {
            assert!(!is_ours(url, dev), "{url}");
        }
    }
}
