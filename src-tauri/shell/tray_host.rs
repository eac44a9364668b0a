//! Finds out whether this desktop shows tray icons.

/// The bus name of the watcher that knows whether a tray exists, from freedesktop.org's
/// StatusNotifierItem.
#[cfg(target_os = "linux")]
const WATCHER: &str = "org.kde.StatusNotifierWatcher";

/// Whether the desktop shows tray icons. The call asks the session bus, so it needs a thread that
/// may block.
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
    // A desktop without a tray usually has no watcher on the bus, so an error means "no".
    asked().unwrap_or(false)
}

/// Whether the desktop shows tray icons. macOS and Windows always do.
#[cfg(not(target_os = "linux"))]
pub fn is_there() -> bool {
    true
}
