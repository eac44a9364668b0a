//! Desktop notifications, for events that should not wait until a person looks at the window. On a desktop without
//! notifications only the window asks for attention.

use tauri::AppHandle;
use tillgate_gateway::Environment;

use crate::window;

/// A notification. Its text is plain: a shop's words in it are never markup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub title: String,
    pub body: String,
}

/// Shows a notification of one environment; a click on it shows that environment in the window. Never waits for the
/// desktop.
pub fn notify(app: &AppHandle, environment: Environment, note: Note) {
    window::ask_for_attention(app);
    let app = app.clone();
    // The session bus may take a moment to answer, and starts the notification server if none runs.
    std::thread::spawn(move || bus::notify(&app, environment, &note));
}

#[cfg(target_os = "linux")]
mod bus {
    use std::collections::HashMap;
    use std::sync::{Mutex, OnceLock, PoisonError};

    use tauri::AppHandle;
    use tillgate_gateway::Environment;
    use zbus::blocking::{Connection, Proxy};
    use zbus::zvariant::Value;

    use super::Note;
    use crate::window;

    /// The bus name of the notification server, by freedesktop.org's specification.
    const SERVER: &str = "org.freedesktop.Notifications";
    const PATH: &str = "/org/freedesktop/Notifications";

    /// The name of the action for a click on the notification itself.
    const CLICKED: &str = "default";

    /// The desktop decides how long the notification is shown.
    const ITS_OWN_TIME: i32 = -1;

    /// The notifications of this program with their environments; clicks on other programs' notifications are heard
    /// too.
    static OURS: Mutex<Option<HashMap<u32, Environment>>> = Mutex::new(None);

    pub fn notify(app: &AppHandle, environment: Environment, note: &Note) {
        let shown = || -> zbus::Result<u32> {
            let server = server(app)?;
            let hints: HashMap<&str, Value<'_>> = HashMap::from([("desktop-entry", Value::from("Tillgate"))]);
            let (actions, body) = (&[CLICKED, "Show"][..], escaped(&note.body));
            server.call("Notify", &("Tillgate", 0u32, "", note.title.as_str(), body, actions, hints, ITS_OWN_TIME))
        };
        match shown() {
            Ok(id) => {
                OURS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().insert(id, environment);
            }
            // Many desktops have no such server; the tray and the window show the same.
            Err(error) => tracing::debug!(%error, "the desktop shows no notifications"),
        }
    }

    /// The server, on a connection that is kept, because clicks are sent to the connection that made the notification.
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
                let ours =
                    OURS.lock().unwrap_or_else(PoisonError::into_inner).as_mut().and_then(|ours| ours.remove(&id));
                if let Some(environment) = ours {
                    window::show_offers(&app, environment);
                }
            }
        });
        Ok(SERVED.get_or_init(|| server).clone())
    }

    /// A server may accept markup, so a shop's name is escaped.
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

    /// The window asks for attention; these systems offer no more without another crate.
    pub fn notify(_: &tauri::AppHandle, _: tillgate_gateway::Environment, _: &Note) {}
}
