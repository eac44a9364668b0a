//! The messages of Bitcoin Core's publisher, as hints for the next look. The connection is neither
//! encrypted nor signed, so a hint only names a transaction to ask the node about.

use std::collections::BTreeSet;

use bitcoin::Txid;
use bitcoin::hashes::Hash as _;

/// The topic for blocks and the mempool.
pub const TOPIC: &[u8] = b"sequence";

/// Limit of announced transactions that wait for a look: many times what the network produces
/// between two looks. Later ones are forgotten, and the list of the next second shows them.
const WAITING_MAX: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// A block was connected or disconnected.
    Block,
    /// A transaction entered the mempool.
    Entered(Txid),
    /// A transaction left the mempool. Only a list shows this.
    Left,
}

/// The announced transactions that no look has asked about yet.
#[derive(Debug, Default)]
pub struct Hints(BTreeSet<Txid>);

impl Notice {
    /// Parses a message into a notice and the publisher's count; `None` for any other message.
    pub fn read(parts: &[Vec<u8>]) -> Option<(Self, u32)> {
        let [topic, body, count] = parts else { return None };
        let (hash, rest) = body.split_first_chunk::<32>()?;
        // A change of the mempool has a label and a number of eight bytes, a block only a label.
        let notice = match (rest.first()?, rest.len()) {
            (b'C' | b'D', 1) => Self::Block,
            (b'A', 9) => {
                // The message holds the hash in display order, which is reversed.
                let mut hash = *hash;
                hash.reverse();
                Self::Entered(Txid::from_byte_array(hash))
            }
            (b'R', 9) => Self::Left,
            _ => return None,
        };
        let count = u32::from_le_bytes(count.as_slice().try_into().ok()?);
        (topic == TOPIC).then_some((notice, count))
    }
}

impl Hints {
    /// Takes a notice; returns whether a look should follow at once.
    pub fn note(&mut self, notice: Notice) -> bool {
        match notice {
            Notice::Block => true,
            Notice::Entered(txid) => self.0.len() < WAITING_MAX && self.0.insert(txid),
            Notice::Left => false,
        }
    }

    pub fn take(&mut self) -> BTreeSet<Txid> {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn txid(number: u32) -> Txid {
        let mut hash = [0; 32];
        hash[..4].copy_from_slice(&number.to_le_bytes());
        Txid::from_byte_array(hash)
    }

    #[test]
    fn only_messages_in_bitcoin_cores_format_are_read() {
        let mut body = [[0; 28].as_slice(), &[0, 0, 0, 7], b"A"].concat();
        body.extend(9_u64.to_le_bytes());
        let message = |topic: &[u8], body: &[u8], count: &[u8]| {
            Notice::read(&[topic.to_vec(), body.to_vec(), count.to_vec()])
        };
        let labelled = |label: u8| {
            let mut body = body.clone();
            body[32] = label;
            body
        };
        let count = 3_u32.to_le_bytes();
        assert_eq!(message(TOPIC, &body, &count), Some((Notice::Entered(txid(7)), 3)));
        assert_eq!(message(TOPIC, &labelled(b'R'), &count), Some((Notice::Left, 3)));
        for block in [b'C', b'D'] {
            assert_eq!(message(TOPIC, &labelled(block)[..33], &count), Some((Notice::Block, 3)));
            assert_eq!(message(TOPIC, &labelled(block), &count), None);
        }
        for (topic, body, count) in [
            (b"hashtx".as_slice(), body.clone(), count.as_slice()),
            (TOPIC, body[..40].to_vec(), &count),
            (TOPIC, body[..33].to_vec(), &count),
            (TOPIC, body[..32].to_vec(), &count),
            (TOPIC, [body.as_slice(), &[0]].concat(), &count),
            (TOPIC, labelled(b'X'), &count),
            (TOPIC, body.clone(), &count[..3]),
        ] {
            assert_eq!(message(topic, &body, count), None);
        }
        assert_eq!(Notice::read(&[TOPIC.to_vec(), body]), None);
    }

    #[test]
    fn blocks_and_entries_wake_a_look_and_removals_do_not() {
        let mut hints = Hints::default();
        assert!(hints.note(Notice::Block));
        assert!(hints.note(Notice::Entered(txid(1))));
        assert!(!hints.note(Notice::Left));
        assert_eq!(hints.take(), BTreeSet::from([txid(1)]));
        assert_eq!(hints.take(), BTreeSet::new(), "each is taken once");
    }

    #[test]
    fn waiting_hints_are_bounded() {
        let mut hints = Hints::default();
        for number in 0..1_000 {
            hints.note(Notice::Entered(txid(number)));
        }
        assert_eq!(hints.take().len(), 200);
        assert!(hints.note(Notice::Entered(txid(1_000))), "a look makes room");
    }
}
