//! Opens a payment's page in the browser, or begins a mail with the page's address. The window
//! names only the payment; the gateway supplies the address. So a fault of the window cannot open
//! anything else.

use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tillgate_console::{CommandError, Refusal};
use url::Url;

use crate::gateway_task::GatewayTask;
use crate::window;

/// Opens the payment's page in the browser.
///
/// # Errors
/// There is no such payment, or the desktop opens no browser.
pub async fn open(gateway: &GatewayTask, asked: &Value) -> Result<Value, CommandError> {
    let payment = payment(gateway, asked).await?;
    let page = payment["paymentPageUrl"].as_str().and_then(page_of).ok_or_else(no_page)?;
    open_by_desktop(&page)
}

/// Begins a mail with the address of the payment's page. The merchant adds the recipient and sends
/// it.
///
/// # Errors
/// There is no such payment, or the desktop has no mail program.
pub async fn mail(gateway: &GatewayTask, asked: &Value) -> Result<Value, CommandError> {
    let payment = payment(gateway, asked).await?;
    let page = payment["paymentPageUrl"].as_str().and_then(page_of).ok_or_else(no_page)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().replace(char::is_control, " ");
    let (label, price) = (text(&payment["label"]), &payment["price"]);
    let subject = format!("{label}: {} {}", text(&price["shown"]), text(&price["currency"]));
    open_by_desktop(&mail_of(&subject, &page)?)
}

async fn payment(gateway: &GatewayTask, asked: &Value) -> Result<Value, CommandError> {
    gateway.ask(json!({ "command": "showPayment", "paymentId": asked["paymentId"] })).await
}

/// A page's address, if a browser would open it.
fn page_of(text: &str) -> Option<Url> {
    Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
}

fn mail_of(subject: &str, page: &Url) -> Result<Url, CommandError> {
    let encoded = |text: &str| {
        percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
    };
    let mail = format!("mailto:?subject={}&body={}", encoded(subject), encoded(page.as_str()));
    Url::parse(&mail).map_err(|_| no_page())
}

fn open_by_desktop(url: &Url) -> Result<Value, CommandError> {
    if open::commands(url.as_str()).into_iter().any(starts) {
        return Ok(Value::Null);
    }
    let refusal =
        if url.scheme() == "mailto" { Refusal::NoMailProgram } else { Refusal::NoBrowser };
    tracing::warn!(%refusal, "the desktop cannot open a program");
    Err(CommandError::told("NOT_OPENED", &refusal))
}

/// Starts a program of the desktop. It does not get this program's variables: one may hold a
/// passphrase, and others would slow a browser.
fn starts(mut command: Command) -> bool {
    for (name, _) in
        std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TILLGATE_"))
    {
        command.env_remove(name);
    }
    for (name, _) in window::LITTLE_MEMORY {
        command.env_remove(name);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    // A program that ended and is not waited for would stay in the list of processes.
    std::thread::spawn(move || child.wait());
    true
}

fn no_page() -> CommandError {
    CommandError::told("NOT_OPENED", &Refusal::NoPage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_pages_are_opened() {
        assert!(page_of("http://127.0.0.1:7421/pay/ab").is_some());
        for other in
            ["file:///etc/passwd", "javascript:alert(1)", "mailto:x@y.example", "/pay/ab", ""]
        {
            assert!(page_of(other).is_none(), "{other}");
        }
    }

    #[test]
    fn a_mail_has_the_page_and_no_recipient() {
        let page = page_of("https://pay.example/pay/ab").unwrap();
        let mail = mail_of("Café & Co: 22.50 EUR", &page).unwrap();
        assert_eq!(
            mail.as_str(),
            "mailto:?subject=Caf%C3%A9%20%26%20Co%3A%2022%2E50%20EUR&body=https%3A%2F%2Fpay%2Eexample%2Fpay%2Fab"
        );
    }
}
