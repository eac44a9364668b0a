//! Prints the statement page by page as it is read, because a ledger grows for years.

use tillgate_console::statement::{PAGE_MAX, Statement, StatementTotals, StatementView};

use super::args::Form;
use super::failure::Failure;
use super::gateway_client::GatewayClient;
use super::json;
use super::output::print_answer;
use super::render::{movements, totals};

/// The state between two written pages of a statement.
#[derive(Debug)]
pub struct Written<'a> {
    form: Form,
    currency: &'a str,
    totals: StatementTotals,
    /// Widths of the text's columns so far; empty before the first page.
    widths: Vec<usize>,
    is_begun: bool,
    has_rows: bool,
    /// Whether the document ends with the sums of days and months in UTC.
    has_totals: bool,
}

/// Asks for page after page, and prints each.
pub async fn run(
    asked: &Statement,
    form: Form,
    gateway: &mut GatewayClient<'_>,
) -> Result<(), Failure> {
    let mut sheet = Written::new(form, &asked.currency);
    let mut after = None;
    loop {
        let page =
            gateway.answer_of(&Statement { after, limit: Some(PAGE_MAX), ..asked.clone() }).await?;
        print_answer(&sheet.page(&page))?;
        if page.next.is_none() {
            break;
        }
        after = page.next;
    }
    Ok(print_answer(&sheet.end())?)
}

impl<'a> Written<'a> {
    fn new(form: Form, currency: &'a str) -> Self {
        let totals = StatementTotals::default();
        Self {
            form,
            currency,
            totals,
            widths: Vec::new(),
            is_begun: false,
            has_rows: false,
            has_totals: true,
        }
    }

    /// A statement as one JSON document without totals. The days of a person's period are not those
    /// of UTC.
    #[must_use]
    pub fn as_json(currency: &'a str) -> Self {
        Self { has_totals: false, ..Self::new(Form::Json, currency) }
    }

    /// The text of the next page.
    pub fn page(&mut self, page: &StatementView) -> String {
        self.totals.add(page);
        let mut text = String::new();
        match self.form {
            Form::Json => {
                if !self.is_begun {
                    text.push_str(&json::statement_begins(self.currency));
                }
                for item in &page.items {
                    text.push_str(if self.has_rows { "," } else { "" });
                    text.push_str(&json::movement(item));
                    self.has_rows = true;
                }
            }
            Form::Text | Form::Table => text.push_str(&movements(&page.items, &mut self.widths)),
        }
        self.is_begun = true;
        text
    }

    /// The text after the last page.
    #[must_use]
    pub fn end(&self) -> String {
        match self.form {
            Form::Json if self.has_totals => json::statement_ends(&self.totals) + "\n",
            Form::Json => "]}\n".to_owned(),
            Form::Text | Form::Table => totals(&self.totals),
        }
    }
}

#[cfg(test)]
mod tests {
    use tillgate_domain::time::Timestamp;
    use tillgate_store::StoreError;
    use tillgate_store::ledger::{LedgerKind, NewEntry};

    use super::*;
    use tillgate_console::statement_sheet::StatementSheet;
    use tillgate_console::{Actor, ask};
    use tillgate_gateway::testing::World;

    const DAY_MS: i64 = 24 * 3_600_000;

    #[tokio::test]
    async fn a_document_of_a_persons_period_has_no_totals_of_days_in_utc() {
        let world = World::new().await;
        add_rows(&world, 5).await;
        let page = ask(&world.app, everything(), &Actor::panel()).await.unwrap();
        let mut written = Written::as_json("USD");
        let text = written.page(&page) + &written.end();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["items"].as_array().unwrap().len(), 5);
        assert_eq!(document.get("totals"), None);
    }

    /// Adds rows to the ledger. Two rows share each time, and the times begin again after 80 rows,
    /// so that the order of the rows is not the order of their times.
    async fn add_rows(world: &World, count: i64) {
        let write = move |tx: &tillgate_store::Tx<'_>| {
            for number in 0..count {
                let at = Timestamp::from_ms(1_768_000_000_000 + (number / 2 % 40) * DAY_MS);
                let rates = format!(r#"{{"USD":"{}.0000"}}"#, 50_000 + number / 7);
                let rates_seq = (number % 5 != 0).then(|| tx.rates_seq(at, &rates)).transpose()?;
                let (kind, sats) = if number % 3 == 0 {
                    (LedgerKind::Fee, -7)
                } else {
                    (LedgerKind::Other, 1_000)
                };
                let (txid, payment_seq, payout_seq) = (None, None, None);
                tx.add_entry(&NewEntry {
                    at,
                    kind,
                    sats,
                    txid,
                    payment_seq,
                    payout_seq,
                    rates_seq,
                })?;
            }
            Ok::<_, StoreError>(())
        };
        world.gateway.store.write(write).await.unwrap();
    }

    fn everything() -> Statement {
        let currency = "USD".to_owned();
        Statement { currency, from: None, to: None, kind: None, after: None, limit: None }
    }

    /// The whole statement in pages of `limit` rows. After the first page `between` rows are added
    /// to the ledger.
    async fn written(world: &World, form: Form, limit: u32, between: i64) -> String {
        let mut sheet = Written::new(form, "USD");
        let (mut text, mut after, mut rows) = (String::new(), None, between);
        loop {
            let asked = Statement { after, limit: Some(limit), ..everything() };
            let page = ask(&world.app, asked, &Actor::panel()).await.unwrap();
            text.push_str(&sheet.page(&page));
            add_rows(world, std::mem::take(&mut rows)).await;
            after = page.next;
            if after.is_none() {
                return text + &sheet.end();
            }
        }
    }

    /// The whole statement as CSV, in pages of `limit` rows.
    async fn table(world: &World, limit: u32) -> String {
        let (mut text, mut after) = (String::new(), None);
        loop {
            let statement = Statement { after, limit: Some(limit), ..everything() };
            let page = ask(&world.app, StatementSheet { statement, locale: None }, &Actor::panel())
                .await
                .unwrap();
            text.push_str(&page.text);
            after = page.next;
            if after.is_none() {
                return text;
            }
        }
    }

    #[tokio::test]
    async fn a_statement_in_pages_equals_one_page_read_at_its_start() {
        let world = World::new().await;
        for rows in [0, 211] {
            add_rows(&world, rows).await;
            let whole = written(&world, Form::Json, PAGE_MAX, 0).await;
            for limit in [1, 3, 10, 211] {
                assert_eq!(
                    written(&world, Form::Json, limit, 0).await,
                    whole,
                    "in pages of {limit}"
                );
            }
            let table = table(&world, PAGE_MAX).await;
            assert_eq!(table.lines().count(), 1 + usize::try_from(rows).unwrap(), "{table}");
            for limit in [1, 3, 10, 211] {
                assert_eq!(self::table(&world, limit).await, table, "in pages of {limit}");
            }
            let lines = written(&world, Form::Text, 10, 0).await;
            let whole = written(&world, Form::Text, PAGE_MAX, 0).await;
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&lines), words(&whole));
        }
        let before = written(&world, Form::Json, PAGE_MAX, 0).await;
        let parsed: serde_json::Value = serde_json::from_str(&before).unwrap();
        assert_eq!(parsed["items"].as_array().unwrap().len(), 211);
        assert_eq!(
            written(&world, Form::Json, 10, 60).await,
            before,
            "rows added after the first page are not included"
        );
        assert_ne!(
            written(&world, Form::Json, 10, 0).await,
            before,
            "the next statement includes these rows"
        );
    }

    #[tokio::test]
    async fn the_stored_balance_is_the_sum_of_the_ledger() {
        let world = World::new().await;
        add_rows(&world, 211).await;
        let sums = |reader: &tillgate_store::Reader<'_>| {
            Ok::<_, StoreError>((reader.ledger_sats()?, reader.added_up_ledger_sats()?))
        };
        let (kept, added_up) = world.gateway.store.read(sums).unwrap();
        assert_eq!((kept, added_up), (71 * -7 + 140 * 1_000, kept));
    }
}
