use bitcoin::bech32::primitives::gf32::Fe32;
use bitcoin::bech32::primitives::iter::{ByteIterExt as _, Fe32IterExt as _};
use bitcoin::bech32::{Bech32, Bech32m, Checksum, Hrp};
use bitcoin::hashes::Hash as _;
use bitcoin::{PubkeyHash, ScriptHash, WScriptHash};
use proptest::prelude::*;

use super::*;

const REGTEST: Network = Network::Regtest;

/// The addresses of BIP173's example key on the main network, the test networks and regtest.
const MAIN: &str = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4";
const TEST: &str = "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx";
const OURS: &str = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";

/// A SegWit address of any version, program and checksum.
fn segwit<Ck: Checksum>(prefix: &str, version: u8, program: &[u8]) -> String {
    let hrp = Hrp::parse(prefix).unwrap();
    let version = Fe32::try_from(version).unwrap();
    program
        .iter()
        .copied()
        .bytes_to_fes()
        .with_checksum::<Ck>(&hrp)
        .with_witness_version(version)
        .chars()
        .collect()
}

/// The x coordinate of the curve's generator.
const ON_THE_CURVE: [u8; 32] = [
    0x79, 0xbe, 0x66, 0x7e, 0xf9, 0xdc, 0xbb, 0xac, 0x55, 0xa0, 0x62, 0x95, 0xce, 0x87, 0x0b, 0x07,
    0x02, 0x9b, 0xfc, 0xdb, 0x2d, 0xce, 0x28, 0xd9, 0x59, 0xf2, 0x81, 0x5b, 0x16, 0xf8, 0x17, 0x98,
];

fn refused(text: &str) -> AddressRefusal {
    parse(text, REGTEST).expect_err(text)
}

#[test]
fn every_standard_kind_of_address_may_be_paid() {
    let addresses = [
        Address::p2pkh(PubkeyHash::from_byte_array([7; 20]), REGTEST).to_string(),
        Address::p2sh_from_hash(ScriptHash::from_byte_array([7; 20]), REGTEST).to_string(),
        OURS.to_owned(),
        Address::from_script(
            &ScriptBuf::new_p2wsh(&WScriptHash::from_byte_array([7; 32])),
            REGTEST,
        )
        .unwrap()
        .to_string(),
        segwit::<Bech32m>("bcrt", 1, &ON_THE_CURVE),
    ];
    for text in addresses {
        let address = parse(&text, REGTEST).unwrap();
        assert_eq!(address.text, text);
        assert_eq!(Address::from_script(&address.script, REGTEST).unwrap().to_string(), text);
    }
}

#[test]
fn an_address_in_capitals_is_the_same_in_small_letters() {
    assert_eq!(parse(&OURS.to_uppercase(), REGTEST), parse(OURS, REGTEST));
    assert_eq!(parse(&OURS.to_uppercase(), REGTEST).unwrap().text, OURS);
    assert_eq!(refused(&OURS.replacen("qw", "Qw", 1)), AddressRefusal::MixedCase);
    assert_eq!(refused(&OURS.replacen("bcrt", "BCRT", 1)), AddressRefusal::MixedCase);
}

#[test]
fn another_networks_address_is_refused_with_both_named() {
    for (text, network, found) in [
        (MAIN, REGTEST, FoundNetwork::Main),
        (TEST, REGTEST, FoundNetwork::Test),
        (OURS, Network::Bitcoin, FoundNetwork::Regtest),
        (OURS, Network::Signet, FoundNetwork::Regtest),
        ("1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", REGTEST, FoundNetwork::Main),
        ("3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy", REGTEST, FoundNetwork::Main),
        ("mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn", Network::Bitcoin, FoundNetwork::Test),
    ] {
        let refusal = parse(text, network).unwrap_err();
        assert!(
            matches!(refusal, AddressRefusal::OtherNetwork { found: its, .. } if its == found),
            "{text} {refusal}"
        );
        assert!(refusal.to_string().contains(example(network)), "{refusal}");
    }
    for (text, network) in
        [(MAIN, Network::Bitcoin), (TEST, Network::Signet), (TEST, Network::Testnet4)]
    {
        assert!(parse(text, network).is_ok(), "{text}");
    }
}

#[test]
fn a_text_that_is_no_address_is_refused_by_its_kind() {
    let private_key = "cVt4o7BGAig1UXywgGSmARhxMdzP5qvQsxKkSsc1XEkw3tDTQFpy";
    for (text, refusal) in [
        ("", AddressRefusal::Empty),
        (" ", AddressRefusal::Blanks),
        (&format!(" {OURS}"), AddressRefusal::Blanks),
        (&format!("{OURS}\n"), AddressRefusal::Blanks),
        (&OURS.replacen("qw", "q w", 1), AddressRefusal::Blanks),
        (&format!("bitcoin:{OURS}"), AddressRefusal::Uri),
        (&format!("BITCOIN:{OURS}?amount=1"), AddressRefusal::Uri),
        (
            "lnbc20u1p3y0x3hpp5743k2g0fsqqxj7n8qzuhns5gmkk4djeejk3wkp64ppevgekvc0jsdqcve5kzar2v9nr5gpqd4hkuetesp5ez2g297jduwc20t6lmqlsg3man0vf2jfd8ar9fh8fhn2g8yttfkqxqy9gcqcqzys9qrsgqrzjqtx3k77yrrav9hye7zar2rtqlfkytl094dsp0ms5majzth6gt7ca6uhdkxl983uywgqqqqlgqqqvx5qqjqrzjqd98kxkpyw0l9tyy8r8q57k7zpy9zjmh6sez752wj6gcumqnj3yxzhdsmg6qq56utgqqqqqqqqqqqeqqjq7jd56882gtxhrjm03c93aacyfy306m4fq0tskf83c0nmet8zc2lxyyg3saz8x6vwcp26xnrlagf9semau3qm2glysp7sv95693fphvsp54l567",
            AddressRefusal::Lightning,
        ),
        ("LNBCRT10U1P", AddressRefusal::Lightning),
        ("lightning:lnbc1", AddressRefusal::Lightning),
        ("nobody", AddressRefusal::NoAddress(REGTEST)),
        ("ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9", AddressRefusal::NoAddress(REGTEST)),
        (private_key, AddressRefusal::NoAddress(REGTEST)),
        (&"a".repeat(60_000), AddressRefusal::NoAddress(REGTEST)),
    ] {
        assert_eq!(refused(text), refusal, "{text}");
    }
}

#[test]
fn a_typing_error_is_found() {
    let last = OURS.len() - 1;
    for text in [
        format!("{}q", &OURS[..last]),
        OURS.replacen('w', "e", 1),
        OURS.replacen('w', "1", 1),
        OURS.replacen('w', "b", 1),
        MAIN.replacen('w', "e", 1),
        "mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfm".to_owned(),
    ] {
        assert_eq!(refused(&text), AddressRefusal::Checksum, "{text}");
    }
}

#[test]
fn a_checksum_of_another_version_is_refused() {
    assert_eq!(
        refused(&segwit::<Bech32>("bcrt", 1, &ON_THE_CURVE)),
        AddressRefusal::Bech32InsteadOfBech32m
    );
    assert_eq!(
        refused(&segwit::<Bech32>("bcrt", 16, &[7; 20])),
        AddressRefusal::Bech32InsteadOfBech32m
    );
    assert_eq!(
        refused(&segwit::<Bech32m>("bcrt", 0, &[7; 20])),
        AddressRefusal::Bech32mInsteadOfBech32
    );
}

#[test]
fn addresses_that_the_owner_alone_cannot_spend_are_refused() {
    assert_eq!(refused(&segwit::<Bech32m>("bcrt", 1, &[0xff; 32])), AddressRefusal::OffTheCurve);
    assert_eq!(refused(&segwit::<Bech32m>("bcrt", 1, &[0x4e, 0x73])), AddressRefusal::PayToAnchor);
    assert_eq!(refused(&segwit::<Bech32m>("bcrt", 1, &[7; 20])), AddressRefusal::WitnessProgram);
    assert_eq!(refused(&segwit::<Bech32>("bcrt", 0, &[7; 21])), AddressRefusal::WitnessProgram);
    for version in 2..=16 {
        assert_eq!(
            refused(&segwit::<Bech32m>("bcrt", version, &[7; 32])),
            AddressRefusal::WitnessVersion(version)
        );
    }
    assert_eq!(
        refused(&segwit::<Bech32m>("bcrt", 17, &[7; 32])),
        AddressRefusal::NoAddress(REGTEST)
    );
}

proptest! {
    #[test]
    fn the_reader_survives_any_text(text in "\\PC{0,120}", at in 0..44_usize, letter in "[ -~é]") {
        let _ = parse(&text, REGTEST);
        let mut changed: Vec<char> = OURS.chars().collect();
        changed[at] = letter.chars().next().unwrap();
        let changed: String = changed.into_iter().collect();
        prop_assert_eq!(parse(&changed, REGTEST).is_ok(), changed == OURS);
    }
}

#[test]
fn a_character_that_no_address_has_is_named() {
    for (foreign, name) in [
        ("\u{200b}", "an invisible character, U+200B (zero width space)"),
        ("\u{2060}", "an invisible character, U+2060 (word joiner)"),
        ("\u{200f}", "an invisible character, U+200F (right-to-left mark)"),
        ("\u{ad}", "an invisible character, U+00AD (soft hyphen)"),
        ("\u{feff}", "an invisible character, U+FEFF (byte order mark)"),
        ("\u{7}", "an invisible character, U+0007"),
        (",", r#"the character ",""#),
        ("?amount=0.1", r#"the character "?""#),
        ("é", "the character \"é\" (U+00E9)"),
        ("\u{430}", "the character \"\u{430}\" (U+0430)"),
    ] {
        for text in
            [format!("{OURS}{foreign}"), format!("{foreign}{OURS}"), OURS.replacen('q', foreign, 1)]
        {
            let refusal = refused(&text).to_string();
            assert!(refusal.starts_with(&format!("holds {name}, ")), "{refusal}");
        }
    }
    assert_eq!(refused("bitcoin:x?amount=1"), AddressRefusal::Uri);
    assert_eq!(refused(&format!("{OURS} ,")), AddressRefusal::Blanks);
}
