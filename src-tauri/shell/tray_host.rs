//! Whether this desktop has a place for tray icons.

/// The bus name of the tray's host, by freedesktop.org's StatusNotifierItem.
#[cfg(target_os = "linux")]
const WATCHER: &str = "org.kde.StatusNotifierWatcher";

/// Whether the desktop shows tray icons. It asks the session bus, so call it from a thread that may wait.
#[cfg(target_os = "linux")]
pub fn is_there() -> bool {
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
    // A missing bus or host is the usual form of "no".
    asked().unwrap_or(false)
}

/// Whether the desktop shows tray icons: always, on macOS and Windows.
#[cfg(not(target_os = "linux"))]
pub fn is_there() -> bool {
    true
}
