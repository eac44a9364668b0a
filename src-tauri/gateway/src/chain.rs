//! What the gateway asks of a Bitcoin backend. One file for each backend; [`open`] chooses among them.
//!
//! A backend tells facts and holds no rule. What it cannot know is [`Fact::Unknown`], which is never taken for a no.
//!
//! There are two kinds ([`Sees`]). One is shown every transaction, and picks out what the watch list says is ours. The other
//! asks a server about single scripts, and so must be told which: those of [`Scripts`]. It says in its answer which it asked
//! about ([`Covered`]), for what nobody asked about is not known to be absent. What it must remember of a script from one
//! look to the next, it gives along ([`View::states`]): that is stored in the transaction of the look, and read back by
//! [`KnownScripts::state`]. So a look that could not be stored is made again as if it had never been. Where the chain
//! stood goes into the token.

pub(crate) mod bell;
pub(crate) mod chosen;
pub(crate) mod core;
pub(crate) mod electrum;
mod facts;
mod headers;
pub(crate) mod hot;
pub(crate) mod open;
mod proof;
mod recent;
mod refusals;
mod room;
pub(crate) mod sandbox;
mod several;
mod shown;
mod signed;
#[cfg(test)]
pub(crate) mod tests;
mod token;

use std::collections::HashSet;

use bitcoin::{BlockHash, FeeRate, Script, ScriptBuf, Transaction, Txid};
use tillgate_domain::time::Timestamp;
use tokio::sync::Notify;

pub(crate) use core::broadcast::fee_named;
pub(crate) use facts::{missing_ancestors, parents_first};
pub(crate) use hot::HotScripts;
pub(crate) use proof::height_of_reward;
pub(crate) use recent::Recent;
pub(crate) use room::is_relayed;
pub(crate) use shown::quoted;
pub(crate) use signed::{has_good_witness, spent_outputs};

/// Blocks that are looked at below the wallet's birth, or below the best block where it has none: the chain that was there may
/// have been another.
const BEFORE_BIRTH: u32 = 100;

/// What tells a chain from every other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Hash of the network's first block.
    pub genesis: BlockHash,
    /// Tells chains apart that begin with the same block, as every sandbox's does; `None` where there is but one.
    pub instance: Option<[u8; 32]>,
}

/// The best block of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tip {
    pub height: u32,
    pub hash: BlockHash,
    /// Its header's time.
    pub time: Timestamp,
}

/// Where a transaction stands in a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TxPosition {
    /// In this block of the best chain.
    Block {
        /// Height of the block.
        height: u32,
        /// Time of its header.
        time: Timestamp,
    },
    /// In the mempool.
    Mempool {
        /// When the node took it in.
        entered: Timestamp,
    },
    /// In neither.
    Absent,
}

/// What a backend can say of something that is or is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    /// It is so.
    Yes,
    /// It is not so.
    No,
    /// The backend cannot tell.
    Unknown,
}

impl From<bool> for Fact {
    fn from(is_so: bool) -> Self {
        if is_so { Self::Yes } else { Self::No }
    }
}

impl Fact {
    /// Whether it is so; `None` where the backend cannot tell.
    #[must_use]
    pub const fn told(self) -> Option<bool> {
        match self {
            Self::Yes => Some(true),
            Self::No => Some(false),
            Self::Unknown => None,
        }
    }
}

/// What a backend tells of one transaction.
#[derive(Debug, Clone)]
pub struct TxFacts {
    pub tx: Transaction,
    /// Where it stands.
    pub position: TxPosition,
    /// Whether another transaction in the chain spends one of its inputs, or of its unconfirmed ancestors'.
    pub conflict_in_chain: Fact,
    /// Height of the block that holds such a transaction, the lowest where there are several; `None` where there is none
    /// or the backend cannot tell. Tells nothing that [`Self::conflict_in_chain`] does not say is so.
    pub conflict_height: Option<u32>,
    /// The same for one in the mempool.
    pub conflict_in_mempool: Fact,
    /// Other transactions known to spend one of its inputs; of one that is in neither mempool nor chain those alone that are. One
    /// that conflicts with another is told of, and names that, when it is found: both need not name each other.
    pub conflicts: Vec<Txid>,
    /// Whether it spends an output of a transaction that is in no block.
    pub unconfirmed_ancestors: Fact,
    /// Its own fee over its virtual size; `None` where the backend cannot tell.
    pub fee_rate: Option<FeeRate>,
}

/// What of the chain is ours.
pub trait WatchList {
    /// Whether a transaction pays a script of ours or spends an output of ours. A backend that sees every transaction
    /// asks about each, parents before children.
    fn concerns(&self, tx: &Transaction) -> bool;

    /// Transactions that are to be told of even where the chain knows nothing of them.
    fn txids(&self) -> &[Txid];

    /// Transactions of ours that no block holds, and those of blocks above this height: what may have moved while nobody
    /// looked, as far as something may still come of it. In no order.
    fn unsettled(&self, above: u32) -> Vec<Transaction>;

    /// Whether something may still come of a transaction that was told to be ruled out, and that is in no block. What nobody goes by
    /// any more need not be followed: where it comes back, it is seen as any other.
    fn is_followed(&self, _txid: &Txid) -> bool {
        true
    }
}

/// Which transactions a backend is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sees {
    /// All: blocks and the mempool. [`Scripts`] are nothing to it, and it covers everything.
    Everything,
    /// Those that pay or spend scripts which it asks about.
    Scripts,
}

/// The scripts that a look asks about, for a backend that [`Sees::Scripts`]. All pay us: payments' addresses, our change, the
/// addresses that are given next. Some of `cold` and `must` may be hot too. A transaction is told with each of them whose history
/// newly shows it, even if it was told before: a coin that it spends may be known only now.
#[derive(Clone, Copy)]
pub struct Scripts<'a> {
    /// Asked about before all others: this look decides something of them, or it is their turn. What was not asked about stays as it is.
    /// The longest due first, some thousand at most.
    pub must: &'a [ScriptBuf],
    /// What matters now: asked about at full pace. A look without [`View::more`] has asked about each of them since the
    /// connection began.
    pub hot: &'a HotScripts,
    /// The next ones of a round over all others that never ends, a hundred at most. Of these the backend takes as many as its
    /// pace allows, from the first on, and answers how many it took ([`View::cold_taken`]).
    pub cold: &'a [ScriptBuf],
    /// That round has come to its end since the last look that was stored: each script was asked about since it began.
    pub round_ended: bool,
    /// What the database has of them.
    pub known: &'a dyn KnownScripts,
}

/// What the database has of scripts, as of the last look that was stored.
pub trait KnownScripts {
    /// What the backend last gave along for a script ([`View::states`]). Another backend may have, so that a state tells its
    /// own form; one of another form is as none.
    fn state(&self, script: &Script) -> Option<Vec<u8>>;

    /// The transactions that pay a script, or spend what one paid to it, and are not known to be absent. Each that is not
    /// in the server's history of the script any more is to be told of as [`TxPosition::Absent`]. In no order. What is absent
    /// already is told by [`WatchList::unsettled`]: who rules it out may show in the history of no script of ours.
    fn transactions(&self, script: &Script) -> Vec<(Transaction, KnownPosition)>;
}

/// Where the last look saw a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownPosition {
    /// In the block of this height.
    Block(u32),
    Mempool,
}

/// What a backend remembers of a script from one look to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptState {
    pub script: ScriptBuf,
    /// In the backend's own form: an Electrum status, or when to ask next.
    pub state: Vec<u8>,
}

/// About which scripts a look knows all that came to them until it started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Covered {
    /// All.
    Everything,
    /// These at least: the server was asked about each after the look had started, or tells of each by itself and has
    /// answered something since. Scripts that are not of [`Scripts::must`] may be left out. Of an answer after which there is
    /// more it does not matter. None, where a backend that [`Sees::Everything`] goes by what it was told until a moment ago.
    Scripts(HashSet<ScriptBuf>),
}

impl Covered {
    /// Whether the look knows all that came to a script.
    #[must_use]
    pub fn holds(&self, script: &Script) -> bool {
        match self {
            Self::Everything => true,
            Self::Scripts(scripts) => scripts.contains(script),
        }
    }
}

/// What a look asks for.
pub struct LookRequest<'a> {
    /// Where the last look at this chain ended; `None` to begin with the first block that is looked at.
    pub token: Option<&'a [u8]>,
    /// The blocks up to this height hold nothing of ours; `None` where no address of ours was ever given.
    pub birth_height: Option<u32>,
    /// What of it is ours.
    pub watch: &'a dyn WatchList,
    /// Which scripts to ask about; nothing to a backend that [`Sees::Everything`].
    pub scripts: Scripts<'a>,
}

/// What changed, in one consistent view of the chain.
#[derive(Debug, Clone)]
pub struct View {
    /// Where it ends, in words of the backend's own.
    pub token: Vec<u8>,
    /// Whether it begins with the first block that is looked at, the chain's own or one by the birth: as asked, or because this
    /// chain was never where the token says, however far headers were linked before that showed.
    pub from_start: bool,
    /// Blocks above this height that an answer told of before are not in the chain any more; `None` where all still are. Told
    /// by the first answer of which the best block stands no lower than they did: whatever was seen in such a block and is not
    /// told of with it has no block until a later answer says so. All of them, 0, where the chain is another. A backend that
    /// tells with the same answer what became of all of it says nothing.
    pub left_above: Option<u32>,
    /// There is more than one answer holds: ask again at once. Still one look. What this answer tells may be stored, with its
    /// token, before the next one is asked for; time decides nothing before the last.
    pub more: bool,
    /// The best block.
    pub tip: Tip,
    /// The blocks up to this height were looked at: the best one's, unless there is `more`.
    pub seen_height: u32,
    /// The median time of the best block and the ten before it; `None` where the backend does not know it.
    pub median_time: Option<Timestamp>,
    /// Transactions of ours whose facts changed, parents before children.
    pub txs: Vec<TxFacts>,
    /// Those of the watch list's transactions of which the backend knows nothing. Told with the last answer of a look. A
    /// backend that [`Sees::Scripts`] leaves it empty: what is missing shows as it asks about the script, for where
    /// `from_start` is said no script has a state any more.
    pub unknown: Vec<Txid>,
    /// About which scripts all is known that came to them until the look started.
    pub covered: Covered,
    /// Of [`Scripts::must`], those of which the server does not tell all, however often it is asked: they hold too much.
    pub refused: HashSet<ScriptBuf>,
    /// How many of [`Scripts::cold`] were asked about, from the first on.
    pub cold_taken: usize,
    /// What is to be remembered of scripts, of which the database has another state or none: to be stored together with
    /// `txs`. Empty where nothing changed, or an idle look would write.
    pub states: Vec<ScriptState>,
}

/// Why the backend cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the Bitcoin backend cannot be asked: {0}")]
pub struct ChainDown(pub String);

/// What became of a broadcast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Broadcast {
    /// It entered the mempool.
    Accepted,
    /// It was in the mempool or in a block already.
    AlreadyKnown,
    /// Another transaction in the mempool spends its inputs, and it does not replace that one. With the server's words.
    Conflict(String),
    /// Its inputs are nowhere to be found, which says nothing of whether they will be.
    InputsMissing,
    /// A transaction in the chain spends its inputs.
    InputsSpent,
    /// Any other refusal: policy, for now.
    Refused(String),
}

/// A Bitcoin backend. Calls block: use them on a blocking thread. No method has an answer of its own: a backend that asks another
/// one could forget to hand it on.
pub trait Chain: Send + Sync {
    /// Which chain it shows.
    fn identity(&self) -> Result<Identity, ChainDown>;

    /// The best block, cheaply, where a look could be made now.
    fn tip(&self) -> Result<Tip, ChainDown>;

    /// The height of the first block that can be looked at.
    fn first_block(&self) -> Result<u32, ChainDown>;

    /// What the server says that it is, for people; `None` where it does not say.
    fn software(&self) -> Result<Option<String>, ChainDown>;

    /// The SHA-256 of the certificate by which the server was refused last, where no certificate is pinned yet that could have
    /// been its own: its owner may pin it.
    fn certificate_to_pin(&self) -> Option<String>;

    /// The height of a block that was surely there before this time; 0 where the backend cannot tell. One that is asked about
    /// scripts reads their histories whole wherever it begins, so that it says 0: were its word on times of blocks taken, a
    /// server that lies could have a node pass over coins later.
    fn height_before(&self, at: Timestamp) -> Result<u32, ChainDown>;

    /// How often another backend was set in place of the one that is asked: answers belong together only where it is the same before
    /// the first and after the last.
    fn choice(&self) -> u64;

    /// What changed of ours since a look ended, as of one moment.
    fn look(&self, request: &LookRequest<'_>) -> Result<View, ChainDown>;

    /// Offers a transaction to the network, the last of `package`, behind its unconfirmed ancestors, parents first.
    /// The answer is about the last, or about the first that was not taken.
    fn broadcast(&self, package: &[Transaction]) -> Result<Broadcast, ChainDown>;

    /// What there is of these transactions, whoever they pay, in the mempool and in blocks above a height. A backend that tells
    /// of no others' transactions says so of each.
    fn recent(&self, txids: &[Txid], above: u32) -> Result<Recent, ChainDown>;

    /// What one of these transactions pays in satoshis, together with all that rests on it in the mempool: the highest sum. `None`
    /// where the backend does not tell, or the mempool has none of them.
    fn fees_with_descendants(&self, txids: &[Txid]) -> Result<Option<u64>, ChainDown>;

    /// The estimated fee rate for a confirmation within so many blocks, no lower than what the server says that it relays;
    /// `None` where there is no estimate, and no such word.
    fn fee_rate(&self, blocks: u16) -> Result<Option<FeeRate>, ChainDown>;

    /// Whether the backend shows a mempool.
    fn has_mempool(&self) -> bool;

    /// Which transactions it is shown.
    fn sees(&self) -> Sees;

    /// Told (`notify_one`) when the backend saw something, so that a look follows at once; `None` where it never does.
    fn wake(&self) -> Option<&Notify>;

    /// What does not work of it although the chain can be looked at, a sentence with its remedy.
    fn trouble(&self) -> Option<String>;

    /// The same, once everything was tried for the first time. Blocks until then.
    fn trouble_once_tried(&self) -> Option<String>;
}

/// Scripts for a test that asks about none.
#[cfg(test)]
pub fn no_scripts() -> Scripts<'static> {
    struct None;
    impl KnownScripts for None {
        fn state(&self, _: &Script) -> Option<Vec<u8>> {
            Option::None
        }

        fn transactions(&self, _: &Script) -> Vec<(Transaction, KnownPosition)> {
            Vec::new()
        }
    }
    let hot: &'static HotScripts = Box::leak(Box::default());
    Scripts { must: &[], hot, cold: &[], round_ended: false, known: &None }
}
