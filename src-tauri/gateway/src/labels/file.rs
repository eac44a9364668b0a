//! Reads a file of labels (BIP329): one JSON object a line.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use tillgate_told::Told;

/// The most bytes of a file: about 200,000 lines as Sparrow writes them.
const FILE_MAX: u64 = 64 * 1_024 * 1_024;

/// The byte order mark of UTF-8. Some editors on Windows write it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The most characters of a type that is told to people.
const TYPE_MAX: usize = 20;

/// A line of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    /// From 1.
    pub number: usize,
    pub kind: String,
    pub reference: String,
    /// The label without control characters; absent if it is blank.
    pub label: Option<String>,
    /// Whether the other program does not spend the coin.
    pub is_frozen: bool,
}

/// The reason why a file cannot be read as labels.
#[derive(Debug, thiserror::Error, Told)]
pub enum LabelsFileError {
    #[error("{path} cannot be read ({error}): nothing was imported", path = path.display())]
    Unreadable { path: PathBuf, error: String },
    #[error(
        "the file has more than {mebibytes} MiB: split it between two lines. Nothing was imported"
    )]
    TooLarge { mebibytes: u64 },
    #[error("line {line} is not UTF-8: save the file as UTF-8. Nothing was imported")]
    NotUtf8 { line: usize },
    #[error(
        "line {line} is no JSON object ({error}): mend it, or export the labels as BIP329 (.jsonl) again. Nothing was imported"
    )]
    NoObject { line: usize, error: String },
    #[error(
        "line {line} has no text `{member}`: mend it, or export the labels as BIP329 (.jsonl) again. Nothing was imported"
    )]
    NoText { line: usize, member: &'static str },
}

/// The bytes of the file.
pub fn read(path: &Path) -> Result<Vec<u8>, LabelsFileError> {
    let unreadable = |error: io::Error| LabelsFileError::Unreadable {
        path: path.to_owned(),
        error: error.to_string(),
    };
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(FILE_MAX + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > FILE_MAX) {
        return Err(LabelsFileError::TooLarge { mebibytes: FILE_MAX / (1_024 * 1_024) });
    }
    Ok(bytes)
}

/// The lines of a file that have a label, or freeze a coin.
pub fn lines(bytes: &[u8]) -> Result<Vec<Line>, LabelsFileError> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let mut lines = Vec::new();
    for (line, text) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        let text = std::str::from_utf8(text).map_err(|_| LabelsFileError::NotUtf8 { line })?.trim();
        if text.is_empty() {
            continue;
        }
        let label = parsed(line, text)?;
        if label.label.is_some() || label.is_frozen {
            lines.push(label);
        }
    }
    Ok(lines)
}

fn parsed(line: usize, text: &str) -> Result<Line, LabelsFileError> {
    let object: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
        let error = error.to_string();
        let error = error.split(" at line ").next().unwrap_or_default().to_owned();
        LabelsFileError::NoObject { line, error }
    })?;
    let needed = |member: &'static str| match object.get(member) {
        Some(Value::String(text)) => Ok(text.trim().to_owned()),
        Some(_) | None => Err(LabelsFileError::NoText { line, member }),
    };
    let label = match object.get("label") {
        Some(Value::String(label)) => Some(one_line(label)).filter(|label| !label.is_empty()),
        Some(Value::Null) | None => None,
        Some(_) => return Err(LabelsFileError::NoText { line, member: "label" }),
    };
    // The first form of BIP329 had a text here.
    let is_frozen = matches!(object.get("spendable"), Some(Value::Bool(false)))
        || object.get("spendable").and_then(Value::as_str) == Some("false");
    Ok(Line {
        number: line,
        kind: needed("type")?.chars().take(TYPE_MAX).collect(),
        reference: needed("ref")?,
        label,
        is_frozen,
    })
}

/// The text without control characters, which would break a line.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ").trim().to_owned()
}
