//! The machine's clocks, set by hand.

use std::fs;
use std::path::Path;

/// Sets the steps of the machine's wall clock and boot-time clock, both at once.
pub fn step_clocks(injected: &Path, wall_ms: i64, boot_ms: i64) {
    let (whole, part) = (injected.join("clock-steps-ms"), injected.join("clock-steps-ms.part"));
    fs::write(&part, format!("{wall_ms} {boot_ms}")).unwrap();
    fs::rename(part, whole).unwrap();
}
