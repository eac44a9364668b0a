//! The reason that staff give for a decision.

/// The most characters of a reason.
pub const REASON_MAX: usize = 512;

/// The reason without surrounding spaces; `None` if it is too long or holds a line break or control
/// character.
pub fn staff_reason(typed: &str) -> Option<String> {
    let reason = typed.trim();
    let is_line = reason.chars().count() <= REASON_MAX && !reason.chars().any(char::is_control);
    is_line.then(|| reason.to_owned())
}
