//! Makes the words of a wallet (BIP39), and reads words as people type them. Words are never
//! printed.

mod reading;

use bip39::Mnemonic;
use zeroize::Zeroizing;

use super::descriptor::WalletError;
pub use reading::{BadWords, count, is_like_electrum, parse};
use tillgate_machine::entropy::Entropy;
use tillgate_machine::secrets::Secret;

/// Length of a new wallet's mnemonic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WordCount {
    /// 128 bits.
    #[default]
    Twelve,
    /// 256 bits.
    TwentyFour,
}

impl WordCount {
    /// The variant of a number of words.
    pub const fn from_number(count: u32) -> Option<Self> {
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
pub fn new(entropy: &dyn Entropy, count: WordCount) -> Result<Secret, WalletError> {
    let mut bytes = Zeroizing::new([0u8; 32]);
    let bytes = bytes.get_mut(..count.entropy_bytes()).ok_or(WalletError::BadMnemonic)?;
    entropy.fill(bytes)?;
    let mnemonic = Mnemonic::from_entropy(bytes).map_err(|_| WalletError::BadMnemonic)?;
    Ok(Secret::new(mnemonic.to_string()))
}

#[cfg(test)]
mod tests {
    use tillgate_machine::entropy::SystemEntropy;

    use super::*;

    #[test]
    fn new_words_have_the_wanted_number_and_can_be_read_back() {
        for (count, many) in [(WordCount::Twelve, 12), (WordCount::TwentyFour, 24)] {
            let one = new(&SystemEntropy, count).unwrap();
            assert_eq!(one.reveal().split(' ').count(), many);
            assert_eq!(parse(one.reveal()).unwrap().reveal(), one.reveal());
            assert_ne!(one.reveal(), new(&SystemEntropy, count).unwrap().reveal());
        }
    }
}
