//! The only Tauri command that the window can call. It passes a command to the gateway of one environment, or acts on
//! the program itself.

use serde_json::Value;
use tauri::{AppHandle, State};
use tillgate_gateway::CommandError;

use crate::gateway_task::Gateways;
use crate::{standing, window};

/// Handles the program's own commands, such as `hide`, and passes every other command to the gateway of the named
/// environment.
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
