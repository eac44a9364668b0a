//! The notices heard from a node, and how far they can be relied on. Their connection is neither
//! encrypted nor signed, so no notice counts as a fact: RPC confirms what entered or left the
//! mempool. Notices can update a listed mempool while none is missing; the node's numbers show
//! gaps.

use std::collections::VecDeque;
use std::time::Duration;

use bitcoin::Txid;
use bitcoin::hashes::Hash as _;
use tokio::time::Instant;

/// The topic for blocks and the mempool.
pub const TOPIC: &[u8] = b"sequence";

/// Limit of changes that wait for a look: three megabytes.
const WAITING_MAX: usize = 50_000;

/// Limit of changes applied in one look. Beyond it, the look asks for the whole list.
const FOLLOWED_MAX: usize = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Entered(Txid),
    Left(Txid),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// A block was connected or disconnected.
    Block,
    /// The mempool changed; the number counts its changes.
    Mempool(Change, u64),
}

/// A position in the notices that were heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// `None` without a connection.
    stretch: Option<u64>,
    last_number: Option<u64>,
    blocks: u64,
}

/// A list of the mempool.
#[derive(Debug, Clone, Copy)]
pub struct Listed {
    /// The notices heard before the list was requested.
    pub mark: Mark,
    /// The number of the mempool's next change.
    pub number: u64,
    /// The notices heard before the previous list, and the number up to which they were applied.
    pub before: Option<(Mark, u64)>,
    /// The best block is the same as at the previous list.
    pub is_same_tip: bool,
}

/// The reason why the notices are useless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoticeFault {
    /// The connection failed or ended.
    Disconnected(String),
    /// The node's chain or mempool changed, and no notice came.
    Silent,
    /// The notices belong to another node's mempool, or are false.
    OtherNode,
}

/// The notices heard so far.
#[derive(Debug, Default)]
pub struct NoticeLog {
    /// The current run of messages without a loss; `None` without a connection.
    stretch: Option<u64>,
    stretches: u64,
    /// The publisher's own count of its last message.
    count: Option<u32>,
    /// Changes that no look has applied yet, with their numbers.
    changes: VecDeque<(u64, Change)>,
    /// The highest number since the connection began.
    last_number: Option<u64>,
    /// The number of block notices.
    blocks: u64,
    missing: Option<MissingNotice>,
    fault: Option<NoticeFault>,
    /// A notice of this connection matched the node's answers.
    fits: bool,
}

/// An event of the node without a notice so far.
#[derive(Debug, Clone, Copy)]
struct MissingNotice {
    since: Instant,
    /// The number after the missing change of the mempool; `None` if the notice of a block is
    /// missing.
    number: Option<u64>,
    /// The number of block notices before it.
    blocks: u64,
}

impl Notice {
    /// Parses a message into a notice and the publisher's count; `None` for any other message.
    pub fn read(parts: &[Vec<u8>]) -> Option<(Self, u32)> {
        let [topic, body, count] = parts else { return None };
        let (hash, rest) = body.split_first_chunk::<32>()?;
        let (label, number) = rest.split_first()?;
        // The message holds the hash in display order, which is reversed.
        let mut hash = *hash;
        hash.reverse();
        let txid = Txid::from_byte_array(hash);
        let number = <[u8; 8]>::try_from(number).ok().map(u64::from_le_bytes);
        let notice = match (label, number) {
            (b'C' | b'D', None) if rest.len() == 1 => Self::Block,
            (b'A', Some(number)) => Self::Mempool(Change::Entered(txid), number),
            (b'R', Some(number)) => Self::Mempool(Change::Left(txid), number),
            _ => return None,
        };
        let count = u32::from_le_bytes(count.as_slice().try_into().ok()?);
        (topic == TOPIC).then_some((notice, count))
    }
}

impl NoticeLog {
    pub fn begin(&mut self) {
        (self.count, self.last_number, self.missing, self.fits) = (None, None, None, false);
        if let Some(NoticeFault::Disconnected(_)) = self.fault {
            self.fault = None;
        }
        self.begin_stretch();
    }

    /// The connection ended; returns whether it had been useful.
    pub fn end(&mut self, why: NoticeFault) -> bool {
        self.stretch = None;
        self.changes.clear();
        // Silence or another node's notices remain a fault until a notice matches again.
        if !matches!(self.fault, Some(NoticeFault::Silent | NoticeFault::OtherNode)) {
            self.fault = Some(why);
        }
        std::mem::take(&mut self.fits)
    }

    /// Takes a message; returns whether a look should follow at once. A removal from the mempool
    /// waits for the next look.
    pub fn take(&mut self, notice: Notice, count: u32) -> bool {
        let is_next = self.count.is_none_or(|last| last.wrapping_add(1) == count);
        self.count = Some(count);
        if !is_next || self.changes.len() >= WAITING_MAX {
            self.begin_stretch();
        }
        match notice {
            Notice::Block => {
                self.blocks = self.blocks.saturating_add(1);
                true
            }
            Notice::Mempool(change, number) => {
                self.changes.push_back((number, change));
                self.last_number = self.last_number.max(Some(number));
                matches!(change, Change::Entered(_))
            }
        }
    }

    pub const fn mark(&self) -> Mark {
        Mark { stretch: self.stretch, last_number: self.last_number, blocks: self.blocks }
    }

    /// The changes from `number` on, for a mempool that was listed at `mark`. `None` if a notice is
    /// missing, or if too many wait. Each change is returned once.
    pub fn since(&mut self, mark: &Mark, number: u64) -> Option<Vec<Change>> {
        if self.stretch.is_none() || self.stretch != mark.stretch {
            return None;
        }
        let (mut next, mut changes) = (number, Vec::new());
        while let Some((number, change)) = self.changes.front().copied() {
            if number > next || changes.len() >= FOLLOWED_MAX {
                return None;
            }
            self.changes.pop_front();
            // The list already holds changes with lower numbers.
            if number == next {
                changes.push(change);
                next = next.saturating_add(1);
            }
        }
        if !changes.is_empty() {
            self.note_fit();
        }
        Some(changes)
    }

    /// Compares the notices with a list. Returns whether to give up the connection: it was silent
    /// for `silent_after`, or belongs to another node.
    pub fn compare(&mut self, listed: &Listed, silent_after: Duration) -> bool {
        let Listed { mark, number, before, is_same_tip } = *listed;
        if self.stretch.is_none() || mark.stretch != self.stretch {
            self.missing = None;
            return false;
        }
        // A change is published after it happens, never before.
        if mark.last_number.is_some_and(|told| told >= number) {
            self.fault = Some(NoticeFault::OtherNode);
            self.stretch = None;
            return true;
        }
        if let Some(owed) = self.missing {
            let told_number = owed.number.is_some_and(|number| self.has_told_up_to(number));
            if told_number || self.blocks > owed.blocks {
                self.missing = None;
                self.note_fit();
            } else if owed.since.elapsed() >= silent_after {
                self.fault = Some(NoticeFault::Silent);
                self.stretch = None;
                return true;
            }
        }
        if let (None, Some((before, followed_to))) = (self.missing, before)
            && before.stretch == self.stretch
        {
            // Between two lists at one block, every change is published. Removals by a block are
            // not.
            if !is_same_tip && self.blocks > before.blocks {
                self.note_fit();
            }
            let of_mempool = is_same_tip && number > followed_to && !self.has_told_up_to(number);
            let of_block = !is_same_tip && self.blocks == before.blocks;
            if of_mempool || of_block {
                let number = is_same_tip.then_some(number);
                self.missing =
                    Some(MissingNotice { since: Instant::now(), number, blocks: self.blocks });
            }
        }
        false
    }

    /// Stops trusting this connection after a false notice. Returns whether there is a connection
    /// to give up.
    pub fn distrust(&mut self) -> bool {
        self.fault = Some(NoticeFault::OtherNode);
        self.stretch.take().is_some()
    }

    pub const fn fault(&self) -> Option<&NoticeFault> {
        self.fault.as_ref()
    }

    /// Whether a notice was heard for the change just below this number, or for a later change.
    fn has_told_up_to(&self, number: u64) -> bool {
        self.last_number.is_some_and(|last| last.saturating_add(1) >= number)
    }

    #[cfg(any(test, feature = "testing"))]
    pub const fn count(&self) -> Option<u32> {
        self.count
    }

    fn note_fit(&mut self) {
        (self.fits, self.fault) = (true, None);
    }

    fn begin_stretch(&mut self) {
        self.stretches = self.stretches.saturating_add(1);
        self.stretch = Some(self.stretches);
        self.changes.clear();
    }
}

#[cfg(test)]
mod tests;
