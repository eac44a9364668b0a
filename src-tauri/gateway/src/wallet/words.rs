//! Makes the words of a wallet (BIP39), and reads words as people type them. Words are never printed. An error names
//! the position of a wrong word, never the word.

use bip39::{Language, Mnemonic};
use zeroize::Zeroizing;

use super::descriptor::WalletError;
use crate::machine::entropy::Entropy;
use crate::machine::secrets::Secret;

/// Allowed lengths of a mnemonic in words.
const COUNTS: [usize; 5] = [12, 15, 18, 21, 24];

/// Length of a new wallet's mnemonic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum WordCount {
    /// 128 bits.
    #[default]
    Twelve,
    /// 256 bits.
    TwentyFour,
}

/// Reason why a text is not a wallet's words. It never contains a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
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
}

impl WordCount {
    /// The variant of a number of words.
    pub(crate) const fn of(count: u32) -> Option<Self> {
        match count {
            12 => Some(Self::Twelve),
            24 => Some(Self::TwentyFour),
            _ => None,
        }
    }

    const fn entropy_bytes(self) -> usize {
        match self {
            Self::Twelve => 16,
            Self::TwentyFour => 32,
        }
    }
}

/// Makes the words of a new wallet.
pub(crate) fn new(entropy: &dyn Entropy, count: WordCount) -> Result<Secret, WalletError> {
    let mut bytes = Zeroizing::new([0u8; 32]);
    let bytes = bytes.get_mut(..count.entropy_bytes()).ok_or(WalletError::BadMnemonic)?;
    entropy.fill(bytes)?;
    let mnemonic = Mnemonic::from_entropy(bytes).map_err(|_| WalletError::BadMnemonic)?;
    Ok(Secret::new(mnemonic.to_string()))
}

/// Reads words as people type them, in any case and spacing. Returns them in their stored form.
///
/// # Errors
/// The kind of mistake, without any of the words.
pub(crate) fn read(text: &str) -> Result<Secret, BadWords> {
    let text = Zeroizing::new(text.to_lowercase());
    let words: Vec<&str> = text.split_whitespace().collect();
    if !COUNTS.contains(&words.len()) {
        return Err(BadWords::Count(words.len()));
    }
    let wrong = words.iter().position(|word| Language::English.find_word(word).is_none());
    if let Some(place) = wrong {
        return Err(BadWords::NotInList(place.saturating_add(1)));
    }
    let words = Zeroizing::new(words.join(" "));
    Mnemonic::parse_in_normalized(Language::English, &words).map_err(|_| BadWords::Checksum)?;
    Ok(Secret::new(words.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::entropy::SystemEntropy;

    const WORDS: &str = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about";

    #[test]
    fn new_words_have_the_wanted_number_and_can_be_read_back() {
        for (count, many) in [(WordCount::Twelve, 12), (WordCount::TwentyFour, 24)] {
            let one = new(&SystemEntropy, count).unwrap();
            assert_eq!(one.reveal().split(' ').count(), many);
            assert_eq!(read(one.reveal()).unwrap().reveal(), one.reveal());
            assert_ne!(one.reveal(), new(&SystemEntropy, count).unwrap().reveal());
        }
    }

    #[test]
    fn words_are_read_in_any_case_and_spacing() {
        let typed = format!("  {}\r\n", WORDS.replacen(' ', "\n\t ", 3).to_uppercase());
        assert_eq!(read(&typed).unwrap().reveal(), WORDS);
    }

    #[test]
    fn an_error_names_the_position_of_a_word_and_never_the_word() {
        assert_eq!(read("").unwrap_err(), BadWords::Count(0));
        assert_eq!(read(&WORDS.replacen("abandon ", "", 1)).unwrap_err(), BadWords::Count(11));
        assert_eq!(read(&format!("{WORDS} {WORDS} about")).unwrap_err(), BadWords::Count(25));
        let misspelt = WORDS.replacen("abandon abandon abandon", "abandon abandon abandom", 1);
        let refused = read(&misspelt).unwrap_err();
        assert_eq!(refused, BadWords::NotInList(3));
        assert!(!refused.to_string().contains("abando"), "{refused}");
        let exchanged = WORDS.replace("abandon about", "about abandon");
        assert_eq!(read(&exchanged).unwrap_err(), BadWords::Checksum);
    }
}
