//! Desktop notifications, for events that should not wait until a person looks at the window. On a
//! desktop without notifications only the window is highlighted.

use serde_json::Value;
use tauri::AppHandle;
use tillgate_console::CommandError;
use tillgate_machine::environment::Environment;

/// A desktop notification, worded by the panel. Its text is plain, so a shop's name in it is never
/// read as markup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub title: String,
    pub body: String,
    /// The panel's screen that a click shows, as in its URL: `payment/` and an id.
    pub screen: String,
}

impl Note {
    /// Reads the panel's command `notify`.
    pub fn parse(command: &Value) -> Result<Self, CommandError> {
        let text = |name: &str| {
            let text = command.get(name).and_then(Value::as_str).map(str::to_owned);
            text.ok_or_else(|| {
                CommandError::new("VALIDATION_FAILED", &format!("{name} must be a text"))
            })
        };
        Ok(Self { title: text("title")?, body: text("body")?, screen: text("screen")? })
    }
}

/// Shows a notification about one environment. A click on it shows its screen in the window. The
/// call does not wait for the desktop.
pub fn notify(app: &AppHandle, environment: Environment, note: Note) {
    let app = app.clone();
    // The session bus may answer slowly, because it starts the notification server if none runs.
    std::thread::spawn(move || bus::notify(&app, environment, &note));
}

#[cfg(target_os = "linux")]
mod bus {
    use std::collections::HashMap;
    use std::sync::{Mutex, OnceLock, PoisonError};

    use tauri::AppHandle;
    use tillgate_machine::environment::Environment;
    use zbus::blocking::{Connection, Proxy};
    use zbus::zvariant::Value;

    use super::Note;
    use crate::window;

    /// The bus name of the notification server, by freedesktop.org's specification.
    const SERVER: &str = "org.freedesktop.Notifications";
    const PATH: &str = "/org/freedesktop/Notifications";

    /// The name of the action for a click on the notification itself.
    const CLICKED: &str = "default";

    /// The value of `expire_timeout` that lets the desktop decide how long the notification is
    /// shown.
    const ITS_OWN_TIME: i32 = -1;

    /// The ids of this program's notifications with their environments and screens. They are needed
    /// because the signal also reports clicks on other programs' notifications.
    static OURS: Mutex<Option<HashMap<u32, (Environment, String)>>> = Mutex::new(None);

    pub fn notify(app: &AppHandle, environment: Environment, note: &Note) {
        let shown = || -> zbus::Result<u32> {
            let server = server(app)?;
            let hints: HashMap<&str, Value<'_>> =
                HashMap::from([("desktop-entry", Value::from("Tillgate"))]);
            let (actions, body) = (&[CLICKED, "Show"][..], escaped(&note.body));
            server.call(
                "Notify",
                &("Tillgate", 0u32, "", note.title.as_str(), body, actions, hints, ITS_OWN_TIME),
            )
        };
        match shown() {
            Ok(id) => {
                let place = (environment, note.screen.clone());
                OURS.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .get_or_insert_default()
                    .insert(id, place);
            }
            // Many desktops have no notification server. The tray and the window show the same
            // tasks.
            Err(error) => tracing::debug!(%error, "the desktop shows no notifications"),
        }
    }

    /// The notification server. Its connection is kept, because clicks are reported to the
    /// connection that sent the notification.
    fn server(app: &AppHandle) -> zbus::Result<Proxy<'static>> {
        static SERVED: OnceLock<Proxy<'static>> = OnceLock::new();
        if let Some(server) = SERVED.get() {
            return Ok(server.clone());
        }
        let server = Proxy::new(&Connection::session()?, SERVER, PATH, SERVER)?;
        let clicks = server.receive_signal("ActionInvoked")?;
        let app = app.clone();
        std::thread::spawn(move || {
            for click in clicks {
                let Ok((id, _)) = click.body().deserialize::<(u32, String)>() else { continue };
                let ours = OURS
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .as_mut()
                    .and_then(|ours| ours.remove(&id));
                if let Some((environment, screen)) = ours {
                    window::show_screen(&app, environment, &screen);
                }
            }
        });
        Ok(SERVED.get_or_init(|| server).clone())
    }

    /// Escapes a text, because a server may read it as markup.
    fn escaped(text: &str) -> String {
        text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
    }

    #[cfg(test)]
    mod tests {
        use super::escaped;

        #[test]
        fn a_shops_name_is_never_markup() {
            assert_eq!(escaped("<b>Tom & Co</b>"), "&lt;b&gt;Tom &amp; Co&lt;/b&gt;");
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod bus {
    use super::Note;

    /// Does nothing. On these systems notifications need another crate, so only the window is
    /// highlighted.
    pub fn notify(_: &tauri::AppHandle, _: tillgate_machine::environment::Environment, _: &Note) {}
}
