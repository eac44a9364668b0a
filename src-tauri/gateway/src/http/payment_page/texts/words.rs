//! The type of the page's texts.

/// The page's texts in one language. `{}` is a placeholder for a value.
#[derive(Debug)]
pub(in crate::http::payment_page) struct Texts {
    /// The `lang` of the `html` element, and the first part of the language that a browser asks for.
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
    pub cancelled: &'static str,
    pub cancelled_hint: &'static str,
    pub expired: &'static str,
    pub expired_hint: &'static str,
    pub invalid: &'static str,
    pub invalid_hint: &'static str,
    /// The title above `late`, `too_little` and `too_much`.
    pub received: &'static str,
    pub late: &'static str,
    pub too_little: &'static str,
    pub too_much: &'static str,
    pub taken_back: &'static str,
    pub taken_back_hint: &'static str,
    pub back_to_shop: &'static str,
    pub not_found: &'static str,
    pub not_found_hint: &'static str,
}
