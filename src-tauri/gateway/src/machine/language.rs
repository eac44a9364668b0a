//! Texts in the person's language.
//!
//! The program writes its texts in English. The places where a person reads them call [`in_language`], which looks for
//! the text in the file of the language. A text with values, such as `12.00 USD received`, is found by its template,
//! `{0} received`.

use std::collections::HashMap;
use std::sync::LazyLock;

use include_dir::{Dir, include_dir};
use polib::catalog::Catalog;
use polib::po_file::POParseError;

use super::locale::locale;

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../languages");

/// The part of a source's path by which the files mark the texts of this program. All others are the window's.
const PROGRAM: &str = "src-tauri/";

/// The separators of lists, and of a name and a text.
const SEPARATORS: [&str; 5] = [" – ", ". ", "; ", ": ", ", "];

/// The beginnings of texts that follow the name of a field.
const REFUSALS: [&str; 7] = ["is ", "has ", "must ", "may ", "could ", "mixes ", "or "];

/// The person's language; English in unit tests.
static LANGUAGE: LazyLock<Option<Language>> =
    LazyLock::new(|| if cfg!(test) { None } else { Language::of_locale(&locale()) });

/// A text in the person's language, line by line. A text that the language lacks stays in English.
#[must_use]
pub fn in_language(text: &str) -> String {
    let Some(language) = LANGUAGE.as_ref() else { return text.to_owned() };
    if let Some(found) = language.find(text) {
        return found;
    }
    text.split('\n').map(|line| language.translate(line)).collect::<Vec<_>>().join("\n")
}

/// The texts of the program, each with its translation; none in English.
#[must_use]
pub fn translated_texts() -> &'static [(String, String)] {
    LANGUAGE.as_ref().map_or(&[], |language| &language.texts)
}

/// Reads the file of a language. The reader panics at an empty comment, so only the comments with the sources stay.
fn read(po: &str) -> Result<Catalog, POParseError> {
    let is_needed = |line: &&str| !line.starts_with('#') || line.starts_with("#:");
    let lines: Vec<&str> = po.lines().filter(is_needed).collect();
    polib::po_file::parse_from_reader(lines.join("\n").as_bytes())
}

/// The translations of one language.
struct Language {
    /// Each English text with its translation.
    texts: Vec<(String, String)>,
    whole: HashMap<String, String>,
    templates: Vec<Template>,
}

/// A text with places for values.
struct Template {
    /// The English text around the places.
    literals: Vec<String>,
    /// The number of each place, in the order of the English text.
    places: Vec<String>,
    translation: String,
}

impl Language {
    /// The language of a locale such as `de-AT`; `None` for English, and if it has no file.
    fn of_locale(locale: &str) -> Option<Self> {
        let base = locale.split('-').next().filter(|base| *base != "en")?;
        let file = [locale, base].into_iter().find_map(|name| FILES.get_file(format!("{name}.po")))?;
        // A test reads each file, so that a file with a fault is not shipped.
        read(file.contents_utf8()?).ok().map(|catalog| Self::of(&catalog))
    }

    fn of(catalog: &Catalog) -> Self {
        let mut found = Self { texts: Vec::new(), whole: HashMap::new(), templates: Vec::new() };
        for message in catalog.messages().filter(|message| message.source().contains(PROGRAM)) {
            let Ok(translation) = message.msgstr() else { continue };
            found.texts.push((message.msgid().to_owned(), translation.to_owned()));
            let (literals, places) = parts(message.msgid());
            if places.is_empty() {
                found.whole.insert(message.msgid().to_owned(), translation.to_owned());
            } else {
                found.templates.push(Template { literals, places, translation: translation.to_owned() });
            }
        }
        // The template with the most text of its own fits best.
        found.templates.sort_by_key(|template| std::cmp::Reverse(template.literals.concat().len()));
        found
    }

    /// The translation of a text. A text that is not found as a whole may be a list, or a name with a text.
    fn translate(&self, text: &str) -> String {
        if let Some(found) = self.about_field(text).or_else(|| self.find(text)) {
            return found;
        }
        for separator in SEPARATORS {
            if let Some((first, rest)) = text.split_once(separator) {
                return format!("{}{separator}{}", self.translate(first), self.translate(rest));
            }
        }
        text.to_owned()
    }

    /// A refusal that begins with the name of a field, such as `address is empty`.
    fn about_field(&self, text: &str) -> Option<String> {
        let (name, rest) = text.split_once(' ')?;
        let is_refusal = REFUSALS.iter().any(|beginning| rest.starts_with(beginning));
        Some(format!("{name} {}", self.find(rest).filter(|_| is_refusal)?))
    }

    /// The translation of a text, also if its first letter became a capital because a sentence begins with it.
    fn find(&self, text: &str) -> Option<String> {
        self.find_as_written(text).or_else(|| self.find_capital(text))
    }

    fn find_as_written(&self, text: &str) -> Option<String> {
        if let Some(found) = self.whole.get(text) {
            return Some(found.clone());
        }
        self.templates.iter().find_map(|template| {
            let values = template.values(text, |value| self.find(value).is_some())?;
            // One word may be a name that a person chose. Several words are a text of the program within a text.
            let said = |value: &str| if value.contains(' ') { self.translate(value) } else { value.to_owned() };
            let values: HashMap<&String, String> =
                template.places.iter().zip(values).map(|(place, value)| (place, said(value))).collect();
            let (literals, places) = parts(&template.translation);
            let filled = places.iter().map(|place| values.get(place).map_or("", String::as_str));
            Some(
                literals
                    .iter()
                    .map(String::as_str)
                    .zip(filled.chain([""]))
                    .flat_map(|(one, value)| [one, value])
                    .collect(),
            )
        })
    }

    fn find_capital(&self, text: &str) -> Option<String> {
        let mut letters = text.chars();
        let first = letters.next().filter(|letter| letter.is_uppercase())?;
        let found = self.find_as_written(&first.to_lowercase().chain(letters).collect::<String>())?;
        let mut letters = found.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect())
    }
}

impl Template {
    /// The values of a text at the places of this template; `None` if the text does not fit. A value that looks like a
    /// list must be a known text.
    fn values<'a>(&self, text: &'a str, is_known: impl Fn(&str) -> bool) -> Option<Vec<&'a str>> {
        let (first, others) = self.literals.split_first()?;
        let mut rest = text.strip_prefix(first.as_str())?;
        let mut values = Vec::new();
        for (index, literal) in others.iter().enumerate() {
            let is_last = index + 1 == others.len();
            let end = if is_last { rest.strip_suffix(literal.as_str())?.len() } else { rest.find(literal.as_str())? };
            values.push(&rest[..end]);
            rest = &rest[end + literal.len()..];
        }
        let fits = |(before, value): (&String, &&str)| before.ends_with('“') || is_one(value) || is_known(value);
        self.literals.iter().zip(&values).all(fits).then_some(values)
    }
}

/// Whether a text can be a single value, and not a part of a list. Quotes may contain anything.
fn is_one(value: &str) -> bool {
    let (before_quotes, _) = value.split_once('“').unwrap_or((value, ""));
    !SEPARATORS.iter().any(|separator| before_quotes.contains(separator))
}

/// The text around the places of a text such as `{0} of {1}`, and the number of each place.
fn parts(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut literals, mut places) = (vec![String::new()], Vec::new());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let place = after.split_once('}').filter(|(place, _)| place.bytes().all(|digit| digit.is_ascii_digit()));
        if let Some(last) = literals.last_mut() {
            last.push_str(before);
        }
        let Some((place, after)) = place else { break };
        places.push(place.to_owned());
        literals.push(String::new());
        rest = after;
    }
    if let Some(last) = literals.last_mut() {
        last.push_str(rest);
    }
    (literals, places)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn german() -> Language {
        Language::of_locale("de-AT").unwrap()
    }

    #[test]
    fn each_file_of_a_language_can_be_read() {
        for file in FILES.files() {
            assert!(read(file.contents_utf8().unwrap()).is_ok(), "{}", file.path().display());
        }
        assert!(Language::of_locale("xx").is_none());
    }

    #[test]
    fn a_text_with_values_is_found_by_its_template() {
        assert_eq!(german().translate("Show Tillgate"), "Tillgate zeigen");
        assert_eq!(german().translate("12.00 USD received"), "12.00 USD empfangen");
        assert_eq!(german().translate("a text of nobody"), "a text of nobody");
    }

    #[test]
    fn a_text_within_a_text_is_translated_too() {
        let within = "Coins for the payment of 12.00 USD came after the payment had closed.";
        let expected = "Coins für die Zahlung über 12.00 USD kamen, nachdem die Zahlung geschlossen war.";
        assert_eq!(german().translate(within), expected);
        assert_eq!(german().translate("Order “7” is paid."), "Bestellung „7“ ist bezahlt.");
    }

    #[test]
    fn a_refusal_keeps_the_name_of_its_field() {
        let refused = german().translate("address must be a Bitcoin address like bc1q…, bc1p…, 3… or 1…");
        assert_eq!(refused, "address muss eine Bitcoin-Adresse wie bc1q…, bc1p…, 3… oder 1… sein");
        assert_eq!(
            german().translate("tolerancePerMille must be true or false"),
            "tolerancePerMille muss true oder false sein"
        );
    }

    #[test]
    fn the_reason_within_a_refusal_is_translated_too() {
        let refused = "/b cannot be written: the disk that holds the database is full: make room on it";
        let expected =
            "/b kann nicht geschrieben werden: die Platte mit der Datenbank ist voll: schaffen Sie dort Platz";
        assert_eq!(german().translate(refused), expected);
    }

    #[test]
    fn a_list_is_translated_part_by_part() {
        let list = "Tillgate: Production: 1 payment reversed, 2 payouts wait for approval";
        let expected = "Tillgate: Produktion: 1 Zahlung zurückgenommen, 2 Auszahlungen warten auf Freigabe";
        assert_eq!(german().translate(list), expected);
        let quoted = german().translate("The coins for order “a, b: c” have come, and wait for confirmations.");
        assert_eq!(quoted, "Die Coins für Bestellung „a, b: c“ sind da und warten auf Bestätigungen.");
    }
}
