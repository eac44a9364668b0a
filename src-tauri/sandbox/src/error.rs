//! The errors of the sandbox.

use bitcoin::{OutPoint, Txid};

/// The text of an SQLite failure. On a full disk the index of the write-ahead log (`-shm`) fails
/// first, and SQLite's own text for that error does not mention the disk.
fn reason(error: &rusqlite::Error) -> String {
    let lacks_room = error
        .sqlite_error()
        .is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE);
    if lacks_room { "the disk is full".to_owned() } else { error.to_string() }
}

/// The failure of a call. The call stored no change.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum SandboxError {
    /// The disk is full, the file is corrupt or locked, or a read or write failed.
    #[error("the sandbox's file could not be read or written: {}", reason(.0))]
    Storage(#[from] rusqlite::Error),
    /// The file could not be created with its permissions.
    #[error("the sandbox's file could not be created: {0}")]
    File(#[from] std::io::Error),
    /// The file holds something that the sandbox never writes.
    #[error("the sandbox's file is damaged: {0}")]
    Damaged(String),
    /// The file is an SQLite database of another program.
    #[error("the file is an SQLite database, but not a sandbox's")]
    NotASandbox,
    /// A newer program wrote the file.
    #[error(
        "the sandbox's file has schema version {found}, this program knows versions up to {supported}: use the newer program"
    )]
    NewerSchema {
        /// The file's version.
        found: i64,
        /// This program's version.
        supported: i64,
    },
    /// The operating system gave no random bytes for the customer's seed.
    #[error("the operating system gave no random bytes")]
    Entropy,
    /// A block's time would leave the range that consensus allows.
    #[error(
        "the next block's time would have to be {needed_s} s, too far from the clock's {clock_s} s: move the sandbox's clock forward"
    )]
    ClockTooFarBehind {
        /// The least time by the rules, in seconds since 1970.
        needed_s: i64,
        /// The caller's time, in seconds since 1970.
        clock_s: i64,
    },
    /// The clock would leave the range of times.
    #[error("the clock cannot be moved forward by {seconds} s")]
    ClockOutOfRange {
        /// The seconds asked for.
        seconds: u64,
    },
    /// The count is not between 1 and [`MAX_BLOCKS_PER_CALL`](crate::MAX_BLOCKS_PER_CALL).
    #[error("{count} blocks cannot be mined in one call: at most {max}, and at least 1")]
    BlockCount {
        /// The count asked for.
        count: u32,
        /// The most that one call mines.
        max: u32,
    },
    /// The reorganisation would reach below the initial chain.
    #[error(
        "the last {depth} blocks cannot be replaced: {max} blocks were mined since the sandbox was created"
    )]
    ReorgDepth {
        /// The depth asked for.
        depth: u32,
        /// The deepest one possible.
        max: u32,
    },
    /// The sandbox never had such a transaction.
    #[error("transaction {0} is not known to the sandbox")]
    UnknownTransaction(Txid),
    /// A confirmed transaction cannot be replaced or evicted.
    #[error("transaction {0} is in a block already; a reorganisation could undo that")]
    AlreadyConfirmed(Txid),
    /// The transaction was replaced, evicted or reorganised away.
    #[error("transaction {0} is not in the mempool any more")]
    NotInMempool(Txid),
    /// The customer can double-spend only its own transactions.
    #[error(
        "transaction {0} does not spend the customer's own coins, so the customer cannot replace it"
    )]
    NotTheCustomers(Txid),
    /// The replaced transaction has no output that pays somebody else than the customer.
    #[error("transaction {0} pays only the customer's own addresses")]
    PaysNobodyElse(Txid),
    /// The sum is less than the network relays.
    #[error(
        "an output of {amount_sats} sat is too small: the network relays none below {min_sats} sat"
    )]
    AmountTooSmall {
        /// The output's sum.
        amount_sats: u64,
        /// The least sum for this kind of address.
        min_sats: u64,
    },
    /// Too few or too many parts.
    #[error("a payment cannot be made in {parts} parts: at most {max}, and at least 1")]
    PartCount {
        /// The count asked for.
        parts: u32,
        /// The most parts.
        max: u32,
    },
    /// Too few or too many recipients for one transaction.
    #[error("one transaction cannot pay {payees} scripts: at most {max}, and at least 1")]
    PayeeCount {
        /// The count asked for.
        payees: usize,
        /// The most payees.
        max: usize,
    },
    /// The fee rate is outside the range that the sandbox relays and the customer accepts.
    #[error("a fee rate of {rate_sat_vb} sat/vB is out of range: from {min} to {max}")]
    FeeRate {
        /// The rate asked for.
        rate_sat_vb: u64,
        /// The lowest, in sat/vB.
        min: u64,
        /// The highest, in sat/vB.
        max: u64,
    },
    /// The customer's confirmed coins do not suffice.
    #[error(
        "the customer has {available_sats} satoshis in confirmed coins and needs {needed_sats}: mine a block to confirm its change, or request less"
    )]
    CannotPay {
        /// The sum and its fee, less the inputs of a replaced transaction.
        needed_sats: u64,
        /// The sum of the customer's coins that a transaction in the next block could spend.
        available_sats: u64,
    },
    /// The mempool refused a transaction of the customer.
    #[error("the mempool refused the customer's transaction: {0}")]
    Refused(BroadcastRefusal),
    /// A block that the sandbox mined, or one of the caller's transactions in it, broke a rule of
    /// consensus.
    #[error("the block breaks the rules of consensus: {0}")]
    InvalidBlock(&'static str),
}

/// Why the mempool refused a transaction.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum BroadcastRefusal {
    /// An output it spends is unknown, or belongs to a transaction that is neither in the chain nor
    /// in the mempool.
    #[error("input {0} is missing: its transaction is neither in the chain nor in the mempool")]
    MissingInputs(OutPoint),
    /// An output it spends was already spent in the chain.
    #[error("input {outpoint} was spent in the chain by {spender}")]
    InputSpent {
        outpoint: OutPoint,
        /// The confirmed transaction that spent it.
        spender: Txid,
    },
    /// A coinbase can be spent after 100 blocks only.
    #[error("input {outpoint} is a coinbase that can be spent from block {from_height}")]
    ImmatureCoinbase {
        outpoint: OutPoint,
        /// The first block that may hold the spend.
        from_height: u32,
    },
    /// It conflicts with the mempool and does not pay enough to replace (BIP125).
    #[error(
        "it conflicts with the mempool and pays {fee_sats} satoshis; a replacement must pay at least {min_sats}"
    )]
    ReplacementFeeTooLow {
        fee_sats: u64,
        /// The least fee by absolute sum and by rate.
        min_sats: u64,
    },
    /// It conflicts with the mempool in a way that no fee can cure (BIP125 rules 2 and 5).
    #[error("it conflicts with the mempool: {0}")]
    Conflict(&'static str),
    /// Valid, but the network would not relay it.
    #[error("it would not be relayed: {0}")]
    Policy(String),
    /// It breaks a rule of consensus other than scripts.
    #[error("it is not valid: {0}")]
    Invalid(&'static str),
    /// Its lock time has not been reached, or a relative lock of an input has not passed.
    #[error("it is locked: {0}")]
    Locked(&'static str),
    /// The script interpreter refused an input.
    #[error("the script or signature of input {input} is not valid")]
    ScriptInvalid {
        /// The input's index.
        input: usize,
    },
    /// The caller is not told whether it was accepted: the fault
    /// [`Timeout`](crate::BroadcastFault::Timeout).
    #[error("the sandbox is set not to answer broadcasts")]
    Unanswered,
    /// The fault [`Reject`](crate::BroadcastFault::Reject) is set, or it was evicted and no block
    /// was mined since.
    #[error("it was refused: {0}")]
    Refused(&'static str),
    /// It could not be checked, because the file could not be read or written.
    #[error("{0}")]
    Storage(#[source] Box<SandboxError>),
}

impl From<BroadcastRefusal> for SandboxError {
    fn from(refusal: BroadcastRefusal) -> Self {
        match refusal {
            BroadcastRefusal::Storage(error) => *error,
            other => SandboxError::Refused(other),
        }
    }
}

impl From<SandboxError> for BroadcastRefusal {
    fn from(error: SandboxError) -> Self {
        match error {
            SandboxError::Refused(refusal) => refusal,
            other => BroadcastRefusal::Storage(Box::new(other)),
        }
    }
}

impl From<rusqlite::Error> for BroadcastRefusal {
    fn from(error: rusqlite::Error) -> Self {
        SandboxError::from(error).into()
    }
}
