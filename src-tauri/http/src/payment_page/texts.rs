//! The page's texts in every language.

mod english;
mod french;
mod german;
mod japanese;
mod portuguese;
mod spanish;
mod words;

use std::cmp::Reverse;

pub use english::ENGLISH;
pub use words::Texts;

/// The page's languages. Browsers that ask for none of them get English.
pub const LANGUAGES: [&Texts; 6] = [
    &ENGLISH,
    &german::GERMAN,
    &french::FRENCH,
    &spanish::SPANISH,
    &portuguese::PORTUGUESE,
    &japanese::JAPANESE,
];

/// Limit of languages read from one `Accept-Language`. Browsers send only a few.
const ASKED_MAX: usize = 20;

/// The texts of a language tag such as `de` or `de-AT`; `None` for a language that the page does
/// not have.
pub fn of_tag(tag: &str) -> Option<&'static Texts> {
    let lang = tag.split('-').next()?;
    LANGUAGES.into_iter().find(|texts| texts.lang.eq_ignore_ascii_case(lang))
}

/// The texts for a browser that sends this `Accept-Language`.
pub fn for_browser(accepted: &str) -> &'static Texts {
    let asked = accepted.split(',').take(ASKED_MAX).filter_map(|one| {
        let mut parts = one.split(';').map(str::trim);
        let texts = of_tag(parts.next()?)?;
        let weight =
            parts.find_map(|part| part.strip_prefix("q=")).map_or(Some(WHOLE), thousandths)?;
        (weight > 0).then_some((weight, texts))
    });
    // Among languages with the same weight, the first is chosen.
    asked.min_by_key(|(weight, _)| Reverse(*weight)).map_or(&ENGLISH, |(_, texts)| texts)
}

/// The weight of a language without `q`.
const WHOLE: u32 = 1_000;

/// A weight such as `0.8` in thousandths; `None` if the text is no weight.
fn thousandths(weight: &str) -> Option<u32> {
    let (whole, decimals) = weight.split_once('.').unwrap_or((weight, ""));
    let decimals = format!("{decimals:0<3}");
    let whole: u32 = whole.parse().ok()?;
    Some(whole.min(1) * WHOLE + decimals.get(..3)?.parse::<u32>().ok()?)
}

/// Replaces each `{}` by the next value.
pub fn fill(text: &str, values: &[&str]) -> String {
    let mut filled = String::with_capacity(text.len() + 16);
    let mut values = values.iter();
    let mut parts = text.split("{}");
    filled.push_str(parts.next().unwrap_or_default());
    for part in parts {
        filled.push_str(values.next().copied().unwrap_or_default());
        filled.push_str(part);
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_browsers_preferred_known_language_is_chosen() {
        for (accepted, lang) in [
            ("", "en"),
            ("de-AT,de;q=0.9,en;q=0.8", "de"),
            ("nl,fr;q=0.3,ja;q=0.31", "ja"),
            ("es;q=0.5, pt;q=0.5", "es"),
            ("de;q=0,en;q=0.1", "en"),
            ("DE", "de"),
            ("de;q=x,fr;q=0.2", "fr"),
            ("*;q=0.5", "en"),
        ] {
            assert_eq!(for_browser(accepted).lang, lang, "{accepted}");
        }
    }

    #[test]
    fn each_language_has_as_many_placeholders_as_english() {
        for texts in LANGUAGES {
            let filled = |of: &Texts| {
                [of.title, of.awaiting_more, of.unconfirmed_hint, of.received, of.taken_back_hint]
                    .map(|text| text.matches("{}").count())
            };
            assert_eq!(filled(texts), filled(&ENGLISH), "{}", texts.lang);
        }
    }
}
