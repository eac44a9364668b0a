//! The built-in sandbox as a backend.
