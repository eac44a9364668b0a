//! Integrity checks of the database file.

use rusqlite::Connection;

use super::error::StoreError;
use super::reader::Reader;

/// Most lines of damage that are reported: more are not needed to act.
const DAMAGE_MAX: u32 = 5;

impl Reader<'_> {
    /// Damage that SQLite's own check finds in the file; empty if there is none. Reads the whole
    /// file.
    pub fn damage_of_file(&self) -> Result<Vec<String>, StoreError> {
        damage(self.connection)
    }
}

/// Like [`Reader::damage_of_file`], for any database.
pub(super) fn damage(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut check = connection.prepare(&format!("PRAGMA quick_check({DAMAGE_MAX})"))?;
    let lines =
        check.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}
