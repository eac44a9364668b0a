//! What is wrong with a request, in words that every shell renders in its own form. Never names a
//! transport: HTTP statuses stand in `http/error`.

use std::borrow::Cow;

/// The code of a value that is missing or not as it must be.
pub(crate) const VALIDATION_FAILED: &str = "VALIDATION_FAILED";

/// One thing that is wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Stable, for programs.
    pub code: &'static str,
    /// A sentence for people.
    pub message: String,
    /// The request's field that is wrong, where it is one.
    pub field: Option<Cow<'static, str>>,
}

impl FieldError {
    /// A field error of the whole request.
    #[must_use]
    pub fn general(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), field: None }
    }

    /// A field whose value is not as it must be; `what` goes on from the field's name ("must be …").
    #[must_use]
    pub fn invalid(field: impl Into<Cow<'static, str>>, what: impl std::fmt::Display) -> Self {
        let field = field.into();
        Self { code: VALIDATION_FAILED, message: format!("{field} {what}"), field: Some(field) }
    }

    /// A required field that is not there.
    #[must_use]
    pub fn missing(field: &'static str) -> Self {
        Self::invalid(field, "is required")
    }
}
