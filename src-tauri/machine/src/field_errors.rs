//! Errors of a request's fields. Each shell renders them in its own form, so they are independent
//! of HTTP: the statuses are in `http/src/status.rs`.

use std::borrow::Cow;

use tillgate_told::{Sum, Telling, Told};

/// The code of a missing or invalid value.
pub const VALIDATION_FAILED: &str = "VALIDATION_FAILED";

/// A fault of a field. Its text continues the field's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Told)]
pub enum Fault {
    #[error("is required")]
    Required,
    #[error("must be a string")]
    NoString,
    #[error("must be a number, or a string that holds one")]
    NoNumber,
    #[error("must be an object")]
    NoObject,
    #[error("must be one of {0}")]
    NotOneOf(String),
    #[error("may have at most {most} characters")]
    TooManyCharacters { most: usize },
    #[error("may hold no control characters but tabs and line breaks")]
    ControlCharacters,
    #[error("must be at {0}: this API key may notify no other host")]
    OtherHost(String),
    #[error("may have at most 2048 bytes")]
    LongUrl,
    #[error("may hold no control characters and no spaces at its ends")]
    BlankUrl,
    #[error("must be a URL like https://shop.example/hook")]
    NoUrl,
    #[error("must begin with http:// or https://")]
    OtherScheme,
    #[error("may hold no user name or password")]
    Login,
    #[error(
        "must be shorter: all texts and URLs of a payment may have {most} bytes together, and these have {in_all}"
    )]
    TextsTooLong { most: usize, in_all: usize },
    #[error("may not be given together with btcAmount: give one of them")]
    BothAmounts,
    #[error("or fiatAmount is required: give one of them")]
    NoAmount,
    #[error("must be BTC or one of {0}")]
    NotACurrency(String),
    #[error("must be {0}, which is the whole refund, or be left out")]
    NotTheRefund(Sum),
    #[error("is worth less than a satoshi: ask for more")]
    NoSatoshi,
    #[error(r"holds half a character: an escape like \ud83c needs its second half, like \udf89")]
    HalfCharacter,
    #[error(
        "is one of this wallet's own: coins sent there would never leave it, give the recipient's address"
    )]
    OwnAddress,
}

/// One error in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// A stable code, for programs.
    pub code: &'static str,
    /// A sentence for people.
    pub message: String,
    /// The field at fault, if there is one.
    pub field: Option<Cow<'static, str>>,
    /// The sentence with its code and values. It continues the field's name.
    pub telling: Box<Telling>,
}

impl FieldError {
    /// An error of the whole request.
    #[must_use]
    pub fn general(code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, telling: Box::new(Telling::of_text(message.clone())), message, field: None }
    }

    /// An invalid field of a request over HTTP, whose error needs no code. `what` continues the
    /// field's name.
    #[must_use]
    pub fn invalid(field: impl Into<Cow<'static, str>>, what: impl std::fmt::Display) -> Self {
        Self::told(field, &Telling::of_text(what.to_string()))
    }

    /// An invalid field, whose error has a code. Its text continues the field's name.
    #[must_use]
    pub fn told(field: impl Into<Cow<'static, str>>, what: &impl Told) -> Self {
        let field = field.into();
        let telling = Telling { field: Some(field.clone().into_owned()), ..what.telling() };
        let message = format!("{field} {what}");
        Self { code: VALIDATION_FAILED, message, field: Some(field), telling: Box::new(telling) }
    }

    /// A missing required field.
    #[must_use]
    pub fn missing(field: &'static str) -> Self {
        Self::told(field, &Fault::Required)
    }
}
