//! The program `tillgate-desktop`.
#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]

use std::process::ExitCode;

fn main() -> ExitCode {
    tillgate_desktop::run()
}
