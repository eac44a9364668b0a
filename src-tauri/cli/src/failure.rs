//! The error of every command.

/// The line on stderr with which the program ends with status 1.
#[derive(Debug)]
pub struct Failure(pub(super) String);

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}
