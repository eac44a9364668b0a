//! Notifications of the desktop, for what should not wait until somebody looks at the window. Where the desktop shows
//! none, the window alone asks for attention.

use tauri::AppHandle;
use tillgate_gateway::Environment;

use crate::window;

/// What a notification says. Plain text: a shop's words in it are never markup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub title: String,
    pub body: String,
}

/// Shows a notification of one environment; a click on it shows that one in the window. Never waits for the desktop.
pub fn notify(app: &AppHandle, environment: Environment, note: Note) {
    window::ask_for_attention(app);
    let app = app.clone();
    // The session bus may take a moment to answer, and starts the notification server where none runs.
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

    /// Who shows notifications, by freedesktop.org's specification.
    const SERVER: &str = "org.freedesktop.Notifications";
    const PATH: &str = "/org/freedesktop/Notifications";

    /// What a click on the notification itself is called.
    const CLICKED: &str = "default";

    /// The desktop decides how long it is shown.
    const ITS_OWN_TIME: i32 = -1;

    /// The notifications that this program made, and of which environment: others' clicks are heard too.
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
            // Many desktops have no such server; the tray and the window say the same.
            Err(error) => tracing::debug!(%error, "the desktop shows no notifications"),
        }
    }

    /// The server, on a connection that is kept: clicks are told to whoever asked for the notification.
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

    /// A server may take markup; what a shop called itself must not become any.
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

    /// The window asked for attention, which is all that these systems give a program without a crate of its own.
    pub fn notify(_: &tauri::AppHandle, _: tillgate_gateway::Environment, _: &Note) {}
}
