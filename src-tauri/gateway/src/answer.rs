//! The answer of the shells to a use case's error. Each error names its type once, here beside its
//! sentence; HTTP and the console only render it.

use std::borrow::Cow;

use tillgate_machine::disk::DiskNearlyFull;
use tillgate_machine::field_errors::FieldError;
use tillgate_store::StoreError;
use tillgate_told::Told;

use crate::error_type::ErrorType;

/// An error of a use case that a shop or staff may meet.
pub trait Answered: Told {
    /// The parts of the answer beside the error's own sentence.
    fn answer(&self) -> Answer<'_>;
}

/// The answer to an error.
#[derive(Debug)]
pub enum Answer<'a> {
    /// Each wrong field of the request has a sentence of its own.
    Fields(Cow<'a, [FieldError]>),
    /// The database failed.
    Store(&'a StoreError),
    /// One type, with the error's sentence.
    Typed(Typed),
}

/// The type of an error.
#[derive(Debug)]
pub struct Typed {
    pub error_type: ErrorType,
    /// The argument of a command that caused the error.
    pub argument: Option<&'static str>,
    pub to_shops: ToShops,
    /// The time after which a repetition may succeed, if it is known.
    pub retry_after_seconds: Option<u32>,
}

/// The sentence for shops. Staff always read the error's own sentence.
#[derive(Debug)]
pub enum ToShops {
    TheSentence,
    /// Another sentence, because the error's own tells more than a shop may know.
    Instead(&'static str),
    /// A reference number; the log has the sentence.
    Reference,
}

impl Answer<'_> {
    /// An answer with this type.
    #[must_use]
    pub const fn new(error_type: ErrorType) -> Self {
        Self::Typed(Typed {
            error_type,
            argument: None,
            to_shops: ToShops::TheSentence,
            retry_after_seconds: None,
        })
    }

    /// A failure inside the gateway.
    #[must_use]
    pub fn internal() -> Self {
        Self::new(ErrorType::InternalError).to_shops(ToShops::Reference)
    }

    /// A record that does not exist. The sentence for shops does not repeat their id.
    #[must_use]
    pub fn not_found(to_shops: &'static str) -> Self {
        Self::new(ErrorType::NotFound).to_shops(ToShops::Instead(to_shops))
    }

    /// The same answer with this sentence for shops.
    #[must_use]
    pub fn to_shops(self, to_shops: ToShops) -> Self {
        self.with(|typed| typed.to_shops = to_shops)
    }

    /// The same answer, caused by this argument of a command.
    #[must_use]
    pub fn at(self, argument: &'static str) -> Self {
        self.with(|typed| typed.argument = Some(argument))
    }

    /// The same answer with the time of a repetition.
    #[must_use]
    pub fn after(self, seconds: u32) -> Self {
        self.with(|typed| typed.retry_after_seconds = Some(seconds))
    }

    fn with(mut self, change: impl FnOnce(&mut Typed)) -> Self {
        if let Self::Typed(typed) = &mut self {
            change(typed);
        }
        self
    }
}

impl Answered for StoreError {
    fn answer(&self) -> Answer<'_> {
        Answer::Store(self)
    }
}

impl Answered for DiskNearlyFull {
    fn answer(&self) -> Answer<'_> {
        Answer::new(ErrorType::StorageUnavailable)
    }
}
