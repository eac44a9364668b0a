//! A transaction of the only writer.

use std::ops::Deref;

use rusqlite::Connection;

use super::reader::Reader;

/// A transaction of the only writer: all of its changes are committed together or not at all. Reads
/// see its writes.
pub struct Tx<'a> {
    reader: Reader<'a>,
}

impl<'a> Tx<'a> {
    pub(super) const fn on(connection: &'a Connection) -> Self {
        Self { reader: Reader { connection } }
    }
}

impl<'a> Deref for Tx<'a> {
    type Target = Reader<'a>;

    fn deref(&self) -> &Reader<'a> {
        &self.reader
    }
}
