//! The one call that the window can make: a command for one environment's gateway, or one of a few acts of the program.

use serde_json::Value;
use tauri::{AppHandle, State};
use tillgate_gateway::CommandError;

use crate::gateway_task::Gateways;
use crate::{standing, window};

/// Passes a command of the panel (`gateway/src/console`) to the gateway of the named environment, or acts on the
/// window.
#[tauri::command]
pub async fn console(
    app: AppHandle,
    gateways: State<'_, Gateways>,
    environment: Option<String>,
    command: Value,
) -> Result<Value, CommandError> {
    let environment = environment.as_deref();
    match command.get("command").and_then(Value::as_str) {
        Some("quit") => app.exit(0),
        Some("hide") => window::hide(&app),
        Some("environments") => return Ok(gateways.told()),
        Some("shown") => standing::shows(&app, gateways.of(environment)?.environment()),
        Some("reopen") => gateways.of(environment)?.start(&app),
        _ => return gateways.of(environment)?.ask(command).await,
    }
    Ok(Value::Null)
}
