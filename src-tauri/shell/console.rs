//! The only Tauri command that the windows can call. It passes a command to the gateway of one
//! environment, or acts on the program itself. The customer's window may only read payments.

use serde_json::Value;
use tauri::{AppHandle, Manager as _, State, WebviewWindow};
use tillgate_console::{CommandError, Refusal};

use crate::desktop::Note;
use crate::downloads::{List, Saving};
use crate::gateway_task::Gateways;
use crate::{customer, customer_page, desktop, downloads, standing, window};

/// Handles the program's own commands, such as `hide`, and passes every other command to the
/// gateway of the named environment.
#[tauri::command]
pub async fn console(
    app: AppHandle,
    caller: WebviewWindow,
    gateways: State<'_, Gateways>,
    environment: Option<String>,
    command: Value,
) -> Result<Value, CommandError> {
    let environment = environment.as_deref();
    let name = command.get("command").and_then(Value::as_str);
    if !may_call(caller.label(), name) {
        return Err(CommandError::told("NOT_ALLOWED", &Refusal::CustomersDisplay));
    }
    match name {
        Some("quit") => app.exit(0),
        Some("hide") => window::hide(&app),
        Some("environments") => return Ok(gateways.told()),
        Some("shown") => {
            // Without readable words the tray stays English.
            let words =
                command.get("words").and_then(|words| serde_json::from_value(words.clone()).ok());
            standing::shows(&app, gateways.by_name(environment)?.environment(), words);
        }
        Some("reopen") => gateways.by_name(environment)?.start(&app),
        Some("notify") => {
            desktop::notify(
                &app,
                gateways.by_name(environment)?.environment(),
                Note::parse(&command)?,
            );
        }
        Some("customer-close") => customer::close(&app),
        Some("open-page") => {
            return customer_page::open(gateways.by_name(environment)?, &command).await;
        }
        Some("mail-page") => {
            return customer_page::mail(gateways.by_name(environment)?, &command).await;
        }
        Some("save-payments") => {
            let gateway = gateways.by_name(environment)?;
            return downloads::save(List::Payments, &app, gateway, command).await;
        }
        Some("save-takings") => {
            let gateway = gateways.by_name(environment)?;
            return downloads::save(List::Takings, &app, gateway, command).await;
        }
        Some("save-statement") => {
            let gateway = gateways.by_name(environment)?;
            return downloads::save(List::Statement, &app, gateway, command).await;
        }
        Some("save-acts") => {
            let gateway = gateways.by_name(environment)?;
            return downloads::save(List::Acts, &app, gateway, command).await;
        }
        Some("stop-saving") => app.state::<Saving>().stop(),
        Some("customer-view") => {
            customer::open(&app, gateways.by_name(environment)?.environment())?
        }
        _ => return gateways.by_name(environment)?.ask(command).await,
    }
    Ok(Value::Null)
}

/// Whether the window with this label may call this command. The panel may call all commands. A
/// customer may touch every other window, so it may only read payments.
fn may_call(label: &str, command: Option<&str>) -> bool {
    label == window::LABEL || command == Some("showPayment")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_customers_window_may_only_read_payments() {
        assert!(may_call(customer::LABEL, Some("showPayment")));
        for command in [
            "quit",
            "hide",
            "reopen",
            "stop-saving",
            "notify",
            "customer-close",
            "createPayment",
            "approvePayout",
            "listSettings",
            "",
        ] {
            assert!(!may_call(customer::LABEL, Some(command)), "{command}");
            assert!(may_call(window::LABEL, Some(command)), "{command}");
        }
        assert!(!may_call(customer::LABEL, None));
        assert!(!may_call("another", Some("quit")));
    }
}
