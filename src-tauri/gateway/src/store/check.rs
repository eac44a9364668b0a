//! Whether the file is sound.

use rusqlite::Connection;

use super::{Reader, StoreError};

/// Lines of damage told; where there are more, these are enough to act.
const DAMAGE_MAX: u32 = 5;

impl Reader<'_> {
    /// What SQLite's own check finds wrong with the file; empty where it is sound. Reads the whole file.
    ///
    /// # Errors
    /// When it cannot be read at all.
    pub fn damage_of_file(&self) -> Result<Vec<String>, StoreError> {
        damage(self.connection)
    }
}

/// The same of any database.
pub(super) fn damage(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut check = connection.prepare(&format!("PRAGMA quick_check({DAMAGE_MAX})"))?;
    let lines = check.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}
