//! Reads a wallet's words as people type, paste or pipe them, for the window and the command line.
//! A text that is something else is named as that. An error names the position of a wrong word,
//! never the word.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bip39::{Language, Mnemonic};
use bitcoin::hashes::{Hash as _, HashEngine as _, Hmac, HmacEngine, sha512};
use tillgate_machine::secrets::Secret;
use zeroize::Zeroizing;

/// Allowed lengths of a mnemonic in words.
const COUNTS: [usize; 5] = [12, 15, 18, 21, 24];

/// Lengths of a share of SLIP39 in words, for secrets of 128 and 256 bits.
const SLIP39_COUNTS: [usize; 2] = [20, 33];

/// Digits of a word in a SeedQR.
const SEED_QR_DIGITS: usize = 4;

/// Any word of the English list is known by this many first letters.
const PREFIX: usize = 4;

/// Least length of an extended key in Base58.
const EXTENDED_KEY_LEAST: usize = 100;

/// The key of the HMAC by which Electrum numbers the versions of its seeds.
const ELECTRUM_KEY: &[u8] = b"Seed version";

/// Versions of Electrum's seeds: first hexadecimal digits of the HMAC. Standard, segwit, and both
/// with two factors.
const ELECTRUM_VERSIONS: [&str; 4] = ["01", "100", "101", "102"];

/// A language whose words BIP39 lists, and which are not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
pub enum OtherLanguage {
    #[error("Chinese")]
    Chinese,
    #[error("Czech")]
    Czech,
    #[error("French")]
    French,
    #[error("Italian")]
    Italian,
    #[error("Japanese")]
    Japanese,
    #[error("Korean")]
    Korean,
    #[error("Portuguese")]
    Portuguese,
    #[error("Spanish")]
    Spanish,
}

impl OtherLanguage {
    const fn from_language(language: Language) -> Option<Self> {
        Some(match language {
            Language::English => return None,
            Language::SimplifiedChinese | Language::TraditionalChinese => Self::Chinese,
            Language::Czech => Self::Czech,
            Language::French => Self::French,
            Language::Italian => Self::Italian,
            Language::Japanese => Self::Japanese,
            Language::Korean => Self::Korean,
            Language::Portuguese => Self::Portuguese,
            Language::Spanish => Self::Spanish,
        })
    }
}

/// Reason why a text is not a wallet's words. It never contains a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
pub enum BadWords {
    #[error("a wallet has 12, 15, 18, 21 or 24 words, and {0} were given")]
    Count(usize),
    #[error("word {0} is not in the list of BIP39's English words: look at its spelling")]
    NotInList(usize),
    /// All words are in the list, but not in this combination or order.
    #[error(
        "each word is in the list, but the checksum is wrong: one word was written down wrong, or two changed places"
    )]
    Checksum,
    #[error(
        "these are the words of an Electrum seed, which makes other keys than BIP39's: restore it in Electrum, and send its coins to a new wallet of Tillgate"
    )]
    Electrum,
    #[error(
        "these are {0} words, and only English words are read: restore them in a program that knows {0} words, and send the coins to a new wallet of Tillgate"
    )]
    OtherLanguage(OtherLanguage),
    #[error(
        "these are the digits of a SeedQR: let the device that shows it show the words, and type the words"
    )]
    SeedQr,
    #[error(
        "this is an extended key (like xprv or xpub), not words: restore it in a program that reads such keys, and send the coins to a new wallet of Tillgate"
    )]
    ExtendedKey,
    #[error(
        "this is a descriptor, not words: restore it in a program that reads descriptors, and send the coins to a new wallet of Tillgate"
    )]
    Descriptor,
    #[error(
        "{0} words are a share of SLIP39 (Trezor's Shamir backup), not BIP39's words: restore the shares in a device or program that reads them, and send the coins to a new wallet of Tillgate"
    )]
    Slip39(usize),
    #[error(
        "the first {0} words are a wallet's, and a word follows: a passphrase (25th word) is not supported; restore the wallet in a program that takes it, and send the coins to a new wallet of Tillgate"
    )]
    Passphrase(usize),
}

impl BadWords {
    /// Whether the text is complete, although it has no words.
    pub const fn is_no_words(self) -> bool {
        match self {
            Self::SeedQr | Self::ExtendedKey | Self::Descriptor => true,
            Self::Count(_)
            | Self::NotInList(_)
            | Self::Checksum
            | Self::Electrum
            | Self::OtherLanguage(_)
            | Self::Slip39(_)
            | Self::Passphrase(_) => false,
        }
    }
}

/// Reads words as people type them: in any case, with numbers, dots, commas and line breaks between
/// them, or as their first four letters. In a sheet with a heading, the numbered words are read.
/// Returns them in their stored form.
///
/// # Errors
/// The kind of mistake, without any of the words.
pub fn parse(text: &str) -> Result<Secret, BadWords> {
    let text = Zeroizing::new(text.to_lowercase());
    if let Some(other) = without_words(&text) {
        return Err(other);
    }
    let typed = entries(&text);
    let known: Vec<Option<&str>> = typed.iter().map(|word| whole(word)).collect();
    let is_a_wallet = |words: &[Option<&str>]| stored_form(words).filter(|words| is_bip39(words));
    if let Some(words) = is_a_wallet(&known) {
        return Ok(Secret::new(words.to_string()));
    }
    let count = known.len();
    if stored_form(&known).is_some_and(|words| is_like_electrum(&words)) {
        return Err(BadWords::Electrum);
    }
    if let Some(language) = other_language(&typed, &known) {
        return Err(BadWords::OtherLanguage(language));
    }
    if SLIP39_COUNTS.contains(&count) {
        return Err(BadWords::Slip39(count));
    }
    if let Some((_, first)) = known.split_last()
        && is_a_wallet(first).is_some()
    {
        return Err(BadWords::Passphrase(first.len()));
    }
    if !COUNTS.contains(&count) {
        return Err(BadWords::Count(count));
    }
    let wrong = known.iter().position(Option::is_none);
    Err(wrong.map_or(BadWords::Checksum, |place| BadWords::NotInList(place.saturating_add(1))))
}

/// Number of words in a text, right or wrong.
pub fn count(text: &str) -> usize {
    entries(text).len()
}

/// Whether words in their stored form carry a version of Electrum. One wallet of BIP39 in some two
/// hundred does so by chance.
pub fn is_like_electrum(words: &str) -> bool {
    let mut engine = HmacEngine::<sha512::Hash>::new(ELECTRUM_KEY);
    engine.input(words.as_bytes());
    let version = hex::encode(Hmac::<sha512::Hash>::from_engine(engine).to_byte_array());
    count(words) >= COUNTS[0] && ELECTRUM_VERSIONS.iter().any(|one| version.starts_with(one))
}

/// Names a secret that has no words. `text` is in lower case.
fn without_words(text: &str) -> Option<BadWords> {
    let text = text.trim();
    if ["wpkh(", "tr(", "pkh(", "sh(", "combo("].iter().any(|function| text.contains(function)) {
        return Some(BadWords::Descriptor);
    }
    let is_key = |kind: &str| text.get(1..PREFIX).is_some_and(|found| found == kind);
    if text.len() >= EXTENDED_KEY_LEAST && text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return (is_key("prv") || is_key("pub")).then_some(BadWords::ExtendedKey);
    }
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let are_all = text.chars().all(|one| one.is_ascii_digit() || one.is_whitespace());
    (are_all && COUNTS.iter().any(|words| words * SEED_QR_DIGITS == digits))
        .then_some(BadWords::SeedQr)
}

/// The numbered words of a text, if they are as many as a wallet has; else all words.
fn entries(text: &str) -> Vec<&str> {
    let numbered = numbered(text);
    if COUNTS.contains(&numbered.len()) { numbered } else { words_in(text).collect() }
}

/// The words that stand after the numbers 1, 2, 3 and on, up to the first number without a word. A
/// heading like "these 12 words" takes no place from a word of the list. None if a number has two
/// words of the list, as in two columns that both begin with 1.
fn numbered(text: &str) -> Vec<&str> {
    let mut words: BTreeMap<usize, &str> = BTreeMap::new();
    let mut number = None;
    for part in text
        .split(|one: char| !is_letter(one) && !one.is_ascii_digit())
        .filter(|part| !part.is_empty())
    {
        match (part.parse::<usize>().ok(), number.take()) {
            (Some(found), _) => number = Some(found),
            (None, Some(place)) if words.get(&place).is_none_or(|word| whole(word).is_none()) => {
                words.insert(place, part);
            }
            (None, Some(_)) if whole(part).is_some() => return Vec::new(),
            (None, _) => {}
        }
    }
    (1..).map_while(|place| words.get(&place).copied()).collect()
}

/// The words of a text, without the numbers and marks between them.
fn words_in(text: &str) -> impl Iterator<Item = &str> {
    text.split(|one: char| !is_letter(one)).filter(|word| !word.is_empty())
}

fn is_letter(one: char) -> bool {
    // Accents and the marks of Japanese syllables may be characters of their own.
    one.is_alphabetic() || matches!(one, '\u{300}'..='\u{36f}' | '\u{3099}' | '\u{309a}')
}

/// The English word of which `typed` is the whole or the first four letters.
fn whole(typed: &str) -> Option<&'static str> {
    if let Some(place) = Language::English.find_word(typed) {
        return Language::English.word_list().get(usize::from(place)).copied();
    }
    if typed.len() != PREFIX {
        None
    } else {
        Language::English.words_by_prefix(typed).first().copied()
    }
}

/// The words with a space between; `None` if any word is unknown.
fn stored_form(words: &[Option<&str>]) -> Option<Zeroizing<String>> {
    let words: Option<Vec<&str>> = words.iter().copied().collect();
    Some(Zeroizing::new(words?.join(" ")))
}

fn is_bip39(words: &str) -> bool {
    Mnemonic::parse_in_normalized(Language::English, words).is_ok()
}

/// The language of another list that has more of the words than the English list, and most of them.
fn other_language(typed: &[&str], known: &[Option<&str>]) -> Option<OtherLanguage> {
    let normalized = typed.iter().map(|word| {
        let mut word = Cow::Borrowed(*word);
        Mnemonic::normalize_utf8_cow(&mut word);
        Zeroizing::new(word.into_owned())
    });
    // Chinese words are single characters, which are mostly written without spaces.
    let normalized: Vec<Zeroizing<String>> = normalized
        .flat_map(|word| match word.chars().next() {
            Some('\u{4e00}'..='\u{9fff}') => {
                word.chars().map(|one| Zeroizing::new(one.to_string())).collect()
            }
            Some(_) | None => vec![word],
        })
        .collect();
    let in_list = |language: Language| {
        normalized.iter().filter(|word| language.find_word(word).is_some()).count()
    };
    let english = known.iter().flatten().count();
    let (language, most) = Language::ALL
        .iter()
        .filter_map(|language| Some((OtherLanguage::from_language(*language)?, in_list(*language))))
        .max_by_key(|(_, count)| *count)?;
    let is_told = normalized.len() >= COUNTS[0] && most > english && most * 2 > normalized.len();
    is_told.then_some(language)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about";
    const OTHER: &str =
        "legal winner thank year wave sausage worth useful legal winner thank yellow";
    const ELECTRUM: &str = "coach fan denial rifle frost rival join install one wasp cool antique";

    fn refused(text: &str) -> BadWords {
        parse(text).map(drop).unwrap_err()
    }

    /// Words of another language, from the same bytes in each.
    fn words_of(language: Language) -> String {
        Mnemonic::from_entropy_in(language, &[0x7a; 16]).unwrap().to_string()
    }

    #[test]
    fn words_are_read_in_any_case_and_spacing() {
        let typed = format!("  {}\r\n", WORDS.replacen(' ', "\n\t ", 3).to_uppercase());
        assert_eq!(parse(&typed).unwrap().reveal(), WORDS);
    }

    #[test]
    fn a_sheet_is_read_with_numbers_marks_and_four_letters() {
        let sheet = |form: &dyn Fn(usize, &str) -> String| {
            OTHER
                .split(' ')
                .enumerate()
                .map(|(index, word)| form(index + 1, word))
                .collect::<String>()
        };
        for typed in [
            sheet(&|place, word| format!("{place:>4}  {word}\n")),
            sheet(&|place, word| format!("{place}. {word}, ")),
            sheet(&|place, word| format!("{place})\n{word};\n")),
            sheet(&|_, word| format!("{word},")),
            sheet(&|_, word| format!("\u{2022}\u{a0}{word}\u{200b}\r\n")),
            sheet(&|place, word| {
                format!("{place}.{} ", word.chars().take(4).collect::<String>().to_uppercase())
            }),
        ] {
            assert_eq!(
                parse(&typed).map(|words| words.reveal().to_owned()),
                Ok(OTHER.to_owned()),
                "{typed:?}"
            );
            assert_eq!(count(&typed), 12, "{typed:?}");
        }
    }

    #[test]
    fn two_columns_that_both_begin_with_one_lose_no_word() {
        let words = format!("{OTHER} {OTHER}");
        let numbered = words
            .split(' ')
            .zip((1..=12).cycle())
            .map(|(word, place)| format!("{place}. {word}\n"));
        assert_eq!(count(&numbered.collect::<String>()), 24);
    }

    #[test]
    fn a_sheet_is_read_with_its_heading_and_its_foot() {
        let words: Vec<&str> = OTHER.split(' ').collect();
        let lines: String =
            (1..).zip(&words).map(|(place, word)| format!("{place:>4}  {word}\n")).collect();
        let columns: String = (0..6)
            .map(|row| format!("{} {}  {} {}\n", row + 1, words[row], row + 7, words[row + 6]))
            .collect();
        let foot = "\nAddress type BIP84 (native SegWit), birthday 2026-11-28, 24 hours\n";
        for entries in [lines, columns] {
            let sheet = format!(
                "These 12 words are the wallet.\nWrite them down on paper, in this order.\n\n{entries}{foot}"
            );
            assert_eq!(
                parse(&sheet).map(|words| words.reveal().to_owned()),
                Ok(OTHER.to_owned()),
                "{sheet}"
            );
            assert_eq!(count(&sheet), 12);
        }
        let misspelt = format!(
            "The wallet's words:\n{}",
            "1 legal 2 winer 3 thank 4 year 5 wave 6 sausage 7 worth 8 useful 9 legal 10 winner 11 thank 12 yellow"
        );
        assert_eq!(refused(&misspelt), BadWords::NotInList(2));
    }

    #[test]
    fn an_error_names_the_position_of_a_word_and_never_the_word() {
        assert_eq!(refused(""), BadWords::Count(0));
        assert_eq!(refused(&WORDS.replacen("abandon ", "", 1)), BadWords::Count(11));
        assert_eq!(refused(&format!("{WORDS} {WORDS} about")), BadWords::Count(25));
        let misspelt = WORDS.replacen("abandon abandon abandon", "abandon abandon abandom", 1);
        assert_eq!(refused(&misspelt), BadWords::NotInList(3));
        assert!(!refused(&misspelt).to_string().contains("abando"));
        let exchanged = WORDS.replace("abandon about", "about abandon");
        assert_eq!(refused(&exchanged), BadWords::Checksum);
    }

    #[test]
    fn an_electrum_seed_is_refused_as_electrums() {
        assert_eq!(refused(ELECTRUM), BadWords::Electrum);
        // A test vector of Electrum, with the version of segwit.
        assert_eq!(
            refused(
                "wild father tree among universe such mobile favorite target dynamic credit identify"
            ),
            BadWords::Electrum
        );
        assert!(!is_like_electrum(WORDS));
    }

    #[test]
    fn a_bip39_wallet_with_electrums_version_is_read() {
        let by_chance = (0u64..)
            .map(|number| {
                let mut bytes = [0; 16];
                bytes[8..].copy_from_slice(&number.to_be_bytes());
                Mnemonic::from_entropy(&bytes).unwrap().to_string()
            })
            .find(|words| is_like_electrum(words))
            .unwrap();
        assert_eq!(parse(&by_chance).unwrap().reveal(), by_chance);
    }

    #[test]
    fn words_of_another_language_are_told_as_that_languages() {
        for language in Language::ALL {
            let Some(other) = OtherLanguage::from_language(*language) else { continue };
            let words = words_of(*language);
            assert_eq!(refused(&words), BadWords::OtherLanguage(other), "{words}");
        }
        let unspaced = words_of(Language::SimplifiedChinese).replace(' ', "");
        assert_eq!(refused(&unspaced), BadWords::OtherLanguage(OtherLanguage::Chinese));
        let spanish = words_of(Language::Spanish);
        let misspelt = format!("x{spanish}");
        assert_eq!(
            refused(&misspelt),
            BadWords::OtherLanguage(OtherLanguage::Spanish),
            "with a word that no list has"
        );
    }

    #[test]
    fn other_secrets_are_told_as_what_they_are() {
        let qr = |words: usize| "0003".repeat(words);
        assert_eq!((refused(&qr(12)), refused(&qr(24))), (BadWords::SeedQr, BadWords::SeedQr));
        let key = "xprv9s21ZrQH143K3GJpoapnV8SFfukcVBSfeCficPSGfubmSFDxo1kuHnLisriDvSnRRuL2Qrg5ggqHKNVpxR86QEC8w35uxmGoggxtQTPvfUu";
        assert_eq!(refused(key), BadWords::ExtendedKey);
        assert_eq!(refused(&key.replacen("xprv", "zpub", 1)), BadWords::ExtendedKey);
        assert_eq!(refused(&format!("wpkh([73c5da0a/84h/0h/0h]{key}/0/*)")), BadWords::Descriptor);
        for (count, form) in [(20, BadWords::Slip39(20)), (33, BadWords::Slip39(33))] {
            assert_eq!(refused(&"academic ".repeat(count)), form);
        }
        assert_eq!(refused(&format!("{OTHER} rosebud")), BadWords::Passphrase(12));
        assert!(
            refused(&format!("{OTHER} rosebud"))
                .to_string()
                .contains("passphrase (25th word) is not supported")
        );
    }
}
