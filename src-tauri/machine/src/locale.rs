//! The person's locale: the language of texts, and the form of numbers.

/// The variable that takes precedence over the system's locale.
const VARIABLE: &str = "TILLGATE_LANGUAGE";

/// The person's locale as a BCP 47 tag, such as `de-AT`. A locale that is no such tag, such as `C`,
/// becomes `en`.
#[must_use]
pub fn locale() -> String {
    let chosen = std::env::var(VARIABLE).ok().filter(|tag| !tag.is_empty());
    chosen
        .or_else(sys_locale::get_locale)
        .filter(|tag| is_tag(tag))
        .unwrap_or_else(|| "en".to_owned())
}

/// The locale of numbers in a terminal, by the order of POSIX.
#[must_use]
pub fn of_numbers() -> String {
    numbers_by(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        .unwrap_or_else(locale)
}

/// The locale of numbers by these variables; `None` if none is set.
fn numbers_by(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let posix = [VARIABLE, "LC_ALL", "LC_NUMERIC", "LANG"].into_iter().find_map(variable)?;
    // `de_AT.UTF-8@euro` is `de-AT`.
    let tag = posix.split(['.', '@']).next().unwrap_or_default().replace('_', "-");
    Some(if is_tag(&tag) { tag } else { "en".to_owned() })
}

/// Whether a text is a language of two or three letters, followed by parts such as a script or a
/// region.
fn is_tag(text: &str) -> bool {
    let mut parts = text.split('-');
    let is_language = |part: &str| {
        matches!(part.len(), 2 | 3) && part.bytes().all(|letter| letter.is_ascii_lowercase())
    };
    let is_part = |part: &str| {
        matches!(part.len(), 2..=8) && part.bytes().all(|letter| letter.is_ascii_alphanumeric())
    };
    parts.next().is_some_and(is_language) && parts.all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locale_of_numbers_follows_the_order_of_posix() {
        for (variables, tag) in [
            (&[][..], None),
            (&[("LANG", "de_DE.UTF-8")], Some("de-DE")),
            (&[("LANG", "de_DE.UTF-8"), ("LC_NUMERIC", "en_US.UTF-8")], Some("en-US")),
            (
                &[("LANG", "en_US.UTF-8"), ("LC_ALL", "fr_FR@euro"), ("LC_NUMERIC", "en_US")],
                Some("fr-FR"),
            ),
            (&[("TILLGATE_LANGUAGE", "de-AT"), ("LC_ALL", "C")], Some("de-AT")),
            (&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")], Some("en")),
            (&[("LANG", "C.UTF-8")], Some("en")),
        ] {
            let variable =
                |name: &str| variables.iter().find(|one| one.0 == name).map(|one| one.1.to_owned());
            assert_eq!(numbers_by(variable).as_deref(), tag, "{variables:?}");
        }
    }

    #[test]
    fn a_locale_that_is_no_tag_is_refused() {
        for tag in ["en", "de-AT", "zh-Hant-TW", "gsw-CH"] {
            assert!(is_tag(tag), "{tag}");
        }
        for text in ["", "C", "POSIX", "de_AT", "de-", "d\"e", "deutsch"] {
            assert!(!is_tag(text), "{text}");
        }
    }
}
