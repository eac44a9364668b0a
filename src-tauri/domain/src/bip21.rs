//! Writes payment URIs (BIP21); reads none.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::money::format_btc;

/// All but the unreserved characters of RFC 3986: a space becomes `%20`, never `+`.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// `bitcoin:<address>?amount=<8 decimals>&label=<…>&message=<…>`, values percent-encoded as UTF-8
/// with `%20` for a space.
#[must_use]
pub fn payment_uri(address: &str, amount_sats: u64, label: &str, message: &str) -> String {
    let label = utf8_percent_encode(label, ENCODED);
    let message = utf8_percent_encode(message, ENCODED);
    format!("{}&label={label}&message={message}", qr_uri(address, amount_sats))
}

/// The URI inside the QR code: only address and amount, because a message can be too long for a QR
/// code.
#[must_use]
pub fn qr_uri(address: &str, amount_sats: u64) -> String {
    format!("bitcoin:{address}?amount={}", format_btc(amount_sats))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_percent_encoded_as_utf8() {
        assert_eq!(
            payment_uri("bc1qxyz", 3_444_190, "shop_1", "2 × café & más?=#%+"),
            "bitcoin:bc1qxyz?amount=0.03444190&label=shop_1&message=2%20%C3%97%20caf%C3%A9%20%26%20m%C3%A1s%3F%3D%23%25%2B"
        );
    }

    #[test]
    fn an_empty_label_or_message_keeps_its_parameter() {
        assert_eq!(
            payment_uri("bc1q", 1, "", ""),
            "bitcoin:bc1q?amount=0.00000001&label=&message="
        );
    }

    #[test]
    fn the_qr_code_carries_address_and_amount_alone() {
        assert_eq!(qr_uri("bc1qxyz", 100_000_000), "bitcoin:bc1qxyz?amount=1.00000000");
    }
}
