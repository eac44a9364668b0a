//! Splits a connection's bytes into lines. A line that is too long is skipped to its end; only the
//! number of its call is kept.

/// Limit in bytes for a skipped line: a history of some millions of transactions.
const SKIPPED_MAX: usize = 512 * 1_024 * 1_024;

/// A line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    Whole(&'a [u8]),
    /// A line that was too long, with the number of its call if it has one.
    Overlong(Option<u64>),
}

/// The received part of an unfinished line.
#[derive(Default)]
pub struct Lines {
    buffer: Vec<u8>,
    skipped: Option<Skipped>,
}

#[derive(Default)]
struct Skipped {
    length: usize,
    id: IdOf,
}

/// Finds a call's number in an answer, the top-level member `id`. Servers write it first or last.
#[derive(Default)]
struct IdOf {
    depth: u64,
    is_in_text: bool,
    is_escaped: bool,
    /// The beginning of the last string at the top level.
    name: Vec<u8>,
    is_value: bool,
    id: Option<u64>,
}

impl Lines {
    pub const fn is_empty(&self) -> bool {
        self.buffer.is_empty() && self.skipped.is_none()
    }

    pub const fn is_skipping(&self) -> bool {
        self.skipped.is_some()
    }

    /// Takes bytes, and passes to `taken` each line that ends in them.
    pub fn feed<E>(
        &mut self,
        bytes: &[u8],
        mut taken: impl FnMut(Line<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, behind) = rest.split_at(end);
            rest = behind.get(1..).unwrap_or_default();
            match self.skipped.take() {
                Some(mut skipped) => {
                    skipped.feed(line);
                    taken(Line::Overlong(skipped.id.id))?;
                }
                None if self.buffer.is_empty() => taken(Line::Whole(line))?,
                None => {
                    self.buffer.extend_from_slice(line);
                    let whole = std::mem::take(&mut self.buffer);
                    taken(Line::Whole(&whole))?;
                }
            }
        }
        match &mut self.skipped {
            Some(skipped) => skipped.feed(rest),
            None => self.buffer.extend_from_slice(rest),
        }
        Ok(())
    }

    /// Whether the unfinished line is longer than `max`, or than the skip limit.
    pub fn is_longer_than(&self, max: usize) -> bool {
        self.buffer.len() > max
            || self.skipped.as_ref().is_some_and(|skipped| skipped.length > SKIPPED_MAX)
    }

    /// Skips the unfinished line. Returns the number of buffered bytes that are dropped.
    pub fn skip(&mut self) -> usize {
        let begun = std::mem::take(&mut self.buffer);
        self.skipped.get_or_insert_default().feed(&begun);
        begun.len()
    }
}

impl Skipped {
    fn feed(&mut self, bytes: &[u8]) {
        self.length = self.length.saturating_add(bytes.len());
        bytes.iter().for_each(|byte| self.id.feed(*byte));
    }
}

impl IdOf {
    fn feed(&mut self, byte: u8) {
        if self.is_in_text {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.is_in_text = false,
                // Three bytes are enough to distinguish `id` from any other name.
                _ if self.depth == 1 && self.name.len() < 3 => self.name.push(byte),
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                (self.is_in_text, self.is_value) = (true, false);
                self.name.clear();
            }
            b'{' | b'[' => (self.depth, self.is_value) = (self.depth.saturating_add(1), false),
            b'}' | b']' => (self.depth, self.is_value) = (self.depth.saturating_sub(1), false),
            b':' => self.is_value = self.depth == 1 && self.name == b"id",
            b',' => self.is_value = false,
            b'0'..=b'9' if self.is_value => {
                let digit = u64::from(byte.saturating_sub(b'0'));
                self.id =
                    self.id.unwrap_or(0).checked_mul(10).and_then(|tens| tens.checked_add(digit));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of `text`, fed in pieces of `at_once` bytes. Lines longer than `max` bytes are
    /// skipped.
    fn lines(text: &str, at_once: usize, max: usize) -> Vec<Result<String, Option<u64>>> {
        let (mut lines, mut found) = (Lines::default(), Vec::new());
        for bytes in text.as_bytes().chunks(at_once) {
            let taken = |line: Line<'_>| {
                found.push(match line {
                    Line::Whole(line) => Ok(String::from_utf8(line.to_vec()).unwrap()),
                    Line::Overlong(id) => Err(id),
                });
                Ok::<(), ()>(())
            };
            lines.feed(bytes, taken).unwrap();
            if lines.is_longer_than(max) {
                lines.skip();
            }
        }
        assert!(lines.is_empty());
        found
    }

    #[test]
    fn call_number_of_a_skipped_line_is_found_anywhere() {
        let long =
            r#""result":[{"tx_hash":"ab","id":9},"\"id\":8",{"x":[{"id":7}]}],"method":"id","v":5"#;
        for (line, id) in [
            (format!(r#"{{"id":12,{long}}}"#), Some(12)),
            (format!(r#"{{{long}, "id" : 12 }}"#), Some(12)),
            (format!("{{{long}}}"), None),
            (format!(r#"{{"id":"12",{long}}}"#), None),
            (format!(r#"{{"idea":12,{long}}}"#), None),
            (" ".repeat(80), None),
        ] {
            for at_once in [1, 3, 7] {
                let told = lines(&format!("before\n{line}\n\nbehind\n"), at_once, 20);
                let whole = |text: &str| Ok(text.to_owned());
                assert_eq!(told, [whole("before"), Err(id), whole(""), whole("behind")], "{line}");
            }
        }
    }

    #[test]
    fn lines_are_joined_from_pieces_of_any_size() {
        for at_once in 1..12 {
            assert_eq!(
                lines("one\ntwo\n\nthree\n", at_once, 100),
                ["one", "two", "", "three"].map(|it| Ok(it.to_owned()))
            );
        }
    }
}
