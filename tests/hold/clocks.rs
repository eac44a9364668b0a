//! The machine's clocks, set by hand.

use std::fs;
use std::path::Path;

/// Says by how much the machine's wall clock and its boot-time clock are ahead, of both at once.
pub fn step_clocks(injected: &Path, wall_ms: i64, boot_ms: i64) {
    let (whole, part) = (injected.join("clock-steps-ms"), injected.join("clock-steps-ms.part"));
    fs::write(&part, format!("{wall_ms} {boot_ms}")).unwrap();
    fs::rename(part, whole).unwrap();
}
