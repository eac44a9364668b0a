//! The page's markup. Every foreign text is escaped where it is inserted; unescaped text is
//! Tillgate's own.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use tillgate_gateway::records::qr;

use super::sums::{btc, fiat};
use super::texts::{Texts, fill};
use super::view::{HeldBecause, PageState, Payable, Refund, View};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Seconds after which a page without scripts reloads, while its state may change.
const RELOAD_SECONDS: u32 = 10;

/// Most characters of an address that are read. A payment URI fits.
pub const ADDRESS_MAX: usize = 300;

/// Seconds for which the last state is shown before the redirect to the shop.
const MOVE_ON_SECONDS: u32 = 3;

/// The whole page, as it is at `at_ms`.
pub fn page(view: &View, at_ms: i64, nonce: &str, texts: &Texts) -> String {
    let merchant = &view.merchant;
    let head = html! {
        title { (fill(texts.title, &[&price(view, texts)])) }
        noscript {
            @if let Some(refresh) = refresh(view) { meta http-equiv="refresh" content=(refresh); }
            style nonce=(nonce) { "button[data-copy]{display:none}" }
        }
        @if let Some(color) = merchant.color {
            style nonce=(nonce) { ":root{--brand:" (color.css()) ";--brand-ink:" (color.ink()) "}" }
        }
    };
    let body = html! {
        @if view.is_test { p.ribbon { (texts.test_ribbon) } }
        main {
            header {
                @if let Some(logo) = &merchant.logo { img.logo src=(logo) alt=""; }
                h1 { (merchant.name) }
                @if !view.message.is_empty() { p.message { (view.message) } }
            }
            div #payment aria-live="polite" data-at=(at_ms) { (payment(view, texts)) }
            @if !view.reference.is_empty() { footer { (texts.reference) ": " (view.reference) } }
        }
        script nonce=(nonce) { (PreEscaped(SCRIPT)) }
    };
    document(&head, &body, nonce, texts)
}

fn price(view: &View, texts: &Texts) -> String {
    fiat(view.price_minor, view.currency, texts)
}

/// The part of the page that changes; events send it whole.
pub fn payment(view: &View, texts: &Texts) -> Markup {
    html! {
        @let is_attacked = view.state == PageState::TakingBack;
        p.price data-status=(view.status.as_str()) data-conflict=[is_attacked.then_some("true")] { (price(view, texts)) }
        @match &view.state {
            PageState::Payable(payable) => (to_pay(payable, texts)),
            PageState::TimeUp => (state("waiting", texts.time_up, texts.time_up_hint)),
            PageState::Unconfirmed { wanted: 0, .. } | PageState::Unconfirmed { confirmations: None, .. } => (state("received", texts.unconfirmed, "")),
            PageState::Unconfirmed { confirmations: Some(confirmations), wanted } => {
                @let counted = [confirmations.to_string(), wanted.to_string()];
                (state("received", texts.unconfirmed, &fill(texts.unconfirmed_hint, &[&counted[0], &counted[1]])))
            }
            PageState::Confirmed { too_much_sats: None } => (state("paid", texts.confirmed, texts.confirmed_hint)),
            PageState::Confirmed { too_much_sats: Some(received_sats) } => {
                @let hint = format!("{}\n{}", fill(texts.received, &[&btc(*received_sats, texts)]), texts.too_much);
                (state("paid", texts.confirmed, &hint))
            }
            PageState::TakingBack => (state("over", texts.taking_back, texts.taking_back_hint)),
            PageState::Cancelled => (state("over", texts.cancelled, texts.cancelled_hint)),
            PageState::Expired => (state("over", texts.expired, texts.expired_hint)),
            PageState::Invalid => (state("over", texts.invalid, texts.invalid_hint)),
            PageState::Held { received_sats, because } => {
                @let sentence = match because {
                    HeldBecause::Late => texts.late,
                    HeldBecause::TooLittle => texts.too_little,
                    HeldBecause::TooMuch => texts.too_much,
                };
                (state("held", &fill(texts.received, &[&btc(*received_sats, texts)]), sentence))
            }
            PageState::TakenBack { taken_sats, left_sats } => {
                @let title = left_sats.map(|left_sats| fill(texts.received, &[&btc(left_sats, texts)]));
                @let hint = fill(texts.taken_back_hint, &[&btc(*taken_sats, texts)]);
                (state("over", title.as_deref().unwrap_or(texts.taken_back), &hint))
            }
        }
        @match &view.refund {
            Some(Refund::Asked) => (ask_address("", texts)),
            Some(Refund::Given(address)) => {
                section.refund {
                    h2 { (texts.refund_given) }
                    p { code { (address) } }
                    p.hint { (texts.refund_given_hint) }
                }
            }
            None => {}
        }
        @if let Some(url) = &view.redirect {
            @let after = view.moves_on().then_some(MOVE_ON_SECONDS);
            a.button #back rel="noreferrer" target="_top" href=(url) data-after=[after] { (texts.back_to_shop) }
        }
    }
}

/// The answer to a text that is no address: the form again. It is not updated, so the text stays.
pub fn wrong_address(view: &View, given: &str, nonce: &str, texts: &Texts) -> String {
    let head = html! { title { (texts.refund) } };
    let body =
        html! { main { header { h1 { (view.merchant.name) } } (ask_address(given, texts)) } };
    document(&head, &body, nonce, texts)
}

/// The name of the form's field.
pub const ADDRESS_FIELD: &str = "address";

/// The form for a refund's address. A text in it was refused.
fn ask_address(refused: &str, texts: &Texts) -> Markup {
    let is_refused = !refused.is_empty();
    html! {
        section.refund {
            h2 { (texts.refund) }
            form method="post" {
                label for=(ADDRESS_FIELD) { (texts.refund_address) }
                input #(ADDRESS_FIELD) name=(ADDRESS_FIELD) value=(refused) required maxlength=(ADDRESS_MAX)
                    autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="refund-hint"
                    aria-invalid=[is_refused.then_some("true")];
                p.hint #refund-hint role=[is_refused.then_some("alert")] {
                    (if is_refused { texts.refund_wrong } else { texts.refund_hint })
                }
                button.button { (texts.refund_send) }
            }
        }
    }
}

/// The page for an id that names no payment.
pub fn not_found(nonce: &str, texts: &Texts) -> String {
    let head = html! { title { (texts.not_found) } };
    let body = html! { main { (state("over", texts.not_found, texts.not_found_hint)) } };
    document(&head, &body, nonce, texts)
}

fn document(head: &Markup, body: &Markup, nonce: &str, texts: &Texts) -> String {
    let page = html! {
        (DOCTYPE)
        html lang=(texts.lang) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta name="robots" content="noindex";
                meta name="color-scheme" content="light dark";
                style nonce=(nonce) { (PreEscaped(STYLE)) }
                (head)
            }
            body { (body) }
        }
    };
    page.into_string()
}

/// The `refresh` of a page without scripts: it redirects to the shop, or reloads because coins may
/// come late or may be taken back.
fn refresh(view: &View) -> Option<String> {
    match &view.redirect {
        Some(url) if view.moves_on() => Some(format!("{MOVE_ON_SECONDS};url={url}")),
        // A reload would empty the form.
        _ if view.refund == Some(Refund::Asked) => None,
        Some(_) | None => Some(RELOAD_SECONDS.to_string()),
    }
}

fn to_pay(payable: &Payable, texts: &Texts) -> Markup {
    let title = match payable.paid_sats {
        Some(paid_sats) => fill(texts.awaiting_more, &[&btc(paid_sats, texts)]),
        None => texts.awaiting.to_owned(),
    };
    let (minutes, seconds) = (payable.seconds_left / 60, payable.seconds_left % 60);
    // The countdown and the wallet come first, because on a phone the rest is below the fold. Once
    // the countdown is over, the script hides the first section and shows the second.
    html! {
        section #open {
            div.state.waiting {
                h2 { (title) }
                p.left {
                    (texts.time_left) " "
                    time #left role="timer" aria-live="off" data-seconds=(payable.seconds_left) {
                        (minutes) ":" (format_args!("{seconds:02}"))
                    }
                }
            }
            a.button.wallet href=(payable.wallet_uri) { (texts.open_wallet) }
            @if let Some(svg) = qr_svg(&payable.qr_uri) { div.qr role="img" aria-label=(texts.qr_code) { (svg) } }
            (copyable("amount", texts.amount, &payable.amount_btc, "BTC", texts))
            (copyable("address", texts.address, &payable.address, "", texts))
            p.hint { (texts.awaiting_hint) }
        }
        section #over hidden { (state("waiting", texts.time_up, texts.time_up_hint)) }
    }
}

fn copyable(id: &str, label: &str, value: &str, unit: &str, texts: &Texts) -> Markup {
    html! {
        div.field {
            span.label { (label) }
            span.value { code id=(id) { (value) } @if !unit.is_empty() { " " span.unit { (unit) } } }
            button type="button" data-copy=(id) data-copied=(texts.copied) aria-label={ (texts.copy) " " (label) } {
                (texts.copy)
            }
        }
    }
}

fn state(class: &str, title: &str, hint: &str) -> Markup {
    html! {
        div.state.(class) {
            h2 { (title) }
            @if !hint.is_empty() { p.hint { (hint) } }
        }
    }
}

/// The QR code as an SVG element; `None` if the text is too long for one.
fn qr_svg(text: &str) -> Option<Markup> {
    let document = qr::svg(text);
    // A page must not contain the XML declaration of an SVG document.
    document.find("<svg").map(|start| PreEscaped(document[start..].to_owned()))
}
