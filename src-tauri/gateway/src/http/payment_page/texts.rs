//! Every word of the page, by language.

/// The page's words in one language. `{}` stands for what is filled in.
pub(super) struct Texts {
    /// Of the `html` element.
    pub lang: &'static str,
    pub title: &'static str,
    pub test_ribbon: &'static str,
    pub amount: &'static str,
    pub address: &'static str,
    pub copy: &'static str,
    pub copied: &'static str,
    pub open_wallet: &'static str,
    pub qr_code: &'static str,
    pub time_left: &'static str,
    pub reference: &'static str,
    pub awaiting: &'static str,
    pub awaiting_more: &'static str,
    pub awaiting_hint: &'static str,
    pub time_up: &'static str,
    pub time_up_hint: &'static str,
    pub unconfirmed: &'static str,
    pub unconfirmed_hint: &'static str,
    pub confirmed: &'static str,
    pub confirmed_hint: &'static str,
    pub expired: &'static str,
    pub expired_hint: &'static str,
    pub invalid: &'static str,
    pub invalid_hint: &'static str,
    pub back_to_shop: &'static str,
    pub not_found: &'static str,
    pub not_found_hint: &'static str,
}

pub(super) const ENGLISH: Texts = Texts {
    lang: "en",
    title: "Pay {} with Bitcoin",
    test_ribbon: "Test: these coins are worth nothing",
    amount: "Amount",
    address: "Bitcoin address",
    copy: "Copy",
    copied: "Copied",
    open_wallet: "Open in wallet",
    qr_code: "QR code with address and amount",
    time_left: "Time left",
    reference: "Reference",
    awaiting: "Waiting for your payment",
    awaiting_more: "{} BTC received, more is needed",
    awaiting_hint: "Send exactly this amount in one payment. This page updates automatically.",
    time_up: "The time is up",
    time_up_hint: "Please send nothing any more. If you have paid, this page will show it in a moment.",
    unconfirmed: "Payment received",
    unconfirmed_hint: "Waiting for the Bitcoin network. Confirmations: {} of {}.",
    confirmed: "Paid",
    confirmed_hint: "Thank you! The payment is complete.",
    expired: "This payment has expired",
    expired_hint: "Nothing was received in time. Please start again in the shop, and send nothing to this address any more.",
    invalid: "This payment was not completed",
    invalid_hint: "Please get in touch with the shop, and send nothing to this address any more.",
    back_to_shop: "Back to the shop",
    not_found: "This payment is not here",
    not_found_hint: "Please check the link, or start again in the shop.",
};

/// Fills in what stands for `{}`, in order.
pub(super) fn fill(text: &str, values: &[&str]) -> String {
    let mut filled = String::with_capacity(text.len() + 16);
    let mut values = values.iter();
    let mut parts = text.split("{}");
    filled.push_str(parts.next().unwrap_or_default());
    for part in parts {
        filled.push_str(values.next().copied().unwrap_or_default());
        filled.push_str(part);
    }
    filled
}
