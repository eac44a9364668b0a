//! Keeps the program's files and memory from other users.

/// Keeps files and memory from others, because secrets pass through both. A crash leaves no core
/// dump. On Linux no other program of this user reads the memory.
pub fn keep_private() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    // The window's web process inherits this limit.
    #[cfg(unix)]
    let _ = rustix::process::setrlimit(
        rustix::process::Resource::Core,
        rustix::process::Rlimit { current: Some(0), maximum: Some(0) },
    );
}
