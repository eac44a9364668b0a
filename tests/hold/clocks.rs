//! Steps of the machine's clocks, injected through a file.

use std::fs;
use std::path::Path;

/// Adds these offsets to the wall clock and the boot-time clock, both at once; they replace earlier
/// offsets.
pub fn step_clocks(injected: &Path, wall_ms: i64, boot_ms: i64) {
    let (whole, part) = (injected.join("clock-steps-ms"), injected.join("clock-steps-ms.part"));
    fs::write(&part, format!("{wall_ms} {boot_ms}")).unwrap();
    fs::rename(part, whole).unwrap();
}
