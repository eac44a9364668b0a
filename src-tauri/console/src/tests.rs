//! Tests of a whole gateway whose result is seen through commands.

mod acts;
mod alarms;
mod catching_up;
mod chained;
mod double_payments;
mod electrum_hostile;
mod hung;
mod labels;
#[cfg(target_os = "linux")]
mod locked_keyring;
mod paid_by_copy;
mod restored;
mod setup;
mod small_sales;
mod still;
mod stuck;
mod till;
