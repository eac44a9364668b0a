//! Payment URIs (BIP21).

/// `bitcoin:<address>?amount=<8 decimals>&label=<…>&message=<…>`, values percent-encoded as UTF-8
/// with `%20` for a space.
#[must_use]
pub fn payment_uri(address: &str, amount_sats: u64, label: &str, message: &str) -> String {
    let _ = (address, amount_sats, label, message);
    unimplemented!()
}

/// What the QR code carries: address and amount alone, because a message can be longer than any
/// QR code.
#[must_use]
pub fn qr_uri(address: &str, amount_sats: u64) -> String {
    let _ = (address, amount_sats);
    unimplemented!()
}
