//! Prints tables page by page as they are read.

use tillgate_console::payments::PaymentsSheet;
use tillgate_console::statement::Statement;
use tillgate_console::statement_sheet::StatementSheet;

use super::failure::Failure;
use super::gateway_client::GatewayClient;
use super::output::print_answer;

/// Prints the payments.
pub async fn payments(
    asked: &PaymentsSheet,
    gateway: &mut GatewayClient<'_>,
) -> Result<(), Failure> {
    let mut after = None;
    loop {
        let page = gateway.answer_of(&PaymentsSheet { after, ..asked.clone() }).await?;
        print_answer(&page.text)?;
        match page.next {
            None => return Ok(()),
            next => after = next,
        }
    }
}

/// Prints the statement.
pub async fn statement(
    asked: &StatementSheet,
    gateway: &mut GatewayClient<'_>,
) -> Result<(), Failure> {
    let mut after = None;
    loop {
        let statement = Statement { after, ..asked.statement.clone() };
        let page = gateway.answer_of(&StatementSheet { statement, ..asked.clone() }).await?;
        print_answer(&page.text)?;
        match page.next {
            None => return Ok(()),
            next => after = next,
        }
    }
}
