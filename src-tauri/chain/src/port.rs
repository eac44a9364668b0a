//! The port to a Bitcoin backend: the trait that each backend implements, and its questions and
//! answers.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use bitcoin::{FeeRate, Script, ScriptBuf, Transaction, Txid};
use tillgate_domain::chain::{Fact, Identity, KnownPosition, ScriptState, Tip, TxPosition};
use tillgate_domain::closing::CutOff;
use tillgate_domain::time::Timestamp;
use tillgate_told::{Telling, Told};
use tokio::sync::Notify;

use super::down::Down;
use super::hot_scripts::HotScripts;

/// Blocks read below the wallet's birth, or below the tip if no birth is known: a reorg may have
/// replaced them.
pub const BEFORE_BIRTH: u32 = 100;

#[derive(Debug, Clone)]
pub struct TxFacts {
    pub tx: Transaction,
    pub position: TxPosition,
    /// Whether another transaction in the chain spends one of its inputs, or an input of its
    /// unconfirmed ancestors.
    pub conflict_in_chain: Fact,
    /// Height of the lowest block with such a transaction; `None` if there is none or the backend
    /// cannot tell. Has no meaning unless [`Self::conflict_in_chain`] is `Yes`.
    pub conflict_height: Option<u32>,
    /// The same as [`Self::conflict_in_chain`], for a transaction in the mempool.
    pub conflict_in_mempool: Fact,
    /// Other transactions known to spend one of its inputs. For an absent transaction, only those
    /// in the mempool or the chain. A rival found later lists this transaction; the two need not
    /// list each other.
    pub conflicts: Vec<Txid>,
    /// Whether it spends an output of a transaction that is in no block.
    pub unconfirmed_ancestors: Fact,
    /// Its own fee divided by its virtual size; `None` if the backend cannot tell.
    pub fee_rate: Option<FeeRate>,
}

/// The transactions that are ours.
pub trait WatchList {
    /// Whether a transaction pays a script of ours or spends an output of ours. A backend that sees
    /// every transaction asks about each, parents before children.
    fn concerns(&self, tx: &Transaction) -> bool;

    /// Transactions to report even if the backend does not know them.
    fn txids(&self) -> &[Txid];

    /// Our transactions that are in no block, or in a block above this height, in no order. They
    /// may have moved since the last look. Transactions that can no longer matter are left out.
    fn unsettled(&self, above: u32) -> Vec<Transaction>;

    /// Whether a ruled-out transaction in no block may still matter. If a transaction that is not
    /// followed comes back, it is reported like a new one.
    fn is_followed(&self, _txid: &Txid) -> bool {
        true
    }
}

/// The transactions that a backend sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sees {
    /// All blocks and the mempool. Such a backend ignores [`Scripts`] and covers everything.
    Everything,
    /// Transactions that pay or spend a script that it asks about.
    Scripts,
}

/// The scripts of a look, for a backend that [`Sees::Scripts`]. All of them pay us: payments'
/// addresses, our change, and the next addresses. A script of `cold` or `required` may be hot too.
/// A transaction is reported again for each script whose history newly shows it, since a coin that
/// it spends may be known only now.
#[derive(Clone, Copy)]
pub struct Scripts<'a> {
    /// Asked about first, because this look decides something about them or they are due. Some
    /// thousand at most, the longest due first. A payment whose script was not asked about keeps
    /// its state.
    pub required: &'a [ScriptBuf],
    /// The scripts that matter now, asked about without throttling. A look without
    /// [`LookAnswer::more`] has asked about each since the connection began.
    pub hot: &'a HotScripts,
    /// The next scripts of an endless round over all others, a hundred at most. The backend takes
    /// as many as its pace allows, in order, and returns their number ([`LookAnswer::cold_taken`]).
    pub cold: &'a [ScriptBuf],
    /// The round has ended since the last stored look: each script was asked about since the round
    /// began.
    pub round_ended: bool,
    pub known: &'a dyn KnownScripts,
}

/// The database's knowledge of scripts, as of the last stored look.
pub trait KnownScripts {
    /// The last stored state of a script ([`LookAnswer::states`]). Another backend may have written
    /// it, so a state names its form. A state of another form counts as missing.
    fn state(&self, script: &Script) -> Option<Vec<u8>>;

    /// The transactions that pay a script or spend an output of it, and are not known to be absent,
    /// in no order. A transaction that left the server's history of the script must be reported as
    /// [`TxPosition::Absent`]. Known absent transactions come from [`WatchList::unsettled`]: their
    /// rival may touch no script of ours.
    fn transactions(&self, script: &Script) -> Vec<(Transaction, KnownPosition)>;
}

/// The scripts whose transactions up to the start of the look are all known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Covered {
    Everything,
    /// At least these scripts. The server was asked about each after the look started, or notifies
    /// of each and has answered a call since. Scripts outside [`Scripts::required`] may be missing.
    /// The set has no meaning while [`LookAnswer::more`] is set. It is empty for a backend that
    /// [`Sees::Everything`], if a notice made it look between its regular looks.
    Scripts(HashSet<ScriptBuf>),
}

impl Covered {
    /// Whether the look knows every transaction of a script.
    #[must_use]
    pub fn holds(&self, script: &Script) -> bool {
        match self {
            Self::Everything => true,
            Self::Scripts(scripts) => scripts.contains(script),
        }
    }
}

/// A request for one answer of a look.
pub struct LookRequest<'a> {
    /// The token of the last look at this chain; `None` to begin with the first block that is
    /// looked at.
    pub token: Option<&'a [u8]>,
    /// Blocks up to this height hold nothing of ours; `None` if we never gave an address.
    pub birth_height: Option<u32>,
    pub watch: &'a dyn WatchList,
    /// Ignored by a backend that [`Sees::Everything`].
    pub scripts: Scripts<'a>,
    /// Whether the backend itself woke this look. The answer may then be about the news alone, and
    /// cover nothing.
    pub is_woken: bool,
}

/// The changes, in one consistent view of the chain.
#[derive(Debug, Clone)]
pub struct LookAnswer {
    /// The end of this view, in the backend's own form.
    pub token: Vec<u8>,
    /// Whether the view begins with the first block that is looked at: the chain's first, or one
    /// near the wallet's birth. This happens on request, or if the chain never held the token's
    /// blocks.
    pub from_start: bool,
    /// The height above which blocks of earlier answers have left the chain; `None` if all are
    /// still there. 0 if the chain is another one. Set in the first answer whose tip is at least as
    /// high as those blocks. A transaction seen in such a block has no block until an answer
    /// reports it again. A backend that reports the fate of every such transaction in the same
    /// answer leaves this `None`.
    pub left_above: Option<u32>,
    /// The answer is incomplete: ask again at once, within the same look. This answer may be stored
    /// with its token before the next. Deadlines are decided after the last answer only.
    pub more: bool,
    pub tip: Tip,
    /// The blocks up to this height were read: the best block's height, unless `more` is set.
    pub seen_height: u32,
    /// The median time of the best block and the ten before it; `None` if the backend does not know
    /// it.
    pub median_time: Option<Timestamp>,
    /// Our transactions whose facts changed, parents before children.
    pub txs: Vec<TxFacts>,
    /// Transactions of the watch list that the backend does not know, in the last answer of a look.
    /// Empty for a backend that [`Sees::Scripts`]. With `from_start` no script has a state, so that
    /// backend finds missing transactions script by script.
    pub unknown: Vec<Txid>,
    pub covered: Covered,
    /// Required and hot scripts with too many transactions for the server to report, however often
    /// it is asked.
    pub refused: HashSet<ScriptBuf>,
    /// The number of scripts taken from the front of [`Scripts::cold`].
    pub cold_taken: usize,
    /// Script states that differ from the database's, to be stored together with `txs`. Empty if
    /// nothing changed, so that an idle look writes nothing.
    pub states: Vec<ScriptState>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error("the Bitcoin backend cannot be asked: {0}")]
pub struct ChainDown(pub Telling);

impl ChainDown {
    /// A reason in the words of a server, or one that only the log of an expert needs.
    pub fn of_text(why: impl Into<String>) -> Self {
        Self(Telling::of_text(why))
    }
}

impl From<Down> for ChainDown {
    fn from(why: Down) -> Self {
        Self(why.telling())
    }
}

/// The outcome of a broadcast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Broadcast {
    /// It entered the mempool.
    Accepted,
    /// It was in the mempool or in a block already.
    AlreadyKnown,
    /// Another transaction in the mempool spends its inputs and is not replaced. Holds the server's
    /// text.
    Conflict(String),
    /// Its inputs were not found; they may still appear.
    InputsMissing,
    /// A transaction in the chain spends its inputs.
    InputsSpent,
    /// Any other refusal, such as policy. It may be accepted later.
    Refused(String),
}

/// Transactions in no block, or in a block that a reorg may still remove, ours or not. Their raw
/// bytes are kept if a transaction of ours descends from them. A requested transaction in neither
/// field is in a deeper block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecentTransactions {
    /// Those in the mempool, and those in blocks above the requested height.
    pub txs: BTreeMap<Txid, Transaction>,
    /// Those that the backend lacks, or whose position it does not know.
    pub unknown: BTreeSet<Txid>,
}

impl RecentTransactions {
    #[must_use]
    pub fn unknown(txids: &[Txid]) -> Self {
        Self { txs: BTreeMap::new(), unknown: txids.iter().copied().collect() }
    }
}

/// The fee rates that a node names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeFeeRates {
    /// The estimate, at least `minimum`. `None` if the node has none: it is new, or it relays no
    /// transactions.
    pub estimate: Option<FeeRate>,
    /// The lowest rate that its mempool accepts now.
    pub minimum: FeeRate,
    /// A replacement adds at least this rate for its own size (BIP125, rule 4).
    pub increment: FeeRate,
}

impl NodeFeeRates {
    /// The rates of a node with this estimate, if it has one.
    pub fn of(estimate: Option<FeeRate>, minimum: FeeRate, increment: FeeRate) -> Self {
        Self { estimate: estimate.map(|estimate| estimate.max(minimum)), minimum, increment }
    }
}

/// A Bitcoin backend. Calls block: use them on a blocking thread. There are no default methods,
/// because a wrapping backend could forget to forward one.
pub trait Chain: Send + Sync {
    fn identity(&self) -> Result<Identity, ChainDown>;

    /// The best block, at low cost. Fails whenever a look would fail.
    fn tip(&self) -> Result<Tip, ChainDown>;

    /// The height of the lowest block that can be looked at.
    fn first_block(&self) -> Result<u32, ChainDown>;

    /// The server's software, as it names itself; `None` if it does not.
    fn software(&self) -> Result<Option<String>, ChainDown>;

    /// The SHA-256 of the last refused certificate, for its owner to pin. `None` if a certificate
    /// is pinned already.
    fn certificate_to_pin(&self) -> Option<String>;

    /// The height of a block that surely existed before this time; 0 if the backend cannot tell. A
    /// backend that asks about scripts returns 0, since it reads whole histories anyway. Block
    /// times of a lying server could make a later node skip coins.
    fn height_before(&self, at: Timestamp) -> Result<u32, ChainDown>;

    /// The number of times that the backend was replaced. Answers belong together only if the
    /// number is equal before the first and after the last.
    fn generation(&self) -> u64;

    /// The number of the server that is asked now, if the backend has several.
    fn server(&self) -> usize;

    /// Changes of our transactions since the token, as of one moment.
    fn look(&self, request: &LookRequest<'_>) -> Result<LookAnswer, ChainDown>;

    /// Broadcasts the last transaction of `package` after its unconfirmed ancestors, parents first.
    /// The answer is about the last transaction, or about the first that was refused.
    fn broadcast(&self, package: &[Transaction]) -> Result<Broadcast, ChainDown>;

    /// The transactions among `txids` in the mempool or in blocks above a height, ours or not. A
    /// backend that cannot look up others' transactions returns each as unknown.
    fn recent_transactions(
        &self,
        txids: &[Txid],
        above: u32,
    ) -> Result<RecentTransactions, ChainDown>;

    /// The highest fee in satoshis that one of these transactions pays together with its
    /// descendants in the mempool. `None` if the backend cannot tell, or the mempool has none of
    /// them.
    fn fees_with_descendants(&self, txids: &[Txid]) -> Result<Option<u64>, ChainDown>;

    /// The fee rates that the server names; the estimate is for a confirmation within `blocks`
    /// blocks.
    fn fee_rates(&self, blocks: u16) -> Result<NodeFeeRates, ChainDown>;

    /// Whether the last answer came from a server that hears of transactions before their blocks.
    fn has_mempool(&self) -> bool;

    /// Why the server of the last answer hears of nothing new; `None` if it hears, or the backend
    /// cannot tell.
    fn cut_off(&self) -> Option<CutOff>;

    fn sees(&self) -> Sees;

    /// Notified (`notify_one`) when the backend saw something and a look should follow at once;
    /// `None` if it never notifies.
    fn wake(&self) -> Option<&Notify>;

    /// A defect that does not prevent looks, as a sentence with the remedy.
    fn fault(&self) -> Option<Telling>;

    /// The same defect, once the first attempt to receive notices has ended. Blocks until then.
    fn fault_once_tried(&self) -> Option<Telling>;
}

/// Scripts for a test that asks about none.
#[cfg(any(test, feature = "testing"))]
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
    Scripts { required: &[], hot, cold: &[], round_ended: false, known: &None }
}
