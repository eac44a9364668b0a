//! A node's ZeroMQ publisher for the topic `sequence`: blocks, and each numbered change of its
//! mempool. It speaks ZMTP 3.0 to each subscriber.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use bitcoin::hashes::Hash as _;
use bitcoin::{BlockHash, Txid};
use tillgate_sandbox::{Sandbox, SandboxError, TxPosition};

use super::fault::ZmqFault;
use crate::listener::Stop;

/// Interval between checks for changes to publish.
const EVERY: Duration = Duration::from_millis(3);

/// Number of invented messages that a flood sends at each check.
const FLOOD: u64 = 2_000;

/// The count of the first message to a subscriber. Clients must not expect it to be 0.
const FIRST_COUNT: u32 = 77;

/// The chain and mempool as published so far, and the subscribers.
#[derive(Default)]
pub(super) struct Told {
    /// The hashes from block 0 to the tip; empty before the first call of `follow`.
    blocks: Vec<BlockHash>,
    pub mempool: Vec<Txid>,
    /// The number of the mempool's next change.
    pub next: u64,
    subscribers: Vec<Sender<Message>>,
    /// Number of subscriptions so far.
    pub subscriptions: u64,
    /// Number of messages to the last subscriber.
    published: u32,
}

/// The kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Label {
    Connected,
    Disconnected,
    Added,
    Removed,
    /// Removed by a block. This change has a number, but is not published.
    Mined,
}

#[derive(Debug, Clone, Copy)]
struct Message {
    /// In the byte order of its hexadecimal form.
    hash: [u8; 32],
    label: Label,
    number: Option<u64>,
}

impl Told {
    /// Publishes all changes since the last call.
    pub(super) fn follow(&mut self, sandbox: &Sandbox) -> Result<(), SandboxError> {
        let is_first = self.blocks.is_empty();
        let mempool = sandbox.status()?.mempool;
        let left: Vec<Txid> =
            self.mempool.iter().filter(|txid| !mempool.contains(txid)).copied().collect();
        for txid in left {
            let position = sandbox.transaction(txid)?.map(|view| view.position);
            let is_mined = matches!(position, Some(TxPosition::Block { .. }));
            self.change(txid, if is_mined { Label::Mined } else { Label::Removed });
        }
        self.follow_blocks(sandbox, is_first)?;
        let entered: Vec<Txid> =
            mempool.iter().filter(|txid| !self.mempool.contains(txid)).copied().collect();
        for txid in entered {
            self.change(txid, Label::Added);
        }
        self.mempool = mempool;
        Ok(())
    }

    fn follow_blocks(&mut self, sandbox: &Sandbox, is_first: bool) -> Result<(), SandboxError> {
        let hash_at = |height: usize| {
            let height = u32::try_from(height).unwrap_or(u32::MAX);
            Ok::<_, SandboxError>(sandbox.block(height)?.map(|block| block.block_hash()))
        };
        let tip = sandbox.tip()?;
        if self.blocks.last() == Some(&tip.hash) {
            return Ok(());
        }
        while let Some(last) = self.blocks.last().copied() {
            if hash_at(self.blocks.len() - 1)? == Some(last) {
                break;
            }
            self.blocks.pop();
            self.publish(last.to_byte_array(), Label::Disconnected, None);
        }
        while let Some(hash) = hash_at(self.blocks.len())? {
            self.blocks.push(hash);
            if !is_first {
                self.publish(hash.to_byte_array(), Label::Connected, None);
            }
        }
        Ok(())
    }

    fn change(&mut self, txid: Txid, label: Label) {
        let number = self.next;
        self.next += 1;
        self.publish(txid.to_byte_array(), label, Some(number));
    }

    fn publish(&mut self, mut hash: [u8; 32], label: Label, number: Option<u64>) {
        hash.reverse();
        if label != Label::Mined {
            self.published += 1;
        }
        self.subscribers
            .retain(|subscriber| subscriber.send(Message { hash, label, number }).is_ok());
    }

    fn subscribe(&mut self) -> Receiver<Message> {
        let (sender, receiver) = channel();
        self.subscribers.push(sender);
        self.subscriptions += 1;
        self.published = 0;
        receiver
    }

    /// The count of the last message to the last subscriber, if there was one.
    pub(super) fn last_count(&self) -> Option<u32> {
        self.published.checked_sub(1).map(|published| FIRST_COUNT.wrapping_add(published))
    }
}

/// The connection to one subscriber.
struct Subscriber<'a> {
    stream: TcpStream,
    stop: &'a Stop,
    count: u32,
}

/// Serves one subscriber until the connection ends. `told` updates and lends the published state.
/// `fault` returns the present fault.
pub(super) fn serve(
    stream: TcpStream,
    stop: &Stop,
    told: impl Fn(&mut dyn FnMut(&mut Told)),
    fault: impl Fn() -> Option<ZmqFault>,
) {
    let mut subscriber = Subscriber { stream, stop, count: FIRST_COUNT };
    // An error ends the connection.
    let _ = subscriber.serve(&told, &fault);
}

impl Subscriber<'_> {
    fn serve(
        &mut self,
        told: &impl Fn(&mut dyn FnMut(&mut Told)),
        fault: &impl Fn() -> Option<ZmqFault>,
    ) -> io::Result<()> {
        self.shake_hands(fault())?;
        let mut receiver = None;
        told(&mut |told| receiver = Some(told.subscribe()));
        let Some(receiver) = receiver else { return Ok(()) };
        while !self.stop.within(EVERY) {
            let mut next = 0;
            told(&mut |told| next = told.next);
            let fault = fault();
            for message in receiver.try_iter() {
                self.tell(&message, fault)?;
            }
            if fault == Some(ZmqFault::Flood) {
                for number in next..next + FLOOD {
                    let mut hash = [7; 32];
                    hash[..8].copy_from_slice(&number.to_be_bytes());
                    self.tell(&Message { hash, label: Label::Added, number: Some(number) }, None)?;
                }
            }
        }
        Ok(())
    }

    fn shake_hands(&mut self, fault: Option<ZmqFault>) -> io::Result<()> {
        if fault == Some(ZmqFault::Mute) {
            while !self.stop.within(Duration::from_millis(50)) {}
            return Err(ErrorKind::ConnectionAborted.into());
        }
        let mut greeting = [0; 64];
        greeting[..12].copy_from_slice(&[0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 1]);
        let mechanism: &[u8] = if fault == Some(ZmqFault::Curve) { b"CURVE" } else { b"NULL" };
        greeting[12..12 + mechanism.len()].copy_from_slice(mechanism);
        self.stream.write_all(&greeting)?;
        let theirs = self.read(64)?;
        let ready = self.frame()?;
        self.stream.write_all(b"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03PUB")?;
        let subscription = self.frame()?;
        if theirs[..11] != [0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3]
            || ready != b"\x05READY\x0bSocket-Type\x00\x00\x00\x03SUB"
            || subscription != b"\x01sequence"
        {
            return Err(ErrorKind::InvalidData.into());
        }
        Ok(())
    }

    fn tell(&mut self, message: &Message, fault: Option<ZmqFault>) -> io::Result<()> {
        let Message { mut hash, label, number } = *message;
        let lies = fault == Some(ZmqFault::Lies);
        let label = match label {
            Label::Connected => b'C',
            Label::Disconnected => b'D',
            Label::Mined if !lies => return Ok(()),
            Label::Removed | Label::Mined if lies => b'A',
            Label::Added if lies => b'R',
            Label::Added => b'A',
            Label::Removed | Label::Mined => b'R',
        };
        let count = self.count;
        self.count = self.count.wrapping_add(1);
        match fault {
            Some(ZmqFault::Silent) => return Ok(()),
            Some(ZmqFault::Lossy) if count.is_multiple_of(2) => return Ok(()),
            Some(ZmqFault::Garbage) => return self.stream.write_all(&[0xee; 100]),
            Some(ZmqFault::HugeFrame) => {
                return self.stream.write_all(&[2, 0x10, 0, 0, 0, 0, 0, 0, 0]);
            }
            Some(ZmqFault::Closes) => return Err(ErrorKind::ConnectionAborted.into()),
            Some(ZmqFault::OtherNode) => hash.iter_mut().for_each(|byte| *byte = !*byte),
            _ => {}
        }
        let topic: &[u8] =
            if fault == Some(ZmqFault::WrongTopic) { b"hashtx" } else { b"sequence" };
        let mut body = hash.to_vec();
        body.push(label);
        body.extend(number.map(u64::to_le_bytes).into_iter().flatten());
        let parts = [(1, topic), (1, &body), (0, &count.to_le_bytes())];
        let frames = parts.map(|(flags, part)| {
            [&[flags, u8::try_from(part.len()).unwrap_or(u8::MAX)], part].concat()
        });
        self.stream.write_all(&frames.concat())
    }

    /// The body of a short frame.
    fn frame(&mut self) -> io::Result<Vec<u8>> {
        let head = self.read(2)?;
        self.read(usize::from(head[1]))
    }

    fn read(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let (mut bytes, mut at) = (vec![0; count], 0);
        while at < count {
            match self.stream.read(&mut bytes[at..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => at += read,
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    if self.stop.within(Duration::ZERO) {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(bytes)
    }
}
