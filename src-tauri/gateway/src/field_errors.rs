//! Errors of a request's fields. Each shell renders them in its own form, so they are independent of HTTP: the statuses
//! are in `http/error_type.rs`.

use std::borrow::Cow;

/// The code of a missing or invalid value.
pub(crate) const VALIDATION_FAILED: &str = "VALIDATION_FAILED";

/// One error in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// A stable code, for programs.
    pub code: &'static str,
    /// A sentence for people.
    pub message: String,
    /// The field at fault, if there is one.
    pub field: Option<Cow<'static, str>>,
}

impl FieldError {
    /// An error of the whole request.
    #[must_use]
    pub fn general(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), field: None }
    }

    /// An invalid field. `what` continues the field's name ("must be …").
    #[must_use]
    pub fn invalid(field: impl Into<Cow<'static, str>>, what: impl std::fmt::Display) -> Self {
        let field = field.into();
        Self { code: VALIDATION_FAILED, message: format!("{field} {what}"), field: Some(field) }
    }

    /// A missing required field.
    #[must_use]
    pub fn missing(field: &'static str) -> Self {
        Self::invalid(field, "is required")
    }
}
