//! The addresses that a payout may pay: the standard ones of one network. A refusal names the kind
//! of address and the remedy, because sent coins do not come back.

use bitcoin::address::{NetworkUnchecked, ParseError};
use bitcoin::base58;
use bitcoin::bech32::primitives::decode::{CharError, UncheckedHrpstring, UncheckedHrpstringError};
use bitcoin::bech32::{Bech32, Bech32m, Fe32};
use bitcoin::secp256k1::XOnlyPublicKey;
use bitcoin::{Address, Network, ScriptBuf, WitnessProgram};

/// Prefixes of SegWit addresses: main network, test networks, regtest. Legacy addresses begin with
/// other letters.
const SEGWIT_PREFIXES: [&str; 3] = ["bc1", "tb1", "bcrt1"];

/// First characters of legacy addresses (Base58).
const BASE58_BEGINNINGS: [char; 5] = ['1', '2', '3', 'm', 'n'];

/// Prefixes of a Lightning invoice, offer, LNURL or URI.
const LIGHTNING_PREFIXES: [&str; 7] =
    ["lightning:", "lnbc", "lntb", "lntbs", "lnbcrt", "lnurl", "lno1"];

/// Invisible characters that web pages and chat programs put into copied texts.
const INVISIBLE: [(char, &str); 11] = [
    ('\u{ad}', "soft hyphen"),
    ('\u{200b}', "zero width space"),
    ('\u{200c}', "zero width non-joiner"),
    ('\u{200d}', "zero width joiner"),
    ('\u{200e}', "left-to-right mark"),
    ('\u{200f}', "right-to-left mark"),
    ('\u{202a}', "left-to-right embedding"),
    ('\u{202c}', "end of a direction"),
    ('\u{2060}', "word joiner"),
    ('\u{2069}', "end of an isolated direction"),
    ('\u{feff}', "byte order mark"),
];

/// An address that may be paid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayoutAddress {
    /// The script that pays it.
    pub script: ScriptBuf,
    /// In its usual form: an address in capitals becomes lower case.
    pub text: String,
}

/// The network of an address, as its first letters show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
pub enum FoundNetwork {
    /// The network whose coins have a price.
    #[error("Bitcoin's main network")]
    Main,
    /// Testnet or signet, whose addresses begin alike.
    #[error("a test network")]
    Test,
    /// A network of one machine.
    #[error("the regtest network")]
    Regtest,
}

/// Why a text is not an address that may be paid. Each message follows the name of the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
pub enum AddressRefusal {
    /// An empty text.
    #[error("is empty: give the Bitcoin address to pay")]
    Empty,
    /// A text with blanks in it.
    #[error("may hold no blanks: give the address alone, without spaces and line breaks")]
    Blanks,
    /// A text with a character that no address has.
    #[error("{0}")]
    Foreign(ForeignCharacter),
    /// A payment URI.
    #[error(
        "is a bitcoin: URI: give the address alone, without bitcoin: and without what follows a question mark"
    )]
    Uri,
    /// An invoice, an offer or an address of the Lightning network.
    #[error("is of the Lightning network, which this gateway does not pay: give a Bitcoin address")]
    Lightning,
    /// A SegWit address with both capitals and small letters.
    #[error(
        "mixes capitals with small letters: copy the address anew, because a letter may be wrong"
    )]
    MixedCase,
    /// An address with an additional, missing or wrong letter.
    #[error("has a typing error (its checksum does not fit): copy the address anew")]
    Checksum,
    /// A SegWit address of version 1 or later with the checksum of version 0.
    #[error(
        "has the checksum of another kind of address (Bech32 instead of Bech32m): ask the recipient for a new one"
    )]
    Bech32InsteadOfBech32m,
    /// A SegWit address of version 0 with the checksum of later versions.
    #[error(
        "has the checksum of another kind of address (Bech32m instead of Bech32): ask the recipient for a new one"
    )]
    Bech32mInsteadOfBech32,
    /// An address of another network.
    #[error(
        "is an address of {found}; payouts go to addresses like {wanted} here: ask the recipient for one"
    )]
    OtherNetwork {
        /// The address's network.
        found: FoundNetwork,
        /// Examples of the addresses of the gateway's network.
        wanted: &'static str,
    },
    /// A SegWit address of a version that has no meaning yet.
    #[error(
        "has witness version {0}, which nobody can spend safely yet: ask the recipient for another kind of address"
    )]
    WitnessVersion(u8),
    /// A SegWit address that is too long or too short for its version.
    #[error(
        "has a witness program of a length that its version does not have: ask the recipient for a new address"
    )]
    WitnessProgram,
    /// An output that exists for the fee of its transaction.
    #[error(
        "is pay-to-anchor, which anybody can spend: ask the recipient for an address of their own"
    )]
    PayToAnchor,
    /// A Taproot address without a key.
    #[error(
        "is a Taproot address whose key is no point of the curve, so that nobody can spend it: ask for a new one"
    )]
    OffTheCurve,
    /// Any other text; the network is the gateway's.
    #[error("must be a Bitcoin address like {}", example(*.0))]
    NoAddress(Network),
}

/// A character that occurs in no address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
pub enum ForeignCharacter {
    /// An invisible character with its name.
    #[error(
        "holds an invisible character, U+{code:04X} ({name}), which no address has: give the address alone"
    )]
    Named {
        /// Its number in Unicode.
        code: u32,
        /// Its name in Unicode, in small letters.
        name: &'static str,
    },
    /// A control character, by its number in Unicode.
    #[error(
        "holds an invisible character, U+{0:04X}, which no address has: give the address alone"
    )]
    Control(u32),
    /// A visible character.
    #[error("holds the character \"{0}\", which no address has: give the address alone")]
    Ascii(char),
    /// A character that may look like another.
    #[error(
        "holds the character \"{character}\" (U+{code:04X}), which no address has: give the address alone"
    )]
    Other {
        /// The character.
        character: char,
        /// Its number in Unicode.
        code: u32,
    },
}

impl ForeignCharacter {
    fn from_char(character: char) -> Self {
        let code = u32::from(character);
        match INVISIBLE.iter().find(|(foreign, _)| *foreign == character) {
            Some((_, name)) => Self::Named { code, name },
            None if character.is_control() => Self::Control(code),
            None if character.is_ascii() => Self::Ascii(character),
            None => Self::Other { character, code },
        }
    }
}

/// The first character of a text that occurs in no address.
#[must_use]
pub fn foreign_character(text: &str) -> Option<ForeignCharacter> {
    text.chars().find(|it| !it.is_ascii_alphanumeric()).map(ForeignCharacter::from_char)
}

/// Reads an address that a gateway on `network` may pay: P2PKH, P2SH, SegWit of version 0, and
/// Taproot.
///
/// # Errors
/// The kind of the text, with the remedy.
pub fn parse(text: &str, network: Network) -> Result<PayoutAddress, AddressRefusal> {
    if text.is_empty() {
        return Err(AddressRefusal::Empty);
    }
    if text.chars().any(char::is_whitespace) {
        return Err(AddressRefusal::Blanks);
    }
    let lower = text.to_ascii_lowercase();
    if lower.starts_with("bitcoin:") {
        return Err(AddressRefusal::Uri);
    }
    let is_segwit = SEGWIT_PREFIXES.iter().any(|prefix| lower.starts_with(prefix));
    if LIGHTNING_PREFIXES.iter().any(|prefix| lower.starts_with(prefix)) {
        return Err(AddressRefusal::Lightning);
    }
    if let Some(foreign) = foreign_character(text) {
        return Err(AddressRefusal::Foreign(foreign));
    }
    if is_segwit {
        judge_checksum(text, network)?;
    }
    let address = text.parse::<Address<NetworkUnchecked>>().map_err(|error| match error {
        // Its checksum was judged already, so the witness program is wrong.
        _ if is_segwit => AddressRefusal::WitnessProgram,
        ParseError::Base58(base58::Error::IncorrectChecksum(_)) if is_like_base58(text) => {
            AddressRefusal::Checksum
        }
        _ => AddressRefusal::NoAddress(network),
    })?;
    if !address.is_valid_for_network(network) {
        return Err(AddressRefusal::OtherNetwork {
            found: network_of(&lower),
            wanted: example(network),
        });
    }
    let address = address.assume_checked();
    if let Some(program) = address.witness_program() {
        judge_program(&program)?;
    }
    Ok(PayoutAddress { script: address.script_pubkey(), text: address.to_string() })
}

/// Whether a text may be meant as a legacy address. These have 26 to 35 characters; one may be
/// missing or added.
fn is_like_base58(text: &str) -> bool {
    text.starts_with(BASE58_BEGINNINGS) && (25..=36).contains(&text.len())
}

/// Whether the checksum is the kind that the address's version requires.
fn judge_checksum(text: &str, network: Network) -> Result<(), AddressRefusal> {
    let unchecked = UncheckedHrpstring::new(text).map_err(|error| match error {
        UncheckedHrpstringError::Char(CharError::MixedCase) => AddressRefusal::MixedCase,
        // A letter that does not occur in addresses is a typing error, too.
        UncheckedHrpstringError::Char(CharError::InvalidChar(_)) => AddressRefusal::Checksum,
        _ => AddressRefusal::NoAddress(network),
    })?;
    let fits_bech32 = unchecked.validate_checksum::<Bech32>().is_ok();
    let fits_bech32m = unchecked.validate_checksum::<Bech32m>().is_ok();
    if !fits_bech32 && !fits_bech32m {
        return Err(AddressRefusal::Checksum);
    }
    let version = unchecked
        .data_part_ascii()
        .first()
        .and_then(|first| Fe32::from_char(char::from(*first)).ok());
    match version.map(Fe32::to_u8) {
        Some(0) if !fits_bech32 => Err(AddressRefusal::Bech32mInsteadOfBech32),
        Some(1..=16) if !fits_bech32m => Err(AddressRefusal::Bech32InsteadOfBech32m),
        Some(0..=16) => Ok(()),
        Some(_) | None => Err(AddressRefusal::NoAddress(network)),
    }
}

/// Whether only the owner can spend a witness program.
fn judge_program(program: &WitnessProgram) -> Result<(), AddressRefusal> {
    let bytes = program.program().as_bytes();
    match program.version().to_num() {
        0 => Ok(()),
        1 if program.is_p2tr() => {
            XOnlyPublicKey::from_slice(bytes).map(drop).map_err(|_| AddressRefusal::OffTheCurve)
        }
        1 if program.is_p2a() => Err(AddressRefusal::PayToAnchor),
        1 => Err(AddressRefusal::WitnessProgram),
        version => Err(AddressRefusal::WitnessVersion(version)),
    }
}

/// The network of an address. The addresses of the test networks look alike.
fn network_of(lower: &str) -> FoundNetwork {
    match lower {
        text if text.starts_with("bcrt1") => FoundNetwork::Regtest,
        text if text.starts_with("bc1") || text.starts_with(['1', '3']) => FoundNetwork::Main,
        _ => FoundNetwork::Test,
    }
}

/// Examples of the network's addresses.
const fn example(network: Network) -> &'static str {
    match network {
        Network::Bitcoin => "bc1q…, bc1p…, 3… or 1…",
        Network::Testnet | Network::Testnet4 | Network::Signet => "tb1q…, tb1p…, 2…, m… or n…",
        _ => "bcrt1q…, bcrt1p…, 2…, m… or n…",
    }
}

#[cfg(test)]
mod tests;
