//! Imports the labels of another wallet program.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tillgate_gateway::labels::{self, ImportError, Imported};
use ts_rs::TS;

use super::existing::existing_wallet;
use crate::ask::{Ask, Asker};
use crate::error::CommandError;

/// The most line numbers that an answer names.
const LINES_MAX: usize = 10;

/// The most types that an answer names.
const TYPES_MAX: usize = 10;

/// Imports the labels in a file, all or none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ImportLabels {
    /// The absolute path of a file in the format of BIP329: one JSON object a line.
    pub file: String,
}

/// The effect of an import of labels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ImportedLabels {
    /// Labels that are new or changed.
    pub imported: usize,
    /// Labels that were there before.
    pub unchanged: usize,
    /// Labels of things that are not of this wallet.
    pub foreign: usize,
    /// The first lines with such labels.
    pub foreign_lines: Vec<usize>,
    /// Labels of other types, such as `input` and `xpub`.
    pub unkept: usize,
    /// The first of these types.
    pub unkept_types: Vec<String>,
    /// Labels that were cut to 255 characters.
    pub cut: usize,
    /// Labels in whose place a later line of the file has another one.
    pub replaced: usize,
    /// Coins of this wallet that the other program does not spend.
    pub frozen: usize,
}

impl Ask for ImportLabels {
    type Answer = ImportedLabels;

    async fn answer(self, by: &Asker<'_>) -> Result<ImportedLabels, CommandError> {
        let network = existing_wallet(by.gateway())?.keychains.network();
        Ok(labels::import(by.gateway(), network, PathBuf::from(self.file), by.actor).await?.into())
    }
}

impl From<Imported> for ImportedLabels {
    fn from(told: Imported) -> Self {
        Self {
            imported: told.changed,
            unchanged: told.unchanged,
            foreign: told.foreign.len(),
            foreign_lines: told.foreign.into_iter().take(LINES_MAX).collect(),
            unkept: told.other_types.iter().map(|(_, count)| count).sum(),
            unkept_types: told
                .other_types
                .into_iter()
                .map(|(kind, _)| kind)
                .take(TYPES_MAX)
                .collect(),
            cut: told.cut,
            replaced: told.replaced,
            frozen: told.frozen,
        }
    }
}

impl From<ImportError> for CommandError {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::File(fault) => Self::at("file", &fault),
            ImportError::Interrupted => Self::internal(),
            ImportError::Store(error) => error.into(),
        }
    }
}
