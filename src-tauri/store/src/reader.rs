//! The type whose methods read the database.

use rusqlite::Connection;

/// A consistent view of the database.
pub struct Reader<'a> {
    pub(super) connection: &'a Connection,
}
