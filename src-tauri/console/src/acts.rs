//! The log of acts: who did what, and when.

use serde::{Deserialize, Serialize};
use tillgate_domain::time::Timestamp;
use tillgate_store::audit::{ActFilter, ActRow};
use ts_rs::TS;

use super::ask::{Ask, Asker};
use super::error::CommandError;
use super::page::page_size;
use super::sheet::{Cell, Sheet, Table};

/// The most acts of a table.
const SHEET_MAX: u32 = 20_000;

const HEADING: [&str; 4] = ["time", "person", "act", "subject"];

/// The acts of a list. Without a field the list has all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ActsNarrowing {
    /// The person or the API key, as in `ActItem::actor`.
    #[serde(default)]
    pub actor: Option<String>,
    /// The first word of the act, such as `payouts`.
    #[serde(default)]
    pub about: Option<String>,
    /// The beginning of the period, inclusive, in milliseconds since 1970.
    #[serde(default)]
    #[ts(type = "number | null")]
    pub from: Option<i64>,
    /// The end of the period, exclusive, in milliseconds since 1970.
    #[serde(default)]
    #[ts(type = "number | null")]
    pub to: Option<i64>,
}

/// Lists acts of people and API keys, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ListActs {
    #[serde(flatten)]
    pub narrowing: ActsNarrowing,
    /// The most acts of the page, from 1 to 500.
    pub limit: u32,
    /// The number of newer acts that the page leaves out.
    pub offset: u32,
}

/// Asks for the newest 20,000 acts as a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ActsSheet {
    #[serde(flatten)]
    pub narrowing: ActsNarrowing,
    /// The locale whose spreadsheets read the table, such as `de-AT`; absent for plain CSV.
    #[serde(default)]
    pub locale: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ActsView {
    pub items: Vec<ActItem>,
    /// The number of acts on all pages together.
    #[ts(type = "number")]
    pub items_count: u64,
    /// Everybody who ever acted, as in `ActItem::actor`.
    pub actors: Vec<String>,
}

/// An act of a person or an API key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ActItem {
    /// When it happened, ISO 8601 with milliseconds.
    pub time: String,
    /// A person in the window (`panel:ann`) or at the command line (`cli:ann`), or an API key's name.
    pub actor: String,
    /// The action, such as `keys revoke`.
    pub act: String,
    /// Its object: an id, or the name of a setting or a key.
    pub subject: String,
}

impl Ask for ListActs {
    type Answer = ActsView;

    async fn answer(self, by: &Asker<'_>) -> Result<ActsView, CommandError> {
        let (limit, offset) = (page_size(self.limit)?, self.offset);
        let filter = self.narrowing.filter();
        by.read(move |_, reader| {
            Ok(ActsView {
                items: reader
                    .acts_matching(&filter, limit, offset)?
                    .into_iter()
                    .map(ActItem::from)
                    .collect(),
                items_count: reader.acts_count(&filter)?,
                actors: reader.actors()?,
            })
        })
        .await
    }
}

impl Ask for ActsSheet {
    type Answer = Table;

    async fn answer(self, by: &Asker<'_>) -> Result<Table, CommandError> {
        let filter = self.narrowing.filter();
        let acts = by.read(move |_, reader| reader.acts_matching(&filter, SHEET_MAX, 0)).await?;
        let sheet = Sheet::for_locale(self.locale.as_deref());
        let rows = u32::try_from(acts.len()).unwrap_or(u32::MAX);
        let lines = acts.into_iter().map(|act| sheet.line(cells(act)));
        let text = std::iter::once(sheet.heading(HEADING)).chain(lines).collect();
        Ok(Table { text, rows })
    }
}

impl ActsNarrowing {
    fn filter(self) -> ActFilter {
        ActFilter {
            actor: self.actor,
            about: self.about,
            from: self.from.map(Timestamp::from_ms),
            to: self.to.map(Timestamp::from_ms),
        }
    }
}

impl From<ActRow> for ActItem {
    fn from(ActRow { at, actor, act, subject }: ActRow) -> Self {
        Self { time: at.iso_millis(), actor, act, subject }
    }
}

fn cells(ActRow { at, actor, act, subject }: ActRow) -> [Cell; HEADING.len()] {
    [Cell::Word(at.iso_millis()), Cell::Text(actor), Cell::Word(act), Cell::Text(subject)]
}
