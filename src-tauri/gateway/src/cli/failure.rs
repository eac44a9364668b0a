//! The error of every command.

/// Why the program ends with status 1: one line.
#[derive(Debug)]
pub(super) struct Failure(pub(super) String);

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}
