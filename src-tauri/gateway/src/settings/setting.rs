//! A row of the table of settings, and the makers of common rows. A maker writes the words about
//! the bounds from the bounds themselves.

use std::fmt::{self, Display};
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::error::SettingError;
use super::forms::{btc, btc_text, in_words, joined, list, optional, whole};
use super::values::Settings;

/// Parses a text and stores the value; `None` for a text without the setting's form.
type Set = dyn Fn(&mut Settings, &str) -> Option<()> + Send + Sync;

/// A row of the table.
pub struct Setting {
    /// The name in the database, the API, the panel and the command line.
    pub name: &'static str,
    /// The form and bounds of the value, as words that follow "must be" in the error.
    pub form: String,
    /// The schemes with which the value may begin, if it is a URL.
    schemes: Option<&'static str>,
    /// The setting's effect, a sentence for people.
    pub about: &'static str,
    set: Box<Set>,
    /// The text of the value, which `set` can parse.
    pub text: Box<dyn Fn(&Settings) -> String + Send + Sync>,
}

/// The field that holds a setting's value, to write it. To read it, the settings are cloned, which
/// spares each row a second function.
type Field<T> = fn(&mut Settings) -> &mut T;

impl Setting {
    /// A setting with a form of its own. `set` stores a text that has this form, and `text` writes
    /// the value back.
    pub fn new(
        name: &'static str,
        form: impl Into<String>,
        set: impl Fn(&mut Settings, &str) -> Option<()> + Send + Sync + 'static,
        text: impl Fn(&Settings) -> String + Send + Sync + 'static,
    ) -> Self {
        let (set, text) = (Box::new(set), Box::new(text));
        Self { name, form: form.into(), schemes: None, about: "", set, text }
    }

    /// A setting with a parser and a writer of its own for the value of a field.
    pub fn field<T: 'static>(
        name: &'static str,
        form: impl Into<String>,
        field: Field<T>,
        parse: impl Fn(&str) -> Option<T> + Send + Sync + 'static,
        write: impl Fn(&T) -> String + Send + Sync + 'static,
    ) -> Self {
        let set = move |to: &mut Settings, text: &str| parse(text).map(|new| *field(to) = new);
        Self::new(name, form, set, move |of| write(field(&mut of.clone())))
    }

    /// A whole number within bounds, both included.
    pub fn whole<T>(name: &'static str, bounds: RangeInclusive<T>, field: Field<T>) -> Self
    where
        T: FromStr + PartialOrd + Display + Send + Sync + 'static,
    {
        let form = format!("a whole number from {} to {}", bounds.start(), bounds.end());
        Self::field(name, form, field, move |text| whole(text, &bounds), T::to_string)
    }

    /// A sum in Bitcoin within bounds in satoshis, both included.
    pub fn btc(name: &'static str, bounds: RangeInclusive<u64>, field: Field<u64>) -> Self {
        let (from, to) = (btc_text(*bounds.start()), btc_text(*bounds.end()));
        let form = format!("a sum in Bitcoin from {from} to {to}");
        Self::field(name, form, field, move |text| btc(text, &bounds), |sats| btc_text(*sats))
    }

    /// One of these values, each with its text.
    pub fn choice<T>(
        name: &'static str,
        all: &'static [T],
        as_str: fn(T) -> &'static str,
        field: Field<T>,
    ) -> Self
    where
        T: Copy + Sync,
    {
        let form = in_words(&all.iter().copied().map(as_str).collect::<Vec<_>>(), "or");
        let parse = move |text: &str| all.iter().copied().find(|one| as_str(*one) == text);
        Self::field(name, form, field, parse, move |value| as_str(*value).to_owned())
    }

    /// A list, which may be empty.
    pub fn list<T: PartialEq + Display + 'static>(
        name: &'static str,
        form: impl Into<String>,
        field: Field<Vec<T>>,
        item: fn(&str) -> Option<T>,
    ) -> Self {
        let write = |items: &Vec<T>| joined(items);
        Self::field(name, form.into() + ", or empty", field, move |text| list(text, item), write)
    }

    /// A value that may be missing; its text is empty then.
    pub fn optional<T: Display + 'static>(
        name: &'static str,
        form: impl Into<String>,
        field: Field<Option<T>>,
        parse: fn(&str) -> Option<T>,
    ) -> Self {
        let write = |value: &Option<T>| value.as_ref().map(T::to_string).unwrap_or_default();
        let parse = move |text: &str| optional(text, parse);
        Self::field(name, form.into() + ", or empty", field, parse, write)
    }

    /// With further words about the form.
    pub fn also(mut self, words: &str) -> Self {
        self.form.push_str(words);
        self
    }

    /// With the schemes of its URLs, which the refusal of a URL without a scheme names.
    pub fn schemes(self, schemes: &'static str) -> Self {
        Self { schemes: Some(schemes), ..self }
    }

    /// With the sentence about its effect.
    pub fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    /// Parses a value and stores it in the settings.
    ///
    /// # Errors
    /// [`SettingError::Value`] with the bounds, or [`SettingError::NoScheme`].
    pub fn apply(&'static self, to: &mut Settings, value: &str) -> Result<(), SettingError> {
        (self.set)(to, value).ok_or_else(|| match self.schemes {
            Some(schemes) if !value.is_empty() && !value.contains("://") => {
                SettingError::NoScheme { name: self.name, schemes }
            }
            _ => SettingError::Value { name: self.name, form: &self.form },
        })
    }
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Setting").field(&self.name).finish()
    }
}
