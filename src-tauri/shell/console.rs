//! The one call that the window can make: a command for the gateway, or one of three acts of the
//! program around it.

use serde_json::Value;
use tauri::{AppHandle, State};
use tillgate_gateway::CommandError;

use crate::gateway_task::GatewayTask;
use crate::window;

/// Answers a command of the panel (`gateway/src/console`), or acts on the window.
#[tauri::command]
pub async fn console(app: AppHandle, task: State<'_, GatewayTask>, command: Value) -> Result<Value, CommandError> {
    match command.get("command").and_then(Value::as_str) {
        Some("quit") => app.exit(0),
        Some("hide") => window::hide(&app),
        Some("reopen") => task.start(&app),
        _ => return task.ask(command).await,
    }
    Ok(Value::Null)
}
