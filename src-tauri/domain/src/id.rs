//! Identifiers of records: 160 random bits, written as 40 lower-case hexadecimal characters.

use std::fmt;
use std::str::FromStr;

/// The identifier of a payment, anomaly, payout, delivery or notification.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id([u8; 20]);

/// A text that is not 40 lower-case hexadecimal characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error("an identifier is 40 lower-case hexadecimal characters")]
pub struct NotAnId;

impl Id {
    /// Wraps 20 random bytes; the caller owns the entropy.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    /// The bytes behind the text, as the database stores them.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0u8; 40];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({self})")
    }
}

impl FromStr for Id {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let digits = text.as_bytes();
        if digits.len() != 40 {
            return Err(NotAnId);
        }
        let mut bytes = [0u8; 20];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

/// Upper case is refused: one record has one name.
fn nibble(digit: u8) -> Result<u8, NotAnId> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(NotAnId),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_what_it_shows() {
        let id = Id::from_bytes([0xab; 20]);
        assert_eq!(id.to_string(), "ab".repeat(20));
        assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn only_forty_lower_case_hex_characters_are_an_id() {
        for text in
            ["", "ab", &"AB".repeat(20), &"ab".repeat(21), &"zz".repeat(20), &"é".repeat(20)]
        {
            assert_eq!(text.parse::<Id>(), Err(NotAnId), "{text}");
        }
    }
}
