//! The result type of the benchmark.

/// An error ends the run and is printed.
pub(crate) type Fallible<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
