//! The person's locale: the language of texts for people.

/// The variable that takes precedence over the system's locale.
const VARIABLE: &str = "TILLGATE_LANGUAGE";

/// The person's locale as a BCP 47 tag, such as `de-AT`. A locale that is no such tag, such as `C`, becomes `en`.
#[must_use]
pub fn locale() -> String {
    let chosen = std::env::var(VARIABLE).ok().filter(|tag| !tag.is_empty());
    chosen.or_else(sys_locale::get_locale).filter(|tag| is_tag(tag)).unwrap_or_else(|| "en".to_owned())
}

/// Whether a text is a language of two or three letters, followed by parts such as a script or a region.
fn is_tag(text: &str) -> bool {
    let mut parts = text.split('-');
    let is_language =
        |part: &str| matches!(part.len(), 2 | 3) && part.bytes().all(|letter| letter.is_ascii_lowercase());
    let is_part = |part: &str| matches!(part.len(), 2..=8) && part.bytes().all(|letter| letter.is_ascii_alphanumeric());
    parts.next().is_some_and(is_language) && parts.all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

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
