//! The page's markup. Every text that comes from a merchant or customer passes [`escape`].

use std::fmt::Write as _;

use qrcode::QrCode;
use qrcode::render::svg;
use qrcode::types::EcLevel;

use super::texts::{Texts, fill};
use super::view::{Payable, Shown, View};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// How often a page without scripts loads itself anew while something may happen.
const RELOAD_SECONDS: u32 = 10;

/// How long the last state is shown before the page moves on.
const MOVE_ON_SECONDS: u32 = 3;

/// The whole page.
pub(super) fn page(view: &View, nonce: &str, texts: &Texts) -> String {
    let title = escape(&fill(texts.title, &[&view.price]));
    // Without scripts the page loads itself anew, or moves on; nothing is left to come in a final state.
    let refresh = match (&view.redirect, &view.state) {
        (Some(url), _) => format!(r#"<meta http-equiv="refresh" content="{MOVE_ON_SECONDS};url={}">"#, escape(url)),
        (None, Shown::Payable(_) | Shown::TimeUp | Shown::Unconfirmed { .. }) => {
            format!(r#"<meta http-equiv="refresh" content="{RELOAD_SECONDS}">"#)
        }
        (None, Shown::Confirmed | Shown::Expired | Shown::Invalid) => String::new(),
    };
    let color = match &view.merchant.color {
        Some(color) => format!("<style nonce=\"{nonce}\">:root{{--brand:{}}}</style>", escape(color)),
        None => String::new(),
    };
    let head = format!("<title>{title}</title><noscript>{refresh}</noscript>{color}");
    let ribbon = match view.is_test {
        true => format!(r#"<p class="ribbon">{}</p>"#, texts.test_ribbon),
        false => String::new(),
    };
    let logo = match &view.merchant.logo {
        Some(logo) => format!(r#"<img class="logo" src="{}" alt="">"#, escape(logo)),
        None => String::new(),
    };
    let body = format!(
        r#"{ribbon}<main><header>{logo}<h1>{name}</h1>{message}</header><div id="payment" aria-live="polite">{payment}</div>{reference}</main><script nonce="{nonce}">{SCRIPT}</script>"#,
        name = escape(&view.merchant.name),
        message = paragraph("message", &view.message),
        payment = payment(view, texts),
        reference = match view.reference.is_empty() {
            true => String::new(),
            false => format!("<footer>{}: {}</footer>", texts.reference, escape(&view.reference)),
        },
    );
    document(&head, &body, nonce, texts)
}

/// The part of the page that changes.
pub(super) fn payment(view: &View, texts: &Texts) -> String {
    let mut html = format!(r#"<p class="price">{}</p>"#, escape(&view.price));
    match &view.state {
        Shown::Payable(payable) => html.push_str(&to_pay(payable, texts)),
        Shown::TimeUp => html.push_str(&state("waiting", texts.time_up, texts.time_up_hint)),
        Shown::Unconfirmed { confirmations, wanted } => {
            let hint = fill(texts.unconfirmed_hint, &[&confirmations.to_string(), &wanted.to_string()]);
            html.push_str(&state("seen", texts.unconfirmed, if *wanted == 0 { "" } else { &hint }));
        }
        Shown::Confirmed => html.push_str(&state("paid", texts.confirmed, texts.confirmed_hint)),
        Shown::Expired => html.push_str(&state("over", texts.expired, texts.expired_hint)),
        Shown::Invalid => html.push_str(&state("over", texts.invalid, texts.invalid_hint)),
    }
    if let Some(url) = &view.redirect {
        let url = escape(url);
        let _ = write!(
            html,
            r#"<a class="button" id="back" rel="noreferrer" href="{url}" data-after="{MOVE_ON_SECONDS}">{}</a>"#,
            texts.back_to_shop
        );
    }
    html
}

/// For an id that names no payment.
pub(super) fn not_found(nonce: &str, texts: &Texts) -> String {
    let head = format!("<title>{}</title>", texts.not_found);
    let body = format!("<main>{}</main>", state("over", texts.not_found, texts.not_found_hint));
    document(&head, &body, nonce, texts)
}

fn document(head: &str, body: &str, nonce: &str, texts: &Texts) -> String {
    format!(
        r#"<!doctype html><html lang="{lang}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex"><meta name="color-scheme" content="light dark"><style nonce="{nonce}">{STYLE}</style>{head}</head><body>{body}</body></html>"#,
        lang = texts.lang
    )
}

fn to_pay(payable: &Payable, texts: &Texts) -> String {
    let title = match &payable.paid_btc {
        Some(paid) => fill(texts.awaiting_more, &[paid]),
        None => texts.awaiting.to_owned(),
    };
    let (minutes, seconds) = (payable.seconds_left / 60, payable.seconds_left % 60);
    let qr = match qr_svg(&payable.qr_uri) {
        Some(svg) => format!(r#"<div class="qr" role="img" aria-label="{}">{svg}</div>"#, texts.qr_code),
        None => String::new(),
    };
    // Once the countdown is over the script shows the hidden part in place of the other.
    format!(
        r#"<section id="open">{state}{qr}{amount}{address}<a class="button" href="{wallet}">{open}</a><p class="left">{time_left} <time id="left" role="timer" aria-live="off" data-seconds="{total}">{minutes}:{seconds:02}</time></p></section><section id="over" hidden>{over}</section>"#,
        state = state("waiting", &title, texts.awaiting_hint),
        amount = copyable("amount", texts.amount, &payable.amount_btc, "BTC", texts),
        address = copyable("address", texts.address, &payable.address, "", texts),
        wallet = escape(&payable.wallet_uri),
        open = texts.open_wallet,
        time_left = texts.time_left,
        total = payable.seconds_left,
        over = state("waiting", texts.time_up, texts.time_up_hint),
    )
}

fn copyable(id: &str, label: &str, value: &str, unit: &str, texts: &Texts) -> String {
    let value = escape(value);
    let unit = if unit.is_empty() { String::new() } else { format!(r#" <span class="unit">{unit}</span>"#) };
    format!(
        r#"<div class="field"><span class="label">{label}</span><span class="value"><code id="{id}">{value}</code>{unit}</span><button type="button" data-copy="{id}" data-copied="{copied}" aria-label="{copy} {label}">{copy}</button></div>"#,
        copy = texts.copy,
        copied = texts.copied,
    )
}

fn state(class: &str, title: &str, hint: &str) -> String {
    format!(r#"<div class="state {class}"><h2>{}</h2>{}</div>"#, escape(title), paragraph("hint", hint))
}

fn paragraph(class: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(r#"<p class="{class}">{}</p>"#, escape(text)) }
}

/// The QR code as an SVG element; `None` for a text that none can hold.
pub(super) fn qr_svg(text: &str) -> Option<String> {
    let code = QrCode::with_error_correction_level(text, EcLevel::M).ok()?;
    let document = code
        .render::<svg::Color<'_>>()
        .min_dimensions(240, 240)
        .dark_color(svg::Color("#000"))
        .light_color(svg::Color("#fff"))
        .build();
    // In a page the prologue of a document has no place.
    document.find("<svg").map(|start| document[start..].to_owned())
}

/// A text as markup that shows it, in elements and in quoted attributes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(character),
        }
    }
    escaped
}
