//! Files and memory of the program are its user's alone.

/// Keeps files and memory from others, because secrets pass through both. A crash leaves no core dump. On Linux no
/// other program of this user reads the memory.
pub(super) fn keep_private() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    // The web process of the window inherits it.
    #[cfg(unix)]
    let _ = rustix::process::setrlimit(
        rustix::process::Resource::Core,
        rustix::process::Rlimit { current: Some(0), maximum: Some(0) },
    );
}
