//! What was heard of a node's own notices, and how far that can be gone by. They come over a connection that is neither
//! encrypted nor signed, so that nothing is taken for a fact: what entered or left the mempool is asked by RPC. A mempool
//! that was listed can be brought up to date by them as long as none is missing, which the node's numbers show.

use std::collections::VecDeque;
use std::time::Duration;

use bitcoin::Txid;
use bitcoin::hashes::Hash as _;
use tokio::time::Instant;

/// The topic under which a node tells of blocks and of its mempool.
pub(super) const TOPIC: &[u8] = b"sequence";

/// Changes that wait for a look at most: three megabytes.
const WAITING_MAX: usize = 50_000;

/// Changes that one look goes by at most. Of more it asks for the whole list.
const FOLLOWED_MAX: usize = 1_000;

/// What happened to a transaction of the mempool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Entered(Txid),
    Left(Txid),
}

/// What one message tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notice {
    /// A block was connected or disconnected.
    Block,
    /// The mempool changed, which is its change of this number.
    Mempool(Change, u64),
}

/// How far was heard at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    /// Without a connection there is none.
    stretch: Option<u64>,
    last_number: Option<u64>,
    blocks: u64,
}

/// The mempool was listed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listed {
    /// How far was heard before it was asked for.
    pub mark: Mark,
    /// The number that its next change has.
    pub number: u64,
    /// How far was heard before the list before this one, and the number up to which that was followed.
    pub before: Option<(Mark, u64)>,
    /// The best block is the same as then.
    pub is_same_tip: bool,
}

/// Why the notices are of no use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// They cannot be heard.
    Unheard(String),
    /// The node had news and nothing was told.
    Silent,
    /// They tell of another mempool than that of the node that is asked, or lie.
    OtherNode,
}

/// What was heard.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Tells a stretch in which no message was lost from others; none while there is no connection.
    stretch: Option<u64>,
    stretches: u64,
    /// The publisher's own count of its last message.
    count: Option<u32>,
    /// Changes that no look went by yet, with their numbers.
    changes: VecDeque<(u64, Change)>,
    /// The highest number since the connection began.
    last_number: Option<u64>,
    /// How often a block was told of.
    blocks: u64,
    owed: Option<Owed>,
    trouble: Option<Trouble>,
    /// Something was told since the connection began that fits what the node answers.
    fits: bool,
}

/// What the node is known to have done, and has not told.
#[derive(Debug, Clone, Copy)]
struct Owed {
    since: Instant,
    /// Its change of this number, where it is known to be one that is told.
    number: Option<u64>,
    /// How often a block was told of before.
    blocks: u64,
}

impl Notice {
    /// A message's parts, and the publisher's count of it; `None` where it is no such message.
    pub(super) fn read(parts: &[Vec<u8>]) -> Option<(Self, u32)> {
        let [topic, body, count] = parts else { return None };
        let (hash, rest) = body.split_first_chunk::<32>()?;
        let (label, number) = rest.split_first()?;
        // As it is shown, which is the other way round.
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

impl Heard {
    /// A connection begins.
    pub(super) fn begin(&mut self) {
        (self.count, self.last_number, self.owed, self.fits) = (None, None, None, false);
        if let Some(Trouble::Unheard(_)) = self.trouble {
            self.trouble = None;
        }
        self.begin_stretch();
    }

    /// The connection ended; answers whether it had been of use.
    pub(super) fn end(&mut self, why: Trouble) -> bool {
        self.stretch = None;
        self.changes.clear();
        // That it is silent, or another node's, is known until it speaks as this one's.
        if !matches!(self.trouble, Some(Trouble::Silent | Trouble::OtherNode)) {
            self.trouble = Some(why);
        }
        std::mem::take(&mut self.fits)
    }

    /// Takes a message; answers whether a look should follow. What left the mempool alone waits for the next one.
    pub(super) fn take(&mut self, notice: Notice, count: u32) -> bool {
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

    /// How far was heard until now.
    pub(super) const fn mark(&self) -> Mark {
        Mark { stretch: self.stretch, last_number: self.last_number, blocks: self.blocks }
    }

    /// What happened from the change of this number on to a mempool that was listed at `mark`; `None` where something of
    /// it is missing. It is told once.
    pub(super) fn since(&mut self, mark: &Mark, number: u64) -> Option<Vec<Change>> {
        if self.stretch.is_none() || self.stretch != mark.stretch {
            return None;
        }
        let (mut next, mut changes) = (number, Vec::new());
        while let Some((number, change)) = self.changes.front().copied() {
            if number > next || changes.len() >= FOLLOWED_MAX {
                return None;
            }
            self.changes.pop_front();
            // What is below was in the list.
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

    /// Compares with a list what was told; answers whether the connection is to be given up, because nothing was for
    /// `silent_after`, or of another node.
    pub(super) fn compare(&mut self, listed: &Listed, silent_after: Duration) -> bool {
        let Listed { mark, number, before, is_same_tip } = *listed;
        if self.stretch.is_none() || mark.stretch != self.stretch {
            self.owed = None;
            return false;
        }
        // Each change is told after it happened.
        if mark.last_number.is_some_and(|told| told >= number) {
            self.trouble = Some(Trouble::OtherNode);
            self.stretch = None;
            return true;
        }
        if let Some(owed) = self.owed {
            let told_number = owed.number.is_some_and(|number| self.has_told_up_to(number));
            if told_number || self.blocks > owed.blocks {
                self.owed = None;
                self.note_fit();
            } else if owed.since.elapsed() >= silent_after {
                self.trouble = Some(Trouble::Silent);
                self.stretch = None;
                return true;
            }
        }
        if let (None, Some((before, followed_to))) = (self.owed, before)
            && before.stretch == self.stretch
        {
            // Between two lists at one block every change is told. What a block takes out of the mempool is not.
            if !is_same_tip && self.blocks > before.blocks {
                self.note_fit();
            }
            let of_mempool = is_same_tip && number > followed_to && !self.has_told_up_to(number);
            let of_block = !is_same_tip && self.blocks == before.blocks;
            if of_mempool || of_block {
                let number = is_same_tip.then_some(number);
                self.owed = Some(Owed { since: Instant::now(), number, blocks: self.blocks });
            }
        }
        false
    }

    /// Takes no word of this connection any more, for it told of what the node did not do; answers whether there is one to be
    /// given up.
    pub(super) fn distrust(&mut self) -> bool {
        self.trouble = Some(Trouble::OtherNode);
        self.stretch.take().is_some()
    }

    /// Why the notices are of no use, if they are of none.
    pub(super) const fn trouble(&self) -> Option<&Trouble> {
        self.trouble.as_ref()
    }

    /// Whether every change below this number was told, as far as any was.
    fn has_told_up_to(&self, number: u64) -> bool {
        self.last_number.is_some_and(|last| last.saturating_add(1) >= number)
    }

    /// The publisher's count of its last message.
    #[cfg(test)]
    pub(super) const fn count(&self) -> Option<u32> {
        self.count
    }

    fn note_fit(&mut self) {
        (self.fits, self.trouble) = (true, None);
    }

    fn begin_stretch(&mut self) {
        self.stretches = self.stretches.saturating_add(1);
        self.stretch = Some(self.stretches);
        self.changes.clear();
    }
}

#[cfg(test)]
mod tests;
