//! The reason for which payouts wait.

use crate::console::payouts::WaitCause;

/// The reason with its remedy at the command line; `None` if there is no reason.
pub(super) fn waits_for(reason: Option<&str>, cause: Option<WaitCause>) -> Option<String> {
    Some(cause.unwrap_or(WaitCause::Other).at_the_command_line(reason?))
}
