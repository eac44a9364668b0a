//! A sentence for people as a code with values. The English sentence goes to the API, the log and
//! the command line; the window words the code in the person's language. Nothing is translated from
//! a finished sentence.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Derives [`Told`] from the texts that `#[error("…")]` gives for `thiserror`. The code is the name
/// of the type without `Error` and the name of the variant. `#[told(codes = "…")]` takes the place
/// of the type's name. The values are the places of the text.
pub use tillgate_told_derive::Told;

/// A sentence for people: its code, its values, and its English text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Telling {
    /// The stable name of the sentence, such as `PAYOUT_LIMIT_DUST`.
    pub code: String,
    /// The values of the sentence by their names.
    pub values: BTreeMap<String, TellingValue>,
    /// The sentence in English.
    pub message: String,
    /// The name of the argument that the sentence is about. The sentence then continues this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub field: Option<String>,
}

impl Telling {
    /// The words of another program or of an older row, which have no code.
    pub fn of_text(message: impl Into<String>) -> Self {
        Self { code: String::new(), values: BTreeMap::new(), message: message.into(), field: None }
    }
}

impl Display for Telling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// A value of a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(untagged)]
pub enum TellingValue {
    /// An id, a whole number, or the words of somebody else. It is shown as it is.
    Text(String),
    /// A sum or a rate. The window shows it with the marks of the locale.
    Sum {
        /// The figure as in the sentence, such as `1,204.90`.
        sum: String,
    },
    /// A time. The window shows it in the locale and its zone.
    Time {
        /// ISO 8601 with `Z`.
        time: String,
    },
    /// A sentence within the sentence.
    Telling(Box<Telling>),
}

/// A sum or a rate in a sentence, such as `1,204.90`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sum(pub String);

/// A time in a sentence, in ISO 8601 with `Z`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Time(pub String);

impl Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A value that can be told to people.
pub trait Told: Display {
    /// The sentence about this value.
    fn telling(&self) -> Telling;

    /// Adds all sentences of this type, and those within them.
    fn sentences(all: &mut Sentences);
}

impl Told for Telling {
    fn telling(&self) -> Telling {
        self.clone()
    }

    fn sentences(_: &mut Sentences) {}
}

impl<T: Told + ?Sized> Told for &T {
    fn telling(&self) -> Telling {
        T::telling(self)
    }

    fn sentences(all: &mut Sentences) {
        T::sentences(all);
    }
}

impl<T: Told + ?Sized> Told for Box<T> {
    fn telling(&self) -> Telling {
        T::telling(self)
    }

    fn sentences(all: &mut Sentences) {
        T::sentences(all);
    }
}

/// The English texts of sentences by their codes. A place of a text is the name of a value in
/// braces.
#[derive(Debug, Default)]
pub struct Sentences(pub BTreeMap<&'static str, &'static str>, BTreeSet<&'static str>);

impl Sentences {
    /// Whether the sentences of this type are asked for the first time. Two types may be within
    /// each other.
    pub fn is_first(&mut self, type_name: &'static str) -> bool {
        self.1.insert(type_name)
    }

    /// Adds a sentence.
    ///
    /// # Panics
    /// Another sentence has the same code.
    pub fn add(&mut self, code: &'static str, english: &'static str) {
        let before = self.0.insert(code, english);
        assert!(
            before.is_none_or(|before| before == english),
            "{code} is the code of two sentences"
        );
    }
}

/// A place in a derived sentence. A [`Sum`] and a [`Time`] keep their kind. A value that can be
/// told becomes a sentence within the sentence. Any other value becomes its text.
#[doc(hidden)]
#[derive(Debug)]
pub struct Place<'a, T: ?Sized>(pub &'a T);

impl Place<'_, PathBuf> {
    /// The text of a path.
    #[must_use]
    pub fn value(&self) -> TellingValue {
        TellingValue::Text(self.0.display().to_string())
    }
}

#[doc(hidden)]
pub trait Typed {
    fn typed(&self) -> TellingValue;
}

impl Typed for Sum {
    fn typed(&self) -> TellingValue {
        TellingValue::Sum { sum: self.0.clone() }
    }
}

impl Typed for Time {
    fn typed(&self) -> TellingValue {
        TellingValue::Time { time: self.0.clone() }
    }
}

impl<T: Typed + ?Sized> Typed for &T {
    fn typed(&self) -> TellingValue {
        T::typed(self)
    }
}

#[doc(hidden)]
pub trait OfItsType {
    fn value(&self) -> TellingValue;
}

impl<T: Typed + ?Sized> OfItsType for Place<'_, T> {
    fn value(&self) -> TellingValue {
        self.0.typed()
    }
}

#[doc(hidden)]
pub trait InSentence {
    fn value(&self) -> TellingValue;
}

impl<T: Told + ?Sized> InSentence for Place<'_, T> {
    fn value(&self) -> TellingValue {
        TellingValue::Telling(Box::new(self.0.telling()))
    }
}

#[doc(hidden)]
pub trait AsText {
    fn value(&self) -> TellingValue;
}

impl<T: Display + ?Sized> AsText for &Place<'_, T> {
    fn value(&self) -> TellingValue {
        TellingValue::Text(self.0.to_string())
    }
}

/// The type of a place, by the same rule as [`Place`].
#[doc(hidden)]
#[derive(Debug)]
pub struct TypeOfPlace<T: ?Sized>(pub PhantomData<T>);

#[doc(hidden)]
pub trait HasSentences {
    fn collect(&self, all: &mut Sentences) -> bool;
}

impl<T: Told + ?Sized> HasSentences for TypeOfPlace<T> {
    fn collect(&self, all: &mut Sentences) -> bool {
        T::sentences(all);
        true
    }
}

#[doc(hidden)]
pub trait HasNoSentences {
    fn collect(&self, all: &mut Sentences) -> bool;
}

impl<T: ?Sized> HasNoSentences for &TypeOfPlace<T> {
    fn collect(&self, _: &mut Sentences) -> bool {
        false
    }
}
