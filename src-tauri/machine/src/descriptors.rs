//! The limit of open file descriptors, which connections, databases and sockets share.

/// The wanted limit, more than the gateway ever uses. It is not the system's maximum, because some
/// systems reject the maximum that they report.
#[cfg(unix)]
const WANTED: u64 = 8_192;

/// Raises this process's limit of open file descriptors to [`WANTED`] or the system's maximum, and
/// returns the limit.
#[cfg(unix)]
pub fn raise_limit() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    // `None` means that there is no limit.
    let current = limit.current.unwrap_or(u64::MAX);
    let wanted = WANTED.min(limit.maximum.unwrap_or(u64::MAX));
    if current >= wanted {
        return current;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum }) {
        Ok(()) => wanted,
        Err(error) => {
            tracing::warn!(%error, current, "the limit of open files cannot be raised: fewer connections are accepted");
            current
        }
    }
}

/// Windows has no relevant limit.
#[cfg(not(unix))]
pub fn raise_limit() -> u64 {
    u64::MAX
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_returned_limit_is_in_effect_and_a_second_call_keeps_it() {
        let limit = raise_limit();
        assert_eq!(
            rustix::process::getrlimit(rustix::process::Resource::Nofile)
                .current
                .unwrap_or(u64::MAX),
            limit
        );
        assert_eq!(raise_limit(), limit);
    }
}
