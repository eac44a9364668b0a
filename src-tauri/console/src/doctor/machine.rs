//! The doctor's checks of the machine: its clock, its disk, the permissions of the files, the
//! ports.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use tillgate_gateway::gateway::Gateway;
use tillgate_machine::clock::machine_now;
use tillgate_machine::disk::Disk;
use tillgate_machine::environment::Environment;
use tillgate_machine::{ballast, data_dir};

use super::check::Finding;

/// A wall clock that differs from the gateway's by more than this was changed, or runs too fast or
/// too slow.
const CLOCK_OFF_MAX_MS: i64 = 60_000;

pub fn clock(gateway: &Gateway) -> Finding {
    let offset_ms = gateway.time.offset_ms.load(std::sync::atomic::Ordering::SeqCst);
    let off_ms =
        gateway.time.now().ms().saturating_sub(offset_ms).saturating_sub(machine_now().ms());
    if off_ms.saturating_abs() > CLOCK_OFF_MAX_MS {
        let seconds = off_ms.saturating_abs() / 1_000;
        return Err(format!(
            "the machine's clock was changed and differs from the gateway's by {seconds} s: correct it, or wait five minutes until the gateway follows it"
        ));
    }
    let (watched, now) = (gateway.backend.last_look.status(), gateway.time.now());
    if let Some(warning) = watched.clock_warning().or_else(|| watched.stored_ahead_warning(now)) {
        return Err(warning.to_string());
    }
    Ok(format!("the clock runs evenly; it shows {}", now.iso_seconds()))
}

pub fn disk(disk: &Disk, kept_bytes: u64) -> Finding {
    let Some(free) = disk.free_bytes() else {
        return Ok("the system does not report the free space of the disk".to_owned());
    };
    let free_mb = free / 1_000_000;
    let too_little = disk.check_room(kept_bytes).err().map(|_| {
        let kept_mb = kept_bytes.div_ceil(1_000_000);
        format!(
            "only {free_mb} MB are free on the disk of {}, and new payments need more than {kept_mb} MB: make room",
            disk.folder().display()
        )
    });
    let wrong: Vec<String> = too_little
        .into_iter()
        .chain(ballast::given_up(disk.folder()).map(|it| it.to_string()))
        .collect();
    if wrong.is_empty() { Ok(format!("{free_mb} MB are free")) } else { Err(wrong.join("; ")) }
}

pub fn permissions(folder: &Path) -> Finding {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error: std::io::Error| format!("{} cannot be inspected: {error}", path.display())
        };
        let mut files = vec![folder.to_owned()];
        for entry in std::fs::read_dir(folder).map_err(failed(folder))? {
            files.push(entry.map_err(failed(folder))?.path());
        }
        let is_open = |path: &PathBuf| match std::fs::metadata(path) {
            Ok(metadata) => metadata.permissions().mode() & 0o077 != 0,
            // SQLite removes its temporary files, so this file may be gone since the folder was
            // listed.
            Err(_) => false,
        };
        if let Some(path) = files.iter().find(|path| is_open(path)) {
            return Err(format!(
                "other users can access {}: chmod -R go-rwx {}",
                path.display(),
                folder.display()
            ));
        }
        if let Some(path) = data_dir::unit_files().iter().find(|path| is_open(path)) {
            let path = path.display();
            return Err(format!(
                "other users can access {path}, which may hold a passphrase: chmod go-rwx {path}"
            ));
        }
        Ok("only its owner can access the data directory".to_owned())
    }
    #[cfg(not(unix))]
    {
        let _ = folder;
        Ok("the data directory is in the user's own profile".to_owned())
    }
}

pub fn ports(gateway: &Gateway) -> Finding {
    match gateway.served.get() {
        Some(served) => Ok(format!("the API is served at {}", served.api)),
        None => free_port(gateway.environment),
    }
}

pub fn free_port(environment: Environment) -> Finding {
    let port = environment.default_port();
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => Ok(format!("the default port {port} is free")),
        Err(error) => Err(format!(
            "the default port {port} cannot be used ({error}): serve with --listen 127.0.0.1:PORT"
        )),
    }
}
