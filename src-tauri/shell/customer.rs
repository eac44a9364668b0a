//! The customer's window: a second window, full screen on another monitor if there is one. It shows
//! only the payment of the till.

use tauri::{
    AppHandle, Emitter, Manager, Monitor, WebviewUrl, WebviewWindow, WebviewWindowBuilder,
};
use tillgate_console::{CommandError, Refusal};
use tillgate_machine::environment::Environment;

use crate::window;

pub const LABEL: &str = "customer";

/// The title must not begin as the panel's title, because people and tests find the panel's window
/// by it.
const TITLE: &str = "Customer display (Tillgate)";

/// Event for the panel: the customer's window was closed.
const CLOSED: &str = "customer-closed";

/// Opens the window for an environment. An open window changes to that environment.
///
/// # Errors
/// The desktop opens no second window.
pub fn open(app: &AppHandle, environment: Environment) -> Result<(), CommandError> {
    let screen = format!("/{}/customer", environment.as_str());
    let opened = match app.get_webview_window(LABEL) {
        Some(there) => change(&there, &screen),
        None => create(app, &screen),
    };
    opened.map_err(|error| {
        tracing::warn!(%error, "the customer's window cannot be opened");
        CommandError::told("NO_SECOND_WINDOW", &Refusal::NoSecondWindow)
    })
}

/// Closes the window, if it is open.
pub fn close(app: &AppHandle) {
    let Some(there) = app.get_webview_window(LABEL) else { return };
    if let Err(error) = there.destroy() {
        tracing::warn!(%error, "the customer's window cannot be closed");
    }
}

/// Tells the panel that the window was closed.
pub fn closed(app: &AppHandle) {
    if let Err(error) = app.emit(CLOSED, ()) {
        tracing::warn!(%error, "the panel cannot be told that the customer's window was closed");
    }
}

fn create(app: &AppHandle, screen: &str) -> tauri::Result<()> {
    let url = WebviewUrl::App(format!("index.html#{screen}").into());
    let window = WebviewWindowBuilder::new(app, LABEL, url)
        .title(TITLE)
        .inner_size(1024.0, 720.0)
        // The cashier goes on typing in the panel.
        .focused(false)
        .initialization_script(window::locale_script())
        .on_navigation(window::only_the_panel(app.config()))
        .build()?;
    window::draw_without_graphics_card(&window)?;
    let panels = app
        .get_webview_window(window::LABEL)
        .map(|panel| panel.current_monitor())
        .transpose()?
        .flatten();
    if let Some(other) = other_monitor(&window.available_monitors()?, panels.as_ref()) {
        window.set_position(*other.position())?;
        window.set_fullscreen(true)?;
    }
    Ok(())
}

fn change(window: &WebviewWindow, screen: &str) -> tauri::Result<()> {
    let mut url = window.url()?;
    url.set_fragment(Some(screen));
    window.navigate(url)?;
    window.show()
}

/// A monitor that does not show the panel; `None` if there is none.
fn other_monitor<'a>(all: &'a [Monitor], panels: Option<&Monitor>) -> Option<&'a Monitor> {
    let panels = panels?;
    all.iter().find(|monitor| monitor.position() != panels.position())
}
